"""The end of the recycle bin: what was in it for its time goes for good."""

import json
from collections.abc import Sequence
from datetime import datetime

from memorycore.govern.steps.work import Work
from memorycore.lifecycle import erasure
from memorycore.lifecycle.rows import Cause
from memorycore.store import memories, only_row
from memorycore.store.memories import to_ms

BATCH = 50


def purge(work: Work, namespaces: Sequence[str], *, binned_before: datetime, cause: Cause) -> dict[str, object]:
    """Purge what has been in the bin since before this moment; how many memories that are.

    One that was put there by a clock that ran ahead waits until that time has come and its days are over.
    """
    where = {"namespaces": json.dumps(namespaces), "before": to_ms(binned_before)}
    with work.db.read() as c:
        (total,) = only_row(c, "count_due_for_purge", where)
    purged = 0
    while not work.dry_run and not work.out_of_time():
        with work.batch() as c:
            due = memories.select(c, "due_for_purge", **where, limit=BATCH)
            for memory in due:
                erasure.purge(c, memory, cause)
        purged += len(due)
        work.report(purged, total)
        if len(due) < BATCH:
            break
    return {"purged": total if work.dry_run else purged}
