"""Many memories at once, as they stand in a store: for tests of what is done with them, not of how they come in."""

from collections.abc import Sequence
from typing import Any

from memorycore.domain.memory import Memory
from memorycore.domain.text import norm_hash
from memorycore.embed.contract import Embedder
from memorycore.store import Database, memories, vectors
from tests.homes import START

_AT_ONCE = 500


def in_stock(number: int, text: str, **more: Any) -> Memory:
    """A memory whose id is known beforehand: m0, m1 …"""
    return Memory(
        id=f"m{number}", namespace="default", content=text, norm_hash=norm_hash(text), created_at=START,
        updated_at=START, **more,
    )  # fmt: skip


def stock(db: Database, rows: Sequence[Memory], embedder: Embedder | None = None) -> list[Memory]:
    """Put them into the store, with their vectors where there is a model; the rows as they stand there."""
    with db.write() as c:
        stored = [memories.insert_memory(c, row) for row in rows]
        if embedder is not None:
            space = vectors.fingerprint_id(c, embedder.fingerprint, embedder.width)
            for start in range(0, len(stored), _AT_ONCE):
                some = stored[start : start + _AT_ONCE]
                made = embedder.embed_passages([row.content for row in some])
                for place, row in enumerate(some):
                    vectors.attach(c, row.seq, row.content, space, made[place : place + 1])
    return stored
