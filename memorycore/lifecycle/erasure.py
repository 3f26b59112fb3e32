"""The end of a memory, erased by a person or purged after its time in the bin: its row becomes an empty one."""

import json
from dataclasses import replace

import apsw

from memorycore.domain.memory import Memory
from memorycore.domain.text import norm_hash
from memorycore.lifecycle import rows
from memorycore.lifecycle.rows import Cause
from memorycore.store import edges, erasure, memories, remote
from memorycore.store.memories import to_ms

ACTION = "erased"


def erase(c: apsw.Connection, memory: Memory, cause: Cause) -> None:
    """Erase row, words, vectors, wordings, ledger and edges; what stays is the id, one event and hashes of the texts.

    The hashes keep imports from bringing a text back, unless a memory has it in use.
    """
    texts = erasure.wordings(c, memory, (memory.namespace,))
    _empty(c, memory, ACTION, cause)
    for compared in set(map(norm_hash, texts)):
        where = {"namespaces": json.dumps([memory.namespace]), "norm_hash": compared}
        if not memories.select(c, "all_active_by_norm_hash", **where):
            edges.put_tombstone(c, replace(memory, norm_hash=compared), reason=ACTION, at=cause.at)


def purge(c: apsw.Connection, memory: Memory, cause: Cause) -> None:
    """End the time of a memory in the bin: what stays is the id, one event, and the tombstone if somebody wanted it."""
    _empty(c, memory, "purged", cause)


def _empty(c: apsw.Connection, memory: Memory, action: str, cause: Cause) -> None:
    blank = _blank(memory)
    event = rows.record(c, blank, blank, action, cause)
    erasure.delete_rows(c, [(memory.seq, memory.id)], kept_event=event)
    erasure.keep_id(c, memory, to_ms(cause.at) or 0)
    remote.owe_end(c, memory)


def _blank(memory: Memory) -> Memory:
    """What the ledger says of it: nothing but its id."""
    return Memory(
        id=memory.id,
        namespace=memory.namespace,
        content="",
        norm_hash="",
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        state="purged",
    )
