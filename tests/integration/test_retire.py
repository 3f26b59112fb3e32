"""Texts leave a hot file and come back in one write, and each is somewhere at every moment."""

from collections.abc import Generator, Mapping
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Memory
from memorycore.hot.tier import HotTier
from memorycore.lifecycle import retire
from memorycore.lifecycle.retire import Leaving, Rearranged
from memorycore.store.intents import How
from tests.homes import Home, rule

POINTER = "[→ release checks]"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def core(home: Home) -> Generator[MemoryCore]:
    with home.core() as core:
        for number in range(3):
            core.remember(rule(number), actor="test")
        yield core


def tier_of(core: MemoryCore) -> HotTier:
    return core.rooms.tiers["memory"]


def named(core: MemoryCore, text: str) -> Memory:
    found = core.rooms.named(text)
    assert found is not None
    return found


def leave(core: MemoryCore, hows: Mapping[int, How], *, pointer: str = POINTER, fold: str | None = None) -> Rearranged:
    """Let the rules of these numbers leave the file."""
    leaving = [
        Leaving(
            memory=named(core, rule(number).content),
            how=how,
            reason="evicted",
            pointer=pointer if how == "stub" else "",
        )
        for number, how in hows.items()
    ]
    return retire.rearrange(core.db, tier_of(core), leaving, [], core.rooms.cause("test", ""), fold=fold)


def test_a_pointer_stands_where_the_text_stood_and_the_text_is_recalled(home: Home, core: MemoryCore) -> None:
    done = leave(core, {1: "stub"})
    memory = named(core, rule(1).content)
    assert done.left == {memory.id}
    assert done.wrote
    assert home.entries() == [rule(0).content, POINTER, rule(2).content]
    assert (memory.residence, memory.state) == ("stub", "active")
    hit = next(hit for hit in core.recall("check number 1")["results"] if hit["id"] == memory.id)
    assert hit["tier"] == "cold"
    core.touch()
    assert named(core, rule(1).content) == memory
