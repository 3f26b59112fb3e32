"""Pairs of memories that wait for the opinion of a language model. Every function takes an open connection."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from memorycore.store.statements import first_row, only_row, sql

LONGEST_WAIT_MS = 3_600_000  # a pair that is due later than that was queued before the clock went back


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two active memories and their texts as they are now; ``attempts`` counts those that failed."""

    id: int
    new_id: str
    old_id: str
    new_hash: str
    old_hash: str
    attempts: int
    new_text: str
    old_text: str


def queue(c: apsw.Connection, namespace: str, new_id: str, old_id: str, now_ms: int) -> bool:
    """Ask about two active memories of one namespace; asking again starts the attempts anew. False: they are not."""
    c.execute(sql["queue_pair"], {"namespace": namespace, "new_id": new_id, "old_id": old_id, "now": now_ms})
    return c.changes() > 0


def any_due(c: apsw.Connection, namespaces: Sequence[str], now_ms: int) -> bool:
    return first_row(c, "any_due_pair", _due(namespaces, now_ms)) is not None


def drop_changed(c: apsw.Connection, namespaces: Sequence[str]) -> int:
    """Forget the pairs of which a memory has another text now, or is gone."""
    c.execute(sql["drop_changed_pairs"], {"namespaces": json.dumps(namespaces)})
    return c.changes()


def lease_next(c: apsw.Connection, namespaces: Sequence[str], now_ms: int, *, lease_ms: int) -> Pair | None:
    """Take the pair that is due longest; a taker that dies loses it after ``lease_ms``."""
    row = first_row(c, "due_pair", _due(namespaces, now_ms))
    if row is None:
        return None
    names = ("id", "new_id", "old_id", "new_hash", "old_hash", "attempts", "new_text", "old_text")
    pair = Pair(**dict(zip(names, row, strict=True)))
    c.execute(sql["lease_pair"], {"id": pair.id, "until": now_ms + lease_ms})
    return pair


def still_wanted(c: apsw.Connection, pair: Pair) -> bool:
    """Whether both memories are active and still have the texts that were shown."""
    return first_row(c, "pair_still_wanted", _exactly(pair)) is not None


def finish(c: apsw.Connection, pair: Pair) -> None:
    """Cross a pair off, unless somebody asked again about other texts meanwhile."""
    c.execute(sql["finish_pair"], _exactly(pair))


def fail(c: apsw.Connection, pair: Pair, *, error: str, retry_at_ms: int, dead: bool) -> None:
    """Count a failed attempt on this pair; ``dead`` parks it until somebody asks again."""
    c.execute(sql["fail_pair"], {"id": pair.id, "not_before": retry_at_ms, "error": error, "dead": int(dead)})


def postpone(c: apsw.Connection, pair: Pair, namespaces: Sequence[str], *, error: str, retry_at_ms: int) -> None:
    """Give the pair back and let all of them wait without counting: the model is away, which tells nothing of them."""
    c.execute(sql["release_pair"], {"id": pair.id})
    waits = {"namespaces": json.dumps(namespaces), "not_before": retry_at_ms, "error": error}
    c.execute(sql["postpone_pairs"], waits)


def counts(c: apsw.Connection, namespaces: Sequence[str]) -> tuple[int, int]:
    """(pairs that wait, pairs given up)."""
    waiting, dead = only_row(c, "count_pairs", {"namespaces": json.dumps(namespaces)})
    return waiting, dead


def _exactly(pair: Pair) -> dict[str, object]:
    return {"id": pair.id, "new_hash": pair.new_hash, "old_hash": pair.old_hash}


def _due(namespaces: Sequence[str], now_ms: int) -> dict[str, object]:
    return {"namespaces": json.dumps(namespaces), "now": now_ms, "latest": now_ms + LONGEST_WAIT_MS}
