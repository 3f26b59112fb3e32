"""Run maintenance steps: each under its lease, within its time, from where its last run stopped."""

import logging
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memorycore.errors import Conflict, InvalidInput, MemoryCoreError
from memorycore.govern.steps.table import STEPS, StepSpec
from memorycore.govern.steps.work import Progress, Report, Step, Work
from memorycore.options import MaintenanceOptions
from memorycore.store import Database, step_runs
from memorycore.store.step_runs import WHOLE_STORE, Lease, StepRun

_log = logging.getLogger(__name__)
AFTER_FAILURE = timedelta(minutes=10)
FAULT = "fault"  # what nobody expected, as an error code of a step


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be run, by whom, and how. ``ends_at_s`` is of the monotonic clock; None: as long as it takes.

    ``by_itself``: its time has come, and nobody has asked for it.
    """

    namespace: str
    owner: str
    clock: Callable[[], datetime]
    options: MaintenanceOptions
    dry_run: bool = False
    report: Report | None = None
    ends_at_s: float | None = None
    by_itself: bool = False


def chosen(names: Sequence[str]) -> list[StepSpec]:
    """The steps with these names in the order in which they run; all of them without a name.

    Raises:
        InvalidInput: There is no step with this name.
    """
    unknown = [name for name in names if name not in STEPS]
    if unknown:
        raise InvalidInput(field="steps", why="unknown value", value=unknown[0], allowed=", ".join(STEPS))
    return [spec for spec in STEPS.values() if not names or spec.name in names]


def every(spec: StepSpec, options: MaintenanceOptions) -> timedelta | None:
    """How often a step runs by itself; None: never, or only when the daemon's clock says so."""
    if not spec.by_itself or spec.name in options.cron:
        return None
    return options.every.get(spec.name, spec.every)


def due(runs: Mapping[str, StepRun], options: MaintenanceOptions, now: datetime) -> list[str]:
    """Steps whose time has come, and that nobody runs now, in the order in which they run.

    One that was to run at a time further ahead than its own pace was put off by a clock that ran ahead: it is due.
    """
    found: list[str] = []
    for spec in STEPS.values():
        pace, known = every(spec, options), runs.get(spec.name)
        if known is None:
            is_due = pace is not None
        elif known.held_by or known.next_due is None:
            is_due = False
        else:
            is_due = known.next_due <= now or (pace is not None and known.next_due > now + pace + AFTER_FAILURE)
            is_due = is_due and (pace is not None or known.outcome == "partial")
        if is_due:
            found.append(spec.name)
    return found


def run(db: Database, steps: Mapping[str, Step], specs: Sequence[StepSpec], order: Order) -> list[dict[str, object]]:
    """Run these steps one after the other; one that fails or that somebody else runs does not keep the others.

    Returns:
        For each ``step``, its ``outcome`` (done | partial | failed | busy | lost, planned in a dry run), ``seconds``,
        and what it counted; those for which no time was left are not in it.
    """
    answers: list[dict[str, object]] = []
    for number, spec in enumerate(specs, 1):
        if order.ends_at_s is not None and time.monotonic() >= order.ends_at_s:
            break
        answers.append(_run_one(db, steps[spec.name], spec, order, (number, len(specs))))
    return answers


def _run_one(db: Database, step: Step, spec: StepSpec, order: Order, place: tuple[int, int]) -> dict[str, object]:
    began = time.monotonic()
    work = Work(
        db=db, step=spec.name, clock=order.clock, dry_run=order.dry_run, ends_at_s=order.ends_at_s,
        by_itself=order.by_itself, report=_reporter(order, spec.name, place),
    )  # fmt: skip
    if not order.dry_run:
        with db.write() as c:
            work.lease = step_runs.lease(c, _namespace(spec, order), spec.name, order.owner, order.clock())
        if work.lease is None:
            return {"step": spec.name, "outcome": "busy"}
        work.cursor = work.lease.cursor
    work.report(0, 0)
    try:
        found = dict(step(work))
        outcome = "planned" if order.dry_run else "partial" if work.partial else "done"
    except MemoryCoreError as error:
        found, outcome = {"error": error.code}, "failed"
        if isinstance(error, Conflict) and error.facts.get("why") == step_runs.LOST:
            outcome = "lost"
        _log.warning("step %s %s: %s", spec.name, outcome, error.code)
    except Exception as error:  # noqa: BLE001 the job runner: a fault in one step starves none of those that come after it
        found, outcome = {"error": FAULT}, "failed"
        frames = "".join(traceback.format_tb(error.__traceback__))  # not its own text, which may quote a memory
        _log.error("step %s broke with %s\n%s", spec.name, type(error).__name__, frames)
    if work.lease is not None and outcome in {"done", "partial", "failed"}:
        _end(db, work.lease, spec, order, work, outcome, found)
    work.report(1, 1)
    return {"step": spec.name, "outcome": outcome, "seconds": round(time.monotonic() - began, 3), **found}


def _end(  # noqa: PLR0913, PLR0917 what ended, and how
    db: Database, lease: Lease, spec: StepSpec, order: Order, work: Work, outcome: str, found: Mapping[str, object]
) -> None:
    now = order.clock()
    pace = every(spec, order.options) or spec.every
    pauses = {"done": pace, "partial": timedelta(), "failed": min(pace, AFTER_FAILURE)}
    with db.write() as c:
        step_runs.end(
            c, lease, now, outcome=outcome, result=found, next_due=now + pauses[outcome],  # type: ignore[arg-type]
            cursor="" if outcome == "done" else work.cursor,
        )  # fmt: skip


def _namespace(spec: StepSpec, order: Order) -> str:
    return WHOLE_STORE if spec.whole_store else order.namespace


def _reporter(order: Order, step: str, place: tuple[int, int]) -> Callable[[int, int], None]:
    def report(done: int, total: int) -> None:
        if order.report is not None:
            order.report(Progress(step=step, done=done, total=total, number=place[0], steps=place[1]))

    return report
