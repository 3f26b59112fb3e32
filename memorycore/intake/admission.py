"""The pipeline of admission, for one text or a batch: consider, embed, record, place."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memorycore.domain.memory import Draft, Memory, Target
from memorycore.errors import Conflict, EmbeddingError, HotFileError
from memorycore.hot.document import DELIMITER
from memorycore.hot.tier import HotTier
from memorycore.intake.candidate import Candidate, Recorded, consider, known_before, readmit, record
from memorycore.lifecycle import hot
from memorycore.lifecycle.rows import Cause
from memorycore.lifecycle.turn import claim, in_turn
from memorycore.store import Database, vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memorycore.embed import EmbeddingService


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """What became of one item. ``usage`` of its hot file when it went there, ``failure`` when that was impossible."""

    candidate: Candidate
    recorded: Recorded
    usage: str = ""
    failure: HotFileError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The pipeline with what it works on. Usable from every thread."""

    db: Database
    embedding: "EmbeddingService"
    tiers: Mapping[Target, HotTier]
    namespace: str
    clock: Callable[[], datetime]
    new_id: Callable[[], str]

    def consider(self, item: Draft | Memory) -> Candidate:
        """Decide what an item is and where it belongs; nothing is changed."""
        limits: dict[Target, int] = {target: tier.limit for target, tier in self.tiers.items()}
        if isinstance(item, Memory):
            return readmit(item, spare_id=self.new_id(), namespace=self.namespace, now=self.clock(), limits=limits)
        return consider(item, new_id=self.new_id(), namespace=self.namespace, now=self.clock(), limits=limits)

    @in_turn
    def admit(self, items: Sequence[Draft | Memory], cause: Cause, *, wait_s: float | None) -> list[Admitted]:
        """Admit items in order: one transaction for all, then one write for each hot file that gets something.

        Waits for vectors at most ``wait_s`` (None: as long as it takes); what has none then gets a job.
        """
        candidates = [self.consider(item) for item in items]
        parts, fingerprint = self._vectors(candidates, wait_s)
        with self.db.write() as c:
            number = None if fingerprint is None else vectors.fingerprint_id(c, *fingerprint)
            recorded = [
                record(
                    c,
                    candidate,
                    cause,
                    tier=self.tiers[candidate.memory.target],
                    fingerprint=number,
                    parts=parts.get(candidate.memory.content),
                )
                for candidate in candidates
            ]
        self._offer_room(candidates, recorded, cause)
        usage, failures = self._place(recorded, cause)
        return [
            Admitted(
                candidate=candidate,
                recorded=item,
                usage=usage.get(item.memory.target, "") if item.begun else "",
                failure=failures.get(item.memory.target) if item.begun else None,
            )
            for candidate, item in zip(candidates, recorded, strict=True)
        ]

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
                if candidate.memory.state == "active" and known_before(c, candidate) is None
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
            if item.outcome != "known" or memory.residence == "hot" or not meant_hot:
                continue
            tier = self.tiers[memory.target]
            if memory.target not in room:
                room[memory.target] = tier.room()
            needed = len(DELIMITER) + len(memory.content)
            if needed > room[memory.target]:
                continue
            with suppress(Conflict), self.db.write() as c:  # somebody, perhaps this very batch, is placing it
                item.begun = hot.begin(c, tier, claim(c, memory, cause.at), "add", cause)
                room[memory.target] -= needed

    def _place(
        self, recorded: Sequence[Recorded], cause: Cause
    ) -> tuple[dict[Target, str], dict[Target, HotFileError]]:
        """Bring what is meant for a hot file into it, one write a file; what does not get in stays cold."""
        usage: dict[Target, str] = {}
        failures: dict[Target, HotFileError] = {}
        for target, tier in self.tiers.items():
            items = [item for item in recorded if item.begun and item.memory.target == target]
            begun = [item.begun for item in items if item.begun]
            placed: frozenset[str] = frozenset()
            if not begun:
                continue
            try:
                done = hot.place(self.db, tier, begun, cause)
                usage[target], placed = done.usage, done.ids
            except HotFileError as error:
                failures[target] = error
            for item in items:
                if item.memory.id in placed:
                    item.outcome = "hot"
                elif item.outcome != "known":
                    item.outcome = "fallback"
        return usage, failures
