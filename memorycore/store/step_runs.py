"""Who runs which maintenance step, how far it has come, and when it is due again.

A step is run by whoever holds its lease. The lease has a token that is checked in the very transaction that writes an
effect: a leader that was paused, and whose lease another has taken since, writes nothing more. Functions take an open
connection.
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

import apsw

from memorycore.errors import Conflict
from memorycore.store.memories import from_ms, to_ms
from memorycore.store.statements import all_rows, first_row, sql

Outcome = Literal["done", "partial", "failed"]

WHOLE_STORE = ""  # the namespace of a step that is not about one
LOST = "lease_lost"
LEASE = timedelta(seconds=60)
LONGEST_LEASE = timedelta(hours=1)  # a lease that ends later than that was taken before the clock went back


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A step that is ours now. ``cursor``: where a run that was cut short stopped; empty: from the start."""

    namespace: str
    step: str
    token: str
    cursor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """A step as it last ran. ``held_by`` is empty when nobody runs it; ``outcome`` when it runs or was killed."""

    namespace: str
    step: str
    held_by: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: str = ""
    cursor: str = ""
    result: Mapping[str, Any] = field(default_factory=dict[str, Any])
    next_due: datetime | None = None


def lease(c: apsw.Connection, namespace: str, step: str, owner: str, now: datetime) -> Lease | None:
    """Take a step for ``LEASE``; None while somebody else holds it. Needs a write transaction."""
    token = uuid.uuid4().hex
    row = first_row(c, "lease_step", {
        "namespace": namespace, "step": step, "owner": owner, "token": token, "now": to_ms(now),
        "until": to_ms(now + LEASE), "latest": to_ms(now + LONGEST_LEASE),
    })  # fmt: skip
    return None if row is None else Lease(namespace=namespace, step=step, token=token, cursor=str(row[0]))


def hold(c: apsw.Connection, held: Lease, now: datetime, *, cursor: str | None = None) -> None:
    """Lengthen a lease and note how far the step has come, in the transaction of a batch of its effects.

    Raises:
        Conflict: Somebody else has the step by now; nothing of this transaction may stay.
    """
    where = {"namespace": held.namespace, "step": held.step, "token": held.token}
    c.execute(sql["hold_step"], {**where, "until": to_ms(now + LEASE), "cursor": cursor})
    if c.changes() == 0:
        raise Conflict(what=held.step, why=LOST)


def end(  # noqa: PLR0913 what became of a run, each named by its caller
    c: apsw.Connection,
    held: Lease,
    now: datetime,
    *,
    outcome: Outcome,
    result: Mapping[str, object],
    next_due: datetime,
    cursor: str = "",
) -> bool:
    """Give a step back; False when it is not ours any more."""
    c.execute(sql["end_step"], {
        "namespace": held.namespace, "step": held.step, "token": held.token, "now": to_ms(now), "outcome": outcome,
        "result": json.dumps(dict(result), ensure_ascii=False), "next_due": to_ms(next_due), "cursor": cursor,
    })  # fmt: skip
    return c.changes() > 0


def of(c: apsw.Connection, namespace: str, step: str, now: datetime) -> StepRun | None:
    """A step as it last ran; None when it never did."""
    row = first_row(c, "step_run", {"namespace": namespace, "step": step})
    return None if row is None else _run((namespace, *row), now)


def known(c: apsw.Connection, namespaces: Sequence[str], now: datetime) -> dict[str, StepRun]:
    """Every step that ever ran for one of the namespaces, by its name."""
    rows = all_rows(c, "step_runs", {"namespaces": json.dumps(list(namespaces))})
    return {str(row[1]): _run(row, now) for row in rows}


def make_due(c: apsw.Connection, namespace: str, step: str, now: datetime) -> None:
    """Have a step run as soon as somebody looks."""
    c.execute(sql["make_step_due"], {"namespace": namespace, "step": step, "now": to_ms(now)})


def _run(row: tuple[Any, ...], now: datetime) -> StepRun:
    namespace, step, lease_by, lease_until, started_at, ended_at, outcome, cursor, result, next_due = row
    until = from_ms(lease_until)
    is_held = until is not None and now < until <= now + LONGEST_LEASE
    return StepRun(
        namespace=namespace, step=step, held_by=lease_by if is_held else "", started_at=from_ms(started_at),
        ended_at=from_ms(ended_at), outcome=outcome, cursor=cursor, result=json.loads(result),
        next_due=from_ms(next_due),
    )  # fmt: skip
