"""The end of a memory that a person wants erased: its row becomes an empty one, and nothing keeps its text."""

import json
from collections.abc import Sequence
from dataclasses import replace

import apsw

from memorycore.domain.memory import Memory
from memorycore.lifecycle import rows
from memorycore.lifecycle.rows import Cause
from memorycore.store import edges, erasure, memories
from memorycore.store.erasure import Doomed
from memorycore.store.memories import to_ms

ACTION = "erased"


def erase(c: apsw.Connection, doomed: Doomed, cause: Cause, namespaces: Sequence[str]) -> int:
    """Erase rows, words, vectors, wordings, ledger and edges; what stays is the id, one event and hashes of the texts.

    The hashes keep imports from bringing the text back. Texts that other memories have are theirs.

    Returns:
        How many pieces of the history of other memories lost the text.
    """
    for memory in doomed.memories:
        blank = _blank(memory)
        event = rows.record(c, blank, blank, ACTION, cause)
        erasure.delete_rows(c, [(memory.seq, memory.id)], kept_event=event)
        erasure.keep_id(c, memory, to_ms(cause.at) or 0)
    blanked = erasure.blank_elsewhere(c, doomed, namespaces)
    erasure.rebuild_words(c)
    erasure.blank_vector_index(c)
    _keep_away(c, doomed, cause)
    return blanked


def _keep_away(c: apsw.Connection, doomed: Doomed, cause: Cause) -> None:
    """Tombstones for every wording that no memory has in use."""
    for namespace in {memory.namespace for memory in doomed.memories}:
        first = next(memory for memory in doomed.memories if memory.namespace == namespace)
        for norm_hash in doomed.hashes:
            where = {"namespaces": json.dumps([namespace]), "norm_hash": norm_hash}
            if not memories.select(c, "all_active_by_norm_hash", **where):
                edges.put_tombstone(c, replace(first, norm_hash=norm_hash), reason=ACTION, at=cause.at)


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
