"""Steps that keep the database itself in order. None of them changes what a memory says, or where it is."""

from typing import TYPE_CHECKING

from memorycore.govern import vectors
from memorycore.govern.steps.work import Work
from memorycore.search import vector_index
from memorycore.store import upkeep
from memorycore.store import vectors as rows

if TYPE_CHECKING:
    from memorycore.embed import EmbeddingService


def integrity(work: Work, embedding: "EmbeddingService") -> dict[str, object]:
    """Find gaps between rows, text indexes and vectors, and mend them; a vector that is missing is asked for."""
    found = upkeep.check(work.db, work.turn, repair=not work.dry_run)
    name = embedding.fingerprint(0)
    if name is None:
        return found
    with work.db.read() as c:
        is_missing = rows.any_missing(c, rows.known_fingerprint(c, name))
    if is_missing and not work.dry_run:
        work.check()
        vectors.queue_missing(work.db, name, work.clock())
    return {**found, "vectors_missing": is_missing}


def reembed(work: Work, embedding: "EmbeddingService") -> dict[str, object]:
    """Make the vectors that are missing, as after a switch of the model."""
    name = embedding.fingerprint()
    if name is None:
        return {"made": 0, "model": "none"}
    with work.db.read() as c:
        missing = rows.without_vector(c, rows.known_fingerprint(c, name))
    if work.dry_run:
        return {"would_make": missing, "model": name}
    vectors.queue_missing(work.db, name, work.clock())
    made = failed = waiting = 0
    while not work.out_of_time():
        work.check()
        done = vectors.fill(work.db, embedding, clock=work.clock)
        waiting = done.waiting
        if not (done.made or done.failed):
            break
        made, failed = made + done.made, failed + done.failed
        work.report(made, max(missing, made))
    return {"made": made, "failed": failed, "waiting": waiting, "model": name}


def uses(work: Work) -> dict[str, object]:
    return {"folded": 0 if work.dry_run else upkeep.fold_uses(work.db, work.turn)}


def compact(work: Work) -> dict[str, object]:
    return {"freed_bytes": 0 if work.dry_run else upkeep.compact(work.db, work.turn)}


def checkpoint(work: Work, embedding: "EmbeddingService") -> dict[str, object]:
    """Cut the log, let SQLite optimise, and make an index of vectors anew that is half full of dead ones."""
    half_dead = vector_index.is_half_dead(work.db)
    if work.dry_run:
        return {"log_bytes": work.db.log_bytes(), "would_rebuild": half_dead}
    rebuilt = 0
    name, calibration = embedding.fingerprint(0), embedding.calibration
    if half_dead:
        vector_index.empty(work.turn)
    if name is not None and calibration is not None:
        while (added := vector_index.catch_up(work.db, name, calibration)) and half_dead and not work.out_of_time():
            rebuilt += added
    upkeep.optimise(work.turn)
    return {**upkeep.checkpoint(work.db), "log_bytes": work.db.log_bytes(), "rebuilt": rebuilt}
