"""Vectors of memories, and the jobs that make them. Every function takes the open connection of a transaction."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import apsw

from memorycore.store import jobs
from memorycore.store.jobs import Job
from memorycore.store.memories import moment, touch
from memorycore.store.statements import all_rows, first_row, only_row, sql

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EMBED = "embed"
JUDGE = "judge"  # a memory that was stored before its vector was there, and is to be judged by meaning too


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorJob:
    """One memory that waits for its vector."""

    job: Job
    seq: int
    content: str


def text_hash(content: str) -> str:
    """SHA-256 hex of the exact text: equal text has equal vectors."""
    return hashlib.sha256(content.encode("utf-8")).hexdigest()


def fingerprint_id(c: apsw.Connection, name: str, width: int) -> int:
    """The number of a fingerprint, made at first use. Needs a write transaction."""
    c.execute(sql["upsert_fingerprint"], {"name": name, "width": width})
    return int(only_row(c, "fingerprint", {"name": name})[0])


def known_fingerprint(c: apsw.Connection, name: str) -> int | None:
    """The number of a fingerprint, or None when no vector of it was ever stored."""
    row = first_row(c, "fingerprint", {"name": name})
    return None if row is None else int(row[0])


def attach(c: apsw.Connection, seq: int, content: str, fingerprint: int, parts: "NDArray[np.float32]") -> None:
    """Store the vectors of one memory (``parts`` is [n, width], unit rows) and end its job."""
    for number, vector in enumerate(parts):
        c.execute(sql["insert_embedding"], {
            "seq": seq, "part": number, "fingerprint_id": fingerprint,
            "text_hash": text_hash(content), "vector": vector.astype("<f4").tobytes(),
        })  # fmt: skip
    c.execute(sql["finish_job"], {"kind": EMBED, "seq": seq})
    touch(c, seq)


def cached_parts(c: apsw.Connection, content: str, fingerprint: int) -> "NDArray[np.float32] | None":
    """The vectors [n, width] that this very text already has somewhere in the store."""
    import numpy as np

    rows = all_rows(c, "embeddings_by_text", {"text_hash": text_hash(content), "fingerprint_id": fingerprint})
    return np.stack([np.frombuffer(blob, dtype="<f4") for _, blob in rows]) if rows else None


def queue_job(c: apsw.Connection, namespace: str, seq: int, now_ms: int, *, kind: str = EMBED) -> None:
    """Ask for a vector; asking again starts the attempts anew."""
    jobs.put(c, kind, namespace, str(seq), moment(now_ms), memory_seq=seq)


def queue_judgement(c: apsw.Connection, namespace: str, seq: int, now_ms: int) -> None:
    """Have a memory judged again when its vector is there."""
    queue_job(c, namespace, seq, now_ms, kind=JUDGE)


def due_judgements(c: apsw.Connection, namespace: str, fingerprint: int, *, limit: int) -> list[int]:
    """Memories (seq) that have their vector by now and wait to be judged, oldest first. Needs a write transaction."""
    c.execute(sql["drop_dead_judgements"], {"kind": JUDGE})
    where = {"kind": JUDGE, "namespace": namespace, "fingerprint_id": fingerprint, "limit": limit}
    return [int(row[0]) for row in all_rows(c, "due_judgements", where)]


def any_judgement(c: apsw.Connection) -> bool:
    """Whether any memory waits to be judged."""
    return jobs.any_of(c, JUDGE)


def finish_judgement(c: apsw.Connection, seq: int) -> None:
    c.execute(sql["finish_job"], {"kind": JUDGE, "seq": seq})


def queue_binned(c: apsw.Connection, namespace: str, seq: int, now_ms: int) -> None:
    """Ask for the vector of a memory in the bin, by which a question may find it there; when nothing else waits."""
    # Behind all others, and not counted: nobody waits for it.
    jobs.put(c, EMBED, namespace, str(seq), moment(now_ms), memory_seq=seq, priority=jobs.UNCOUNTED, anew=False)


def lease_due(c: apsw.Connection, now_ms: int, *, lease_s: float, limit: int) -> list[VectorJob]:
    """Take due jobs; a taker that dies loses them after ``lease_s``. What needs no vector any more is crossed off."""
    taken = jobs.claim(c, (EMBED,), moment(now_ms), lease_s=lease_s, most=limit)
    texts = dict(all_rows(c, "texts_to_embed", {"seqs": json.dumps([job.memory_seq for job in taken])}))
    found: list[VectorJob] = []
    for job in taken:
        if job.memory_seq in texts:
            found.append(VectorJob(job=job, seq=job.memory_seq or 0, content=texts[job.memory_seq]))
        else:
            jobs.done(c, job)
    return found


def still_wanted(c: apsw.Connection, job: VectorJob) -> bool:
    """Whether the job is open and its memory still has the text that was embedded."""
    has_text = first_row(c, "still_to_embed", {"seq": job.seq, "content": job.content}) is not None
    return has_text and jobs.is_held(c, job.job)


def any_missing(c: apsw.Connection, fingerprint: int | None) -> bool:
    """Whether an active memory has neither a vector of this fingerprint nor a job, as after a switch of the model."""
    where = {"kind": EMBED, "fingerprint_id": -1 if fingerprint is None else fingerprint}
    return first_row(c, "any_without_vector", where) is not None


def queue_missing(c: apsw.Connection, fingerprint: int | None, now_ms: int) -> None:
    """Queue a job for every one of them."""
    where = {"kind": EMBED, "fingerprint_id": -1 if fingerprint is None else fingerprint, "now": now_ms}
    c.execute(sql["queue_without_vector"], {**where, "priority": jobs.LATE})


def any_due(c: apsw.Connection, now_ms: int) -> bool:
    return jobs.any_due(c, (EMBED,), moment(now_ms))


def state_of(c: apsw.Connection, seq: int) -> str:
    """In words for people who look closely: the model and number of parts, ``pending``, ``failed: why`` or ``none``."""
    parts, model, error, dead = only_row(c, "vector_state", {"kind": EMBED, "seq": seq})
    if parts:
        return f"{model}, {parts} part" + ("s" if parts > 1 else "")
    if dead is None:
        return "none"
    return f"failed: {error}" if dead else "pending"


def waiting(c: apsw.Connection, namespaces: Sequence[str]) -> int:
    """Memories that wait for their vector."""
    return int(only_row(c, "count_jobs_of_kind", {"kind": EMBED, "namespaces": json.dumps(namespaces)})[0])


def without_vector(c: apsw.Connection, fingerprint: int | None) -> int:
    """Active memories, of all namespaces, that have no vector of this fingerprint."""
    return int(only_row(c, "count_without_vector", {"fingerprint_id": -1 if fingerprint is None else fingerprint})[0])


def counts(c: apsw.Connection, fingerprint: int | None, namespaces: Sequence[str]) -> tuple[int, int, int]:
    """(memories with a vector, jobs that wait, jobs given up)."""
    spaces = json.dumps(namespaces)
    waiting, dead = only_row(c, "count_jobs_of_kind", {"kind": EMBED, "namespaces": spaces})
    if fingerprint is None:
        return 0, waiting, dead
    (done,) = only_row(c, "count_vectors", {"fingerprint_id": fingerprint, "namespaces": spaces})
    return done, waiting, dead
