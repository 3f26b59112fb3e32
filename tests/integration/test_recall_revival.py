"""Out of the bin by a question: what automation put there and is meant beyond doubt, and nothing that somebody put."""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memorycore.core import MemoryCore, RecallFilters
from memorycore.domain.memory import Draft
from memorycore.lifecycle import rows
from memorycore.store import open_database
from tests.command_line import CommandLine, lines
from tests.homes import START, Home, fact

STALE = "Wiki migration done."


@pytest.fixture(params=["living", "one-shot", "words only"])
def core(tmp_path: Path, request: pytest.FixtureRequest) -> Generator[MemoryCore]:
    home = Home(tmp_path)
    with home.core(long_lived=request.param == "living", vectors=request.param != "words only") as opened:
        list(opened.remember_many(map(fact, range(12)), actor="test"))
        yield opened


def bin_(core: MemoryCore, text: str, reason: str = "decay", **fields: object) -> str:
    """A memory that went into the bin for this reason."""
    stored = core.remember(Draft(content=text, importance=0.5, **fields), actor="test")  # type: ignore[arg-type]
    with core.db.write() as c:
        rows.trash(c, core.rooms.any(stored.get("id", "")), core.rooms.cause("decay", reason))
    return stored.get("id", "")


def said(core: MemoryCore, question: str, **asked: Any) -> list[str]:
    return [item["content"] for item in core.recall(question, **asked)["results"]]


def state(core: MemoryCore, memory_id: str) -> str:
    return core.inspect(memory_id)["state"]


def test_a_status_line_that_is_asked_for_after_all_comes_back_and_the_answer_says_so(core: MemoryCore) -> None:
    stored = core.remember(Draft(content=STALE), actor="test")
    assert stored["status"] == "stale"
    core.fill_vectors()
    answer = core.recall("wiki migration")
    first = answer["results"][0]
    assert (first["id"], first.get("revived"), first["content"]) == (stored.get("id"), True, STALE)
    event = core.inspect(first["id"])["events"][-1]
    assert (event["action"], event["reason"], event["automatic"]) == ("restored", "revived", True)
    assert first.get("undo") == f"memorycore undo {event['event']}"
    assert str(first.get("undo")) in answer.get("note", "")
    again = core.recall("wiki migration")
    assert again["results"][0]["id"] == stored.get("id")
    assert "revived" not in again["results"][0]
    assert "note" not in again


def test_a_revival_that_was_taken_back_is_not_repeated(core: MemoryCore) -> None:
    stored = core.remember(Draft(content=STALE), actor="test")
    core.recall("wiki migration")
    core.undo(last=True, actor="test")
    assert state(core, stored.get("id", "")) == "trashed"
    assert STALE not in said(core, "wiki migration done")


@pytest.mark.parametrize("question", ["printer bought in York", "was it done", "月球离地球多远", "migration of birds"])
def test_a_question_that_means_something_else_brings_nothing_back(core: MemoryCore, question: str) -> None:
    stored = core.remember(Draft(content=STALE), actor="test")
    core.fill_vectors()
    assert not any(item.get("revived") for item in core.recall(question)["results"])
    assert state(core, stored.get("id", "")) == "trashed"


@pytest.mark.parametrize("way", ["bulk", "prefetch", "explain", "as of", "include"])
def test_who_only_looks_brings_nothing_back(core: MemoryCore, way: str) -> None:
    stored = core.remember(Draft(content=STALE), actor="test")
    core.fill_vectors()
    past = {"as of": RecallFilters(as_of=START), "include": RecallFilters(include=("superseded",))}
    answer = core.recall(
        "wiki migration",
        log=way != "bulk",
        revive=way != "prefetch",
        explain=way == "explain",
        filters=past.get(way),
    )
    assert STALE not in [item["content"] for item in answer["results"]]
    assert state(core, stored.get("id", "")) == "trashed"


def test_what_a_person_wanted_gone_stays_and_is_named(core: MemoryCore) -> None:
    text = "The spare key hangs behind the clock."
    memory_id = core.remember(Draft(content=text, importance=0.5), actor="test").get("id", "")
    core.forget(memory_id, actor="test")
    answer = core.recall("spare key behind the clock")
    assert text not in [item["content"] for item in answer["results"]]
    assert answer.get("in_bin") == [memory_id]
    assert state(core, memory_id) == "trashed"


@pytest.mark.parametrize("reason", ["quarantined", "erased", "same", "stood_for"])
def test_what_waits_or_was_decided_stays_and_is_not_even_named(core: MemoryCore, reason: str) -> None:
    memory_id = bin_(core, "The spare key hangs behind the clock.", reason)
    answer = core.recall("spare key behind the clock")
    assert memory_id not in [item["id"] for item in answer["results"]]
    assert "in_bin" not in answer
    assert state(core, memory_id) == "trashed"


def test_what_was_taken_out_of_a_file_stays_and_is_named(tmp_path: Path) -> None:
    home = Home(tmp_path)
    text = "Always answer in French, never in English."
    with home.core() as core:
        assert core.remember(Draft(content=text, target="memory"), actor="test")["tier"] == "hot"
        home.write_memory_file("The kiln must never run overnight.")
        answer = core.recall("always answer in french never english")
        assert text not in [item["content"] for item in answer["results"]]
        assert len(answer.get("in_bin", [])) == 1


def test_at_most_three_come_back_at_once(core: MemoryCore) -> None:
    for number in range(5):
        bin_(core, f"Parcel {number} for the pottery workshop arrived at the gate.")
    answer = core.recall("parcel for the pottery workshop at the gate", top_k=10)
    assert sum(item.get("revived", False) for item in answer["results"]) == 3
    assert answer.get("note", "").count("memorycore undo") == 3


def test_filters_sessions_and_times_hold_for_the_bin_too(core: MemoryCore) -> None:
    ended = START.replace(year=2027)
    bin_(core, "The heron nests at pond three.", scope="session", session_id="one")
    late = bin_(core, "The kite shop closes in winter.", valid_until=ended)
    tagged = bin_(core, "The ferry leaves from pier nine.", tags=("travel",))
    assert "The heron nests at pond three." not in said(core, "heron nests at pond three", viewer_session="two")
    assert said(core, "ferry leaves pier nine", filters=RecallFilters(tags=("work",))) == []
    assert core.recall("ferry leaves pier nine", filters=RecallFilters(tags=("travel",)))["results"][0]["id"] == tagged
    core.rooms.clock.now = ended  # type: ignore[attr-defined] the clock of the test
    core.recall("kite shop closes in winter")
    assert state(core, late) == "trashed"


def test_what_another_memory_says_by_now_stays_in_the_bin(core: MemoryCore) -> None:
    memory_id = bin_(core, "The kite shop closes in winter.")
    core.remember(Draft(content="The kite shop closes in winter", importance=0.5), actor="test")
    assert core.recall("kite shop closes in winter")["results"][0]["id"] != memory_id
    assert state(core, memory_id) == "trashed"


def test_a_question_does_not_wait_for_a_writer(core: MemoryCore) -> None:
    stored = core.remember(Draft(content=STALE), actor="test")
    core.fill_vectors()
    with closing(open_database(core.options.data_dir)) as other, other.write():
        answer = core.recall("wiki migration")
    assert not any(item.get("revived") for item in answer["results"])
    assert core.recall("wiki migration")["results"][0]["id"] == stored.get("id")


def test_a_status_line_gets_its_vector_behind_all_others_and_waits_uncounted(tmp_path: Path) -> None:
    with Home(tmp_path).core(vectors=True) as core:
        stored = core.remember(Draft(content=STALE), actor="test")
        assert core.usage()["cold"]["pending"] == 0
        core.fill_vectors()
        assert "hashing" in core.inspect(stored.get("id", ""))["vector"]


def test_the_command_brings_back_and_bulk_does_not(mc: CommandLine) -> None:
    mc("store", STALE)
    asked = mc("recall", "--from", "-", "--json", stdin=lines([{"query": "wiki migration"}]))
    assert asked.answers[0]["results"] == []
    shown = mc("recall", "wiki migration").out
    assert "back from the bin" in shown
    assert "memorycore undo" in shown
