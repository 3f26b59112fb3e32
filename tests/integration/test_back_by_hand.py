"""Who brings a text back into a full hot file gets room for it, as for a new one, or is told that there is none."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft, Memory, Target
from memorycore.domain.text import norm_hash
from memorycore.intake import Room, bring_in
from memorycore.lifecycle import hot, retire, rows
from memorycore.lifecycle.retire import Leaving
from memorycore.options import BudgetOptions, HotLimit, thresholds_of
from memorycore.store import memories
from tests.homes import Home, rule

POINTER = "[recall] release · number"
WORDS = ("amber", "birch", "cedar", "dahlia", "elder", "fir", "ginkgo", "hazel", "iris", "juniper", "kale", "larch")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.options = replace(
        home.options,
        hot_limits={name: HotLimit(chars=900) for name in ("memory", "user")},
        thresholds=dict.fromkeys(("memory", "user"), thresholds_of(900)),
        budget=BudgetOptions(pin_share=1.0),
    )
    return home


@pytest.fixture
def core(home: Home) -> Generator[MemoryCore]:
    with home.core() as core:
        yield core


def retired(core: MemoryCore, home: Home, *, pinned: bool = False) -> Memory:
    """A rule of which a pointer stands in the file, which others then fill; they are pinned or may leave."""
    core.remember(rule(1), actor="test")
    first = core.rooms.named(rule(1).content)
    assert first is not None
    leaving = Leaving(memory=first, how="stub", reason="evicted", pointer=POINTER)
    cause = replace(core.rooms.cause("overflow", "overflow"), automatic=True)
    assert retire.rearrange(core.db, core.rooms.tiers["memory"], [leaving], [], cause).left
    for word in WORDS:
        text = f"Always water the {word} tree in the {word} garden of the mayor twice a week."
        if core.rooms.tiers["memory"].room() < len(text) + 3:
            break
        stored = core.remember(Draft(content=text, target="memory"), actor="test")
        if pinned:
            core.update(stored.get("id", ""), actor="test", pinned=True)
    home.clock.forward(days=30)
    return core.rooms.any(first.id)


def cold_rule(core: MemoryCore) -> Memory:
    """A row for a rule that is longer than what is free."""
    content = "Always ask the mayor before the fountain is emptied, cleaned, filled, photographed or named anew."
    return Memory(
        id=core.rooms.new_id(), namespace="default", content=content, norm_hash=norm_hash(content), policy="rule",
        created_at=core.rooms.clock(), updated_at=core.rooms.clock(),
    )  # fmt: skip


def event_of(core: MemoryCore, memory: Memory) -> int:
    with core.db.read() as c:
        return memories.events(c, memory.id, core.namespaces)[-1].seq


def test_undo_of_a_retirement_makes_room(home: Home, core: MemoryCore) -> None:
    memory = retired(core, home)
    assert len(memory.content) > core.rooms.tiers["memory"].room()
    trial = core.undo(actor="test", event=event_of(core, memory), dry_run=True)
    answer = core.undo(actor="test", event=event_of(core, memory))
    assert (trial["events"][0].get("tier"), answer["events"][0].get("tier")) == ("hot", "hot")
    assert "code" not in answer["events"][0]
    assert memory.content in home.entries()
    assert POINTER not in home.entries()


def test_undo_that_finds_no_room_says_so(home: Home, core: MemoryCore) -> None:
    memory = retired(core, home, pinned=True)
    told = core.undo(actor="test", event=event_of(core, memory))["events"][0]
    assert (told["status"], told.get("tier"), told.get("code")) == ("undone", "cold", "no_room")
    assert "room" in told.get("message", "")
    assert memory.content not in home.entries()
    assert POINTER in home.entries()
    assert core.rooms.any(memory.id).residence == "stub"
    assert core.history(memory_id=memory.id)["events"][0]["action"] == "held_back"


def test_a_restored_text_finds_room(home: Home, core: MemoryCore) -> None:
    memory = retired(core, home)
    answer = core.restore(memory.id, actor="test")
    assert (answer["status"], answer.get("tier"), answer.get("reasons")) == ("restored", "hot", None)
    assert memory.content in home.entries()


def test_a_retired_rule_that_is_pinned_comes_back(home: Home, core: MemoryCore) -> None:
    memory = retired(core, home)
    answer = core.update(memory.id, actor="test", pinned=True)
    assert (answer["status"], answer.get("tier"), answer.get("reasons")) == ("updated", "hot", None)
    assert memory.content in home.entries()
    assert core.rooms.any(memory.id).pinned


def test_a_pinned_rule_without_room_is_told_to_be_outside(home: Home, core: MemoryCore) -> None:
    memory = retired(core, home, pinned=True)
    answer = core.update(memory.id, actor="test", pinned=True)
    assert (answer.get("tier"), core.rooms.any(memory.id).pinned) == ("cold", True)
    assert ["room" in reason for reason in answer.get("reasons", [])] == [True]


def test_a_pin_beyond_the_share_of_pins_says_that_it_does_not_hold(home: Home) -> None:
    home.options = replace(home.options, budget=BudgetOptions(pin_share=0.1))
    with home.core() as core:
        stored = [str(core.remember(rule(number), actor="test").get("id")) for number in (1, 2, 3)]
        answers = [core.update(one, actor="test", pinned=True) for one in stored]
        whys = [row["why"] for row in core.audit("memory")["targets"][0]["rows"]]
    assert ["older pins" in str(answer.get("reasons")) for answer in answers] == [False, True, True]
    assert ["older pins" in why for why in whys] == [False, True, True]


def test_a_pin_that_is_longer_than_the_share_of_pins_is_not_laid_to_older_ones(home: Home) -> None:
    home.options = replace(home.options, budget=BudgetOptions(pin_share=0.03))
    with home.core() as core:
        stored = core.remember(rule(1), actor="test")
        (why,) = core.update(str(stored.get("id")), actor="test", pinned=True).get("reasons", [])
        (row,) = core.audit("memory")["targets"][0]["rows"]
    assert row["pinned"]
    for told in (why, row["why"]):
        assert ("longer" in told, "older" in told) == (True, False)


def test_a_new_text_takes_the_room_of_another_rule_than_the_one_whose_leaving_was_undone(
    home: Home, core: MemoryCore
) -> None:
    memory = retired(core, home)
    core.undo(actor="test", event=event_of(core, memory))
    home.clock.forward(days=25)
    for number in range(2, 6):
        assert core.remember(rule(number), actor="test")["status"] == "stored"
    assert memory.content in home.entries()


def test_what_keeps_an_entry_for_good_is_not_waited_for(home: Home, core: MemoryCore) -> None:
    retired(core, home)
    pinned = core.rooms.named(home.entries()[1])
    assert pinned is not None
    core.update(pinned.id, actor="test", pinned=True)
    asked: list[Target] = []

    def room(target: Target, coming: Sequence[Memory]) -> Room:
        asked.append(target)
        return Room(leaving=[Leaving(memory=pinned, how="cold", reason="room")], fits=True)

    tier, cause = core.rooms.tiers["memory"], core.rooms.cause("test", "test")
    with core.db.write() as c:
        begun = hot.begin(c, tier, rows.add(c, cold_rule(core), cause), "add", cause)
    done = list(bring_in(core.db, tier, [begun], cause, room))
    assert [one.kept for one in done] == [{pinned.id: "pinned"}] * 2, "once more, and then it stays cold"
    assert asked == ["memory"] * 2
