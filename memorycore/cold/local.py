"""The cold store on the local database: the rows of one namespace whose residence is not a hot file.

A memory that is admitted here is written by its transition in ``lifecycle``, in the same transaction as its event; this
class is the same store seen through the contract, as tools, other machines and the contract tests see it.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import apsw

from memorycore.cold.contract import Capability, ColdHit, ColdStats
from memorycore.domain.memory import Draft, Event, Memory
from memorycore.domain.text import norm_hash, sanitise
from memorycore.errors import NotFound
from memorycore.store import Database, memories, only_row, vectors
from memorycore.store.memories import to_ms

ACTOR = "cold_contract"
Find = Callable[[str, int], Sequence[tuple[int, float]]]


class LocalColdStore:
    """``find(query, top_k)`` gives (row number, score), best first: the search over this database."""

    name = "local"
    capabilities: frozenset[Capability] = frozenset({"get", "list", "transactional"})

    def __init__(
        self, db: Database, *, namespace: str, find: Find, clock: Callable[[], datetime], new_id: Callable[[], str]
    ) -> None:
        self._db = db
        self._namespace = namespace
        self._find = find
        self._clock = clock
        self._new_id = new_id

    def remember(self, content: str, *, importance: float = 0.5, scope: str = "global") -> str:
        del scope  # the namespace of this store is the scope of everything in it
        draft = Draft(content=sanitise(content).strip(), importance=importance)
        now = self._clock()
        memory = Memory(
            id=self._new_id(), namespace=self._namespace, content=draft.content, norm_hash=norm_hash(draft.content),
            importance=importance, importance_given=True, created_at=now, updated_at=now, origin="contract",
        )  # fmt: skip
        with self._db.write() as c:
            stored = memories.insert_memory(c, memory)
            vectors.queue_job(c, self._namespace, stored.seq, to_ms(now) or 0)
            self._record(c, stored, "added")
        return stored.id

    def recall(self, query: str, *, top_k: int = 5) -> list[ColdHit]:
        ranked = self._find(query, top_k)
        with self._db.read() as c:
            rows = memories.by_seq(c, [seq for seq, _ in ranked], (self._namespace,))
        return [
            ColdHit(id=rows[seq].id, content=rows[seq].content, score=score) for seq, score in ranked if seq in rows
        ]

    def update(self, memory_id: str, content: str) -> None:
        text = Draft(content=sanitise(content).strip()).content
        now = self._clock()
        with self._db.write() as c:
            old = self._row(c, memory_id)
            if text == old.content:
                return
            memories.add_revision(c, old, now)
            new = replace(old, content=text, norm_hash=norm_hash(text), updated_at=now, version=old.version + 1)
            stored = memories.update_memory(c, old, new)
            vectors.queue_job(c, self._namespace, stored.seq, to_ms(now) or 0)
            self._record(c, stored, "revised")

    def forget(self, memory_id: str) -> None:
        now = self._clock()
        with self._db.write() as c:
            old = self._row(c, memory_id)
            stored = memories.update_memory(c, old, replace(old, state="trashed", trashed_at=now, trash_reason="user"))
            self._record(c, stored, "trashed")

    def stats(self) -> ColdStats:
        with self._db.read() as c:
            where = {"namespaces": json.dumps([self._namespace]), "purge_before": 0}
            _, cold, _, _ = only_row(c, "count_memories", where)
            (embedded,) = only_row(c, "count_cold_vectors", {"namespace": self._namespace})
        return ColdStats(total=cold, embeddings=embedded)

    def _row(self, c: apsw.Connection, memory_id: str) -> Memory:
        found = memories.by_id(c, memory_id, (self._namespace,))
        if found is None or found.state != "active" or found.residence == "hot":
            raise NotFound(id=memory_id)
        return found

    def _record(self, c: apsw.Connection, memory: Memory, action: str) -> None:
        event = Event(seq=0, at=memory.updated_at, action=action, memory_id=memory.id, actor=ACTOR)
        memories.add_event(c, event, memory.namespace)
