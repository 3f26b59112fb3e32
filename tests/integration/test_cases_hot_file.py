"""What went wrong with memory files elsewhere, tried on ours: outside edits, line ends, rights, the entry meant."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from memorycore import messages
from memorycore.domain.memory import TARGETS, Draft
from memorycore.errors import Conflict, NotFound, Unwritable
from memorycore.hot.document import size
from memorycore.options import BudgetOptions, CoreOptions, HotLimit, thresholds_of
from tests.command_line import CommandLine
from tests.homes import Home, fact, rule

posix_only = pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
NOTES = "".join(f"## Part {number}\n- the {number}th thing that an editor wrote down\n" for number in range(120))


def roomy(home: Home, chars: int = 20_000) -> CoreOptions:
    return replace(
        home.options,
        hot_limits=dict.fromkeys(TARGETS, HotLimit(chars=chars)),
        thresholds=dict.fromkeys(TARGETS, thresholds_of(chars)),
    )


def append(path: Path, text: str) -> None:
    with path.open("ab") as file:
        file.write(text.encode("utf-8"))


@pytest.mark.parametrize("between", ["\n", "\n\n", "\n§\n"])
def test_what_an_editor_appended_survives_an_update_of_the_entry_before_it(tmp_path: Path, between: str) -> None:
    home = Home(tmp_path)
    home.options = roomy(home)
    with home.core() as core:
        known = core.remember(rule(1), actor="test").get("id", "")
        append(home.memory_file, between + NOTES)  # IL-004
        before = home.memory_file.read_bytes()
        core.update(known, content="Always run check number 1 twice.", actor="test")
    text = home.memory_file.read_text(encoding="utf-8")
    assert text == "Always run check number 1 twice." + between + NOTES.strip()
    assert before in [kept.read_bytes() for kept in (home.options.data_dir / "snapshots").rglob("MEMORY.md.*")]


def test_an_entry_that_was_reworded_outside_is_not_overwritten_unseen(tmp_path: Path) -> None:  # IL-004
    home = Home(tmp_path)
    with home.core() as core:
        known = core.remember(rule(1), actor="test").get("id", "")
        home.write_memory_file("Always run check number 1 before each and every release.")
        with pytest.raises(Conflict):
            core.update(known, content="Always run check number 1 twice.", actor="test")
        append(home.memory_file, "\n" + NOTES[:80])
        with pytest.raises(Conflict):
            core.forget(known, actor="test")
        assert NOTES[:80].strip() in home.entries()[0]
        assert core.update(known, content="Always run it twice.", actor="test")["status"] == "updated"
        assert home.entries() == ["Always run it twice."]


def test_lines_added_to_an_entry_or_taken_from_it_leave_it_the_same_memory(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        known = core.remember(rule(1), actor="test").get("id", "")
        for text in (rule(1).content + "\n" + NOTES[:900], rule(1).content):
            home.write_memory_file(text)
            assert core.inspect(known)["content"] == text.strip()
        assert core.trash()["items"] == []


def test_an_add_follows_an_edit_by_hand_of_any_size(tmp_path: Path) -> None:  # IL-005
    home = Home(tmp_path)
    home.options = roomy(home)
    with home.core() as core:
        core.remember(rule(1), actor="test")
        home.write_memory_file(*(f"Note {number} of the host: {'harbour ' * 20}".strip() for number in range(45)))
        assert home.memory_file.stat().st_size > 8_000
        assert core.remember(rule(2), actor="test")["status"] == "stored"
        assert (len(home.entries()), home.entries()[-1]) == (46, rule(2).content)


def test_a_mark_before_the_first_entry_is_nobodys_text(tmp_path: Path) -> None:  # IL-019
    home = Home(tmp_path)
    home.write_memory_file("\ufeffDeploy host is alpha.", "Deploy port is 22.")
    with home.core() as core:
        assert core.recall("deploy host")["results"][0]["content"] == "Deploy host is alpha."
        assert core.forget("Deploy host is alpha.", actor="test")["status"] == "trashed"
        assert home.memory_file.read_bytes() == b"Deploy port is 22."


def test_crlf_everywhere_makes_no_entry_less(tmp_path: Path) -> None:  # IL-021
    home = Home(tmp_path)
    texts = [f"Rule {number}: always greet.\nIn two lines." for number in range(5)]
    home.options.hot_dir.mkdir()
    home.memory_file.write_bytes("\n§\n".join(texts).replace("\n", "\r\n").encode("utf-8"))
    with home.core() as core:
        rows = core.audit("memory")["targets"][0]["rows"]
        assert [row["text"] for row in rows] == texts
        core.update(rows[1]["id"] or "", content="Rule 1 is another one now.", actor="test")
        assert home.entries() == [texts[0], "Rule 1 is another one now.", *texts[2:]]


def test_a_file_that_cannot_be_read_for_a_moment_loses_nothing(tmp_path: Path) -> None:  # IL-017
    home = Home(tmp_path)
    with home.core() as core:
        core.remember(rule(1), actor="test")
        aside = home.memory_file.rename(home.root / "aside")
        home.memory_file.mkdir()  # to root too it is unreadable
        answer = core.remember(rule(2), actor="test")
        assert (answer["status"], "MEMORY.md" in answer.get("note", "")) == ("cold_stored_fallback", True)
        assert core.status()["level"] == "needs_you"
        home.memory_file.rmdir()
        aside.rename(home.memory_file)
        assert home.entries() == [rule(1).content]
        assert core.remember(rule(3), actor="test")["status"] == "stored"
        assert {hit["content"] for hit in core.recall("check number")["results"]} == {
            rule(number).content for number in (1, 2, 3)
        }


@posix_only
def test_a_read_only_file_is_one_sentence_and_the_rest_goes_on(tmp_path: Path) -> None:  # IL-025
    home = Home(tmp_path)
    with home.core() as core:
        tea = core.remember(Draft(content="I prefer green tea.", target="user"), actor="test").get("id", "")
        home.user_file.chmod(0o444)
        with pytest.raises(Unwritable) as refused:
            core.update(tea, content="I prefer white tea.", actor="test")
        sentence = messages.error_text(refused.value, "en")
        assert all(part in sentence for part in (str(home.user_file), "0444", "Check permissions"))
        assert core.recall("green tea")["results"][0]["id"] == tea
        bread = core.remember(Draft(content="I prefer black bread.", target="user"), actor="test")
        assert bread["status"] == "cold_stored_fallback"
        assert bread["reasons"][0].startswith("file_unusable:")
        assert any(str(home.user_file) in problem for problem in core.status()["problems"])
        home.user_file.chmod(0o600)
        assert core.update(tea, content="I prefer white tea.", actor="test")["status"] == "updated"


def test_an_update_replaces_the_whole_entry_and_shows_what_was_there(tmp_path: Path) -> None:  # IL-029
    text = "Tone: short.\nFormat: always lists.\nTitle: never."
    with Home(tmp_path).core() as core:
        kept = core.remember(Draft(content=text, target="memory", importance=0.9), actor="test").get("id", "")
        answer = core.update(kept, content="Format: always tables.", actor="test")
        assert (answer.get("before"), answer.get("after")) == (text, "Format: always tables.")
        earlier = str(core.inspect(kept)["revisions"][0]["content"])
        assert core.update(kept, content=earlier, actor="test").get("after") == text


STORED = "Always keep the “change log” — it’s what Jo reads first…"
TYPED = 'always keep the "change log" - it\'s what Jo reads first...'


def test_a_text_typed_on_another_keyboard_means_the_one_entry_that_it_fits(tmp_path: Path) -> None:  # IL-030
    home = Home(tmp_path)
    with home.core() as core:
        kept = core.remember(Draft(content=STORED, target="memory"), actor="test").get("id", "")
        assert core.update(TYPED, importance=0.8, actor="test").get("id") == kept
        assert core.forget(TYPED, actor="test").get("id") == kept
        assert home.entries() == []


def test_a_text_that_fits_two_entries_or_none_changes_neither_and_names_them(tmp_path: Path) -> None:  # IL-030
    home = Home(tmp_path)
    home.write_memory_file(STORED, STORED.replace("—", "–"))
    with home.core() as core:
        ids = {row["id"] for row in core.audit("memory")["targets"][0]["rows"]}
        for answer in (core.forget(TYPED, actor="test"), core.update(TYPED, content="New.", actor="test")):
            assert answer["status"] == "candidates"
            assert {found["id"] for found in answer.get("candidates", [])} == ids
        part = core.update("change log", content="New.", actor="test")
        assert {found["id"] for found in part.get("candidates", [])} == ids
        with pytest.raises(NotFound):
            core.update("zeppelin", content="New.", actor="test")
        assert core.forget(STORED, actor="test")["status"] == "trashed"  # letter by letter it is one of them
        assert home.entries() == [STORED.replace("—", "–")]


def test_every_reader_sees_what_another_client_wrote_and_when(tmp_path: Path) -> None:  # IL-040
    home = Home(tmp_path)
    with home.core(long_lived=True) as mine, home.core(long_lived=True) as theirs:
        coffee = mine.remember(Draft(content="I prefer coffee at nine.", target="user"), actor="mine").get("id", "")
        assert "version" not in mine.recall("coffee")["results"][0]
        home.clock.forward(hours=1)
        answer = theirs.update(coffee, content="I prefer coffee at ten.", actor="theirs")
        assert (answer.get("after"), answer.get("target")) == ("I prefer coffee at ten.", "user")
        assert answer.get("usage") == "23/5000"
        found = mine.recall("coffee")["results"][0]
        assert (found["content"], found.get("version")) == ("I prefer coffee at ten.", 2)
        assert found.get("updated_at") == "2026-03-02T10:00:00Z"
        assert mine.audit("user")["targets"][0]["rows"][0]["text"] == "I prefer coffee at ten."


def test_a_note_of_headings_is_read_and_named_with_the_way_to_make_entries_of_it(tmp_path: Path) -> None:  # IL-006
    home = Home(tmp_path)
    home.options = roomy(home, 2_200)
    home.write_memory_file(NOTES[:3_000])
    with home.core() as core:
        assert "the 9th thing" in core.recall("9th thing that an editor wrote")["results"][0]["content"]
        assert core.remember(fact(1), actor="test")["status"] == "cold_stored"
        status = core.status()
    assert status["level"] == "degraded"
    assert any("MEMORY.md" in problem and "§" in problem for problem in status["problems"])


def test_a_list_that_we_wrote_as_one_entry_is_no_note_of_headings(tmp_path: Path) -> None:  # IL-006
    home = Home(tmp_path)
    with home.core() as core:
        core.remember(Draft(content="Always greet so:\n- hello\n- how do you do\n- bye", target="memory"), actor="test")
        assert len(home.entries()) == 1
        assert core.status()["problems"] == []


def filled(home: Home, chars: int) -> list[str]:
    """A host filled the file with rules of some 100 code points, so many in all."""
    texts = [f"Always lock the gate of yard number {number} before you leave.".ljust(97, "!") for number in range(60)]
    kept: list[str] = []
    while size([*kept, texts[0]]) <= chars:
        kept.append(texts.pop(0))
    home.write_memory_file(*kept)
    return kept


def test_a_long_text_for_a_full_file_is_one_answer_with_what_left_for_it(tmp_path: Path) -> None:  # IL-033
    home = Home(tmp_path)
    home.options = roomy(home, 2_200)
    known = filled(home, 2_150)
    with home.core() as core:
        text = "Always paint the door of the shed green, and " + "write down when, and " * 17 + "tell Ana."
        answer = core.remember(Draft(content=text, target="memory"), actor="test")
        assert (answer["status"], answer["tier"], text in home.entries()) == ("stored", "hot", True)
        assert size(home.entries()) <= home.options.thresholds["memory"].hard
        gone = {row["content"]: row["memory_id"] for row in core.export() if row["tier"] != "hot"}
        assert 0 < len(gone) < len(known)
        assert answer.get("made_room", {}).get("count") == len(gone)
        told = {
            line["id"] for line in core.history(limit=100)["events"] if line["action"] == "moved" and line["automatic"]
        }
        assert told == set(gone.values())


def test_five_texts_for_a_full_file_show_in_the_status_as_what_left(tmp_path: Path) -> None:  # IL-034
    home = Home(tmp_path)
    home.options = roomy(home, 2_200)
    known = filled(home, 1_970)
    with home.core() as core:
        answers = [core.remember(rule(number), actor="test") for number in range(5)]
        assert [answer["status"] for answer in answers] == ["stored"] * 5
        left = [text for text in known if text not in home.entries()]
        assert core.status()["moves"]["left"] == len(left) > 0
        assert sum(answer.get("made_room", {}).get("count", 0) for answer in answers) == len(left)


def test_an_entry_of_a_file_above_its_limit_may_become_shorter(tmp_path: Path) -> None:  # IL-035
    home = Home(tmp_path)
    home.options = roomy(home, 1_800)
    known = filled(home, 2_137)
    with home.core() as core:
        core.touch()
        answer = core.update(known[0], content="Always lock the gate of yard number 0.", actor="test")
        assert answer.get("usage") == f"{size(home.entries())}/1800"
        assert home.entries() == ["Always lock the gate of yard number 0.", *known[1:]]
        assert core.usage()["hot"][0]["chars"] > 1_800


@pytest.mark.parametrize("enabled", [True, False])
def test_the_same_text_four_times_for_a_full_file_is_stored_once(tmp_path: Path, enabled: bool) -> None:  # noqa: FBT001 IL-036
    home = Home(tmp_path)
    home.options = replace(roomy(home, 1_000), budget=BudgetOptions(enabled=enabled))
    filled(home, 1_000)
    with home.core() as core:
        first, *again = [core.remember(rule(1), actor="test") for _ in range(4)]
        assert first["status"] == ("stored" if enabled else "cold_stored_fallback")
        assert {answer["status"] for answer in again} == {"duplicate" if enabled else "cold_duplicate"}
        assert {answer.get("id") for answer in again} == {first.get("id")}
        moved = [line for line in core.history(limit=100)["events"] if line["automatic"] and line["action"] == "moved"]
        assert len(moved) == first.get("made_room", {}).get("count", 0)


def test_what_found_no_room_is_counted_where_people_look(tmp_path: Path) -> None:  # IL-034
    home = Home(tmp_path)
    home.options = replace(roomy(home, 200), budget=BudgetOptions(enabled=False))  # nothing makes room
    with home.core() as core:
        answers = [core.remember(rule(number), actor="test") for number in range(9)]
        assert [answer["status"] for answer in answers[4:]] == ["cold_stored_fallback"] * 5
        assert core.usage()["hot"][0]["waiting"] == 5
        status = core.status()
        assert any("5" in problem and "MEMORY.md" in problem for problem in status["problems"])
        for answer in answers[4:]:
            core.forget(answer.get("id", ""), actor="test")
        assert core.usage()["hot"][0]["waiting"] == 0
        assert core.status()["problems"] == []


def test_the_doctor_names_them_too_with_what_to_do(mc: CommandLine) -> None:  # IL-006, IL-025, IL-034
    small = {"MEMORYCORE_CHAR_LIMIT_MEMORY": "200", "MEMORYCORE_RULE_BUDGET_ENABLED": "0"}
    for number in range(9):
        mc("store", rule(number).content, "--target", "memory", **small)
    mc.write_hot("USER.md", NOTES[:3_000].encode("utf-8")).chmod(0o400)
    found = {check["code"]: check for check in mc("doctor", "--json").answer["checks"]}
    assert found["held_back"]["facts"]["count"] == 5
    assert str(mc.hot / "USER.md") in found["file_headings"]["message"]
    assert found["file_read_only"]["level"] == "fail"
    assert "§" in found["file_headings"]["fix"]
    assert "chmod" in found["file_read_only"]["fix"]
    assert found["held_back"]["fix"]
