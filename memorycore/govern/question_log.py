"""The query log as a thing to look after: within its bounds, and empty where nobody wants it."""

from datetime import datetime

from memorycore.options import CoreOptions
from memorycore.store import Database, erasure, queries


def keep(db: Database, options: CoreOptions, now: datetime, *, dry_run: bool) -> dict[str, object]:
    """Drop what is beyond the bounds of the log; all questions of this namespace, where the log is switched off."""
    with db.read() as c:
        there = queries.kept(c, options.namespace).count
    if dry_run:
        return {"kept": there, "dropped": 0}
    with db.write() as c:
        if options.activity_log:
            queries.trim(c, now, days=options.budget.log_days, kb=options.budget.log_kb)
        elif queries.forget(c, options.namespace):
            erasure.note_pending(c)
        left = queries.kept(c, options.namespace).count
    return {"kept": left, "dropped": there - left}
