"""Maintenance steps, each idempotent and runnable alone."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from memorycore.answers import Maintained
from memorycore.errors import InvalidInput
from memorycore.govern import vectors
from memorycore.store import Database, upkeep
from memorycore.store import vectors as rows

if TYPE_CHECKING:
    from memorycore.embed import EmbeddingService

Step = Callable[[], dict[str, object]]


def steps_of(
    db: Database, embedding: "EmbeddingService", *, clock: Callable[[], datetime], dry_run: bool
) -> dict[str, Step]:
    """Every step by name, in the order in which they run."""
    return {
        "integrity": lambda: {**upkeep.check(db, repair=not dry_run)},
        "reembed": lambda: _reembed(db, embedding, clock=clock, dry_run=dry_run),
        "uses": lambda: {"folded": 0 if dry_run else upkeep.fold_uses(db)},
        "compact": lambda: {"freed_bytes": 0 if dry_run else upkeep.compact(db)},
        "checkpoint": lambda: {} if dry_run else {**upkeep.checkpoint(db)},
    }


def run(steps: dict[str, Step], names: Sequence[str], *, dry_run: bool) -> Maintained:
    """Run steps, all of them or those named.

    Raises:
        InvalidInput: There is no step with this name; nothing ran.
    """
    unknown = [name for name in names if name not in steps]
    if unknown:
        raise InvalidInput(field="steps", why="unknown value", value=unknown[0], allowed=", ".join(steps))
    wanted = [name for name in steps if not names or name in names]
    return {"steps": [{"step": name, **steps[name]()} for name in wanted], "dry_run": dry_run}


def _reembed(
    db: Database, embedding: "EmbeddingService", *, clock: Callable[[], datetime], dry_run: bool
) -> dict[str, object]:
    name = embedding.fingerprint()
    if name is None:
        return {"made": 0, "model": "none"}
    if dry_run:
        with db.read() as c:
            return {"would_make": rows.without_vector(c, rows.known_fingerprint(c, name)), "model": name}
    vectors.queue_missing(db, name, clock())
    made = failed = 0
    while (done := vectors.fill(db, embedding, clock=clock)).made or done.failed:
        made += done.made
        failed += done.failed
    return {"made": made, "failed": failed, "waiting": done.waiting, "model": name}
