"""What ends by its own word: ``valid_until`` is over, or the days of a session's own memory."""

from collections.abc import Callable
from dataclasses import replace

import apsw

from memorycore.domain.memory import Memory
from memorycore.govern.steps.work import Work
from memorycore.lifecycle import rows
from memorycore.lifecycle.rows import Cause
from memorycore.store import edges, first_row, memories, only_row
from memorycore.store.memories import to_ms

BATCH = 50
SESSION_OVER = "session_over"

LeaveFiles = Callable[[list[Memory]], set[str]]
"""Takes entries of these memories out of the hot files; the ids of those that left."""


def expire(work: Work, namespace: str, cause: Cause, leave_files: LeaveFiles) -> dict[str, object]:
    """End what is over. It stays for looking back; what belonged to one session goes into the bin.

    What stands in a hot file leaves it first. What cannot leave now, or was put back by somebody, stays.
    """
    where = {"namespace": namespace, "now": to_ms(cause.at)}
    with work.db.read() as c:
        (total,) = only_row(c, "count_ended", where)
        due = memories.select(c, "ended_memories", **where, limit=max(int(total), 1))
        due = [memory for memory in due if not _is_left_alone(c, memory, cause)]
    if work.dry_run:
        return {"would_end": len(due)}
    ended = binned = 0
    for start in range(0, len(due), BATCH):
        if work.out_of_time():
            break
        batch = due[start : start + BATCH]
        in_files = [memory for memory in batch if memory.in_file]
        gone = set[str]()
        if in_files:
            work.check()
            gone = leave_files(in_files)
        with work.batch() as c:
            for memory in batch:
                if memory.in_file and memory.id not in gone:
                    continue
                state = _end(c, memory, cause)
                ended, binned = ended + (state == "ended"), binned + (state == "binned")
        work.report(start + len(batch), len(due))
    return {"ended": ended, "binned": binned}


def _end(c: apsw.Connection, memory: Memory, cause: Cause) -> str:
    now = memories.by_id(c, memory.id, (memory.namespace,))
    if now is None or now.state != "active" or now.in_file or now.valid_until != memory.valid_until:
        return "changed"
    if now.scope == "session":
        rows.trash(c, now, replace(cause, reason=SESSION_OVER))
        return "binned"
    is_replaced = first_row(c, "was_to_be_replaced", {"id": now.id, "namespace": now.namespace}) is not None
    rows.expire(c, now, "superseded" if is_replaced else "expired", cause)
    return "ended"


def _is_left_alone(c: apsw.Connection, memory: Memory, cause: Cause) -> bool:
    return memory.pinned or edges.hands_off(c, memory, memory.norm_hash, now=cause.at)
