"""What every verb works on: the store, the two hot files, the model, the time, and how they are kept in step."""

import copy
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial

from uuid6 import uuid7

from memorycore import intake
from memorycore.background import Background
from memorycore.core.limits import Limits
from memorycore.core.remote import open_remote
from memorycore.domain.memory import TARGETS, Draft, Memory, Target
from memorycore.domain.text import sanitise
from memorycore.embed import EmbeddingService
from memorycore.errors import HotFileError, InvalidInput, NotAvailable, StoreError
from memorycore.govern import activity, reconcile, vectors
from memorycore.hot.tier import HotTier
from memorycore.lifecycle import naming
from memorycore.lifecycle.rows import Cause
from memorycore.opening import embed_choice, open_tier
from memorycore.options import CoreOptions, GateOptions, Language
from memorycore.search import LivingIndex, RecallFilters, SearchRequest, SearchResult, search
from memorycore.search.neighbours import Scout
from memorycore.store import erasure, only_row, open_database, sessions, upkeep
from memorycore.store.uses import LogRules, Uses

MOST_RESULTS = 1_000


def utc_now() -> datetime:
    return datetime.now(UTC)


def new_id() -> str:
    """A UUIDv7: unique without asking anybody, and in the order of time."""
    return str(uuid7())


@lru_cache(maxsize=64)
def _clean_session(session_id: str, gates: GateOptions) -> str:
    """Asked with each call of a tool, and nearly always for the same one."""
    return intake.clean_name(session_id, gates)


def _log_rules(options: CoreOptions) -> LogRules | None:
    """What of questions may be kept; None: nothing."""
    if not options.activity_log:
        return None
    return LogRules(gate=intake.as_logged, days=options.budget.log_days, kb=options.budget.log_kb)


class Rooms:
    """The open store, files and model of one memory. Usable from every thread.

    ``later``: what is to be done when nobody waits and vectors have come in; whether more may be left. ``make_room``:
    what has to leave a hot file for memories that are about to come in.
    """

    def __init__(  # noqa: PLR0913 what makes a memory, each named by its caller
        self,
        options: CoreOptions,
        *,
        long_lived: bool,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        embedding: EmbeddingService | None,
        later: "Callable[[Rooms], bool]",
        make_room: "Callable[[Rooms, Target, Sequence[Memory]], intake.Room]",
    ) -> None:
        self.options = options
        self.namespaces = (options.namespace, intake.GLOBAL)
        self.problems: dict[Target, HotFileError] = {}
        self.shares_embedding = False
        self.clock = clock
        self.new_id = new_id
        self._queued_for = ""
        self._looked_at: dict[Target, str] = {}
        self._look_due = threading.Event()
        self.tended_at = time.monotonic()
        self.told_rules: dict[str, None] = {}  # ids of rules that a host's questions meant since they last came back
        self.room_made: dict[Target, int] = {}  # code points that a file had when room was last made for a host
        self.later = later
        self.db = open_database(options.data_dir)
        choice = replace(embed_choice(options), asks_second=long_lived)  # it takes a second to load
        self.embedding = embedding or EmbeddingService(choice)
        self.index = LivingIndex(self.db, self.embedding, namespaces=self.namespaces) if long_lived else None
        self.tiers: dict[Target, HotTier] = {target: open_tier(self.db, options, target, clock()) for target in TARGETS}
        self.limits = Limits(options, self.tiers, long_lived=long_lived)
        self.admission = intake.Admission(
            db=self.db,
            embedding=self.embedding,
            tiers=self.tiers,
            namespace=options.namespace,
            scout=Scout(self.db, self.index),
            importance_share=options.importance_share,
            gates=options.gates,
            asks_model=options.llm.active,
            make_room=partial(make_room, self),
            clock=clock,
            new_id=new_id,
        )
        self.remote = (
            open_remote(options.remote, self.db, namespace=options.namespace, clock=clock, long_lived=long_lived)
            if options.remote
            else None
        )
        self.uses = Uses(self.db, clock, namespace=options.namespace, log=_log_rules(options), later=long_lived)
        self.background = Background(prepare=self._prepare, work=self._work) if long_lived else None

    def start(self) -> None:
        self.embedding.start()
        if self.background:
            self.background.start()

    def close(self) -> None:
        if self.background:
            self.background.stop()
        elif not self.options.looks_only:
            vectors.catch_up(self.db, self.embedding, clock=self.clock)
            with suppress(StoreError):  # what waits is judged by the next process
                self.later(self)
            with suppress(StoreError):
                erasure.clear_disk(self.db)
        self.uses.ended(self.uses.open_sessions())
        self.uses.flush()
        if not self.shares_embedding:
            self.embedding.close()
        if self.remote:
            self.remote.close()
        self.db.close()

    def cause(self, actor: str, reason: str) -> Cause:
        """Why something changes now. What one call changes belongs together in the ledger, as one run."""
        return Cause(actor=actor, at=self.clock(), reason=reason, run=self.new_id())

    def session_seen(self, session_id: str) -> None:
        """Note that a session is at work, until this process ends."""
        if self.uses.seen(_clean_session(session_id, self.options.gates)) and self.background:
            self.background.wake()

    def sessions_ended(self, session_ids: Sequence[str]) -> None:
        """Sessions are over, whose prompts hold the files no longer. Waits for no other writer."""
        self.uses.ended([_clean_session(session_id, self.options.gates) for session_id in session_ids])
        if self.background:
            self.background.wake()

    def speaking(self, language: Language) -> "Rooms":
        """The same rooms, seen by somebody who reads another language."""
        other = copy.copy(self)
        other.options = replace(self.options, language=language)
        return other

    def session_runs(self) -> bool:
        """Whether any session is at work, of this process or another, whose prompt holds the hot files."""
        self.uses.flush()
        idle = timedelta(minutes=self.options.budget.session_idle_minutes)
        with self.db.read() as c:
            return sessions.running(c, self.options.namespace, self.clock(), idle)

    @property
    def no_model(self) -> str:
        """Why there are no vectors now, a code; empty while there are, or may soon be."""
        return (self.embedding.why or "no_model") if self.embedding.state in {"off", "failed"} else ""

    def touch(self) -> int:
        """Take notice of what others did to the hot files; how many had changed.

        A file that cannot be read is a problem, not an end.
        """
        self.limits.follow()
        changed = 0
        for target, tier in self.tiers.items():
            try:
                done = reconcile.reconcile(
                    self.db, tier, new_id=self.new_id, now=self.clock(), gates=self.options.gates
                )
            except HotFileError as error:
                self.problems[target] = error
                continue
            self.problems.pop(target, None)
            if done.changed:
                changed += 1
                self.catch_up()
        return changed

    def touch_soon(self) -> None:
        """As ``touch``, for somebody whose turn waits: what changed is looked at in the background, if that runs."""
        if self.background is None or not self.background.runs:
            self.touch()
            return
        if self.limits.may_differ():
            self._look_due.set()
        for target, tier in self.tiers.items():
            with suppress(HotFileError):
                seen = tier.look().sha256
                if self._looked_at.get(target) != seen:
                    self._looked_at[target] = seen
                    self._look_due.set()
        if self._look_due.is_set():
            self.background.wake()

    def catch_up(self) -> None:
        """Vectors for what came in beside ``remember``: later where somebody works in the background, else now."""
        if self.background:
            self.background.wake()
        else:
            self.fill_vectors(timeout_s=5.0)

    def fill_vectors(self, *, timeout_s: float | None = None) -> vectors.Filled:
        """Make vectors that are missing, one round."""
        return vectors.fill(self.db, self.embedding, clock=self.clock, timeout_s=timeout_s)

    def scan_activity(self, *, timeout_s: float) -> activity.Scanned:
        """Give weight to what was asked about since the last scan; what was noted here comes first."""
        self.uses.flush()
        return activity.scan(self.db, self.embedding, self.options, self.clock(), timeout_s=timeout_s)

    def search(self, query: str, request: SearchRequest) -> SearchResult:
        if not 1 <= request.top_k <= MOST_RESULTS:
            raise InvalidInput(field="top_k", why="not_between", least=1, most=MOST_RESULTS, value=request.top_k)
        return search(
            sanitise(query),
            db=self.db,
            embedding=self.embedding,
            index=self.index,
            request=request,
            now=self.clock(),
            vector_weight=self.options.vector_weight,
        )

    def find_cold(self, query: str, top_k: int) -> list[tuple[int, float]]:
        request = SearchRequest(namespaces=self.namespaces, top_k=top_k, filters=RecallFilters(tier="cold"))
        return [(hit.seq, hit.score) for hit in self.search(query, request).hits]

    def settle_remote(self, ids: Collection[str] = ()) -> frozenset[str]:
        """Let the service that has copies know what changed, for a moment; the ids of which it does not know yet."""
        if self.remote is None:
            return frozenset()
        waiting = self.remote.settle(ids)
        if waiting and self.background:
            self.background.wake()
        return waiting

    def admit_cold(self, content: str) -> tuple[str, tuple[str, ...]]:
        """What of a text may come in by the contract's way, and what it is marked with. The gates alone decide.

        Raises:
            InvalidInput: Nothing of it may be kept, or the namespace is full.
        """
        gates = self.options.gates
        passed = intake.admit(Draft(content=content), gates)
        if passed.refused and passed.refused != "noise":
            raise InvalidInput(field="content", why=passed.refused)
        if passed.quarantined:
            raise InvalidInput(field="content", why="orders_the_agent")
        with self.db.read() as c:
            if only_row(c, "count_active", {"namespace": self.options.namespace})[0] >= gates.quota:
                raise InvalidInput(field="content", why="quota_full", limit=gates.quota)
        clean = content if passed.refused else passed.draft.content
        return clean, ("untrusted",) if passed.untrusted else ()

    def any(self, memory_id: str) -> Memory:
        """The memory with this id, whatever its state.

        Raises:
            NotFound: No memory has it.
        """
        return naming.by_id(self.db, memory_id, self.namespaces)

    def named(self, id_or_text: str) -> Memory | None:
        """The active memory with this id or exactly this text."""
        return naming.find(self.db, id_or_text, self.namespaces, self.options.language)

    def tier_of(self, memory: Memory) -> HotTier:
        tier = self.tiers[memory.target]
        if memory.hot_tier not in {None, tier.id}:
            raise NotAvailable(what=memory.id, why="other_hot_directory")
        return tier

    def _prepare(self) -> None:
        """Once at the start of a long life: fold old uses, wait for the model, read what answers come from."""
        upkeep.fold_uses(self.db, upkeep.turns(self.db))
        self.embedding.wait_ready(None)
        if self.index:
            self.index.warm()
        if self.remote:
            self.remote.warm()

    def _work(self) -> bool:
        if self._look_due.is_set():
            self._look_due.clear()
            self.touch()
        self.uses.flush()
        with suppress(StoreError):  # without room for a second file it waits, and nothing else does
            erasure.clear_disk(self.db)
        # An endpoint that was away at the start says which model it has when it first answers.
        name = self.embedding.fingerprint(0)
        if name is not None and name != self._queued_for:
            vectors.queue_missing(self.db, name, self.clock())
            self._queued_for = name
        done = self.fill_vectors()
        return bool(done.made or done.failed) | self.later(self)
