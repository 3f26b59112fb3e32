"""Forgetting by words, tag, session and time: what is shown is what goes, and one command brings it back."""

from datetime import timedelta
from pathlib import Path

import pytest

from memorycore.core import MemoryCore, RecallFilters
from memorycore.core.forget_many import Wanted
from memorycore.domain.memory import Draft
from memorycore.domain.text import norm_hash
from memorycore.errors import InvalidInput
from memorycore.store import edges
from tests.homes import START, Home

TEXTS = {
    "june": "The Berlin office moves to Kreuzberg in June.",
    "desks": "The Berlin office has fourteen desks.",
    "fridays": "Never book the Berlin meeting room on Fridays.",
    "door": "柏林办公室的大门在晚上八点关闭。",
    "leeds": "The printer was bought in Leeds.",
}


def store(core: MemoryCore, name: str, *, session: str = "", tags: tuple[str, ...] = ()) -> str:
    target = "memory" if name == "fridays" else None
    draft = Draft(content=TEXTS[name], tags=tags, session_id=session, target=target)
    return core.remember(draft, actor="test").get("id", "")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    with home.core() as core:
        store(core, "june", tags=("Atlas",))
        store(core, "desks", session="s1", tags=("atlas", "office"))
        home.clock.forward(days=10)
        store(core, "fridays", tags=("atlas",))
        store(core, "door", session="s1")
        store(core, "leeds")
    return home


def names(items: object) -> list[str]:
    by_text = {text: name for name, text in TEXTS.items()}
    return [by_text[item["content"]] for item in items]  # type: ignore[union-attr]


def day(number: int) -> RecallFilters:
    return RecallFilters(until=START + timedelta(days=number))


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Wanted(query="the Berlin office"), ["june", "desks"]),
        (Wanted(query="offices Berlin"), ["june", "desks"]),
        (Wanted(query="柏林的大门"), []),
        (Wanted(query="柏林 大门"), ["door"]),
        (Wanted(query='"Berlin meeting"'), ["fridays"]),
        (Wanted(query="BERLIN", filters=RecallFilters(tier="cold")), ["june", "desks"]),
        (Wanted(filters=RecallFilters(tags=("ATLAS",))), ["june", "desks", "fridays"]),
        (Wanted(filters=RecallFilters(tags=("atlas", "office"))), ["desks"]),
        (Wanted(filters=RecallFilters(session_id="s1")), ["desks", "door"]),
        (Wanted(filters=day(5)), ["june", "desks"]),
        (Wanted(filters=RecallFilters(since=START + timedelta(days=5))), ["fridays", "door", "leeds"]),
        (Wanted(query="Berlin", filters=RecallFilters(since=START + timedelta(days=5))), ["fridays"]),
        (Wanted(query="Madrid"), []),
    ],
)
def test_what_matches_is_listed_and_nothing_changes(home: Home, wanted: Wanted, expected: list[str]) -> None:
    with home.core() as core:
        answer = core.forget_many(wanted, actor="test", dry_run=True)
        assert names(answer["items"]) == expected
        assert answer["status"] == ("trashed" if expected else "nothing")
        assert core.trash()["items"] == []
        assert core.usage()["binned"] == 0


def test_all_go_in_one_run_and_come_back_with_it(home: Home) -> None:
    with home.core() as core:
        before = home.entries()
        answer = core.forget_many(Wanted(filters=RecallFilters(tags=("atlas",))), actor="test")
        assert (answer["status"], answer["count"], answer.get("until")) == ("trashed", 3, "2026-04-11")
        assert home.entries() == []
        assert {item["reason"] for item in core.trash()["items"]} == {"user"}
        with core.db.read() as c:
            assert all(edges.tombstone(c, "default", norm_hash(item["content"])) for item in answer["items"])
        undone = core.undo(actor="test", run=answer.get("run", ""))
        assert undone["status"] == "undone"
        assert core.trash()["items"] == []
        assert home.entries() == before


def test_several_entries_leave_a_file_in_one_write(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        home.write_memory_file(
            *(f"Never touch the {thing} in the hall." for thing in ("lamp", "clock", "piano", "door"))
        )
        core.touch()
        kept = len(snapshots(home))
        answer = core.forget_many(Wanted(query="never touch"), actor="test")
        assert (answer["count"], home.entries()) == (4, [])
        assert len(snapshots(home)) == kept, "the file as it was found is a snapshot already, and there was one write"
        assert core.audit("memory")["targets"][0]["rows"] == []


def snapshots(home: Home) -> list[Path]:
    return list((home.options.data_dir / "snapshots").rglob("MEMORY.md.*"))


def test_only_what_was_shown_goes(home: Home) -> None:
    with home.core() as core:
        shown = core.forget_many(Wanted(query="Berlin"), actor="test", dry_run=True)["items"]
        core.remember(Draft(content="The Berlin team has a dog."), actor="other")
        chosen = Wanted(query="Berlin", only=frozenset(item["id"] for item in shown))
        assert core.forget_many(chosen, actor="test")["count"] == 3
        assert [hit["content"] for hit in core.recall("Berlin")["results"]] == ["The Berlin team has a dog."]


def test_a_file_that_cannot_be_used_keeps_its_entries_and_the_others_go(home: Home) -> None:
    with home.core() as core:
        home.memory_file.chmod(0o400)
        answer = core.forget_many(Wanted(filters=RecallFilters(tags=("atlas",))), actor="test")
        assert names(answer["items"]) == ["june", "desks"]
        assert [item["code"] for item in answer.get("skipped", [])] == ["unwritable"]
        home.memory_file.chmod(0o600)
        assert home.entries() == [TEXTS["fridays"]]
        again = core.forget_many(Wanted(filters=RecallFilters(tags=("atlas",))), actor="test")
        assert (names(again["items"]), home.entries()) == (["fridays"], [])


@pytest.mark.parametrize("wanted", [Wanted(), Wanted(query="  "), Wanted(query="?!")])
def test_without_a_word_or_filter_nothing_is_meant(home: Home, wanted: Wanted) -> None:
    with home.core() as core, pytest.raises(InvalidInput):
        core.forget_many(wanted, actor="test")


def test_many_are_erased_at_once_in_use_or_not(home: Home) -> None:
    with home.core() as core:
        core.forget(TEXTS["june"], actor="test")
        receipt = core.erase_many(Wanted(query="Berlin"), actor="test")
        assert (receipt["status"], len(receipt.get("ids", [])), receipt.get("remaining")) == ("erased", 3, [])
        assert home.entries() == []
        assert [line["content"] for line in core.export()] == [TEXTS["door"], TEXTS["leeds"]]
        assert core.erase_many(Wanted(query="Berlin"), actor="test")["status"] == "nothing"
