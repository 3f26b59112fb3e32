"""A hot file that somebody filled with thousands of entries is taken in and thinned out like any other."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from memorycore.core import MemoryCore
from memorycore.core.rooms import new_id
from memorycore.govern.reconcile import AT_ONCE
from memorycore.hot.document import size
from memorycore.lifecycle import retire
from memorycore.store import all_rows, memories
from tests.daemons import wait_for
from tests.homes import Home

MANY = [
    f"Always oil hinge {number} of gate {number * 7 % 1000} before the visit of keeper {number * 13 % 997}."
    for number in range(2 * AT_ONCE + 200)
]


OVERFLOW = """
import pathlib, sys
from tests.homes import Home
home = Home(pathlib.Path(sys.argv[1]))
home.clock.forward(days=20)
with home.core() as core:
    core.overflow()
"""


def touch(home: Home, new_id: Callable[[], str]) -> None:
    core = MemoryCore(home.options, long_lived=False, clock=home.clock, new_id=new_id)
    try:
        core.touch()
    finally:
        core.close()


def after(calls: int, do: Callable[[], object]) -> Callable[[], str]:
    """Ids as always; ``do`` is done before one of them."""
    made = 0

    def make() -> str:
        nonlocal made
        made += 1
        if made == calls:
            do()
        return new_id()

    return make


def texts(home: Home) -> list[str]:
    with home.core() as core:
        return sorted(str(line["content"]) for line in core.export())


def test_every_entry_gets_one_row_and_is_then_known(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write_memory_file(*MANY)
    with home.core() as core:
        assert core.rooms.touch() == 1
        assert core.rooms.touch() == 0
    assert texts(home) == sorted(MANY)


def test_what_somebody_writes_meanwhile_comes_in_with_the_next_look(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write_memory_file(*MANY)
    late = "Never paint the door of the boat house."
    touch(home, after(AT_ONCE + 100, lambda: home.write_memory_file(*MANY[1:], late)))
    assert texts(home) == sorted([*MANY, late])  # the one that is gone from the file is in the bin


@pytest.mark.parametrize("known", [(), ("Never paint the door of the boat house.",)], ids=["first", "later"])
def test_what_somebody_removes_meanwhile_is_in_the_bin_and_became_no_other_entry(
    tmp_path: Path, known: tuple[str, ...]
) -> None:
    home = Home(tmp_path)
    home.write_memory_file(*known)
    touch(home, new_id)
    home.write_memory_file(*known, *MANY)
    touch(home, after(AT_ONCE + 100, lambda: home.write_memory_file(*known, *MANY[:3], *MANY[4:])))
    with home.core() as core:
        assert [(item["content"], item["reason"]) for item in core.trash()["items"]] == [(MANY[3], "host_removed")]
        assert {event["action"] for event in core.history(limit=1000)["events"]} == {"added", "trashed"}
    assert texts(home) == sorted([*known, *MANY])


def test_a_first_look_that_was_cut_short_goes_on_as_the_first(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write_memory_file(*MANY)

    def fall_over() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        touch(home, after(AT_ONCE + 100, fall_over))
    with home.core() as core:
        origins = {(line["content"], line["origin"]) for line in core.export()}
    assert origins == {(text, "legacy") for text in MANY}


def test_room_is_made_in_it_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write_memory_file(*MANY)
    with home.core() as core:
        core.touch()
        home.clock.forward(days=20)
        core.overflow()
        assert core.usage()["hot"][0]["chars"] <= home.options.thresholds["memory"].hard
        assert sum(entry.startswith("[recall]") for entry in home.entries()) > 3
        assert size(home.entries()) > home.options.thresholds["memory"].hard - 200
    assert texts(home) == sorted(MANY)


@pytest.mark.parametrize("step", ["INSERT ON hot_intent WHEN new", "UPDATE ON memory WHEN new"], ids=["plan", "rows"])
def test_what_fails_in_a_later_part_is_ended_by_the_next_look(tmp_path: Path, step: str) -> None:
    home = Home(tmp_path)
    home.write_memory_file(*MANY)
    column = "memory_id" if "intent" in step else "id"
    with home.core() as core:
        core.touch()
        tier = core.rooms.tiers["memory"]
        with core.db.write() as c:
            known = memories.select(c, "file_memories", namespace=tier.namespace, hot_tier=tier.id)
            last = known[retire.AT_ONCE + 1].id
            c.execute(f"CREATE TRIGGER t BEFORE {step}.{column} = '{last}' BEGIN SELECT RAISE(ABORT, 'worn out'); END")
        out = [retire.Leaving(memory=memory, how="cold", reason="evicted") for memory in known]
        with pytest.raises(apsw.ConstraintError, match="worn out"):
            retire.rearrange(core.db, tier, out, [], core.rooms.cause("test", ""))
        with core.db.write() as c:
            c.execute("DROP TRIGGER t")
        core.touch()
        with core.db.read() as c:
            assert all_rows(c, "all_open_intents", {"namespace": tier.namespace}) == []
        assert core.trash()["items"] == []
        hot = {str(line["content"]) for line in core.export() if line["tier"] == "hot"}
    assert hot == set(home.entries())
    assert len(hot) == (len(MANY) if "intent" in step else 0)


def test_nothing_is_lost_when_the_run_dies_between_the_file_and_the_last_row(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write_memory_file(*MANY)
    with home.core() as core:
        core.touch()
    running = subprocess.Popen([sys.executable, "-c", OVERFLOW, str(tmp_path)])
    try:
        wait_for(lambda: home.memory_file.stat().st_size < 10_000)
    finally:
        running.kill()
        running.wait()
    home.clock.forward(days=20)
    with home.core() as core:
        core.touch()
        lines = list(core.export())
        assert core.audit()["targets"][0]["clean"]
    assert sorted(str(line["content"]) for line in lines) == sorted(MANY)
    hot = {str(line["content"]) for line in lines if line["tier"] == "hot"}
    assert hot == {entry for entry in home.entries() if not entry.startswith("[recall")}
