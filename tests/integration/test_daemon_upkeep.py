"""What the daemon tends: what is due by the store, by whoever leads, whatever the one before left undone."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.daemon.upkeep import Everywhere, Upkeep, is_light, outlook
from memorycore.govern.steps import capacity
from memorycore.govern.steps.table import STEPS
from memorycore.options import CoreOptions, EmbedOptions, MaintenanceOptions
from memorycore.server.desk import Desk
from memorycore.store import progress
from tests.homes import Clock


def options(root: Path, **maintenance: object) -> CoreOptions:
    made = CoreOptions(hot_dir=root / "memories", data_dir=root / "data", embed=EmbedOptions(model="none"))
    return replace(made, maintenance=MaintenanceOptions(**maintenance))  # type: ignore[arg-type]


@contextmanager
def tending(wanted: CoreOptions, clock: Clock) -> Generator[Upkeep]:
    """A leader that has come up; what it does is all that is done."""

    def opened() -> MemoryCore:
        return MemoryCore(wanted, long_lived=False, clock=clock)

    desk = Desk(opened, language="en")
    try:
        yield Upkeep(desk=desk, owner="test")
    finally:
        desk.close(grace_s=2)


def ran(upkeep: Upkeep) -> set[str]:
    return {step for step, at in upkeep.last_runs().items() if at is not None}


def test_light_steps_do_not_wait_for_heavy_ones(tmp_path: Path) -> None:
    with tending(options(tmp_path), Clock()) as upkeep:
        upkeep.look(True)  # noqa: FBT003 as the scheduler calls it
        assert ran(upkeep)
        assert all(is_light(step) for step in ran(upkeep))
        upkeep.look(False)  # noqa: FBT003
        assert ran(upkeep) >= {step for step, spec in STEPS.items() if spec.by_itself}


def test_a_step_that_breaks_keeps_no_other_from_its_turn(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with tending(options(tmp_path), Clock()) as upkeep:
        with upkeep.desk.core() as core, core.db.write() as c:
            progress.put(c, core.options.namespace, capacity.PASS, "no pass at all", core.rooms.clock())
        upkeep.look(True)  # noqa: FBT003
        assert ran(upkeep) >= {step for step, spec in STEPS.items() if spec.light}
        with upkeep.desk.core() as core:
            broken = core.step_runs()["capacity"]
    assert (broken.outcome, broken.held_by, broken.result) == ("failed", "", {"error": "fault"})
    (said,) = [record.message for record in caplog.records if record.levelno >= logging.ERROR]
    assert said.startswith("step capacity broke with ")
    assert "no pass at all" not in said


def test_a_new_leader_runs_what_is_due_once_and_nothing_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    with tending(options(tmp_path), clock) as first:
        first.look(True)  # noqa: FBT003
    clock.forward(hours=12)  # asleep
    caplog.set_level(logging.INFO, "memorycore.daemon.upkeep")
    with tending(options(tmp_path), clock) as second:
        second.look(True)  # noqa: FBT003
        second.look(True)  # noqa: FBT003
    messages = [record.getMessage() for record in caplog.records]
    assert messages.count("step reconcile: done") == 1
    assert not any("decay" in message for message in messages)  # once a day


def test_steps_that_are_off_stay_off_and_those_with_a_time_of_the_day_wait_for_it(tmp_path: Path) -> None:
    wanted = options(tmp_path, every={"dedup": None, "expire": timedelta(hours=3)}, cron={"purge": "30 4 * * sun"})
    clock = Clock()
    with tending(wanted, clock) as upkeep:
        upkeep.look(True)  # noqa: FBT003
        assert not ran(upkeep) & {"dedup", "purge"}
        upkeep.run("purge")
        with upkeep.desk.core() as core:
            ahead = {one["step"]: one for one in outlook(core)}
    assert not {"last", "next"} & ahead["dedup"].keys()
    assert ahead["dedup"]["every"] == "off"
    assert datetime.fromisoformat(ahead["expire"].get("next", "")) == clock.now + timedelta(hours=3)
    assert f"{datetime.fromisoformat(ahead['purge'].get('next', '')):%a %H:%M}" == "Sun 04:30"


def test_a_store_that_cannot_be_used_is_a_trouble_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    wanted = options(tmp_path)
    database = wanted.data_dir / "memorycore.db"
    database.parent.mkdir()
    database.write_bytes(b"no database at all" * 500)
    caplog.set_level(logging.INFO, "memorycore.daemon.upkeep")
    with tending(wanted, Clock()) as upkeep:
        for _ in range(3):
            upkeep.look(True)  # noqa: FBT003
        assert upkeep.last_runs() == {}
        database.unlink()
        upkeep.look(True)  # noqa: FBT003
    messages = [record.getMessage() for record in caplog.records if "tended" in record.getMessage()]
    assert messages == ["nothing can be tended now: store_damaged", "the memory can be tended again"]


def test_namespaces_that_tokens_have_opened_are_tended_too(tmp_path: Path) -> None:
    clock = Clock()
    theirs = replace(options(tmp_path), namespace="helpdesk", hot_dir=tmp_path / "helpdesk")
    with tending(options(tmp_path), clock) as own, tending(theirs, clock) as other:
        everywhere = Everywhere(own=own, others=lambda: [other.desk])
        everywhere.look(True)  # noqa: FBT003
        assert "expire" in ran(own) & ran(other)
        clock.forward(days=2)
        everywhere.run("verify")
        with other.desk.core() as core:
            assert core.step_runs()["verify"].started_at == clock.now
