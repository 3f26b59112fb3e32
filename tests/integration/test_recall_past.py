"""Looking back: what held at a time, in the wording of that time, and what has been superseded since."""

import json
from collections.abc import Generator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memorycore import answers
from memorycore.core import MemoryCore, RecallFilters
from memorycore.domain.memory import Draft
from memorycore.server.boundary import answer_tool
from memorycore.server.caller import caller
from memorycore.server.desk import Desk
from memorycore.server.tools import BY_NAME
from tests.command_line import CommandLine
from tests.homes import START, Home

OLD = "The staging database listens on port 5432."
NEW = "The staging database now listens on port 6432."


@dataclass
class Life:
    home: Home
    core: MemoryCore

    def say(self, text: str, **fields: object) -> str:
        answer = self.core.remember(Draft(content=text, importance=0.5, **fields), actor="test")  # type: ignore[arg-type]
        self.home.clock.forward(days=1)
        return answer.get("id", "")

    def then(self, question: str, at: datetime, **wanted: object) -> list[answers.Found]:
        filters = RecallFilters(as_of=at, **wanted)  # type: ignore[arg-type]
        return self.core.recall(question, top_k=10, filters=filters)["results"]


@pytest.fixture(params=["living", "one-shot", "words only"])
def life(tmp_path: Path, request: pytest.FixtureRequest) -> Generator[Life]:
    home = Home(tmp_path)
    with home.core(long_lived=request.param == "living", vectors=request.param != "words only") as core:
        yield Life(home=home, core=core)


def contents(found: list[answers.Found]) -> list[str]:
    return [item["content"] for item in found]


def test_before_the_change_the_old_value_held_and_after_it_the_new_one(life: Life) -> None:
    old = life.say(OLD)
    new = life.say(NEW)
    question = "staging database port"
    assert contents(life.core.recall(question)["results"]) == [NEW]
    (found,) = life.then(question, START + timedelta(hours=1))
    assert (found["id"], found["content"]) == (old, OLD)
    assert (found.get("state"), found.get("superseded_by")) == ("superseded", new)
    assert found.get("valid_until") == "2026-03-03T09:00:00Z"
    assert contents(life.then(question, START + timedelta(days=1, hours=1))) == [NEW]
    assert life.then(question, START - timedelta(days=1)) == []


def test_superseded_memories_are_shown_beside_the_current_ones_where_that_is_wanted(life: Life) -> None:
    life.say(OLD)
    life.say(NEW)
    found = life.core.recall("staging database port", filters=RecallFilters(include=("superseded",)))["results"]
    assert sorted(contents(found)) == sorted([OLD, NEW])
    assert [item.get("state") for item in found if item["content"] == OLD] == ["superseded"]
    assert [item.get("state") for item in found if item["content"] == NEW] == [None]


def test_a_text_that_was_reworded_is_found_and_shown_as_it_was(life: Life) -> None:
    memory_id = life.say("The kiln is heated with gas.")
    life.core.update(memory_id, content="The oven is heated with wood.", actor="test")
    (then,) = life.then("kiln gas", START + timedelta(hours=1))
    assert (then["id"], then["content"], then.get("version")) == (memory_id, "The kiln is heated with gas.", None)
    assert contents(life.then("oven wood", START + timedelta(hours=1))) != ["The oven is heated with wood."]
    assert contents(life.then("oven wood", START + timedelta(days=2))) == ["The oven is heated with wood."]


def test_a_phrase_in_quotation_marks_is_sought_in_the_wording_of_then(life: Life) -> None:
    memory_id = life.say("Grazia leads the pottery class on Mondays.")
    life.core.update(memory_id, content="Pavel leads the glazing course on Fridays.", actor="test")
    (then,) = life.then('"the pottery class"', START + timedelta(hours=1))
    assert then["content"] == "Grazia leads the pottery class on Mondays."


def test_what_somebody_dated_held_from_then_on_whenever_it_was_stored(life: Life) -> None:
    begun, ended = datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 12, 31, tzinfo=UTC)
    life.say("Leeds is the seat of the company.", valid_from=begun, valid_until=ended)
    assert life.core.recall("seat of the company")["results"] == []
    (found,) = life.then("seat of the company", datetime(2024, 6, 1, tzinfo=UTC))
    assert (found.get("valid_from"), found.get("valid_until")) == ("2024-01-01T00:00:00Z", "2024-12-31T00:00:00Z")
    assert life.then("seat of the company", datetime(2023, 6, 1, tzinfo=UTC)) == []
    assert life.then("seat of the company", datetime(2025, 6, 1, tzinfo=UTC)) == []


def test_what_is_in_the_bin_never_held(life: Life) -> None:
    memory_id = life.say("The spare key hangs behind the clock.")
    life.core.forget(memory_id, actor="test")
    assert life.then("spare key", START + timedelta(hours=1)) == []
    assert life.core.recall("spare key", filters=RecallFilters(include=("superseded",)))["results"] == []


def test_filters_act_before_ranking_in_the_past_too(life: Life) -> None:
    life.say(OLD, tags=("staging",))
    life.say(NEW, tags=("staging",))
    life.say("The staging database of the archive is read-only.", tags=("archive",))
    assert contents(life.then("staging database", START + timedelta(hours=1), tags=("staging",))) == [OLD]
    assert life.then("staging database", START + timedelta(hours=1), tags=("archive",)) == []


def test_looking_back_changes_nothing_for_the_questions_that_follow(life: Life) -> None:
    life.say(OLD)
    life.say(NEW)
    for _ in range(2):
        assert contents(life.core.recall("staging database port")["results"]) == [NEW]
        assert contents(life.then("staging database port", START + timedelta(hours=1))) == [OLD]
    life.say("The staging database moved to the cellar.")
    assert "The staging database moved to the cellar." in contents(life.core.recall("staging database")["results"])


def test_the_command_looks_back(mc: CommandLine) -> None:
    mc("store", "Leeds is the seat of the company", "--valid-from", "2024-01-01", "--valid-until", "2024-12-31")
    assert mc("recall", "seat of the company", "--json").answer["results"] == []
    then = mc("recall", "seat of the company", "--as-of", "2024-06-01", "--json").answer["results"]
    assert [item["content"] for item in then] == ["Leeds is the seat of the company"]
    shown = mc("recall", "seat of the company", "--as-of", "2024-06-01").out
    assert "from 2024-01-01" in shown
    assert mc("recall", "seat", "--include", "everything", "--json").answer["code"] == "invalid_input"


def test_the_tool_looks_back_and_names_the_words_that_it_knows(tmp_path: Path) -> None:
    desk = Desk(lambda: MemoryCore.open(Home(tmp_path).options, long_lived=True), language="en")

    def ask(**arguments: object) -> dict[str, Any]:
        return json.loads(answer_tool(desk, BY_NAME["memorycore_recall"], arguments, caller("test")))

    with desk.core() as core:
        core.remember(Draft(content=OLD, importance=0.5, valid_from=START - timedelta(days=90)), actor="test")
        core.remember(Draft(content=NEW, importance=0.5), actor="test")
    try:
        question = "staging database port"
        assert [item["content"] for item in ask(query=question)["results"]] == [NEW]
        assert [item["content"] for item in ask(query=question, as_of="2026-01-05")["results"]] == [OLD]
        for words in (["superseded"], "superseded", '["superseded"]'):
            both = ask(query=question, include=words)["results"]
            assert [item.get("state") for item in both] == [None, "superseded"]
        assert "superseded" in ask(query=question, include=["binned"])["message"]
    finally:
        desk.close(grace_s=1)
