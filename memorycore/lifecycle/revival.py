"""Back from the bin without anybody's order: a question meant a memory so clearly that it is needed after all."""

from dataclasses import replace

import apsw

from memorycore.domain.memory import WANTED_GONE, Memory
from memorycore.errors import Conflict
from memorycore.lifecycle import rows
from memorycore.lifecycle.rows import Cause
from memorycore.lifecycle.turn import claim
from memorycore.store import edges, memories

# Nor does a question bring back what waits for a decision, what was decided, or what another memory says already, as
# the text behind a line that only stood for it does.
STAYS = WANTED_GONE | {"quarantined", "erased", "same", "stood_for"}


def revive(c: apsw.Connection, memory: Memory, cause: Cause) -> int:
    """Take a memory out of the bin; the number of the event.

    0 where it stays: somebody is at work on it, somebody wanted the text gone or took its last revival back, or
    another active memory says it.
    """
    try:
        now = claim(c, memory, cause.at, new_text=memory.content)
    except Conflict:
        return 0
    same = {"namespace": now.namespace, "norm_hash": now.norm_hash, "scope": now.scope, "session_id": now.session_id}
    if (
        now.trash_reason in STAYS
        or edges.hands_off(c, now, now.norm_hash, now=cause.at)
        or edges.tombstone(c, now.namespace, now.norm_hash) is not None
        or memories.select(c, "active_by_norm_hash", **same)
    ):
        return 0
    rows.restore(c, now, replace(cause, automatic=True))
    return c.last_insert_rowid()
