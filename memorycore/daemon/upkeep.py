"""Maintenance as the daemon does it: what the store says is due, one step after the other."""

import logging
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from memorycore import metrics
from memorycore.domain.memory import format_time
from memorycore.errors import MemoryCoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memorycore.answers_upkeep import Scheduled
    from memorycore.core import MemoryCore
    from memorycore.server.desk import Desk

_log = logging.getLogger(__name__)
TIME_BOX_S = 240.0  # what is left then goes on at the next look


@dataclass(slots=True, kw_only=True)
class Upkeep:
    """Who tends the memory of a desk. ``owner`` holds the leases; ``trouble`` is said once, and when it is over."""

    desk: "Desk"
    owner: str
    trouble: str = field(default="", init=False)

    def look(self, light: bool) -> None:  # noqa: FBT001 the scheduler hands it over by position
        """Run every light step that is due, or every heavy one."""
        try:
            with self.desk.core() as core:
                due = [step for step in core.due_steps() if is_light(step) is light]
        except MemoryCoreError as error:
            self._in_trouble(error.code)
            return
        self._in_trouble("")
        for step in due:
            self.run(step)

    def run(self, step: str) -> None:
        """Run one step and say how it went."""
        from memorycore.core.maintain import maintain

        try:
            with self.desk.core() as core:
                done = maintain(core.rooms, [step], owner=self.owner, time_box_s=TIME_BOX_S, by_itself=True)
        except MemoryCoreError as error:
            self._in_trouble(error.code)
            return
        for one in done["steps"]:
            metrics.add("memorycore_steps_total", step=step, outcome=str(one["outcome"]))
            facts = {"step": step, "seconds": one.get("seconds")}
            _log.info("step %s: %s", step, one["outcome"], extra={"facts": facts})

    def last_runs(self) -> dict[str, datetime | None]:
        """When each step last began; empty while the store cannot be opened."""
        try:
            with self.desk.core() as core:
                return {step: one.started_at for step, one in core.step_runs().items()}
        except MemoryCoreError as error:
            self._in_trouble(error.code)
            return {}

    def _in_trouble(self, code: str) -> None:
        before, self.trouble = self.trouble, code
        if code and code != before:
            _log.warning("nothing can be tended now: %s", code)
        elif before and not code:
            _log.info("the memory can be tended again")


@dataclass(slots=True, kw_only=True)
class Everywhere:
    """Tends what this process has open: its own memory first, then each namespace that a named token has opened."""

    own: Upkeep
    others: "Callable[[], Sequence[Desk]]"
    _known: "dict[int, Upkeep]" = field(default_factory=dict[int, Upkeep], init=False)

    def look(self, light: bool) -> None:  # noqa: FBT001 as above
        for one in self._all():
            one.look(light)

    def run(self, step: str) -> None:
        for one in self._all():
            one.run(step)

    def _all(self) -> list[Upkeep]:
        for desk in self.others():
            self._known.setdefault(id(desk), Upkeep(desk=desk, owner=self.own.owner))
        return [self.own, *self._known.values()]


def outlook(core: "MemoryCore") -> list["Scheduled"]:
    """``core.schedule()`` with the next run of those steps that have a time of the day, which only the daemon keeps."""
    from memorycore.daemon.schedule import next_at

    cron, runs, now = core.options.maintenance.cron, core.step_runs(), core.rooms.clock()
    told = core.schedule()
    for one in told:
        if rhythm := cron.get(one["step"]):
            run = runs.get(one["step"])
            if due := next_at(one["step"], rhythm, None if run is None else run.started_at, now):
                one["next"] = format_time(due) or ""
    return told


def is_light(step: str) -> bool:
    from memorycore.govern.steps.table import STEPS

    return STEPS[step].light
