"""When maintenance runs: two rounds that do what the store says is due, and steps that have a time of the day.

The jobs are made anew at every start; when a step last ran and is due again stands in the store, so a new leader goes
on where the last one stopped. Light steps and heavy ones have a thread each: the log of the database is kept short
while a long step writes.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from memorycore.errors import SettingsError

if TYPE_CHECKING:
    from apscheduler.triggers.base import BaseTrigger

LOOK_EVERY_S = {"light": 5, "heavy": 20}
FIRST_LOOK_AFTER = timedelta(seconds=3)  # clients that wait for a daemon come first
# However late a run is, it is made: a machine that slept has missed it, and `coalesce` makes one of many.
MISFIRE_GRACE_S = None
CLOCK_BACK_S = 30.0  # less than that is not worth the trouble


def cron_trigger(step: str, rhythm: str) -> "BaseTrigger":
    """What fires at these times, in UTC.

    Raises:
        SettingsError: The five fields say nothing that can be.
    """
    from apscheduler.triggers.cron import CronTrigger

    try:
        return cast("BaseTrigger", CronTrigger.from_crontab(rhythm, timezone=UTC))
    except ValueError as error:
        raise SettingsError(key="schedule", why="not_a_rhythm", step=step, value=rhythm, detail=str(error)) from error


def next_at(step: str, rhythm: str, last: datetime | None, now: datetime) -> datetime | None:
    """When a step with a time of the day runs next; ``now`` when it was missed since it last ran, or never ran."""
    if last is None:
        return now
    last = min(last, now)  # a clock that ran ahead puts nothing off
    due = cast("datetime | None", cron_trigger(step, rhythm).get_next_fire_time(None, last + timedelta(seconds=1)))
    return due if due is None else max(due, now)


class Schedule:
    """The jobs of the process that leads.

    ``look(light)`` does what is due of the light steps, or of the heavy ones; ``run(step)`` runs one step.
    """

    def __init__(self, *, look: Callable[[bool], None], run: Callable[[str], None], cron: Mapping[str, str]) -> None:
        from apscheduler.executors.pool import ThreadPoolExecutor
        from apscheduler.schedulers.background import BackgroundScheduler

        self._look = look
        self._run = run
        self._cron = cron
        self._clock_began: float | None = None
        self._triggers = {step: cron_trigger(step, rhythm) for step, rhythm in cron.items()}
        self._scheduler: Any = BackgroundScheduler(
            timezone=UTC,
            executors={"light": ThreadPoolExecutor(1), "heavy": ThreadPoolExecutor(1)},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": MISFIRE_GRACE_S},
        )

    def start(self, last_runs: Mapping[str, datetime | None], now: datetime) -> None:
        """Begin: what was missed runs soon, everything else when its time comes."""
        from apscheduler.triggers.interval import IntervalTrigger

        soon = now + FIRST_LOOK_AFTER
        for lane, seconds in LOOK_EVERY_S.items():
            self._scheduler.add_job(
                self._look, IntervalTrigger(seconds=seconds, timezone=UTC), args=[lane == "light"], id=lane, name=lane,
                executor=lane, next_run_time=soon,
            )  # fmt: skip
        for step, trigger in self._triggers.items():
            first = next_at(step, self._cron[step], last_runs.get(step), soon)
            self._scheduler.add_job(
                self._run, trigger, args=[step], id=step, name=step, executor="heavy", next_run_time=first
            )
        self._scheduler.start()

    def look_at_clock(self, now: datetime, steady_s: float) -> None:
        """See whether the clock was put back since the last look: jobs would wait until it is as late as it was.

        ``steady_s``: seconds of a clock that nobody can put back.
        """
        began, before = now.timestamp() - steady_s, self._clock_began
        self._clock_began = began
        if before is None or before - began < CLOCK_BACK_S or not self._scheduler.running:
            return
        for lane in LOOK_EVERY_S:
            self._scheduler.modify_job(lane, next_run_time=now)
        for step, trigger in self._triggers.items():
            self._scheduler.reschedule_job(step, trigger=trigger)

    def stop(self) -> None:
        """No further runs. One that is under way is not waited for: every step may be cut short at any point."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
