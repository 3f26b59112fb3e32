"""The end of the recycle bin: what was in it for its time goes for good, and by itself only what was announced.

Status announces for a week what is due. A clock that leaps, or a machine that was off for a month, leaves nobody that
week: then it begins with the next look, and nothing goes before it is over.
"""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from memorycore.govern.steps.work import Work
from memorycore.lifecycle import erasure
from memorycore.lifecycle.rows import Cause
from memorycore.store import memories, only_row, progress
from memorycore.store.memories import to_ms

BATCH = 50
NOTICE = timedelta(days=7)
LOOKED = "purge_looked"  # a name in the table of progress: since when it has been looked at without a leap


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


def was_announced(work: Work, namespace: str, now: datetime) -> bool:
    """Note that somebody looks, and say whether what is due now could be read about for as long as it has to be.

    A memory of which nobody ever looked at the bin has nothing in it that is due.
    """
    with work.db.read() as c:
        last = progress.of(c, namespace, LOOKED)
    since = datetime.fromisoformat(last.value) if last.value else now - NOTICE
    if last.at is not None and not now - NOTICE <= last.at <= now:
        since = now
    with work.batch() as c:
        progress.put(c, namespace, LOOKED, since.isoformat(), now)
    return now - since >= NOTICE
