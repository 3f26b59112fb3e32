"""The cold store on the local database: the rows of one namespace whose residence is not a hot file.

A memory that is admitted here is written by its transition in ``lifecycle``, in the same transaction as its event; this
class is the same store seen through the contract, as tools, other machines and the contract tests see it.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
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
Admit = Callable[[str], tuple[str, tuple[str, ...]]]
"""What of a text may be kept, and what it is to be marked with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalColdStore:
    """``find(query, top_k)`` gives (row number, score), best first: the search over this database.

    ``admit`` holds back what must not be kept. ``changed`` is told that something came in and has no vector yet.
    """

    db: Database
    namespace: str
    find: Find
    admit: Admit
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    changed: Callable[[], None]
    name: str = "local"
    capabilities: frozenset[Capability] = frozenset({"get", "list", "restore", "transactional"})

    def remember(self, content: str, *, importance: float = 0.5, scope: str = "global", ref: str = "") -> str:
        """Keep a text. Nobody gets a second memory of it who names it by the same ``ref``, or sends it without any.

        Raises:
            InvalidInput: Nothing of it may be kept.
        """
        del scope  # the namespace of this store is the scope of everything in it
        draft = Draft(content=sanitise(content).strip(), importance=importance, ref=sanitise(ref))
        text, flags = self.admit(draft.content)
        now = self.clock()
        memory = Memory(
            id=self.new_id(), namespace=self.namespace, content=text, norm_hash=norm_hash(text), flags=flags,
            importance=importance, importance_given=True, created_at=now, updated_at=now, origin="contract",
            refs=(draft.ref,) if draft.ref else (),
        )  # fmt: skip
        with self.db.write() as c:
            known = self._known(c, memory)
            if known is not None:
                if known.content != text:
                    self._reword(c, known, text, flags)
                return known.id
            stored = memories.insert_memory(c, memory)
            vectors.queue_job(c, self.namespace, stored.seq, to_ms(now) or 0)
            self._record(c, stored, "added")
        self.changed()
        return stored.id

    def _known(self, c: apsw.Connection, memory: Memory) -> Memory | None:
        where = {"namespace": self.namespace}
        if memory.refs:
            found = memories.select(c, "memories_by_ref", **where, ref=memory.refs[0])
            return next((row for row in found if row.state == "active" and row.residence != "hot"), None)
        found = memories.select(
            c, "active_by_norm_hash", **where, norm_hash=memory.norm_hash, scope="global", session_id=""
        )
        return next((row for row in found if row.residence != "hot" and row.content == memory.content), None)

    def recall(self, query: str, *, top_k: int = 5) -> list[ColdHit]:
        ranked = self.find(query, top_k)
        with self.db.read() as c:
            rows = memories.by_seq(c, [seq for seq, _ in ranked], (self.namespace,))
        return [
            ColdHit(id=rows[seq].id, content=rows[seq].content, score=score) for seq, score in ranked if seq in rows
        ]

    def update(self, memory_id: str, content: str) -> None:
        text, flags = self.admit(Draft(content=sanitise(content).strip()).content)
        with self.db.write() as c:
            old = self._row(c, memory_id)
            if text != old.content:
                self._reword(c, old, text, flags)
        self.changed()

    def _reword(self, c: apsw.Connection, old: Memory, text: str, flags: tuple[str, ...]) -> None:
        now = self.clock()
        memories.add_revision(c, old, now)
        new = replace(
            old, content=text, norm_hash=norm_hash(text), updated_at=now, version=old.version + 1,
            flags=tuple(dict.fromkeys((*old.flags, *flags))),
        )  # fmt: skip
        stored = memories.update_memory(c, old, new)
        vectors.queue_job(c, self.namespace, stored.seq, to_ms(now) or 0)
        self._record(c, stored, "revised", old)

    def forget(self, memory_id: str) -> None:
        now = self.clock()
        with self.db.write() as c:
            old = self._row(c, memory_id)
            stored = memories.update_memory(c, old, replace(old, state="trashed", trashed_at=now, trash_reason="user"))
            self._record(c, stored, "trashed", old)

    def restore(self, memory_id: str) -> None:
        now = self.clock()
        with self.db.write() as c:
            old = memories.by_id(c, memory_id, (self.namespace,))
            if old is None or old.state != "trashed":
                raise NotFound(id=memory_id)
            back = replace(old, state="active", residence="cold", trashed_at=None, trash_reason="", updated_at=now)
            stored = memories.update_memory(c, old, back)
            vectors.queue_job(c, self.namespace, stored.seq, to_ms(now) or 0)
            self._record(c, stored, "restored", old)
        self.changed()

    def get(self, memory_id: str) -> ColdHit:
        with self.db.read() as c:
            row = self._row(c, memory_id)
        return ColdHit(id=row.id, content=row.content, score=1.0)

    def page(self, *, limit: int = 500, offset: int = 0) -> Iterator[ColdHit]:
        with self.db.read() as c:
            rows = memories.select(c, "cold_page", namespace=self.namespace, limit=limit, offset=offset)
        return iter([ColdHit(id=row.id, content=row.content, score=1.0) for row in rows])

    def stats(self) -> ColdStats:
        with self.db.read() as c:
            where = {"namespaces": json.dumps([self.namespace]), "purge_before": 0}
            _, cold, _, _ = only_row(c, "count_memories", where)
            (embedded,) = only_row(c, "count_cold_vectors", {"namespace": self.namespace})
        return ColdStats(total=cold, embeddings=embedded)

    def _row(self, c: apsw.Connection, memory_id: str) -> Memory:
        found = memories.by_id(c, memory_id, (self.namespace,))
        if found is None or found.state != "active" or found.residence == "hot":
            raise NotFound(id=memory_id)
        return found

    def _record(self, c: apsw.Connection, memory: Memory, action: str, before: Memory | None = None) -> None:
        event = Event(
            seq=0, at=self.clock(), action=action, memory_id=memory.id, actor=ACTOR,
            change=memories.difference(before, memory) if before else {},
        )  # fmt: skip
        memories.add_event(c, event, memory.namespace)
