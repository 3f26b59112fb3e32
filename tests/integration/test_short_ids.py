"""The end of an id stands for it wherever an id may be given, and what is told unasked carries no more of it."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.errors import InvalidInput, NotFound
from memorycore.transfer import from_line
from tests.homes import Home

FACTS = ("The ferry leaves at nine from pier four.", "The mill of Delft grinds spelt on Tuesdays.")


@contextmanager
def with_ids(home: Home, *ids: str) -> Generator[MemoryCore]:
    """A core with one fact for each of these ids, brought in as an export has them."""
    with Home(home.root / "elsewhere").core() as other:
        list(other.remember_many([Draft(content=text) for text in FACTS], actor="test"))
        lines = list(other.export())
    with home.core() as core:
        given = [from_line({**line, "memory_id": one}) for line, one in zip(lines, ids, strict=True)]
        list(core.remember_many(given, actor="test"))
        yield core


@pytest.mark.parametrize("given", ["c2870ffd", "C2870FFD", "68c2870ffd", "-8000-c968c2870ffd"])
def test_the_end_of_an_id_names_its_memory(tmp_path: Path, given: str) -> None:
    with with_ids(
        Home(tmp_path), "0190f3c2-0000-7000-8000-c968c2870ffd", "0190f3c2-0000-7000-8000-c968c2870ffe"
    ) as core:
        assert core.inspect(given)["content"] == FACTS[0]
        assert core.update(given, actor="test", importance=0.9)["status"] == "updated"
        assert core.forget(given, actor="test")["status"] == "trashed"
        with pytest.raises(NotFound, match="bin"):
            core.forget(given, actor="test")
        assert core.restore(given, actor="test")["status"] == "restored"
        assert len(core.history(memory_id=given)["events"]) >= 4
        assert core.erase(given, actor="test")["status"] == "erased"


def test_an_end_that_two_share_names_both_and_changes_nothing(tmp_path: Path) -> None:
    ids = ("0190f3c2-0000-7000-8000-1111c2870ffd", "0190f3c2-0000-7000-8000-2222c2870ffd")
    with with_ids(Home(tmp_path), *ids) as core:
        with pytest.raises(InvalidInput, match="end_of_several") as refused:
            core.forget("c2870ffd", actor="test")
        assert refused.value.facts["allowed"] == ", ".join(ids)
        assert core.forget("2222c2870ffd", actor="test").get("id") == ids[1]


def test_what_is_shorter_or_a_text_names_no_id(tmp_path: Path) -> None:
    with with_ids(
        Home(tmp_path), "0190f3c2-0000-7000-8000-c968c2870ffd", "0190f3c2-0000-7000-8000-c968deadbeef"
    ) as core:
        with pytest.raises(NotFound):
            core.inspect("2870ffd")
        with pytest.raises(NotFound):
            core.inspect("0190f3c2")
        assert core.forget("deadbee", actor="test")["status"] == "candidates"
        core.remember(Draft(content="deadbeef", policy="fact", kind="reference", importance=0.9), actor="test")
        assert core.forget("deadbeef", actor="test").get("before") == "deadbeef"


def test_the_end_of_an_id_that_came_from_elsewhere_names_nothing(tmp_path: Path) -> None:
    with with_ids(Home(tmp_path), "journal-2026-11-30", "0190f3c2-0000-7000-8000-1111c2870ffd") as core:
        with pytest.raises(NotFound):
            core.inspect("2026-11-30")
        assert core.forget("2026-11-30", actor="test")["status"] == "candidates"
        assert core.inspect("journal-2026-11-30")["id"] == "journal-2026-11-30"


def test_a_note_ends_with_the_end_of_its_id(tmp_path: Path) -> None:
    with Home(tmp_path).core(long_lived=True) as core:
        stored = core.remember(Draft(content=FACTS[0]), actor="test").get("id", "")
        told = core.prefetch("When does the ferry leave from pier four?", session_id="s")
        assert told["text"].endswith(f"{FACTS[0]} [{stored[-8:]}]")
        assert core.inspect(told["text"][-9:-1])["id"] == told["items"][0]["id"] == stored


@pytest.mark.parametrize("query", ["What was c2870ffe about?", "c2870ffe", "the ferry at nine: see [C2870FFE]"])
def test_a_question_finds_the_memory_that_it_names_by_the_end_of_its_id(tmp_path: Path, query: str) -> None:
    ids = ("0190f3c2-0000-7000-8000-c968c2870ffd", "0190f3c2-0000-7000-8000-c968c2870ffe")
    with with_ids(Home(tmp_path), *ids) as core:
        assert core.recall(query)["results"][0]["content"] == FACTS[1]


def test_an_end_that_two_share_finds_neither(tmp_path: Path) -> None:
    ids = ("0190f3c2-0000-7000-8000-1111c2870ffd", "0190f3c2-0000-7000-8000-2222c2870ffd")
    with with_ids(Home(tmp_path), *ids) as core:
        assert core.recall("What was c2870ffd about?")["results"] == []
