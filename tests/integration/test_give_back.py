"""Whoever leaves gets texts for pointers, and loses none that finds no room."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memorycore.core import MemoryCore, give_back
from memorycore.domain.memory import Memory
from memorycore.lifecycle import retire
from memorycore.lifecycle.retire import Leaving
from memorycore.options import HotLimit
from tests.homes import Home, rule

TEXTS = [rule(number).content for number in range(6)]
POINTERS = ["[recall] billing · Friday", "[recall] release · check"]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def core(home: Home) -> Generator[MemoryCore]:
    home.write_memory_file(*TEXTS)
    with home.core() as core:
        core.touch()
        yield core


def named(core: MemoryCore, text: str) -> Memory:
    found = core.rooms.named(text)
    assert found is not None, text
    return found


def retire_some(core: MemoryCore, pointers: Mapping[int, str], cold: Sequence[int] = (), fold: str = "") -> None:
    leaving = [
        Leaving(memory=named(core, TEXTS[number]), how="stub", reason="evicted", pointer=pointer)
        for number, pointer in pointers.items()
    ] + [Leaving(memory=named(core, TEXTS[number]), how="cold", reason="evicted") for number in cold]
    tier = core.rooms.tiers["memory"]
    done = retire.rearrange(core.db, tier, leaving, [], core.rooms.cause("test", ""), fold=fold or None)
    assert len(done.left) == len(leaving)


def test_a_pointer_becomes_its_text_where_it_stands_and_the_rest_comes_after(home: Home, core: MemoryCore) -> None:
    retire_some(core, {1: POINTERS[0]}, cold=[3, 4], fold="[recall +2] check")
    assert {POINTERS[0], "[recall +2] check"} <= set(home.entries())
    done = give_back.give_back(core.rooms)[0]
    assert home.entries() == [TEXTS[0], TEXTS[1], TEXTS[2], TEXTS[5], TEXTS[3], TEXTS[4]]
    assert (done.pointers, len(done.back), done.aside) == (2, 3, ())
    assert {named(core, text).residence for text in TEXTS} == {"hot"}
    assert not (home.options.hot_dir / give_back.RESTORED).exists()


def test_what_finds_no_room_stands_beside_and_no_pointer_is_left(home: Home, core: MemoryCore) -> None:
    retire_some(core, {1: POINTERS[0], 2: POINTERS[1]}, cold=[3])
    core.rooms.tiers["memory"] = replace(core.rooms.tiers["memory"], limit=len("\n§\n".join(TEXTS[:4])))
    done = give_back.give_back(core.rooms)[0]
    assert home.entries() == [TEXTS[0], TEXTS[1], TEXTS[4], TEXTS[5]]
    assert done.aside == (TEXTS[2], TEXTS[3])
    beside = (home.options.hot_dir / give_back.RESTORED).read_text(encoding="utf-8")
    assert f"{TEXTS[2]}\n§\n{TEXTS[3]}\n" in beside
    assert {named(core, text).residence for text in TEXTS[2:4]} == {"cold"}


def test_a_preview_changes_nothing_and_says_the_same(home: Home, core: MemoryCore) -> None:
    retire_some(core, {1: POINTERS[0]}, cold=[3])
    before = home.memory_file.read_bytes()
    told = give_back.preview(core.rooms)
    assert home.memory_file.read_bytes() == before
    assert give_back.give_back(core.rooms) == told


def test_giving_back_twice_writes_nothing_twice(home: Home, core: MemoryCore) -> None:
    retire_some(core, {}, cold=[2, 3])
    core.rooms.tiers["memory"] = replace(core.rooms.tiers["memory"], limit=10)
    give_back.give_back(core.rooms)
    beside = (home.options.hot_dir / give_back.RESTORED).read_bytes()
    give_back.give_back(core.rooms)
    assert (home.options.hot_dir / give_back.RESTORED).read_bytes() == beside


def test_a_text_of_somebody_that_looks_like_a_pointer_stays(home: Home, core: MemoryCore) -> None:
    home.write_memory_file(*TEXTS, "[recall] the meeting")
    give_back.give_back(core.rooms)
    assert "[recall] the meeting" in home.entries()


def test_the_limit_is_that_of_the_host(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.options = replace(home.options, hot_limits={**home.options.hot_limits, "memory": HotLimit(chars=300)})
    home.write_memory_file(*TEXTS)
    with home.core() as core:
        core.touch()
        retire_some(core, {}, cold=[0, 1, 2])
        home.write_memory_file("x" * 250)
        done = give_back.give_back(core.rooms)[0]
    assert done.chars <= 300
    assert set(done.back) | set(done.aside) >= set(TEXTS[:3])
