"""Maintenance: what each step does on an open memory, which are due, and catching up when nobody waits."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from memorycore import answers_upkeep
from memorycore.core import backup, consolidate, overflow
from memorycore.core.rooms import Rooms
from memorycore.domain.memory import Memory, format_time
from memorycore.errors import HotFileError
from memorycore.govern import maintenance, purge, question_log
from memorycore.govern.maintenance import Order
from memorycore.govern.steps import capacity, decay, expire, upkeep_steps, verify
from memorycore.govern.steps.table import STEPS
from memorycore.govern.steps.work import Report, Step, Work
from memorycore.lifecycle import retire
from memorycore.lifecycle.retire import Leaving
from memorycore.lifecycle.rows import Cause
from memorycore.store import intents, jobs, step_runs
from memorycore.store.remote import REMOTE
from memorycore.store.step_runs import WHOLE_STORE, StepRun

ACTOR = "maintenance"
REMOTE_S = 60.0


def maintain(  # noqa: PLR0913 what is run, for whom, and how
    rooms: Rooms,
    names: Sequence[str] = (),
    *,
    dry_run: bool = False,
    report: Report | None = None,
    time_box_s: float | None = None,
    owner: str = "",
    by_itself: bool = False,
) -> answers_upkeep.Maintained:
    """Run steps, all of them or those named, each under its lease. ``by_itself``: nobody has asked for it now.

    Raises:
        InvalidInput: There is no step with this name; nothing ran.
    """
    specs = maintenance.chosen(names)
    if not dry_run:
        rooms.touch()
    order = Order(
        namespace=rooms.options.namespace,
        owner=owner or intents.me(),
        clock=rooms.clock,
        options=rooms.options.maintenance,
        dry_run=dry_run,
        report=report,
        ends_at_s=None if time_box_s is None else time.monotonic() + time_box_s,
        by_itself=by_itself,
    )
    return {"steps": maintenance.run(rooms.db, _steps(rooms), specs, order), "dry_run": dry_run}


def runs(rooms: Rooms, now: datetime) -> dict[str, StepRun]:
    """Every step that ever ran here, as it last ran."""
    with rooms.db.read() as c:
        return step_runs.known(c, (rooms.options.namespace, WHOLE_STORE), now)


def due_steps(rooms: Rooms, now: datetime) -> list[str]:
    return maintenance.due(runs(rooms, now), rooms.options.maintenance, now)


def schedule(rooms: Rooms, now: datetime) -> list[answers_upkeep.Scheduled]:
    """Every step with its pace, its last run and its next one, in the order in which they run."""
    care, known = rooms.options.maintenance, runs(rooms, now)
    due = maintenance.due(known, care, now)
    told: list[answers_upkeep.Scheduled] = []
    for name, spec in STEPS.items():
        pace = maintenance.every(spec, care)
        every = care.cron.get(name) or ("off" if pace is None else in_words(pace))
        one: answers_upkeep.Scheduled = {"step": name, "every": every, "light": spec.light, "due": name in due}
        ran = known.get(name)
        if ran is not None and (last := format_time(ran.ended_at)):
            one["last"], one["outcome"], one["result"] = last, ran.outcome, dict(ran.result)
        if ran is not None and ran.held_by:
            one["held_by"] = ran.held_by
        if name in due:
            one["next"] = format_time(now) or ""
        elif ran is not None and pace is not None and (soon := format_time(ran.next_due)):
            one["next"] = soon
        told.append(one)
    return told


def in_words(pace: timedelta) -> str:
    """``5m``, ``6h``, ``1d``, as settings have it."""
    seconds = int(pace.total_seconds())
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def catch_up(rooms: Rooms, *, light: bool = True, budget_s: float = 2.0, owner: str = "") -> list[str]:
    """Run what is due, or only what is light, for a moment; the steps that ran. What is left over stays due."""
    ends_at_s = time.monotonic() + budget_s
    ran: list[str] = []
    for name in due_steps(rooms, rooms.clock()):
        left_s = ends_at_s - time.monotonic()
        if left_s <= 0:
            break
        if STEPS[name].light or not light:
            maintain(rooms, (name,), time_box_s=left_s, owner=owner, by_itself=True)
            ran.append(name)
    return ran


def _steps(rooms: Rooms) -> Mapping[str, Step]:
    db, options, own = rooms.db, rooms.options, rooms.options.namespace
    care = options.maintenance
    return {
        "reconcile": lambda work: _reconcile(rooms, work),
        "overflow": lambda work: _overflow(rooms, work),
        "integrity": lambda work: upkeep_steps.integrity(work, rooms.embedding),
        "reembed": lambda work: upkeep_steps.reembed(work, rooms.embedding),
        "dedup": lambda work: _told(consolidate.dedup(rooms, work, cause := _cause(rooms, "same")), cause),
        "conflicts": lambda work: _told(consolidate.conflicts(rooms, work, cause := _cause(rooms, "conflict")), cause),
        "expire": lambda work: _told(
            expire.expire(
                work, own, cause := _cause(rooms, "time_over"), lambda some: _leave_files(rooms, some, cause)
            ),
            cause,
        ),
        "decay": lambda work: _told(
            decay.decay(work, own, cause := _cause(rooms, decay.REASON), may_bin=care.decay_bin), cause
        ),
        "verify": lambda work: _told(
            verify.verify(work, own, cause := _cause(rooms, "source"), source_days=care.source_days), cause
        ),
        "consolidate": lambda work: _told(consolidate.consolidate(rooms, work, cause := _cause(rooms, "same")), cause),
        "purge": lambda work: _purge(rooms, work),
        "capacity": lambda work: capacity.capacity(work, own, care),
        "remote": lambda work: _remote(rooms, work),
        "questions": lambda work: question_log.keep(db, options, work.clock(), dry_run=work.dry_run),
        "uses": upkeep_steps.uses,
        "compact": upkeep_steps.compact,
        "backup": lambda work: backup.step(rooms, work),
        "checkpoint": lambda work: upkeep_steps.checkpoint(work, rooms.embedding),
    }


def _cause(rooms: Rooms, reason: str) -> Cause:
    """Nobody asked for the very change, and it can be undone."""
    return replace(rooms.cause(ACTOR, reason), automatic=True)


COUNTS_OF_CHANGES = ("merged", "proposed", "disputed", "ended", "binned", "stale", "unverified")


def _told(found: dict[str, object], cause: Cause) -> dict[str, object]:
    """What a step counted, with the command that takes it back where it changed anything."""
    if any(found.get(name) for name in COUNTS_OF_CHANGES):
        return {**found, "undo": f"memorycore undo --run {cause.run}"}
    return found


def _reconcile(rooms: Rooms, work: Work) -> dict[str, object]:
    """Bring rows and hot files into agreement; what cannot be read is a problem of the answer, and no end."""
    if work.dry_run:
        return {"would_look_at": len(rooms.tiers)}
    changed = rooms.touch()
    return {"changed": changed, "unreadable": sorted(rooms.problems)}


def _overflow(rooms: Rooms, work: Work) -> dict[str, object]:
    work.check()
    done = overflow.overflow(rooms, dry_run=work.dry_run)
    return {"left": sum(run["overflowed"] for run in done["runs"])}


def _remote(rooms: Rooms, work: Work) -> dict[str, object]:
    """Bring the service that has copies up to date; where none is in use there is nothing to do."""
    if rooms.remote is None:
        return {}
    found: dict[str, object] = {}
    if not work.dry_run:
        work.check()
        rooms.remote.post.owe_missing()
        remaining = None if work.ends_at_s is None else work.ends_at_s - time.monotonic()
        done = rooms.remote.deliver(limit_s=REMOTE_S if remaining is None else max(0.1, remaining))
        work.partial = done.left
        found = {"delivered": done.done, "refused": done.refused}
    with rooms.db.read() as c:
        waiting = jobs.counts(c, (rooms.options.namespace,)).get(REMOTE, jobs.Counted()).waiting
    return {**found, "waiting": waiting}


def _purge(rooms: Rooms, work: Work) -> dict[str, object]:
    cause = _cause(rooms, "bin_time_over")
    before = cause.at - timedelta(days=rooms.options.trash_days)
    if work.by_itself and not purge.was_announced(work, rooms.options.namespace, cause.at):
        return {"purged": 0}
    return purge.purge(work, rooms.namespaces, binned_before=before, cause=cause)


def _leave_files(rooms: Rooms, some: list[Memory], cause: Cause) -> set[str]:
    """Take entries whose time is over out of the hot files; those of another folder stay."""
    left: set[str] = set()
    for tier in rooms.tiers.values():
        here = [memory for memory in some if memory.hot_tier == tier.id]
        if here:
            going = [Leaving(memory=memory, how="cold", reason="time_over") for memory in here]
            with suppress(HotFileError):  # it cannot be used now; the next run tries again
                left |= retire.rearrange(rooms.db, tier, going, [], cause).left
    return left
