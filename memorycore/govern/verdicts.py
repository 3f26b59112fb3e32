"""Ask a language model about the pairs that the rules left open: the job runner of the second opinion.

Nobody waits for it. What it answers is one of five labels; what follows from a label is done by the caller, by the same
transitions as after a verdict of the rules, so that it can be undone in the same way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

import apsw

from memorycore.domain.judge import Relation
from memorycore.errors import Conflict, LlmError, NotFound
from memorycore.llm import ChatEndpoint, ask_relation
from memorycore.store import Database, jobs, pairs
from memorycore.store.jobs import Retry
from memorycore.store.pairs import Pair

Apply: TypeAlias = Callable[[str, str, Relation], None]
"""``apply(old_id, new_id, relation)``, called outside of any transaction."""

LEASE_S = 900.0
RETRY = Retry(first=timedelta(minutes=1), times=8, most=4)
AWAY_PAUSE = timedelta(minutes=5)
# Failures that may lie with the two texts: they count. All others mean that the model is away.
ABOUT_THE_PAIR = frozenset({"refused", "too_long", "server_error", "bad_answer"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """One round: pairs with an answer, pairs whose memories changed meanwhile, attempts that failed.

    ``away``: why the model cannot be asked now, a code of ``LlmError``; empty when it can.
    """

    judged: int = 0
    dropped: int = 0
    failed: int = 0
    away: str = ""


def queue_pair(c: apsw.Connection, namespace: str, new_id: str, old_id: str, now_ms: int) -> bool:
    """Have a pair asked about later. False, and nothing queued, unless both are active memories of the namespace."""
    return pairs.queue(c, namespace, new_id, old_id, now_ms)


def settle(
    db: Database,
    endpoint: ChatEndpoint,
    *,
    namespaces: Sequence[str],
    clock: Callable[[], datetime],
    apply: Apply,
    limit: int,
) -> Settled:
    """Ask about due pairs, one after the other, and hand each answer to ``apply``; also ``different``.

    ``apply`` comes before the pair is crossed off: a process that dies between asks again, and finds the memories
    changed. A pair that a memory of changed or went while the model was thinking is dropped. A pair that gets no usable
    answer is tried again with growing pauses, ``RETRY.most`` times, then parked; while the model is away nothing is
    counted.
    """
    with db.read() as c:
        if not jobs.any_due(c, (pairs.KIND,), clock(), namespaces=namespaces):
            return Settled()
    with db.write() as c:
        dropped = pairs.drop_changed(c, namespaces)
    judged = failed = 0
    away = ""
    for _ in range(limit):
        with db.write() as c:
            pair = pairs.lease_next(c, namespaces, clock(), lease_s=LEASE_S)
        if pair is None:
            break
        try:
            relation = ask_relation(endpoint, pair.old_text, pair.new_text)
        except LlmError as error:
            away = _put_back(db, pair, namespaces, error, clock())
            if away:
                break
            failed += 1
            continue
        done = _apply(db, pair, relation, apply)
        judged, dropped = judged + done, dropped + (not done)
    return Settled(judged=judged, dropped=dropped, failed=failed, away=away)


def _apply(db: Database, pair: Pair, relation: Relation, apply: Apply) -> bool:
    """Whether the answer still fitted what is remembered."""
    with db.read() as c:
        fits = pairs.still_wanted(c, pair)
    if fits:
        try:
            apply(pair.old_id, pair.new_id, relation)
        except (Conflict, NotFound):  # somebody was faster
            fits = False
    with db.write() as c:
        jobs.done(c, pair.job)
    return fits


def _put_back(db: Database, pair: Pair, namespaces: Sequence[str], error: LlmError, now: datetime) -> str:
    """Count the failure against the pair, or learn that the model is away and why."""
    why = str(error.facts.get("why", error.code))
    asked_s = error.facts.get("retry_after_s")
    asked = timedelta(seconds=asked_s) if isinstance(asked_s, float) else timedelta()
    with db.write() as c:
        if why in ABOUT_THE_PAIR:
            jobs.failed(c, pair.job, now, error=why, retry=RETRY, least=asked)
            return ""
        # A process that ends says nothing about the model: the next one may ask at once.
        pause = timedelta() if why == "closed" else max(AWAY_PAUSE, asked)
        jobs.postpone(c, pair.job, now, error=why, pause=pause)
        jobs.postpone_all(c, pairs.KIND, namespaces, now, error=why, pause=pause)
    return why
