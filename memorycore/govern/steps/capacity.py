"""The capacity gate: a cold tier that grew large gets a pass of tidying. Nothing that is stored ever waits for it.

Above the soft mark one pass is queued; above the hard one passes are queued until there are fewer than the soft mark.
A pass that freed less than a hundredth is not repeated before the tier has grown by a twentieth: a large memory with
nothing to tidy is healthy, and going round in it helps nobody.
"""

import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Literal

import apsw

from memorycore.govern.steps.table import STEPS
from memorycore.govern.steps.work import Work
from memorycore.options import MaintenanceOptions
from memorycore.store import jobs, only_row, progress, step_runs
from memorycore.store.memories import to_ms

KIND = "tidy"
SUBJECT = "capacity"
PASS = "capacity_pass"  # noqa: S105 a name in the table of progress
STEPS_OF_A_PASS = ("dedup", "consolidate", "expire", "decay", "purge")
WORTH_REPEATING = 0.01
GROWTH = 0.05

Level = Literal["normal", "soft", "hard"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """How full the cold tier is. ``healthy``: not large, or the last pass found hardly anything to tidy.

    ``wants_pass``: whether a pass is due. ``queued``: whether one is under way.
    """

    total: int
    level: Level
    healthy: bool
    wants_pass: bool
    queued: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pass:
    """The last pass: how many there were when it was queued at ``since`` (milliseconds), and after it; None: it runs.

    ``chain``: it began above the hard mark, or followed one that did.
    """

    before: int
    since: int
    after: int | None = None
    chain: bool = False

    @property
    def freed_little(self) -> bool:
        return self.after is not None and self.before - self.after < WORTH_REPEATING * self.before


def look(c: apsw.Connection, namespace: str, options: MaintenanceOptions) -> Tier:
    """Count, and say what follows. Reads only."""
    total = int(only_row(c, "count_cold", {"namespace": namespace})[0])
    last = _last(c, namespace)
    level: Level = "hard" if total > options.hard_entries else "soft" if total > options.soft_entries else "normal"
    wants = level != "normal" and (last is None or _once_more(last, level, total))
    under_way = last is not None and last.after is None
    is_healthy = level == "normal" or (last is not None and last.freed_little and not wants)
    return Tier(total=total, level=level, healthy=is_healthy, wants_pass=wants and not under_way, queued=under_way)


def _once_more(last: _Pass, level: Level, total: int) -> bool:
    if last.after is None:
        return False
    if not last.freed_little and (level == "hard" or last.chain):
        return True  # it helped: until there are fewer than the soft mark
    return total >= last.after * (1 + GROWTH)


def capacity(work: Work, namespace: str, options: MaintenanceOptions) -> dict[str, object]:
    """Queue a pass where one is due, and close the one that is done.

    A pass is a job; its work is done by the steps, which become due, under their own leases and within their times.
    """
    now = work.clock()
    with work.db.read() as c:
        tier, last = look(c, namespace, options), _last(c, namespace)
        is_over = last is not None and last.after is None and _is_over(c, namespace, last, options, now)
    freed: dict[str, object] = {}
    if is_over and last is not None and not work.dry_run:
        _close(work, namespace, last, tier.total)
        freed = {"freed": last.before - tier.total}
        with work.db.read() as c:
            tier, last = look(c, namespace, options), _last(c, namespace)
    if tier.wants_pass and not work.dry_run:
        chain = tier.level == "hard" or (last is not None and last.chain and not last.freed_little)
        _queue(work, namespace, _Pass(before=tier.total, since=to_ms(now) or 0, chain=chain), options)
    found: dict[str, object] = {"total": tier.total, "level": tier.level}
    if tier.level != "normal":
        found["healthy"] = tier.healthy
    return {**found, **freed, "would_queue" if work.dry_run else "queued": tier.wants_pass}


def _queue(work: Work, namespace: str, new: _Pass, options: MaintenanceOptions) -> None:
    now = work.clock()
    with work.batch() as c:
        jobs.put(c, KIND, namespace, SUBJECT, now, priority=jobs.LATE, facts={"total": new.before})
        progress.put(c, namespace, PASS, json.dumps(asdict(new)), now)
        for name in _steps_of_a_pass(options):
            step_runs.make_due(c, namespace, name, now)


def _close(work: Work, namespace: str, last: _Pass, total: int) -> None:
    now = work.clock()
    with work.batch() as c:
        progress.put(c, namespace, PASS, json.dumps(asdict(replace(last, after=total))), now)
        jobs.drop(c, KIND, namespace, SUBJECT)


def _steps_of_a_pass(options: MaintenanceOptions) -> list[str]:
    """Those that somebody switched off, or gave a time of the day, keep to that."""
    free = (name for name in STEPS_OF_A_PASS if name not in options.cron)
    return [name for name in free if options.every.get(name, STEPS[name].every) is not None]


def _is_over(c: apsw.Connection, namespace: str, last: _Pass, options: MaintenanceOptions, now: datetime) -> bool:
    """Whether each step of the pass ended since it was queued."""
    for name in _steps_of_a_pass(options):
        ran = step_runs.of(c, namespace, name, now)
        if ran is None or ran.ended_at is None or ran.outcome in {"", "partial"}:
            return False
        if (to_ms(ran.ended_at) or 0) < last.since:
            return False
    return True


def _last(c: apsw.Connection, namespace: str) -> _Pass | None:
    known = progress.of(c, namespace, PASS).value
    return _Pass(**json.loads(known)) if known else None
