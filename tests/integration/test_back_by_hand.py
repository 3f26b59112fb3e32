"""Who brings a text back into a full hot file gets room for it, as for a new one, or is told that there is none."""

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft, Memory
from memorycore.lifecycle import retire
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
