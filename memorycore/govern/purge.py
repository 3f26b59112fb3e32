"""The end of the recycle bin: what was in it for its time goes for good."""

import json
from collections.abc import Sequence
from datetime import datetime

from memorycore.lifecycle import erasure
from memorycore.lifecycle.rows import Cause
from memorycore.store import Database, memories, only_row, upkeep
from memorycore.store.memories import to_ms

BATCH = 50


def purge(db: Database, namespaces: Sequence[str], *, binned_before: datetime, cause: Cause, dry_run: bool) -> int:
    """Purge what has been in the bin since before this moment; how many memories that are.

    One that was put there by a clock that ran ahead waits until that time has come and its days are over.
    """
    where = {"namespaces": json.dumps(namespaces), "before": to_ms(binned_before)}
    if dry_run:
        with db.read() as c:
            return int(only_row(c, "count_due_for_purge", where)[0])
    purged = 0
    while True:
        with upkeep.turn(db) as c:
            due = memories.select(c, "due_for_purge", **where, limit=BATCH)
            for memory in due:
                erasure.purge(c, memory, cause)
        purged += len(due)
        if len(due) < BATCH:
            return purged
