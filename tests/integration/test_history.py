"""The history says what happened, why, and how to take it back."""

from pathlib import Path
from typing import Any

import pytest

from memorycore import messages
from memorycore.domain.memory import Draft
from memorycore.errors import InvalidInput, NotFound
from tests.homes import Home, fact, rule

OLD = Draft(content="The public API listens on port 8443.")
NEW = Draft(content="The public API now listens on port 9443.")
ACTIONS = (
    "added", "confirmed", "confirmed_said", "revised", "superseded", "disputed", "excepted", "proposed", "trashed",
    "restored", "held_back", "undone", "moved_hot", "moved_cold",
)  # fmt: skip


def test_it_tells_what_and_why_and_the_way_back(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        old, new = (core.remember(draft, actor="test").get("id", "") for draft in (OLD, NEW))
        line: Any = core.history(limit=1)["events"][0]
        assert (line["action"], line["id"], line["automatic"], line["can_undo"]) == ("superseded", old, True, True)
        assert (line["what"], line["before"], line["after"]) == (
            "A newer text took its place", OLD.content, NEW.content,
        )  # fmt: skip
        assert any("8443" in why and "9443" in why for why in line["why"])
        assert line["undo"] == f"memorycore undo {line['event']}"
        core.undo(actor="test", event=line["event"])
        undone, superseded = core.history(memory_id=old)["events"][:2]
        assert (undone["action"], superseded.get("undone_by")) == ("undone", undone["event"])
        assert not superseded["can_undo"]
        assert [one["action"] for one in core.history(automatic_only=True)["events"]] == ["superseded"]
        assert {one["id"] for one in core.history(memory_id=new)["events"]} == {new}


def test_a_line_shows_the_wording_of_its_time(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        memory_id = core.remember(fact(1), actor="test").get("id", "")
        core.update(memory_id, content=fact(2).content, actor="test")
        revised, added = core.history()["events"]
        assert (revised.get("before"), revised.get("after")) == (fact(1).content, fact(2).content)
        assert added.get("text") == fact(1).content


def test_it_begins_at_a_moment_and_ends_at_a_limit(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        core.remember(fact(1), actor="test")
        home.clock.forward(hours=1)
        core.remember(fact(2), actor="test")
        assert [line.get("text") for line in core.history(since=home.clock())["events"]] == [fact(2).content]
        assert len(core.history(limit=1)["events"]) == 1
        for limit in (0, 1001):
            with pytest.raises(InvalidInput):
                core.history(limit=limit)
        with pytest.raises(NotFound):
            core.history(memory_id="nobody")


def test_what_somebody_did_in_the_file_is_in_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        core.remember(rule(1), actor="test")
        home.write_memory_file(rule(2).content, "A note of the host about harbour pilots.")
        found = {line["what"] for line in core.history()["events"]}
    assert {"Reworded in MEMORY.md", "Written into MEMORY.md by somebody else"} <= found


def test_a_long_text_is_shortened(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        core.remember(Draft(content="The hall was painted " + "again and " * 50 + "then sold."), actor="test")
        text = core.history()["events"][0].get("text", "")
        assert (len(text), text[-1]) == (160, "…")


@pytest.mark.parametrize("action", ACTIONS)
def test_every_event_has_a_sentence_in_both_languages(action: str) -> None:
    assert all(messages.has(f"history.{action}", language) for language in messages.LANGUAGES)
