"""Make the vectors that are missing: the job runner of the embedding queue."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memorycore.errors import EmbeddingError, StoreError
from memorycore.store import Database, jobs, vectors
from memorycore.store.jobs import Retry
from memorycore.store.memories import to_ms
from memorycore.store.vectors import VectorJob

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memorycore.embed import EmbeddingService

LEASE_S = 300.0
LONGEST_CATCH_UP_S = 2.0
RETRY = Retry(first=timedelta(seconds=5), times=4, most=6)
AWAY_PAUSE = timedelta(seconds=15)
# Failures that say something about the text, or may do so: they count. All others mean that the model is away.
ABOUT_THE_TEXT = frozenset({"refused", "too_long", "empty_text", "server_error", "bad_answer", "bad_vector", "fault"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """Counts of one round: vectors made, attempts that failed, texts that wait because the model is away."""

    made: int = 0
    failed: int = 0
    waiting: int = 0


def queue_missing(db: Database, fingerprint: str, now: datetime) -> None:
    """Queue a job for every active memory without a vector of this fingerprint, as after a switch of the model."""
    with db.read() as c:
        known = vectors.known_fingerprint(c, fingerprint)
        if not vectors.any_missing(c, known):
            return
    with db.write() as c:
        vectors.queue_missing(c, known, to_ms(now) or 0)


def fill(
    db: Database,
    embedding: "EmbeddingService",
    *,
    clock: Callable[[], datetime],
    limit: int = 8,
    timeout_s: float | None = None,
) -> Filled:
    """Take due jobs, embed their texts, store the vectors.

    A text that the model refuses is tried again with growing pauses, ``RETRY.most`` times, then parked and shown in
    status. While the model is away nothing is counted against a text.
    """
    now_ms = to_ms(clock()) or 0
    with db.read() as c:
        if not vectors.any_due(c, now_ms):
            return Filled()
    fingerprint = embedding.fingerprint()
    if fingerprint is None:
        return Filled()
    with db.write() as c:
        due = vectors.lease_due(c, now_ms, lease_s=LEASE_S, limit=limit)
    results = embedding.passages([job.content for job in due], timeout_s=timeout_s)
    return _store(db, due, results, fingerprint=fingerprint, now=clock())


def catch_up(db: Database, embedding: "EmbeddingService", *, clock: Callable[[], datetime]) -> None:
    """Make missing vectors for a moment, in a process that has the model and nobody in the background to use it."""
    name = embedding.fingerprint(0)
    if name is None:
        return
    ends_at = time.monotonic() + LONGEST_CATCH_UP_S
    with suppress(StoreError):  # a store that is busy or full keeps the queue for the next process
        queue_missing(db, name, clock())
        while (left_s := ends_at - time.monotonic()) > 0:
            if not fill(db, embedding, clock=clock, limit=4, timeout_s=left_s).made:
                return


def _store(
    db: Database,
    taken: Sequence[VectorJob],
    results: "Sequence[NDArray[np.float32] | EmbeddingError]",
    *,
    fingerprint: str,
    now: datetime,
) -> Filled:
    made = failed = waiting = 0
    with db.write() as c:
        for job, result in zip(taken, results, strict=True):
            if not isinstance(result, EmbeddingError):
                # The memory may have changed or gone since the job was taken; then its job is gone or new.
                if vectors.still_wanted(c, job):
                    number = vectors.fingerprint_id(c, fingerprint, result.shape[1])
                    vectors.attach(c, job.seq, job.content, number, result)
                    made += 1
                continue
            why = str(result.facts.get("why", result.code))
            if why not in ABOUT_THE_TEXT:
                jobs.postpone(c, job.job, now, error=why, pause=AWAY_PAUSE)
                waiting += 1
                continue
            jobs.failed(c, job.job, now, error=why, retry=RETRY)
            failed += 1
    return Filled(made=made, failed=failed, waiting=waiting)
