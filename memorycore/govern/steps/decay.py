"""What faded: it ranks lower. Only where a setting allows it does it go into the bin."""

from datetime import datetime, timedelta

import apsw

from memorycore.domain import retention
from memorycore.domain.memory import Memory
from memorycore.govern.steps.work import Work
from memorycore.lifecycle import rows
from memorycore.lifecycle.rows import Cause
from memorycore.store import edges, memories
from memorycore.store.memories import to_ms
from memorycore.store.uses import recent

BATCH = 50
REASON = "decayed"
_YOUNGEST = timedelta(days=min(fading.after_days for fading in retention.FADING.values() if fading.below))


def decay(work: Work, namespace: str, cause: Cause, *, may_bin: bool) -> dict[str, object]:
    """Look at facts and episodes that nobody used for long; how many faded, and how many of them went into the bin."""
    where = {"namespace": namespace, "before": to_ms(cause.at - _YOUNGEST), "limit": BATCH}
    looked_at = faded = binned = 0
    after = int(work.cursor or 0)
    while not work.out_of_time():
        with work.reading() as c:
            batch = memories.select(c, "unused_memories", **where, after=after)
            gone = _faded(c, batch, cause.at)
        looked_at, faded = looked_at + len(batch), faded + len(gone)
        after = batch[-1].seq if batch else after
        work.cursor = str(after)
        if may_bin and gone and not work.dry_run:
            with work.batch(cursor=str(after)) as c:
                binned += sum(_bin(c, memory, cause) for memory in gone)
        work.report(looked_at, 0)
        if len(batch) < BATCH:
            break
    return {"looked_at": looked_at, "faded": faded, "binned": binned}


def _faded(c: apsw.Connection, batch: list[Memory], now: datetime) -> list[Memory]:
    used = recent(c, [memory.seq for memory in batch])
    return [memory for memory in batch if retention.may_fade_away(memory, used.get(memory.seq, ()), now)]


def _bin(c: apsw.Connection, memory: Memory, cause: Cause) -> bool:
    now = memories.by_id(c, memory.id, (memory.namespace,))
    if now is None or now.change_seq != memory.change_seq:
        return False  # somebody changed it meanwhile; the next run looks again
    if edges.hands_off(c, now, now.norm_hash, now=cause.at):
        return False
    rows.trash(c, now, cause)
    return True
