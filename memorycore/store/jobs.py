"""Work for later: one table for vectors, verdicts, questions to a language model, and what another store is owed.

A job is queued in the transaction of the change that makes it necessary. Whoever works claims some for a while; the
claim has a token, without which nobody ends a job: one that was paused too long ends nothing that another has begun
anew. Every function takes the open connection of a transaction.
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import apsw

from memorycore.store.memories import to_ms
from memorycore.store.statements import all_rows, first_row, sql

FIRST, SOON, USUAL, LATE, UNCOUNTED = 1, 2, 3, 4, 5
"""Priorities. ``UNCOUNTED`` is for what nobody waits for."""

LONGEST_WAIT = timedelta(hours=1)  # a job that is due later than that was queued before the clock went back


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One claimed job. ``attempts`` counts those that failed; ``facts`` are as they were put."""

    id: int
    kind: str
    namespace: str
    subject: str
    token: str
    memory_seq: int | None = None
    other_seq: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    priority: int = USUAL
    attempts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How a kind of work is tried again: after ``first`` · ``times``^n, at most an hour; given up after ``most``."""

    first: timedelta
    times: float = 4.0
    most: int = 6

    def pause(self, attempts: int) -> timedelta:
        """The pause after a failure that ``attempts`` others came before."""
        return min(self.first * self.times**attempts, LONGEST_WAIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    waiting: int = 0
    dead: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead:
    """A job that was given up, with the code of its last error; ``memory_id`` empty where it is about no memory."""

    id: int
    kind: str
    namespace: str
    subject: str
    attempts: int
    error: str
    memory_id: str


def put(  # noqa: PLR0913 what is to be done, of what, and how urgently
    c: apsw.Connection,
    kind: str,
    namespace: str,
    subject: str,
    not_before: datetime,
    *,
    memory_seq: int | None = None,
    other_seq: int | None = None,
    facts: Mapping[str, object] | None = None,
    priority: int = USUAL,
    anew: bool = True,
) -> None:
    """Queue a job, one for each ``subject`` of a kind. Asking again starts its attempts anew; not so without ``anew``.

    The job goes when one of its memories goes. A claim on the earlier job of the same subject counts no more.
    """
    c.execute(sql["put_job" if anew else "put_job_once"], {
        "kind": kind, "namespace": namespace, "subject": subject, "memory_seq": memory_seq, "other_seq": other_seq,
        "facts": json.dumps(dict(facts or {})), "priority": priority, "not_before": to_ms(not_before),
    })  # fmt: skip


def any_due(
    c: apsw.Connection, kinds: Sequence[str], now: datetime, *, namespaces: Sequence[str] | None = None
) -> bool:
    return first_row(c, "any_due_job", _due(kinds, now, namespaces)) is not None


def claim(
    c: apsw.Connection,
    kinds: Sequence[str],
    now: datetime,
    *,
    lease_s: float,
    most: int,
    namespaces: Sequence[str] | None = None,
) -> list[Job]:
    """Take due jobs, the most urgent first; a taker that dies loses them after ``lease_s``. Of all namespaces, or some.

    Needs a write transaction. ``lease_s`` is at most ``LONGEST_WAIT``.
    """
    token = uuid.uuid4().hex
    until = to_ms(now + min(timedelta(seconds=lease_s), LONGEST_WAIT))
    jobs = [
        Job(
            id=row[0], kind=row[1], namespace=row[2], subject=row[3], memory_seq=row[4], other_seq=row[5],
            facts=json.loads(row[6]), priority=row[7], attempts=row[8], token=token,
        )
        for row in all_rows(c, "due_jobs", {**_due(kinds, now, namespaces), "most": most})
    ]  # fmt: skip
    for job in jobs:
        c.execute(sql["lease_job"], {"id": job.id, "token": token, "until": until})
    return jobs


def is_held(c: apsw.Connection, job: Job) -> bool:
    """Whether the job is still the one that was claimed: neither taken by another nor asked for anew."""
    return first_row(c, "job_is_held", {"id": job.id, "token": job.token}) is not None


def done(c: apsw.Connection, job: Job) -> bool:
    """Cross a job off, in the transaction of its effects; False when it is not ours any more."""
    c.execute(sql["end_job"], {"id": job.id, "token": job.token})
    return c.changes() > 0


def failed(
    c: apsw.Connection, job: Job, now: datetime, *, error: str, retry: Retry, least: timedelta | None = None
) -> bool:
    """Count a failed attempt and try again after a pause, or give the job up; whether it was given up.

    ``error`` is a code, no text; ``least`` is a pause that the other side asked for.
    """
    dead = job.attempts + 1 >= retry.most
    pause = max(retry.pause(job.attempts), min(least or timedelta(), LONGEST_WAIT))
    where = {"id": job.id, "token": job.token, "error": error, "dead": int(dead)}
    c.execute(sql["fail_job"], {**where, "not_before": to_ms(now + pause)})
    return dead and c.changes() > 0


def postpone(c: apsw.Connection, job: Job, now: datetime, *, error: str, pause: timedelta) -> None:
    """Try later without counting: the other side is away, which says nothing about this job."""
    where = {"id": job.id, "token": job.token, "error": error}
    c.execute(sql["postpone_job"], {**where, "not_before": to_ms(now + min(pause, LONGEST_WAIT))})


def postpone_all(
    c: apsw.Connection, kind: str, namespaces: Sequence[str], now: datetime, *, error: str, pause: timedelta
) -> None:
    """Let all jobs of a kind wait, those in use apart."""
    where = {"kind": kind, "namespaces": json.dumps(list(namespaces)), "error": error}
    c.execute(sql["postpone_jobs_of_kind"], {**where, "not_before": to_ms(now + min(pause, LONGEST_WAIT))})


def drop(c: apsw.Connection, kind: str, namespace: str, subject: str) -> None:
    """Nobody needs this job any more, claimed or not."""
    c.execute(sql["drop_job"], {"kind": kind, "namespace": namespace, "subject": subject})


def any_of(c: apsw.Connection, kind: str) -> bool:
    """Whether there is a job of this kind in any namespace, due or not."""
    return first_row(c, "any_job", {"kind": kind}) is not None


def counts(c: apsw.Connection, namespaces: Sequence[str]) -> dict[str, Counted]:
    """How many wait and how many were given up, for each kind that has any."""
    rows = all_rows(c, "count_jobs", {"namespaces": json.dumps(list(namespaces))})
    return {kind: Counted(waiting=waiting, dead=dead) for kind, waiting, dead in rows}


def dead(c: apsw.Connection, namespaces: Sequence[str], *, most: int = 100) -> list[Dead]:
    """Jobs that were given up, the oldest first."""
    rows = all_rows(c, "dead_jobs", {"namespaces": json.dumps(list(namespaces)), "most": most})
    return [
        Dead(id=row[0], kind=row[1], namespace=row[2], subject=row[3], attempts=row[4], error=row[5], memory_id=row[6])
        for row in rows
    ]


def revive(c: apsw.Connection, namespaces: Sequence[str], now: datetime, *, kind: str = "") -> int:
    """Try everything again that was given up, or all of one kind; how many jobs."""
    c.execute(sql["revive_jobs"], {"namespaces": json.dumps(list(namespaces)), "kind": kind, "now": to_ms(now)})
    return c.changes()


def _due(kinds: Sequence[str], now: datetime, namespaces: Sequence[str] | None) -> dict[str, object]:
    return {
        "kinds": json.dumps(list(kinds)), "now": to_ms(now), "latest": to_ms(now + LONGEST_WAIT),
        "namespaces": "" if namespaces is None else json.dumps(list(namespaces)),
    }  # fmt: skip
