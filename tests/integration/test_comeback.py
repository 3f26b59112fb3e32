"""Retired rules come back when a question means them: whole, few at a time, and never in each other's place."""

import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft, Memory
from memorycore.domain.pointer import pointer
from memorycore.errors import StoreBusy
from memorycore.hot.document import size
from memorycore.lifecycle.retire import Leaving, rearrange
from memorycore.options import BudgetOptions, thresholds_of
from memorycore.search import RecallFilters
from memorycore.store import standing
from tests.homes import Home

NAMES = (
    "tortoise", "kettle", "shutters", "projector", "archive", "harbour", "violin", "greenhouse", "compass", "lantern",
    "orchard", "bakery", "cellar", "chimney", "ladder", "magnet", "notary", "oven", "parrot", "quarry", "raft",
    "saddle", "tunnel", "umbrella", "vineyard", "walnut", "yoghurt", "zeppelin", "anchor", "barrel", "candle", "dynamo",
    "easel", "ferry", "guitar", "hammock", "iceberg", "jacket", "kiosk", "lemon", "mirror", "needle", "octopus",
    "pepper", "quilt", "ribbon", "sponge", "trumpet", "velvet", "willow",
)  # fmt: skip


def text(name: str) -> str:
    return f"Always ask Ana about the {name} before you order a new {name} for the {name} room."


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.options = replace(home.options, thresholds=dict.fromkeys(("memory", "user"), thresholds_of(1_000)))
    return home


def named(core: MemoryCore, name: str) -> Memory:
    found = core.rooms.named(text(name))
    assert found is not None
    return found


def retired(core: MemoryCore, *names: str, pointing: bool = True) -> None:
    """Rules that came in and left again, some weeks ago."""
    tier, cause = core.rooms.tiers["memory"], core.rooms.cause("test", "")
    for name in names:
        core.remember(Draft(content=text(name), target="memory"), actor="test")
        memory, taken = named(core, name), tier.document().entries
        points = pointer(memory.content, taken=taken) if pointing else ""
        leaving = Leaving(memory=memory, how="stub" if pointing else "cold", reason="evicted", pointer=points)
        assert rearrange(core.db, tier, [leaving], [], cause).left


def hot(core: MemoryCore) -> set[str]:
    return {name for name in NAMES if (found := core.rooms.named(text(name))) and found.residence == "hot"}


@pytest.mark.parametrize("pointing", [True, False])
def test_a_question_brings_a_rule_back_whole_and_as_new(home: Home, pointing: bool) -> None:  # noqa: FBT001 a case
    with home.core(vectors=True) as core:
        retired(core, "tortoise", "kettle", pointing=pointing)
        home.clock.forward(days=30)
        best = core.recall("do I have to ask about the tortoise before I order one?")["results"][0]
        assert (best["content"], best["tier"], best.get("restored")) == (text("tortoise"), "hot", True)
        assert text("tortoise") in home.entries()
        assert hot(core) == {"tortoise"}
        with core.db.read() as c:
            stands = standing.of(c, named(core, "tortoise"))
        assert stands is not None
        assert stands.resident_until == home.clock() + timedelta(days=7)


def test_its_pointer_as_a_question_brings_it_back_without_a_model(home: Home) -> None:
    with home.core() as core:
        retired(core, "tortoise", "kettle")
        [points] = [entry for entry in home.entries() if "kettle" in entry]
        core.recall(points)
        assert hot(core) == {"kettle"}
        assert points not in home.entries()


@pytest.mark.parametrize("way", ["log", "revive", "explain", "look back"])
def test_who_only_looks_moves_nothing(home: Home, way: str) -> None:
    with home.core(vectors=True) as core:
        retired(core, "tortoise")
        before = home.entries()
        core.recall(
            "ask Ana about the tortoise",
            log=way != "log", revive=way != "revive", explain=way == "explain",
            filters=RecallFilters(as_of=home.clock()) if way == "look back" else None,
        )  # fmt: skip
        assert (home.entries(), hot(core)) == (before, set())


def test_questions_about_fifty_retired_rules_bring_back_what_has_room_and_push_out_none_of_them(home: Home) -> None:
    with home.core(vectors=True) as core:
        retired(core, *NAMES, pointing=False)
        home.clock.forward(days=30)
        for name in (*NAMES, *NAMES[:12]):
            core.recall(f"ask about the {name} before I order a new {name}?")
            assert size(home.entries()) <= home.options.thresholds["memory"].hard
        moved = [line for line in core.history(limit=1000, automatic_only=True)["events"] if line["action"] == "moved"]
        back = [line["id"] for line in moved if line["actor"] == "recall"]
        assert len(back) == len(set(back)) == len(hot(core)) == len(home.entries()) > 3


def test_a_rule_comes_back_for_a_lighter_one_and_not_for_a_heavier(home: Home) -> None:
    with home.core(vectors=True) as core:
        retired(core, "tortoise", pointing=False)
        for name in NAMES[1:11]:
            core.remember(Draft(content=text(name), target="memory"), actor="test")
        full = hot(core)
        home.clock.forward(days=8)
        for name in full:
            for _ in range(3):
                core.remember(Draft(content=text(name), target="memory"), actor="test")
                core.overflow()
        answer = core.recall("ask about the tortoise before I order a new tortoise?")["results"][0]
        assert (answer["content"], answer["tier"], hot(core)) == (text("tortoise"), "cold", full)
        home.clock.forward(days=200)
        core.recall("ask about the tortoise before I order a new tortoise?")
        assert "tortoise" in hot(core)
        assert full - hot(core)


def test_what_is_restored_each_hour_is_restored_once_a_day(home: Home) -> None:
    home.options = replace(home.options, budget=BudgetOptions(restore_rest_days=1))
    with home.core(vectors=True) as core:
        back: list[bool] = []
        for _ in range(26):
            retired(core, "tortoise") if "tortoise" in hot(core) or not back else None
            core.recall("ask about the tortoise before I order a new tortoise?")
            back.append("tortoise" in hot(core))
            home.clock.forward(hours=1)
        assert back == [True, *[False] * 23, True, False]


def test_a_store_that_somebody_else_holds_keeps_no_question_waiting(home: Home) -> None:
    with home.core(vectors=True) as core:
        retired(core, "tortoise")
        with held(home):
            started = time.monotonic()
            answer = core.recall("ask about the tortoise before I order a new tortoise?")
            assert time.monotonic() - started < 4, "no wait of five seconds is in it"
        assert (answer["results"][0]["tier"], hot(core)) == ("cold", set())
        core.recall("ask about the tortoise before I order a new tortoise?")
        assert hot(core) == {"tortoise"}


def test_a_run_that_cannot_write_its_intents_leaves_the_file_alone(home: Home) -> None:
    with home.core() as core:
        for name in NAMES[:8]:
            core.remember(Draft(content=text(name), target="memory"), actor="test")
    home.clock.forward(days=60)
    home.options = replace(home.options, thresholds=dict.fromkeys(("memory", "user"), thresholds_of(500)))
    before = home.entries()
    with home.core() as core:
        with held(home):
            with pytest.raises(StoreBusy):
                core.overflow("memory")
            assert home.entries() == before
        assert core.overflow("memory")["runs"][0]["errors"] == 0
        assert home.entries() != before


@contextmanager
def held(home: Home) -> Generator[None]:
    """Somebody else has the write lock of the store."""
    with closing(apsw.Connection(str(home.options.data_dir / "memorycore.db"))) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def test_rules_that_a_host_was_told_come_back_together_when_its_session_is_over(home: Home) -> None:
    with home.core(long_lived=True, vectors=True) as core:
        retired(core, "tortoise", "kettle", "archive", pointing=False)
        home.clock.forward(days=30)
        before = home.memory_file.read_bytes()
        for name in ("tortoise", "kettle"):
            told = core.prefetch(
                f"do I ask Ana about the {name} before I order a new {name} for the {name} room?",
                session_id="s", given=(), most=5, most_chars=1500,
            )  # fmt: skip
            assert text(name) in told["text"]
        assert (home.memory_file.read_bytes(), hot(core)) == (before, set())
        inode = home.memory_file.stat().st_ino
        core.session_done("s")
        assert hot(core) >= {"tortoise", "kettle"}
        assert home.memory_file.stat().st_ino != inode
        moved = [one for one in core.history(limit=100, automatic_only=True)["events"] if one["actor"] == "recall"]
        assert len({one.get("run") for one in moved}) == 1
