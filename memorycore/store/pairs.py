"""Pairs of memories that wait for the opinion of a language model. Every function takes an open connection."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import apsw

from memorycore.store import jobs
from memorycore.store.jobs import Job
from memorycore.store.memories import moment
from memorycore.store.statements import first_row, sql

KIND = "verdict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two active memories and their texts as they are now, and the job that asks about them."""

    job: Job
    new_id: str
    old_id: str
    new_text: str
    old_text: str


def queue(c: apsw.Connection, namespace: str, new_id: str, old_id: str, now_ms: int) -> bool:
    """Ask about two active memories of one namespace; asking again starts the attempts anew. False: they are not."""
    found = first_row(c, "pair_to_queue", {"namespace": namespace, "new_id": new_id, "old_id": old_id})
    if found is None:
        return False
    new_seq, old_seq, new_hash, old_hash = found
    jobs.put(
        c,
        KIND,
        namespace,
        f"{new_id} {old_id}",
        moment(now_ms),
        memory_seq=new_seq,
        other_seq=old_seq,
        facts={"new": new_hash, "old": old_hash},
    )
    return True


def drop_changed(c: apsw.Connection, namespaces: Sequence[str]) -> int:
    """Forget the pairs of which a memory has another text now, or is gone."""
    c.execute(sql["drop_changed_pairs"], {"namespaces": json.dumps(namespaces)})
    return c.changes()


def lease_next(c: apsw.Connection, namespaces: Sequence[str], now: datetime, *, lease_s: float) -> Pair | None:
    """Take the pair that is due longest; a taker that dies loses it after ``lease_s``."""
    while taken := jobs.claim(c, (KIND,), now, lease_s=lease_s, most=1, namespaces=namespaces):
        if (row := _row(c, taken[0])) is not None:
            new_id, old_id, _, _, new_text, old_text = row
            return Pair(job=taken[0], new_id=new_id, old_id=old_id, new_text=new_text, old_text=old_text)
        jobs.done(c, taken[0])
    return None


def still_wanted(c: apsw.Connection, pair: Pair) -> bool:
    """Whether both memories are active and still have the texts that were shown."""
    row = _row(c, pair.job)
    return row is not None and row[2:4] == (pair.job.facts["new"], pair.job.facts["old"]) and jobs.is_held(c, pair.job)


def counts(c: apsw.Connection, namespaces: Sequence[str]) -> tuple[int, int]:
    """(pairs that wait, pairs given up)."""
    found = jobs.counts(c, namespaces).get(KIND, jobs.Counted())
    return found.waiting, found.dead


def _row(c: apsw.Connection, job: Job) -> tuple[str, ...] | None:
    where = {"new_seq": job.memory_seq, "old_seq": job.other_seq, "namespace": job.namespace}
    return first_row(c, "pair_of_job", where)
