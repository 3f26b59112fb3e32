"""Maintenance: what each step does on an open memory, which are due, and catching up when nobody waits."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from memorycore import answers
from memorycore.core import overflow
from memorycore.core.rooms import Rooms
from memorycore.govern import maintenance, purge, question_log
from memorycore.govern.maintenance import Order
from memorycore.govern.steps import upkeep_steps
from memorycore.govern.steps.table import STEPS
from memorycore.govern.steps.work import Report, Step, Work
from memorycore.lifecycle.rows import Cause
from memorycore.store import intents, step_runs
from memorycore.store.step_runs import WHOLE_STORE, StepRun

ACTOR = "maintenance"


def maintain(
    rooms: Rooms,
    names: Sequence[str] = (),
    *,
    dry_run: bool = False,
    report: Report | None = None,
    time_box_s: float | None = None,
    owner: str = "",
) -> answers.Maintained:
    """Run steps, all of them or those named, each under its lease.

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
    )
    return {"steps": maintenance.run(rooms.db, _steps(rooms), specs, order), "dry_run": dry_run}


def runs(rooms: Rooms, now: datetime) -> dict[str, StepRun]:
    """Every step that ever ran here, as it last ran."""
    with rooms.db.read() as c:
        return step_runs.known(c, (rooms.options.namespace, WHOLE_STORE), now)


def due_steps(rooms: Rooms, now: datetime) -> list[str]:
    return maintenance.due(runs(rooms, now), rooms.options.maintenance, now)


def catch_up(rooms: Rooms, *, light: bool = True, budget_s: float = 2.0, owner: str = "") -> list[str]:
    """Run what is due, or only what is light, for a moment; the steps that ran. What is left over stays due."""
    ends_at_s = time.monotonic() + budget_s
    ran: list[str] = []
    for name in due_steps(rooms, rooms.clock()):
        left_s = ends_at_s - time.monotonic()
        if left_s <= 0:
            break
        if STEPS[name].light or not light:
            maintain(rooms, (name,), time_box_s=left_s, owner=owner)
            ran.append(name)
    return ran


def _steps(rooms: Rooms) -> Mapping[str, Step]:
    db, options = rooms.db, rooms.options
    return {
        "reconcile": lambda work: _reconcile(rooms, work),
        "overflow": lambda work: _overflow(rooms, work),
        "integrity": upkeep_steps.integrity,
        "reembed": lambda work: upkeep_steps.reembed(work, rooms.embedding),
        "purge": lambda work: _purge(rooms, work),
        "questions": lambda work: question_log.keep(db, options, work.clock(), dry_run=work.dry_run),
        "uses": upkeep_steps.uses,
        "compact": upkeep_steps.compact,
        "checkpoint": upkeep_steps.checkpoint,
    }


def _cause(rooms: Rooms, reason: str) -> Cause:
    """Nobody asked for the very change, and it can be undone."""
    return replace(rooms.cause(ACTOR, reason), automatic=True)


def _reconcile(rooms: Rooms, work: Work) -> dict[str, object]:
    """Bring rows and hot files into agreement; what cannot be read is a problem of the answer, and no end."""
    if work.dry_run:
        return {"would_look_at": len(rooms.tiers)}
    changed = rooms.touch()
    return {"changed": changed, "unreadable": sorted(rooms.problems)}


def _overflow(rooms: Rooms, work: Work) -> dict[str, object]:
    work.check()
    done = overflow.overflow(rooms, dry_run=work.dry_run)
    return {"runs": len(done["runs"])}


def _purge(rooms: Rooms, work: Work) -> dict[str, object]:
    cause = _cause(rooms, "bin_time_over")
    before = cause.at - timedelta(days=rooms.options.trash_days)
    return purge.purge(work, rooms.namespaces, binned_before=before, cause=cause)
