"""Steps that keep the database itself in order. None of them changes what a memory says, or where it is."""

from typing import TYPE_CHECKING

from memorycore.govern import vectors
from memorycore.govern.steps.work import Work
from memorycore.store import upkeep
from memorycore.store import vectors as rows

if TYPE_CHECKING:
    from memorycore.embed import EmbeddingService


def integrity(work: Work) -> dict[str, object]:
    """Find gaps between rows, text indexes and vectors, and mend them."""
    return upkeep.check(work.db, work.turn, repair=not work.dry_run)


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


def checkpoint(work: Work) -> dict[str, object]:
    return {} if work.dry_run else upkeep.checkpoint(work.db)
