"""MemoryCore: one method per verb, used by every surface. It sequences the rooms and answers plain objects."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Self

from uuid6 import uuid7

from memorycore import answers, intake, messages, overview, reply, transfer
from memorycore.background import Background
from memorycore.cold.local import LocalColdStore
from memorycore.domain.memory import TARGETS, Draft, Kind, Memory, Policy, Target
from memorycore.domain.text import entry_hash, sanitise
from memorycore.embed import EmbeddingService
from memorycore.errors import HotFileError, InvalidInput, NotAvailable, NotFound
from memorycore.govern import audit, maintenance, reconcile, vectors
from memorycore.hot.tier import HotTier
from memorycore.lifecycle import hot, naming, rows, turn
from memorycore.lifecycle.rows import Cause
from memorycore.lifecycle.turn import in_turn
from memorycore.opening import embed_choice, open_tier
from memorycore.options import CoreOptions
from memorycore.search import LivingIndex, RecallFilters, SearchRequest, SearchResult, search
from memorycore.store import memories, open_database, upkeep
from memorycore.store import vectors as vector_rows
from memorycore.store.uses import Uses

__all__ = ["MemoryCore", "RecallFilters"]

BATCH = 64
MOST_RESULTS = 1_000


def utc_now() -> datetime:
    return datetime.now(UTC)


def new_id() -> str:
    """A UUIDv7: unique without asking anybody, and in the order of time."""
    return str(uuid7())


class MemoryCore:
    """One open memory: the two hot files and the store behind them. Usable from every thread.

    A process that lives long keeps an index in memory, makes vectors in the background and never waits for the model
    longer than a moment; one that does not asks the database.
    """

    def __init__(
        self,
        options: CoreOptions,
        *,
        long_lived: bool,
        clock: Callable[[], datetime] = utc_now,
        new_id: Callable[[], str] = new_id,
        embedding: EmbeddingService | None = None,
    ) -> None:
        self.options = options
        self.namespaces = (options.namespace, intake.GLOBAL)
        self.problems: dict[Target, HotFileError] = {}
        self._clock = clock
        self._queued_for = ""
        self._new_id = new_id
        self.db = open_database(options.data_dir)
        self.embedding = embedding or EmbeddingService(embed_choice(options))
        self._index = LivingIndex(self.db, self.embedding, namespaces=self.namespaces) if long_lived else None
        self.tiers: dict[Target, HotTier] = {target: open_tier(self.db, options, target, clock()) for target in TARGETS}
        self._admission = intake.Admission(
            db=self.db,
            embedding=self.embedding,
            tiers=self.tiers,
            namespace=options.namespace,
            clock=clock,
            new_id=new_id,
        )
        self.cold = LocalColdStore(
            self.db, namespace=options.namespace, find=self._find_cold, clock=clock, new_id=new_id
        )
        self._uses = Uses(self.db, clock, later=long_lived)
        self.background = Background(prepare=self._prepare, work=self._work) if long_lived else None

    @classmethod
    def open(cls, options: CoreOptions, *, long_lived: bool) -> Self:
        """Open the memory of these options, making what is missing, and begin to load the model.

        Raises:
            StoreError: The database cannot be used.
        """
        core = cls(options, long_lived=long_lived)
        core.embedding.start()
        if core.background:
            core.background.start()
        return core

    def close(self) -> None:
        """End the background work and close the database. Nothing acknowledged depends on it."""
        if self.background:
            self.background.stop()
        else:
            vectors.catch_up(self.db, self.embedding, clock=self._clock)
        self._uses.flush()
        self.embedding.close()
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def remember(self, draft: Draft, *, actor: str, dry_run: bool = False) -> answers.Stored:
        """Admit one text; answer where it went and why.

        Waits for its vector at most ``store_wait_ms``; then the answer says ``pending: [vector]``.
        """
        if dry_run:
            return self._preview(draft)
        return self._remember([draft], actor=actor, wait_s=self.options.store_wait_ms / 1_000)[0]

    def remember_many(self, items: Iterable[Draft | Memory], *, actor: str) -> Iterator[answers.Stored]:
        """Admit many texts, in order; each batch is one transaction and waits for its vectors.

        A ``Memory`` (as ``transfer.from_line`` reads it) comes back with everything that it had.
        """
        source = iter(items)
        while batch := list(islice(source, BATCH)):
            yield from self._remember(batch, actor=actor, wait_s=None)

    def _remember(self, items: Sequence[Draft | Memory], *, actor: str, wait_s: float | None) -> list[answers.Stored]:
        self.touch()
        admitted = self._admission.admit(items, actor=actor, wait_s=wait_s)
        if self.background and not all(item.recorded.vector for item in admitted):
            self.background.wake()
        return [reply.stored(item, self.options) for item in admitted]

    def _preview(self, draft: Draft) -> answers.Stored:
        candidate = self._admission.consider(draft)
        with self.db.read() as c:
            same = intake.known(c, candidate.memory)
        return reply.preview(candidate, same, self.options)

    def recall(
        self,
        query: str,
        *,
        top_k: int = 5,
        filters: RecallFilters | None = None,
        viewer_session: str = "",
        explain: bool = False,
        log: bool = True,
    ) -> answers.Recalled:
        """Search hot and cold, best first.

        ``viewer_session`` sees memories of that session too, which nobody else does. ``log`` False leaves no trace of
        the question (bulk, dry runs).
        """
        self.touch()
        request = SearchRequest(
            namespaces=self.namespaces,
            top_k=top_k,
            filters=filters or RecallFilters(),
            viewer_session=viewer_session,
            explain=explain,
        )
        result = self._search(query, request)
        with self.db.read() as c:
            found = memories.by_seq(c, [hit.seq for hit in result.hits], self.namespaces)
            waiting = vector_rows.waiting(c, self.namespaces)
        if log and self.options.activity_log and result.hits:
            self._uses.note([hit.seq for hit in result.hits])
        return reply.recalled(result, found, explain=explain, waiting=waiting)

    def _search(self, query: str, request: SearchRequest) -> SearchResult:
        if not 1 <= request.top_k <= MOST_RESULTS:
            raise InvalidInput(field="top_k", why="not_between", least=1, most=MOST_RESULTS, value=request.top_k)
        return search(
            sanitise(query),
            db=self.db,
            embedding=self.embedding,
            index=self._index,
            request=request,
            now=self._clock(),
            vector_weight=self.options.vector_weight,
        )

    def _find_cold(self, query: str, top_k: int) -> list[tuple[int, float]]:
        request = SearchRequest(namespaces=self.namespaces, top_k=top_k, filters=RecallFilters(tier="cold"))
        result = self._search(query, request)
        return [(hit.seq, hit.score) for hit in result.hits]

    @in_turn
    def update(  # noqa: PLR0913 each argument is a field that may be changed
        self,
        memory_id: str,
        *,
        actor: str,
        content: str | None = None,
        importance: float | None = None,
        kind: Kind | None = None,
        policy: Policy | None = None,
        tags: tuple[str, ...] | None = None,
        pinned: bool | None = None,
        valid_until: datetime | None = None,
        dry_run: bool = False,
    ) -> answers.Changed:
        """Change wording or fields of the memory with this id, or with exactly this text.

        ``content`` is the whole new text, not a part of it; the earlier wording stays in the memory's history. Any
        other words instead of an id only find candidates; nothing is changed for them.

        Raises:
            NotFound: No active memory has this id.
            InvalidInput: The new text is empty, known already, or cannot stand in the hot file.
            Conflict: Somebody reworded its entry in the hot file and nobody has seen that yet, or took it out.
        """
        seen, memory = self._meant(memory_id)
        if memory is None:
            likely = self._candidates(memory_id)
            if all(found.get("weak") for found in likely.get("candidates", [])):
                raise NotFound(id=memory_id)
            return likely
        given: dict[str, Any] = {
            "content": None if content is None else hot.carried_over(seen, memory, sanitise(content).strip()),
            "importance": importance, "kind": kind, "policy": policy, "pinned": pinned, "valid_until": valid_until,
            "tags": None if tags is None else tuple(map(sanitise, tags)),
        }  # fmt: skip
        changes = {name: value for name, value in given.items() if value is not None and value != getattr(memory, name)}
        if importance is not None:
            changes["importance_given"] = True
        self._check_changes(memory, changes)
        cause = Cause(actor=actor, at=self._clock(), reason="update")
        if dry_run or not changes:
            return reply.changed(
                "updated" if changes else "unchanged", memory, rows.after(memory, changes), dry_run=dry_run
            )
        tier = self._tier_of(memory) if memory.residence == "hot" else None
        begun, done = None, hot.Done(memory=memory)
        with self.db.write() as c:
            now = turn.claim(c, memory, cause.at, new_text=changes.get("content", ""))
            if "content" in changes:
                self._check_unknown(rows.after(now, changes))
            if tier and "content" in changes:
                begun = hot.begin(c, tier, now, "replace", cause, new_text=changes["content"])
            else:
                done = hot.Done(memory=rows.revise(c, now, changes, cause))
        if tier and begun:
            done = hot.rewrite(self.db, tier, begun, changes, cause)
        elif tier:
            tier.stamp([done.memory], cause.at)
        self._catch_up()
        return reply.changed("updated", memory, done.memory, usage=done.usage)

    def _check_changes(self, memory: Memory, changes: Mapping[str, Any]) -> None:
        Draft(
            content=changes.get("content", memory.id),  # a text that stays may be longer than one that is new
            importance=changes.get("importance"),
            kind=changes.get("kind"), policy=changes.get("policy"),
        )  # fmt: skip
        if "content" not in changes:
            return
        if memory.residence == "hot":
            hot.check_wording(self._tier_of(memory), memory.content, changes["content"])
        self._check_unknown(rows.after(memory, changes))

    def _check_unknown(self, memory: Memory, field: str = "content") -> None:
        with self.db.read() as c:
            other = intake.known(c, memory)
        if other is not None and other.id != memory.id:
            raise InvalidInput(field=field, why="known_already", id=other.id)

    @in_turn
    def forget(self, id_or_query: str, *, actor: str, dry_run: bool = False) -> answers.Changed:
        """Put one memory into the bin: the one with this id, or with exactly this text.

        Any other words only find candidates; nothing is removed for them.

        Raises:
            NotFound: The memory with this id is not active.
            Conflict: Somebody changed its entry in the hot file and nobody has seen that yet; nothing was removed.
        """
        seen, memory = self._meant(id_or_query)
        if memory is None:
            return self._candidates(id_or_query)
        hot.carried_over(seen, memory, None)
        until = self._clock() + timedelta(days=self.options.trash_days)
        if dry_run:
            return reply.changed("trashed", memory, None, until=until, dry_run=True)
        cause = Cause(actor=actor, at=self._clock(), reason="user")
        tier = self._tier_of(memory) if memory.residence == "hot" else None
        with self.db.write() as c:
            now = turn.claim(c, memory, cause.at)
            begun = hot.begin(c, tier, now, "remove", cause) if tier else None
            done = hot.Done(memory=now if begun else rows.trash(c, now, cause))
        if tier and begun:
            done = hot.discard(self.db, tier, begun, cause)
        return reply.changed("trashed", memory, None, until=until, usage=done.usage)

    def _meant(self, id_or_text: str) -> tuple[Memory | None, Memory | None]:
        """The memory that a caller names: as it stood until now, and as the hot file says now."""
        try:
            seen = self._named(id_or_text)
        except NotFound:  # the file may bring it back
            seen = None
        self.touch()
        return seen, self._named(seen.id if seen else id_or_text)

    def _candidates(self, words: str) -> answers.Changed:
        result = self._search(words, SearchRequest(namespaces=self.namespaces, top_k=5))
        with self.db.read() as c:
            found = memories.by_seq(c, [hit.seq for hit in result.hits], self.namespaces)
        return reply.candidates(result, found)

    @in_turn
    def restore(self, memory_id: str, *, actor: str) -> answers.Changed:
        """Take a memory out of the bin, back to where it was; without room in its hot file it comes back cold.

        Raises:
            NotFound: The bin has no such memory.
            InvalidInput: The same text is active under another id.
        """
        self.touch()
        memory = self._any(memory_id)
        was_hot = memory.hot_tier is not None
        if memory.state == "active" and not (was_hot and memory.residence == "cold"):
            return reply.changed("unchanged", memory, memory)
        if memory.state not in {"active", "trashed"}:
            raise NotFound(id=memory_id)
        cause = Cause(actor=actor, at=self._clock(), reason="restore")
        tier = self._tier_of(memory) if was_hot else None
        with self.db.write() as c:
            memory = turn.claim(c, memory, cause.at, new_text=memory.content)
            if memory.state == "trashed":
                self._check_unknown(replace(memory, state="active"), field="id")
                memory = rows.restore(c, memory, cause)
            begun = hot.begin(c, tier, memory, "add", cause) if tier else None
        placed = hot.Placed()
        if tier and begun:
            with suppress(HotFileError):  # it is back all the same, and status names the file
                placed = hot.place(self.db, tier, [begun], cause)
        self._catch_up()
        after = replace(memory, residence="hot" if memory.id in placed.ids else "cold")
        return reply.changed("restored", memory, after, usage=placed.usage)

    def inspect(self, memory_id: str) -> answers.Story:
        """Everything about one memory: fields, earlier texts, events, vector.

        Raises:
            NotFound: No memory has this id.
        """
        self.touch()
        memory = self._any(memory_id)
        with self.db.read() as c:
            revisions = memories.revisions(c, memory)
            events = memories.events(c, memory.id, self.namespaces)
            vector = vector_rows.state_of(c, memory.seq)
        return reply.story(memory, revisions, events, vector)

    def trash(self) -> answers.Bin:
        """What is in the recycle bin, newest first, and until when."""
        self.touch()
        with self.db.read() as c:
            binned = memories.select(c, "binned_memories", namespaces=json.dumps(self.namespaces))
        return reply.binned(binned, timedelta(days=self.options.trash_days))

    def audit(self, target: Target | None = None) -> answers.Audited:
        """The health of every hot entry, read-only."""
        self.touch()
        return {"targets": [self._audit(tier) for name, tier in self.tiers.items() if target in {None, name}]}

    def _audit(self, tier: HotTier) -> answers.AuditTarget:
        rules = audit.AuditRules(
            rule_budget=self.options.thresholds[tier.target].rule_budget,
            state_ttl_days=self.options.state_ttl_days,
            language=self.options.language,
        )
        try:
            contents = tier.look()
        except HotFileError as error:
            return audit.unusable(tier, rules, messages.error_text(error, self.options.language))
        with self.db.read() as c:
            known = memories.select(c, "hot_memories", namespace=tier.namespace, hot_tier=tier.id)
        by_hash = {entry_hash(memory.content): memory for memory in known}
        return audit.audit_target(tier, contents, by_hash, rules, self._clock())

    def usage(self) -> answers.Usage:
        """How full both files are, what the cold tier holds, what waits, what is degraded."""
        self.touch()
        return overview.usage(self._view())

    def status(self) -> answers.Status:
        """The verdict and everything behind it."""
        self.touch()
        return overview.status(self._view())

    def _view(self) -> overview.View:
        return overview.View(
            options=self.options,
            namespaces=self.namespaces,
            db=self.db,
            embedding=self.embedding,
            tiers=self.tiers,
            problems=self.problems,
            now=self._clock(),
        )

    def export(self) -> Iterator[dict[str, object]]:
        """Every memory of these namespaces that is not purged, oldest first, as ``store --from`` reads it back."""
        self.touch()
        last = 0
        while page := self._page_after(last):
            yield from map(transfer.to_line, page)
            last = page[-1].seq

    def _page_after(self, seq: int) -> list[Memory]:
        with self.db.read() as c:
            return memories.select(c, "memories_after", seq=seq, namespaces=json.dumps(self.namespaces), limit=1_000)

    def touch(self) -> None:
        """Take notice of what others did to the hot files. A file that cannot be read is a problem, not an end."""
        for target, tier in self.tiers.items():
            try:
                done = reconcile.reconcile(self.db, tier, new_id=self._new_id, now=self._clock())
            except HotFileError as error:
                self.problems[target] = error
                continue
            self.problems.pop(target, None)
            if done.changed:
                self._catch_up()

    def overflow(self, target: Target | None = None, *, dry_run: bool = False) -> answers.Maintained:
        """Make room in the hot files. Nothing leaves them by itself yet; full files send new text cold."""
        self.touch()
        tiers = [tier for name, tier in self.tiers.items() if target in {None, name}]
        return maintenance.overflow(tiers, self.options, dry_run=dry_run)

    def maintain(self, steps: Sequence[str] = (), *, dry_run: bool = False) -> answers.Maintained:
        """Run maintenance steps now, all of them or those named.

        Raises:
            InvalidInput: There is no step with this name.
        """
        self.touch()
        known = maintenance.steps_of(self.db, self.embedding, clock=self._clock, dry_run=dry_run)
        return maintenance.run(known, steps, dry_run=dry_run)

    def fill_vectors(self, *, timeout_s: float | None = None) -> vectors.Filled:
        """Make vectors that are missing, one round."""
        return vectors.fill(self.db, self.embedding, clock=self._clock, timeout_s=timeout_s)

    def _prepare(self) -> None:
        """Once at the start of a long life: fold old uses, wait for the model, read what answers come from."""
        upkeep.fold_uses(self.db)
        self.embedding.wait_ready(None)
        if self._index:
            self._index.warm()

    def _work(self) -> bool:
        self._uses.flush()
        # An endpoint that was away at the start says which model it has when it first answers.
        name = self.embedding.fingerprint(0)
        if name is not None and name != self._queued_for:
            vectors.queue_missing(self.db, name, self._clock())
            self._queued_for = name
        done = self.fill_vectors()
        return bool(done.made or done.failed)

    def _catch_up(self) -> None:
        """Vectors for what came in beside ``remember``: later where somebody works in the background, else now."""
        if self.background:
            self.background.wake()
        else:
            self.fill_vectors(timeout_s=5.0)

    def _any(self, memory_id: str) -> Memory:
        return naming.by_id(self.db, memory_id, self.namespaces)

    def _named(self, id_or_text: str) -> Memory | None:
        return naming.find(self.db, id_or_text, self.namespaces, self.options.language)

    def _tier_of(self, memory: Memory) -> HotTier:
        tier = self.tiers[memory.target]
        if memory.hot_tier not in {None, tier.id}:
            raise NotAvailable(what=memory.id, why="other_hot_directory")
        return tier
