"""What hardly ever happens, and must cost nothing when it does: odd clocks, moved homes, two hands on one memory."""

import itertools
import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft, Memory
from memorycore.domain.text import entry_hash
from memorycore.errors import Conflict, InvalidInput, MemoryCoreError
from memorycore.govern.reconcile import compare
from memorycore.server.desk import Desk
from memorycore.transfer import from_line
from tests.homes import START, Home, fact, rule


def test_the_first_and_the_last_moment_of_time_can_be_remembered(tmp_path: Path) -> None:
    last = datetime.max.replace(tzinfo=UTC)
    first = datetime.min.replace(tzinfo=UTC)
    with Home(tmp_path).core() as core:
        kept = core.remember(Draft(content="The vault stays shut.", valid_from=first, valid_until=last), actor="test")
        fields = core.inspect(kept.get("id", ""))["fields"]
        assert (fields["valid_from"], fields["valid_until"]) == ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z")
        assert [line["content"] for line in core.export()] == ["The vault stays shut."]


def test_a_clock_that_went_back_leaves_no_vector_waiting(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.clock.forward(days=400)
    with home.core() as core:
        core.remember(fact(1), actor="test")
    home.clock.forward(days=-399)
    with home.core(vectors=True) as core:
        core.embedding.wait_ready(5)
        assert core.fill_vectors().made == 1


def test_a_home_that_changes_its_namespace_is_known_there_too(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        core.remember(rule(1), actor="test")
    home.options = replace(home.options, namespace="other")
    with home.core() as core:
        home.write_memory_file(rule(1).content, rule(2).content)
        assert core.recall("check number 1")["results"][0]["content"] == rule(1).content
        assert [bool(row["id"]) for row in core.audit("memory")["targets"][0]["rows"]] == [True, True]


def test_a_lost_sidecar_is_written_again_with_all_its_entries(tmp_path: Path) -> None:
    home = Home(tmp_path)
    sidecar = home.options.hot_dir / "MEMORY.meta.json"
    with home.core() as core:
        for number in (1, 2):
            core.remember(rule(number), actor="test")
        whole = sidecar.read_bytes()
        for lost in (None, b"", b"{", b'{"version": 2, "entries": []}', whole[:-40]):
            sidecar.unlink() if lost is None else sidecar.write_bytes(lost)
            core.touch()
            assert sidecar.read_bytes() == whole


def test_rows_come_back_from_file_and_sidecar_as_they_were(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        told = Draft(content="Never deploy on a Friday.", kind="procedure", policy="core", importance=0.9)
        core.remember(told, actor="test")
        before = list(core.export())
    shutil.rmtree(home.options.data_dir)
    with home.core() as core:
        assert list(core.export()) == before


def test_what_the_predecessor_noted_beside_an_entry_is_kept(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write_memory_file("Always use tabs.")
    noted = {"type": "state", "written_at": "2025-01-01T00:00:00Z", "weight": 2.5, "session_id": "s9", "odd": {"a": 1}}
    sidecar = home.options.hot_dir / "MEMORY.meta.json"
    sidecar.write_text(json.dumps({entry_hash("Always use tabs."): noted}), encoding="utf-8")
    with home.core() as core:
        (row,) = core.audit("memory")["targets"][0]["rows"]
        assert (row["type"], row["weight"]) == ("state", 2.5)
        known = row["id"] or ""
        core.update(known, content="Always use two tabs.", actor="test")
    meta = json.loads(sidecar.read_text(encoding="utf-8"))["entries"][entry_hash("Always use two tabs.")]
    assert {name: meta[name] for name in noted} == noted
    assert meta["id"] == known


def test_an_entry_that_a_host_moves_to_the_other_file_belongs_there(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        moved = core.remember(rule(1), actor="test").get("id", "")
        core.remember(rule(2), actor="test")
        home.write_memory_file(rule(2).content)
        home.user_file.write_text(rule(1).content, encoding="utf-8")
        assert core.update(moved, content="Always run check number 1 twice.", actor="test")["status"] == "updated"
        assert home.user_file.read_text(encoding="utf-8") == "Always run check number 1 twice."


def test_a_host_that_writes_a_cold_text_into_the_file_makes_no_second_memory_of_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write_memory_file("The printer in room 2 was bought in Leeds.", "Tea at four.")
    with home.core() as core:
        cold = core.remember(fact(1), actor="test").get("id", "")
        home.write_memory_file(fact(1).content.rstrip("."), "Tea at four.")
        core.touch()
        alive = {line["content"]: line["memory_id"] for line in core.export() if line["state"] == "active"}
    assert alive.pop(fact(1).content.rstrip(".")) == cold
    assert list(alive) == ["Tea at four."]


def test_a_large_file_that_becomes_another_one_is_taken_as_it_is(tmp_path: Path) -> None:
    started = time.monotonic()
    known = Memory(id="", namespace="default", content="", norm_hash="", created_at=START, updated_at=START)
    old = [replace(known, content=f"Host {number} has port {number * 7}.") for number in range(3_000)]
    changes = compare([f"Record {number} owns address {number * 3}." for number in range(3_000)], old, [])
    assert (len(changes.added), len(changes.removed), changes.edited) == (3_000, 3_000, ())
    assert time.monotonic() - started < 2


HOSTILE: list[Any] = [
    5,
    -5,
    1e400,
    float("nan"),
    10**30,
    True,
    "x",
    "",
    [],
    [1, {}],
    {},
    {"a": 1},
    "\ud800",
    "9999-12-31T23:59:59",
]


def test_an_exported_line_with_odd_values_is_refused_or_kept_but_breaks_nothing(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        core.remember(fact(1), actor="test")
        (line,) = core.export()
        names = {
            *line,
            "tags",
            "refs",
            "protected",
            "source",
            "trashed_at",
            "pinned",
            "use_count",
            "trash_reason",
            "id",
        }
        for number, (name, value) in enumerate(itertools.product(sorted(names), HOSTILE)):
            odd: dict[str, Any] = {
                **line,
                "memory_id": f"odd-{number}",
                "content": f"Odd line {number}.",
                name: value,
            }
            with suppress(InvalidInput):
                list(core.remember_many([from_line(odd)], actor="test"))
        for kept in core.export():
            assert 0 <= cast("float", kept["confidence"]) <= 1
            assert cast("int", kept.get("use_count", 0)) >= 0
        assert core.recall("odd line", top_k=100)["results"]
        assert core.status()["memories"]


def test_a_memory_of_one_session_is_never_imported_into_the_file(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        core.remember(rule(1), actor="test")
        (line,) = core.export()
        odd = {**line, "memory_id": "other", "content": "Only for now.", "scope": "session", "session_id": "s"}
        (answer,) = core.remember_many([from_line(odd)], actor="test")
    assert answer["tier"] == "cold"
    assert home.entries() == [rule(1).content]


def test_what_comes_from_a_clock_that_runs_ahead_is_dated_now(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        core.forget(core.remember(fact(1), actor="test").get("id", ""), actor="test")
        (line,) = core.export()
        ahead = {
            **line,
            "memory_id": "ahead",
            "content": "Late.",
            "trashed_at": "2999-01-01",
            "created_at": "2999-01-01",
        }
        list(core.remember_many([from_line(ahead)], actor="test"))
        (late,) = (item for item in core.trash()["items"] if item["id"] == "ahead")
    assert late["until"].startswith("2026-04-01")


def all_at_once(home: Home, *changes: Callable[[MemoryCore], object]) -> list[object]:
    """Each change in a thread and a core of its own, begun together; its answer, or the refusal that it got."""
    start = threading.Barrier(len(changes))

    def run(change: Callable[[MemoryCore], object]) -> object:
        with home.core() as core:
            start.wait()
            try:
                return change(core)
            except MemoryCoreError as refusal:
                return refusal

    with ThreadPoolExecutor(len(changes)) as pool:
        return list(pool.map(run, changes))


@pytest.mark.parametrize("draft", [rule(1), fact(1)], ids=["hot", "cold"])
def test_no_wording_is_lost_when_two_change_one_memory_at_once(tmp_path: Path, draft: Draft) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        known = core.remember(draft, actor="test").get("id", "")

    def reword(name: str) -> Callable[[MemoryCore], list[str]]:
        def each(core: MemoryCore) -> list[str]:
            done: list[str] = []
            for number in range(12):
                text = f"Always let {name} check {number}."
                with suppress(Conflict):  # somebody else's wording came in between, and this one was not taken
                    core.update(known, content=text, actor=name)
                    done.append(text)
            return done

        return each

    taken = [text for texts in all_at_once(home, reword("Ann"), reword("Bob")) for text in cast("list[str]", texts)]
    with home.core() as core:
        story = core.inspect(known)
    told = [str(revision["content"]) for revision in story["revisions"]] + [story["content"]]
    assert sorted(told) == sorted([draft.content, *taken])


@pytest.mark.parametrize("draft", [rule(1), fact(1)], ids=["hot", "cold"])
def test_a_memory_that_is_changed_while_it_is_forgotten_ends_in_one_of_both_states(
    tmp_path: Path, draft: Draft
) -> None:
    home = Home(tmp_path)
    for round_ in range(6):
        with home.core() as core:
            known = core.remember(replace(draft, content=f"{draft.content} Round {round_}."), actor="test").get(
                "id", ""
            )
        answers = all_at_once(
            home,
            partial(MemoryCore.forget, id_or_query=known, actor="a"),
            partial(MemoryCore.update, memory_id=known, content=f"Always {known}.", actor="b"),
            partial(MemoryCore.update, memory_id=known, importance=0.9, actor="c"),
        )
        with home.core() as core:
            story = core.inspect(known)
            assert (story["state"] == "trashed") == (not isinstance(answers[0], Conflict))
            assert (story["content"] in home.entries()) == (story["tier"] == "hot")
            if story["state"] == "active":
                core.forget(known, actor="test")
            assert core.restore(known, actor="test")["status"] == "restored"
            core.forget(known, actor="test")


def test_restored_twice_at_once_it_is_there_once(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        known = core.remember(rule(1), actor="test").get("id", "")
        core.forget(known, actor="test")
    all_at_once(home, *[partial(MemoryCore.restore, memory_id=known, actor="test")] * 3)
    assert home.entries() == [rule(1).content]
    with home.core() as core:
        assert [line["memory_id"] for line in core.export()] == [known]


def test_two_memories_and_a_new_one_that_come_to_say_the_same_stay_one_entry(tmp_path: Path) -> None:
    home = Home(tmp_path)
    same = "Always run the same check."
    for round_ in range(4):
        with home.core() as core:
            one, two = (core.remember(rule(10 * round_ + n), actor="test").get("id", "") for n in (1, 2))
        all_at_once(
            home,
            partial(MemoryCore.update, memory_id=one, content=same, actor="a"),
            partial(MemoryCore.update, memory_id=two, content=same, actor="b"),
            partial(MemoryCore.remember, draft=Draft(content=same, target="memory"), actor="c"),
        )
        with home.core() as core:
            assert home.entries().count(same) == 1
            (only,) = [line for line in core.export() if line["content"] == same and line["state"] == "active"]
            core.forget(str(only["memory_id"]), actor="test")


def test_a_memory_is_restored_though_its_file_cannot_be_used(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        known = core.remember(rule(1), actor="test").get("id", "")
        core.forget(known, actor="test")
        home.memory_file.write_bytes(b"\xff")
        assert core.restore(known, actor="test").get("tier") == "cold"
        home.memory_file.write_bytes(b"")
        assert core.restore(known, actor="test").get("tier") == "hot"


def test_rows_of_an_old_backup_find_their_entries_again(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        one, two = (core.remember(rule(number), actor="test").get("id", "") for number in (1, 2))
        core.db.backup(tmp_path / "backup.db")
        three = core.remember(rule(3), actor="test").get("id", "")
        core.update(one, content="Totally other words stand here now.", actor="test")
        core.forget(two, actor="test")
    for file in home.options.data_dir.glob("memorycore.db*"):
        file.unlink()
    shutil.copy(tmp_path / "backup.db", home.options.data_dir / "memorycore.db")
    with home.core() as core:
        alive = {line["content"]: line["memory_id"] for line in core.export() if line["state"] == "active"}
    assert alive == {"Totally other words stand here now.": one, rule(3).content: three}


def test_files_of_an_old_copy_bring_their_own_wordings_back(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        one, two = (core.remember(rule(number), actor="test").get("id", "") for number in (1, 2))
        copy = home.memory_file.read_bytes()
        core.remember(rule(3), actor="test")
        core.update(one, content="Totally other words stand here now.", actor="test")
        home.memory_file.write_bytes(copy)
        (home.options.hot_dir / "MEMORY.meta.json").unlink()
        alive = {line["content"]: line["memory_id"] for line in core.export() if line["state"] == "active"}
    assert alive == {rule(1).content: one, rule(2).content: two}


def test_a_folder_that_is_gone_takes_no_memory_with_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        known = core.remember(rule(1), actor="test").get("id", "")
        home.options.hot_dir.rename(tmp_path / "elsewhere")
        assert [found["tier"] for found in core.recall("check number 1")["results"]] == ["cold"]
        (tmp_path / "elsewhere").rename(home.options.hot_dir)
        assert [row["id"] for row in core.audit("memory")["targets"][0]["rows"]] == [known]


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be removed there")
def test_a_server_whose_database_was_replaced_goes_on_with_the_new_one(tmp_path: Path) -> None:
    home = Home(tmp_path)
    desk = Desk(lambda: MemoryCore(home.options, long_lived=False), language="en")
    with desk.core() as core:
        core.remember(fact(1), actor="test")
    for file in home.options.data_dir.glob("memorycore.db*"):
        file.unlink()
    with desk.core() as core:
        core.remember(fact(2), actor="test")
    desk.close(grace_s=1)
    with home.core() as core:
        assert [line["content"] for line in core.export()] == [fact(2).content]


def test_a_sidecar_that_is_behind_does_not_speak_for_the_row(tmp_path: Path) -> None:
    home = Home(tmp_path)
    sidecar = home.options.hot_dir / "MEMORY.meta.json"
    with home.core() as core:
        known = core.remember(rule(1), actor="test").get("id", "")
        behind = sidecar.read_bytes()
        core.update(known, pinned=True, importance=0.9, actor="test")
        (told,) = core.audit("memory")["targets"][0]["rows"]
        assert json.loads(sidecar.read_bytes())["entries"][told["sha256"]]["pinned"]
        sidecar.write_bytes(behind)
        assert core.audit("memory")["targets"][0]["rows"] == [told]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_status_names_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        core.remember(rule(1), actor="test")
        home.options.hot_dir.chmod(0o500)
        assert str(home.options.hot_dir) in core.status()["problems"][0]
        home.options.hot_dir.chmod(0o700)
        assert core.status()["problems"] == []


def test_fields_of_a_very_long_entry_of_a_host_can_be_changed(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write_memory_file("ab" * 40_000)
    with home.core() as core:
        known = core.audit("memory")["targets"][0]["rows"][0]["id"] or ""
        assert core.update(known, pinned=True, actor="test")["status"] == "updated"
        assert core.forget(known, actor="test")["status"] == "trashed"
        assert core.restore(known, actor="test").get("tier") == "cold"  # longer than the file may become
