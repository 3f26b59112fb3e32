"""When maintenance runs: by the store, by the clock, and after a machine has slept."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from memorycore.daemon.schedule import Schedule, cron_trigger, next_at
from memorycore.errors import SettingsError

SUNDAY = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def test_a_weekday_is_the_one_that_it_is_called() -> None:
    fires = cron_trigger("backup", "30 4 * * sun").get_next_fire_time(None, SUNDAY)
    assert fires == datetime(2026, 12, 6, 4, 30, tzinfo=UTC)


def test_the_clock_is_utc_so_no_hour_comes_twice_or_never() -> None:
    trigger, at = cron_trigger("backup", "30 2 * * *"), datetime(2026, 10, 24, 12, 0, tzinfo=UTC)
    for day in (25, 26):  # clocks in Berlin go back on the 25th
        expected = datetime(2026, 10, day, 2, 30, tzinfo=UTC)
        assert trigger.get_next_fire_time(None, at) == expected
        at = expected + timedelta(minutes=1)


@pytest.mark.parametrize(
    ("last", "due"),
    [
        (None, SUNDAY),
        (SUNDAY - timedelta(days=9), SUNDAY),
        (SUNDAY - timedelta(hours=1), datetime(2026, 12, 6, 4, 30, tzinfo=UTC)),
        (SUNDAY + timedelta(days=400), datetime(2026, 12, 6, 4, 30, tzinfo=UTC)),
    ],
    ids=["never ran", "missed", "in time", "by a clock that ran ahead"],
)
def test_a_run_that_was_missed_is_made_at_once(last: datetime | None, due: datetime) -> None:
    assert next_at("backup", "30 4 * * sun", last, SUNDAY) == due


def test_fields_that_can_never_be_are_refused() -> None:
    with pytest.raises(SettingsError) as caught:
        cron_trigger("backup", "61 4 * * sun")
    assert caught.value.facts["why"] == "not_a_rhythm"


def test_twelve_hours_asleep_are_one_run_and_one_step_runs_at_a_time() -> None:  # IL-239
    """The scheduler finds twelve missed runs, as after a sleep; each lane has one thread."""
    ran, done = list[str](), threading.Event()

    def run(step: str) -> None:
        ran.append(step)
        if "light" in ran and "heavy" in ran and "backup" in ran:
            done.set()

    schedule = Schedule(look=lambda light: run("light" if light else "heavy"), run=run, cron={"backup": "0 * * * *"})
    now = datetime.now(UTC)
    schedule.start({"backup": now - timedelta(hours=12)}, now - timedelta(hours=12))
    assert done.wait(10)
    schedule.stop()
    schedule.stop()
    assert sorted(ran) == ["backup", "heavy", "light"]


def test_a_clock_that_is_put_back_puts_no_look_off() -> None:
    looked = threading.Event()
    schedule = Schedule(look=lambda _light: looked.set(), run=lambda _step: None, cron={"backup": "0 4 * * *"})
    now = datetime.now(UTC)
    later = now + timedelta(hours=1)
    schedule.start({"backup": later}, later)
    schedule.look_at_clock(later, 100.0)
    schedule.look_at_clock(later + timedelta(seconds=1), 101.0)
    assert not looked.wait(0.2)
    schedule.look_at_clock(now, 102.0)
    assert looked.wait(10)
    schedule.stop()
