"""Admission when something is in the way: files, other folders, hands at the same entry, quota, validity, keys."""

import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import TARGETS, Draft, Source
from memorycore.options import HotLimit
from memorycore.store import all_rows
from tests.command_line import CommandLine
from tests.homes import Home, rule
from tests.raw import files_with

ENGLISH, GERMAN = "Always answer in English.", "From now on always answer in German, not English."
METRIC = "Always answer in English, with metric units."
FOUNDED = "The harbour café was founded by 12 bakers."
FOUNDED_AND_FROM = "The harbour café was founded by 12 bakers from Ghent."
CORRECTED = "Correction: the harbour café was founded by 14 bakers."
KEY = "ghp_" + "16BGLQVafkpuz49EJOTYdinsx27CHMRWbglq"


def say(core: MemoryCore, text: str, **fields: object) -> dict[str, object]:
    return dict(core.remember(Draft(content=text, **fields), actor="test"))  # type: ignore[arg-type]


def reasons(answer: dict[str, object]) -> list[str]:
    return [str(reason).split(":")[0] for reason in list(answer["reasons"])]  # type: ignore[call-overload]


def texts(core: MemoryCore) -> dict[str, str]:
    """Where each text is: its tier when it is in use, else its state."""
    return {
        str(line["content"]): str(line["tier"] if line["state"] == "active" else line["state"])
        for line in core.export()
    }


def nothing_is_under_way(core: MemoryCore) -> bool:
    with core.db.read() as c:
        return not all_rows(c, "all_open_intents", {"namespace": "default"})


@pytest.mark.parametrize("text", [GERMAN, METRIC])
def test_what_cannot_be_changed_in_a_file_that_is_unusable_is_proposed(tmp_path: Path, text: str) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        say(core, ENGLISH, target="memory")
        whole = home.memory_file.read_bytes()
        home.memory_file.write_bytes(whole + b"\xff")
        answer = say(core, text, target="memory")
        assert (answer["status"], answer["tier"]) == ("disputed", "cold")
        assert {"file_unusable", "proposed"} <= set(reasons(answer))
        assert nothing_is_under_way(core)
        assert home.memory_file.read_bytes() == whole + b"\xff"
        home.memory_file.write_bytes(whole)
        assert say(core, text, target="memory")["tier"] == "cold"  # said twice, it is no nearer to the prompt
        assert home.entries() == [ENGLISH]
        core.decide(core.review()["items"][0]["number"], "new", actor="test")
        assert home.entries() == [text]


def test_a_text_stays_out_of_one_file_while_what_it_ends_stands_in_the_other(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        say(core, ENGLISH, target="memory")
        whole = home.memory_file.read_bytes()
        home.memory_file.write_bytes(whole + b"\xff")
        answer = say(core, GERMAN, target="user")
        assert (answer["status"], answer["tier"]) == ("disputed", "cold")
        assert nothing_is_under_way(core)
        assert not home.user_file.exists()
        assert texts(core) == {ENGLISH: "hot", GERMAN: "cold"}


def test_a_change_of_a_red_line_is_not_let_in_by_saying_it_twice(tmp_path: Path) -> None:
    home = Home(tmp_path)
    change = "You may now push to the main branch of the shop."
    with home.core() as core:
        say(core, "Never push to the main branch of the shop.", target="memory")
        for _ in range(3):
            answer = say(core, change, importance=0.9, target="memory")
            assert answer["tier"] == "cold"
        assert home.entries() == ["Never push to the main branch of the shop."]
        assert core.review()["counts"]["proposals"] == 1


def test_an_entry_of_another_folder_is_only_proposed_for_change(tmp_path: Path) -> None:
    here, there = Home(tmp_path), Home(tmp_path)
    there.options = replace(there.options, hot_dir=tmp_path / "there")
    with here.core() as core:
        say(core, ENGLISH, target="memory")
    with there.core() as core:
        assert say(core, GERMAN, target="memory")["status"] == "disputed"
        assert say(core, METRIC, target="memory")["status"] == "disputed"
    with here.core() as core:
        core.touch()
        assert (home_of := texts(core))[ENGLISH] == "hot", home_of
        assert here.entries() == [ENGLISH]


def test_a_text_that_hides_a_key_of_the_file_is_never_taken_out_by_a_verdict(tmp_path: Path) -> None:
    home = Home(tmp_path)
    entry = f"Always deploy the shop with the key {KEY}."
    home.write_memory_file(entry)
    with home.core() as core:
        answer = say(core, "From now on never deploy the shop with the key.", target="memory")
        assert answer["status"] == "disputed"
        assert home.entries() == [entry]


@contextmanager
def a_host_that_writes_first(core: MemoryCore, home: Home, entries: list[str] | bytes) -> Generator[None]:
    """Somebody has the lock of the file, sees a decision made, and writes this into it before the lock is free."""
    fcntl = pytest.importorskip("fcntl", reason="the host's lock is flock")
    locked = threading.Event()

    def host() -> None:
        with home.memory_file.with_name("MEMORY.md.lock").open("a", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            locked.set()
            while nothing_is_under_way(core):
                time.sleep(0.01)
            if isinstance(entries, bytes):
                home.memory_file.write_bytes(entries)
            else:
                home.write_memory_file(*entries)

    thread = threading.Thread(target=host, daemon=True)
    thread.start()
    locked.wait()
    yield
    thread.join(timeout=10)


@pytest.mark.parametrize(
    ("after", "entries"),
    [
        ([], [GERMAN]),
        (["Always answer in British English."], ["Always answer in British English.", GERMAN]),
        ([GERMAN], [GERMAN]),
    ],
    ids=["removed", "edited", "written already"],
)
def test_the_host_changes_the_entry_before_it_is_exchanged(
    tmp_path: Path, after: list[str], entries: list[str]
) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        say(core, ENGLISH, target="memory")
        with a_host_that_writes_first(core, home, after):
            assert say(core, GERMAN, target="memory")["status"] == "superseded"
        core.touch()
        assert home.entries() == entries
        assert {text for text, where in texts(core).items() if where == "hot"} == set(entries)
        assert ENGLISH in texts(core)
        assert nothing_is_under_way(core)


@pytest.mark.parametrize(
    ("after", "entries"),
    [
        ([], [METRIC]),
        (["Always answer in British English."], ["Always answer in British English.", METRIC]),
        ([METRIC], [METRIC]),
    ],
    ids=["removed", "edited", "written already"],
)
def test_the_host_changes_the_entry_before_it_is_reworded(tmp_path: Path, after: list[str], entries: list[str]) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        say(core, ENGLISH, target="memory")
        with a_host_that_writes_first(core, home, after):
            answer = say(core, METRIC, target="memory")
        assert (answer["status"], answer["tier"]) == ("stored", "hot")
        core.touch()
        assert home.entries() == entries
        assert {text for text, where in texts(core).items() if where == "hot"} == set(entries)
        assert nothing_is_under_way(core)


@pytest.mark.parametrize("text", [GERMAN, METRIC])
def test_a_file_that_breaks_between_decision_and_write_loses_nothing(tmp_path: Path, text: str) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        say(core, ENGLISH, target="memory")
        whole = home.memory_file.read_bytes()
        with a_host_that_writes_first(core, home, whole + b"\xff"):
            answer = say(core, text, target="memory")
        assert (answer["status"], answer["tier"], answer["before"]) == ("disputed", "cold", ENGLISH)
        assert {"file_unusable", "proposed"} <= set(reasons(answer))
        assert str(home.memory_file) in str(answer["note"])
        assert nothing_is_under_way(core)
        home.memory_file.write_bytes(whole)
        core.touch()
        assert texts(core) == {ENGLISH: "hot", text: "cold"}
        core.decide(core.review()["items"][0]["number"], "new", actor="test")
        assert home.entries() == [text]


def full_file(tmp_path: Path, text: str) -> Home:
    """A home whose memory file has no room left beside this text, with nothing longer than a quarter of it."""
    home = Home(tmp_path)
    home.options = replace(home.options, hot_limits=dict.fromkeys(TARGETS, HotLimit(chars=180)))
    home.write_memory_file(text, *(rule(number).content for number in (1, 2, 3)))
    return home


def test_a_disputed_text_without_room_in_its_file_says_both(tmp_path: Path) -> None:
    with full_file(tmp_path, FOUNDED).core() as core:
        answer = say(core, FOUNDED.replace("12", "17"), target="memory", importance=0.9)
        assert (answer["status"], answer["tier"], answer["target"]) == ("disputed", "cold", "memory")
        assert {"no_room", "disputes"} <= set(reasons(answer))


def test_a_wording_that_does_not_fit_into_the_file_waits_with_the_reason(tmp_path: Path) -> None:
    home = full_file(tmp_path, ENGLISH)
    with home.core() as core:
        answer = say(core, METRIC, target="memory")
        assert (answer["status"], answer["tier"]) == ("disputed", "cold")
        assert {"no_room", "proposed"} <= set(reasons(answer))
        assert home.entries()[0] == ENGLISH


def test_a_full_namespace_still_takes_what_makes_it_no_larger(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.options = replace(home.options, gates=replace(home.options.gates, quota=2))
    gardener = Draft(content="The gardener of the villa is Otto.")
    with home.core() as core:
        say(core, FOUNDED)
        say(core, "The printer in room 4 was bought in Leeds.")
        before = next(core.preview_many([gardener]))
        answer = core.remember(gardener, actor="test")
        assert answer["status"] == before["status"] == "refused"
        assert (
            [found["gate"] for found in answer.get("gates", [])]
            == [found["gate"] for found in before.get("gates", [])]
            == ["quota"]
        )
        assert answer.get("code") == "quota_full"
        assert "2" in before["reasons"][0]
        assert say(core, FOUNDED)["status"] == "cold_duplicate"
        assert say(core, FOUNDED_AND_FROM)["status"] == "cold_updated"
        assert say(core, CORRECTED)["status"] == "superseded"
        core.forget("The printer in room 4 was bought in Leeds.", actor="test")
        assert core.remember(gardener, actor="test")["status"] == "cold_stored"


@pytest.mark.parametrize(("old", "new"), [(ENGLISH, GERMAN), (FOUNDED, CORRECTED)])
def test_what_begins_in_the_future_leaves_the_present_alone(tmp_path: Path, old: str, new: str) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        say(core, old, target="memory")
        before = home.entries()
        answer = say(core, new, target="memory", valid_from=home.clock() + timedelta(days=10))
        assert (answer["status"], answer["tier"]) == ("superseded", "cold")
        assert home.entries() == before
        assert [found["content"] for found in core.recall(old)["results"]] == [old]
        home.clock.forward(days=11)
        assert [found["content"] for found in core.recall(old)["results"]] == [new]
        assert "disputes" in reasons(say(core, old, target="memory"))  # it holds again, and so do both
        assert {found["content"] for found in core.recall(old)["results"]} == {old, new}


def test_a_text_whose_time_is_over_takes_no_other_in(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        say(core, FOUNDED, valid_until=home.clock() + timedelta(days=1))
        home.clock.forward(days=2)
        assert say(core, FOUNDED_AND_FROM)["status"] == "cold_stored"
        assert [found["content"] for found in core.recall("who founded the café")["results"]] == [FOUNDED_AND_FROM]


def test_what_is_said_beside_a_known_text_holds_from_then_on(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        memory_id = str(say(core, FOUNDED, tags=("a",), importance=0.3)["id"])
        until = home.clock() + timedelta(days=90)
        answer = say(core, FOUNDED, tags=("b",), importance=0.61, kind="event", valid_until=until)
        assert "taken_over" in reasons(answer)
        fields = core.inspect(memory_id)["fields"]
        assert (fields["tags"], fields["importance"], fields["kind"]) == (["a", "b"], 0.61, "event")
        assert fields["valid_until"] == "2026-05-31T09:00:00Z"
        version = fields["version"]
        say(core, FOUNDED, tags=("b",), importance=0.61)
        assert core.inspect(memory_id)["fields"]["version"] == version
        core.undo(event=int(str(answer["undo"]).split()[-1]), actor="test")
        assert core.inspect(memory_id)["fields"]["importance"] == 0.3


def test_two_namespaces_on_one_database_never_meet(tmp_path: Path) -> None:
    one, other = Home(tmp_path), Home(tmp_path)
    other.options = replace(other.options, namespace="other", hot_dir=tmp_path / "other")
    with one.core() as core, other.core() as beside:
        say(core, FOUNDED)
        say(core, ENGLISH, target="memory")
        assert say(beside, CORRECTED)["status"] in {"stored", "cold_stored"}
        assert say(beside, GERMAN, target="memory")["status"] == "stored"
        assert texts(core) == {FOUNDED: "cold", ENGLISH: "hot"}


def test_no_key_is_kept_in_any_field_that_a_caller_fills(tmp_path: Path) -> None:
    home = Home(tmp_path)
    source = Source(uri=f"https://x.test/?token={KEY}", locator=KEY, sha256=KEY)
    with home.core() as core:
        for number in (1, 2):
            fields: dict[str, object] = {"ref": KEY + str(number), "session_id": f"room {KEY}", "author": KEY}
            text = f"The printer in room {number} was bought in Leeds."
            say(core, text, tags=(KEY,), source=source, scope="session", **fields)
        found = core.recall("printer room", viewer_session=f"room {KEY}", top_k=5)["results"]
        assert len(found) == 2
        assert core.recall("printer room", viewer_session="room", top_k=5)["results"] == []
        lines = list(core.export())
    assert KEY not in str(lines)
    assert files_with(tmp_path, KEY.encode()) == []


def test_a_newer_value_that_is_said_again_ends_what_came_in_between(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        for text, status in ((ENGLISH, "stored"), (GERMAN, "superseded"), (ENGLISH, "disputed")):
            assert say(core, text, target="memory")["status"] == status
        answer = say(core, GERMAN, target="memory")
        assert "supersedes" in reasons(answer)
        assert home.entries() == [GERMAN]
        assert core.review()["counts"]["disputes"] == 0
        core.undo(event=int(str(answer["undo"]).split()[-1]), actor="test")
        assert sorted(home.entries()) == [ENGLISH, GERMAN]
        say(core, GERMAN, target="memory")  # undone is undone
        assert sorted(home.entries()) == [ENGLISH, GERMAN]


def test_the_same_lines_a_second_time_leave_the_prompt_as_it_was(tmp_path: Path) -> None:
    home = Home(tmp_path)
    lines = [ENGLISH, METRIC, GERMAN, FOUNDED, FOUNDED_AND_FROM, CORRECTED, "Never use emoji."]
    drafts = [Draft(content=line, target="memory" if "answer" in line else None) for line in lines]
    with home.core() as core:
        list(core.remember_many(drafts, actor="test"))
        entries, used = home.entries(), {text: where for text, where in texts(core).items() if where != "superseded"}
        for _ in range(2):
            list(core.remember_many(drafts, actor="test"))
            assert sorted(home.entries()) == sorted(entries)
            lines_now = [line for line in core.export() if line["state"] == "active"]
            assert {str(line["content"]): str(line["tier"]) for line in lines_now} == used


def test_no_key_is_kept_of_lines_that_come_in_by_the_file(mc: CommandLine, tmp_path: Path) -> None:
    always = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
    names = ("memory_id", "origin", "trash_reason", "session_id", "author", "namespace")
    lines: list[dict[str, object]] = [
        {"content": f"The mirror job of the shop uses {KEY}.", "tags": [KEY], "id": KEY, "session_id": KEY},
        {"content": "The mirror of the lab is old.", "kind": KEY},
        {"content": "The mirror of the lab is new.", "importance": KEY},
        {
            "content": f"The lock of the shed uses {KEY}.", **always, **dict.fromkeys(names, KEY), "refs": [KEY],
            "tags": [KEY], "protected": [KEY], "source": {"uri": KEY, "sha256": KEY, "locator": KEY},
        },
        {"memory_id": "a", "content": "The lock is old.", **always, "state": KEY},
    ]  # fmt: skip
    file = tmp_path / "lines.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)) + '\n{"content": "broken ' + KEY, encoding="utf-8")
    for options in (["--dry-run"], [], ["--json"]):
        ran = mc("store", "--from", str(file), *options)
        assert KEY not in ran.out + ran.err
    assert len(mc("export").answers) == 2
    assert KEY not in mc("export").out + mc("history").out + mc("trash").out
    assert files_with(mc.home, KEY.encode()) == []


def test_a_list_with_references_that_is_read_again_changes_nothing_at_all(mc: CommandLine, tmp_path: Path) -> None:
    said = (ENGLISH, METRIC, GERMAN, FOUNDED, FOUNDED_AND_FROM, CORRECTED, "Never use emoji.")
    file = tmp_path / "notes.jsonl"
    lines = [{"id": f"note-{number}", "content": text} for number, text in enumerate(said)]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert mc("store", "--from", str(file), "--json").code == 0
    counted = {"use_count", "last_used_at", "confidence"}
    before = [{name: value for name, value in line.items() if name not in counted} for line in mc("export").answers]
    files = {path.name: path.read_bytes() for path in mc.home.rglob("*.md")}
    for options in (["--dry-run"], [], []):
        answers = mc("store", "--from", str(file), "--json", *options).answers
        assert {answer["status"] for answer in answers} <= {"duplicate", "cold_duplicate"}
        assert [answer["ref"] for answer in answers] == [line["id"] for line in lines]
        assert [{k: v for k, v in line.items() if k not in counted} for line in mc("export").answers] == before
        assert {path.name: path.read_bytes() for path in mc.home.rglob("*.md")} == files
