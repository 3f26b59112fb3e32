"""The pipeline of admission, for one text or a batch: consider, embed, judge and record, place."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

import apsw

from memorycore.domain.memory import Draft, Memory, Target
from memorycore.domain.routing import Reason
from memorycore.errors import Conflict, EmbeddingError, HotFileError
from memorycore.hot.document import DELIMITER
from memorycore.hot.tier import HotTier
from memorycore.intake.candidate import (
    GLOBAL,
    RECALLED,
    Candidate,
    Ground,
    consider,
    known_before,
    pointed_at,
    readmit,
)
from memorycore.intake.gate import GateNote
from memorycore.intake.judging import Decision
from memorycore.intake.place import MakeRoom, place
from memorycore.intake.quoting import Unquoted, may_quote, unquote
from memorycore.intake.record import Bench, Recorded, judged, over_quota, record, sent_again, within_share
from memorycore.lifecycle import hot
from memorycore.lifecycle.rows import Cause
from memorycore.lifecycle.turn import claim, in_turn
from memorycore.options import GateOptions
from memorycore.search.neighbours import MOST_ARCHIVED, Scout, Scouted
from memorycore.store import Database, edges, memories, vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memorycore.embed import EmbeddingService


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """What became of one item, in which run of the ledger.

    ``usage`` of its hot file when it went there, ``failure`` when that was impossible.
    """

    candidate: Candidate
    recorded: Recorded
    usage: str = ""
    failure: HotFileError | None = None
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What would become of one item. ``same``: the memory that has its very text."""

    candidate: Candidate
    same: Memory | None = None
    decision: Decision = field(default_factory=Decision)
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The pipeline with what it works on. Usable from every thread."""

    db: Database
    embedding: "EmbeddingService"
    tiers: Mapping[Target, HotTier]
    namespace: str
    scout: Scout
    importance_share: float
    gates: GateOptions
    asks_model: bool
    make_room: MakeRoom
    clock: Callable[[], datetime]
    new_id: Callable[[], str]

    def consider(self, item: Draft | Memory) -> Candidate:
        """Decide what an item is and where it belongs; nothing is changed."""
        limits: dict[Target, int] = {target: tier.limit for target, tier in self.tiers.items()}
        ground = Ground(namespace=self.namespace, now=self.clock(), limits=limits, gates=self.gates)
        if isinstance(item, Memory):
            return readmit(item, ground, spare_id=self.new_id())
        found = Unquoted(rest=item.content)
        if may_quote(item.content):
            with self.db.read() as c:
                found = unquote(c, item.content, (self.namespace, GLOBAL))
        candidate = consider(replace(item, content=found.rest or item.content), ground, new_id=self.new_id())
        if not found.quoted:
            return candidate
        if not found.rest:
            return replace(candidate, refused=RECALLED, hot=False, reasons=(), gates=(), repeats=found.quoted)
        left_out = Reason(code="notes_left_out", facts=(("count", len(found.quoted)),))
        return replace(candidate, reasons=(*candidate.reasons, left_out))

    def preview(self, items: Sequence[Draft], *, wait_s: float | None) -> list[Preview]:
        """What would become of texts, each judged against the store as it is. Room in the files is not looked at."""
        candidates = [self.consider(item) for item in items]
        parts, fingerprint = self._vectors(candidates, wait_s)
        bench = self._bench(self._scouted(parts, fingerprint))
        with self.db.read() as c:
            return [self._preview(c, item, bench) for item in candidates]

    def _preview(self, c: apsw.Connection, candidate: Candidate, bench: Bench) -> Preview:
        if (same := pointed_at(c, candidate)) is not None:
            return Preview(candidate=replace(candidate, refused=""), same=same)
        if candidate.refused:
            return Preview(candidate=candidate)
        if (same := known_before(c, candidate) or sent_again(c, candidate)) is not None:
            return Preview(candidate=candidate, same=same)
        decision = judged(c, candidate, bench, archived=MOST_ARCHIVED)
        if (full := over_quota(c, candidate.memory, decision, bench)) is not None:
            notes = (*candidate.gates, GateNote(gate="quota", action="refused"))
            return Preview(candidate=replace(candidate, refused=full.code, gates=notes), reasons=(full,))
        candidate, reasons = within_share(c, candidate, bench)
        return Preview(candidate=candidate, decision=decision, reasons=reasons)

    def admit(
        self, items: Sequence[Draft | Memory], cause: Cause, *, wait_s: float | None, later: bool = False
    ) -> list[Admitted]:
        """Admit items in order: one transaction for all, then one write for each hot file that gets something.

        Waits for vectors at most ``wait_s`` (None: as long as it takes); what has none then gets a job. ``later``: all
        get one, which does for what needs no judge. An item that changes what an earlier one of the batch is about to
        write into a hot file begins a transaction of its own.
        """
        candidates = [self.consider(item) for item in items]
        parts, fingerprint = ({}, None) if later else self._vectors(candidates, wait_s)
        # What comes back from an export was judged when it was stored first: its neighbours are of no interest.
        new = {candidate.memory.content for candidate in candidates if not candidate.spare_id}
        scouted = self._scouted({text: found for text, found in parts.items() if text in new}, fingerprint)
        admitted: list[Admitted] = []
        while len(admitted) < len(candidates):
            admitted += self._as_many(candidates[len(admitted) :], cause, parts, scouted, fingerprint)
        return admitted

    @in_turn
    def rehearse(self, item: Memory, cause: Cause) -> Admitted:
        """What ``admit`` would record of a memory that comes from elsewhere; nothing of it stays.

        Room in the files is not looked at. Holds the write lock for a moment.

        Raises:
            StoreError: The database cannot be written now.
        """
        candidate = self.consider(item)
        recorded = Recorded(outcome="refused", memory=candidate.memory)
        with self.db.rehearse() as c:
            recorded = record(c, candidate, cause, self._bench(Scouted()), None)
        return Admitted(candidate=candidate, recorded=recorded)

    @in_turn
    def _as_many(
        self,
        candidates: Sequence[Candidate],
        cause: Cause,
        parts: "Mapping[str, NDArray[np.float32]]",
        scouted: Scouted,
        fingerprint: tuple[str, int] | None,
    ) -> list[Admitted]:
        """Admit the first candidates, as many as one transaction can take."""
        recorded: list[Recorded] = []
        with self.db.write() as c:
            number = None if fingerprint is None else vectors.fingerprint_id(c, *fingerprint)
            bench = self._bench(scouted, number)
            for candidate in candidates:
                try:
                    recorded.append(record(c, candidate, cause, bench, parts.get(candidate.memory.content)))
                except Conflict:
                    if not recorded:  # somebody else is at it
                        raise
                    break
        done = candidates[: len(recorded)]
        self._offer_room(done, recorded, cause)
        usage, failures = place(self.db, self.tiers, done, recorded, cause, self.make_room)
        return [
            Admitted(
                candidate=candidate,
                recorded=item,
                usage=usage.get(item.memory.target, "") if item.begun or item.rewording or item.leaving else "",
                failure=failures.get(item.memory.target) if item.begun or item.outcome == "fallback" else None,
                run=cause.run,
            )
            for candidate, item in zip(done, recorded, strict=True)
        ]

    def _scouted(self, parts: "dict[str, NDArray[np.float32]]", fingerprint: tuple[str, int] | None) -> Scouted:
        return self.scout.look(
            parts,
            self.namespace,
            fingerprint=None if fingerprint is None else fingerprint[0],
            calibration=self.embedding.calibration,
        )

    def _bench(self, scouted: Scouted, fingerprint: int | None = None) -> Bench:
        return Bench(
            tiers=self.tiers,
            scouted=scouted,
            importance_share=self.importance_share,
            quota=self.gates.quota,
            asks_model=self.asks_model,
            fingerprint=fingerprint,
        )

    def _vectors(
        self, candidates: Sequence[Candidate], wait_s: float | None
    ) -> "tuple[dict[str, NDArray[np.float32]], tuple[str, int] | None]":
        """Vectors by text, for those that came in time, and their fingerprint (name, width)."""
        if not self.embedding.wait_ready(wait_s) or (name := self.embedding.fingerprint(0)) is None:
            return {}, None
        found: dict[str, NDArray[np.float32]] = {}
        with self.db.read() as c:
            number = vectors.known_fingerprint(c, name)
            wanted = dict.fromkeys(
                candidate.memory.content
                for candidate in candidates
                if candidate.memory.state == "active" and not candidate.refused and known_before(c, candidate) is None
            )
            for text in list(wanted):
                if number is not None and (parts := vectors.cached_parts(c, text, number)) is not None:
                    found[text] = parts
                    del wanted[text]
        made = zip(wanted, self.embedding.passages(list(wanted), timeout_s=wait_s), strict=True)
        found |= {text: result for text, result in made if not isinstance(result, EmbeddingError)}
        width = next((parts.shape[1] for parts in found.values()), None)
        return found, None if width is None else (name, width)

    def _offer_room(self, candidates: Sequence[Candidate], recorded: Sequence[Recorded], cause: Cause) -> None:
        """A text that was held back and is said again goes into its hot file, if that has room for it now."""
        room: dict[Target, int] = {}
        for candidate, item in zip(candidates, recorded, strict=True):
            memory = item.memory
            meant_hot = candidate.hot and memory.target == candidate.memory.target and memory.scope == "global"
            if item.outcome != "known" or memory.state != "active" or memory.residence == "hot" or not meant_hot:
                continue
            tier = self.tiers[memory.target]
            if memory.target not in room:
                room[memory.target] = tier.room()
            needed = len(DELIMITER) + len(memory.content)
            if needed > room[memory.target]:
                continue
            with suppress(Conflict), self.db.write() as c:  # somebody, perhaps this very batch, is placing it
                if _has_to_wait(c, memory, cause.at):
                    continue
                item.begun = hot.begin(c, tier, claim(c, memory, cause.at), "add", cause)
                room[memory.target] -= needed


def _has_to_wait(c: apsw.Connection, memory: Memory, now: datetime) -> bool:
    """Whether a text stays out of the prompt: its time has not come, or a person decides first what it would change."""
    if memory.valid_from is not None and memory.valid_from > now:
        return True
    own = (memory.namespace,)
    proposed = [edge for edge in edges.of(c, memory.id, own) if edge.src == memory.id and edge.status == "proposed"]
    return any((old := memories.by_id(c, edge.dst, own)) and old.state == "active" for edge in proposed)
