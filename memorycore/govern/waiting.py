"""What waits for a person: contradictions, proposals, texts in quarantine, entries of a hot file that are flagged.

Each has a number that stays the same until somebody decides: a letter for what it is, and the number of its edge or
row.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import apsw

from memorycore.domain.memory import Memory
from memorycore.store import edges, memories, only_row
from memorycore.store.edges import Edge

Kind = Literal["dispute", "proposal", "quarantined", "flagged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One thing to decide. ``old`` and ``edge`` where two memories are concerned; ``new`` came later, or is alone."""

    number: str
    kind: Kind
    new: Memory
    since: datetime
    old: Memory | None = None
    edge: Edge | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    disputes: int
    proposals: int
    quarantined: int
    flagged: int


def counts(c: apsw.Connection, namespaces: Sequence[str]) -> Counts:
    disputes, proposals, quarantined, flagged = only_row(c, "count_waiting", {"namespaces": json.dumps(namespaces)})
    return Counts(disputes=disputes, proposals=proposals, quarantined=quarantined, flagged=flagged)


def everything(c: apsw.Connection, namespaces: Sequence[str]) -> Iterator[Waiting]:
    """What two memories have with each other first, then texts alone; of each kind the oldest first."""
    for edge in edges.waiting(c, namespaces):
        old, new = (memories.by_id(c, memory_id, namespaces) for memory_id in (edge.dst, edge.src))
        if old is None or new is None:
            continue
        open_now = edge.status == "open"
        yield Waiting(
            number=f"{'d' if open_now else 'p'}{edge.id}", kind="dispute" if open_now else "proposal", new=new, old=old,
            edge=edge, since=edge.created_at or new.created_at,
        )  # fmt: skip
    listed = json.dumps(namespaces)
    for memory in memories.select(c, "quarantined_memories", namespaces=listed):
        since = memory.trashed_at or memory.created_at
        yield Waiting(number=f"q{memory.seq}", kind="quarantined", new=memory, since=since)
    for memory in memories.select(c, "flagged_memories", namespaces=listed):
        yield Waiting(number=f"f{memory.seq}", kind="flagged", new=memory, since=memory.updated_at)


def by_number(c: apsw.Connection, number: str, namespaces: Sequence[str]) -> Waiting | None:
    wanted = number.strip().lower()
    return next((one for one in everything(c, namespaces) if one.number == wanted), None)
