"""The whole story of one memory: how it stands to others, what happened to it, who wanted it gone, the way back."""

from pathlib import Path

import pytest
from rich.cells import cell_len

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from tests.command_line import CommandLine
from tests.homes import Home

OLD = "The staging database listens on port 5432."
NEW = "The staging database now listens on port 6432."
OTHER = "The staging database listens on port 7432."


def say(core: MemoryCore, text: str) -> str:
    return core.remember(Draft(content=text, importance=0.5), actor="ines").get("id", "")


def test_both_ends_of_a_succession_tell_of_each_other_and_why(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        old, new = say(core, OLD), say(core, NEW)
        (before,), (after,) = core.inspect(old)["links"], core.inspect(new)["links"]
    assert (before["relation"], before["side"], before["content"]) == ("supersedes", "older", NEW)
    assert (after["relation"], after["side"], after["content"], after["state"]) == (
        "supersedes",
        "newer",
        OLD,
        "superseded",
    )
    assert before["what"] == "Its place was taken by"
    assert any("5432 and 6432" in why for why in after.get("why", []))


def test_every_event_has_a_sentence_a_number_and_a_way_back(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        old = say(core, OLD)
        say(core, NEW)
        events = core.inspect(old)["events"]
    assert all(item["what"] and item["event"] for item in events)
    assert (events[0]["what"], events[0]["automatic"]) == ("Stored", False)
    last = events[-1]
    assert (last["what"], last["automatic"]) == ("A newer text took its place", True)
    assert last["undo"] == f"memorycore undo {last['event']}"
    assert (last["before"], last["after"]) == (OLD, NEW)


def test_an_open_contradiction_is_told_from_both_sides(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        first, second = say(core, OLD), say(core, OTHER)
        assert [(link["status"], link["id"]) for link in core.inspect(first)["links"]] == [("open", second)]
        assert [(link["status"], link["id"]) for link in core.inspect(second)["links"]] == [("open", first)]


def test_a_forgotten_text_is_linked_to_nothing_until_it_is_restored_and_never_once_it_is_purged(
    tmp_path: Path,
) -> None:  # IL-064
    home = Home(tmp_path)
    with home.core() as core:
        first, second = say(core, OLD), say(core, OTHER)
        core.forget(second, actor="ines")
        assert core.inspect(first)["links"] == []
        core.restore(second, actor="ines")
        assert [link["id"] for link in core.inspect(first)["links"]] == [second]
        core.forget(second, actor="ines")
        home.clock.forward(days=31)
        core.maintain(["purge"])
        assert core.maintain(["integrity"])["steps"][0]["dead_edges"] == 0
        with core.db.read() as c:
            assert c.execute("SELECT count(*) FROM edge").get == 0


def test_who_wanted_it_gone_is_told_and_how_it_comes_back(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        memory_id = say(core, OLD)
        core.forget(memory_id, actor="ines")
        story = core.inspect(memory_id)
    assert story.get("wanted_gone") == {"by": "ines", "at": "2026-03-02T09:00:00Z", "reason": "user"}
    assert f"memorycore restore {memory_id}" in story.get("note", "")


def test_what_went_to_the_bin_by_itself_was_wanted_gone_by_nobody(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        story = core.inspect(core.remember(Draft(content="Wiki migration done."), actor="ines").get("id", ""))
    assert "wanted_gone" not in story
    assert "A question that means it brings it back" in story.get("note", "")


@pytest.mark.parametrize(("language", "words"), [("en", "Its place was taken by"), ("zh", "已被取代，新的是")])
def test_the_command_tells_it_in_lines_that_fit(mc: CommandLine, language: str, words: str) -> None:
    mc("store", "The kiln stands in the cellar", "--json")
    stored = mc("store", "Since May the kiln stands in the yard behind the old house of Ines", "--json").answer
    found = mc("recall", "kiln", "--include", "superseded", "--json").answer["results"]
    ended = next(item for item in found if item.get("state") == "superseded")
    shown = mc("inspect", ended["id"], MEMORYCORE_LANG=language, COLUMNS="80").out
    assert stored["id"] in shown
    assert words in shown
    assert "memorycore undo" in shown
    assert max(cell_len(line.rstrip()) for line in shown.splitlines()) <= 80
