"""Entries of a hot file that say what another memory says: found by the judge, merged or remembered as twins.

What came in through admission was judged then. What a host or an editor wrote was not; it is compared here, once for
each wording, some entries a run.
"""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from memorycore.core.relate import relate
from memorycore.core.rooms import Rooms
from memorycore.domain import retention
from memorycore.domain.judge import Relation, judge
from memorycore.domain.memory import Memory
from memorycore.errors import Conflict, HotFileError
from memorycore.govern.overflow.sheet import Ground
from memorycore.hot.document import size
from memorycore.hot.tier import HotTier
from memorycore.intake import is_for_a_person
from memorycore.lifecycle.rows import Cause
from memorycore.lifecycle.turn import in_turn
from memorycore.search.neighbours import Scouted, neighbours
from memorycore.store import edges, memories, standing, vectors

_log = logging.getLogger(__name__)
MOST_COMPARED = 20
JUDGED_WHEN_THEY_CAME = frozenset({"store_fact"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Two memories of which one says what the other says, or less: ``gone`` leaves for ``kept``."""

    gone: Memory
    kept: Memory
    relation: Relation


def merge_alike(rooms: Rooms, tier: HotTier, ground: Ground, cause: Cause, *, dry_run: bool) -> list[Merged]:
    """Compare entries that nobody compared yet, while the file is fuller than its aim; what was or would be merged.

    Two entries are merged at once, where the one that goes stands in this file: the other file may have room enough. An
    equal memory in the cold tier is only remembered as the twin of an entry: whether that leaves is the plan's to say.

    Raises:
        HotFileError: The file cannot be read now.
    """
    if ground.in_session or size(tier.document().entries) <= ground.marks.aim:
        return []
    merged: dict[str, Merged] = {}
    beside = {known.id for known in rooms.tiers.values()}  # what another folder has in its files nobody reads here
    for memory in _uncompared(rooms, tier):
        twin = ""
        for found in _alike(rooms, memory):
            other = found.kept if found.gone.id == memory.id else found.gone
            if other.residence == "hot" and other.hot_tier in beside:
                if _may_go(found, tier, beside, merged) and (dry_run or _merge(rooms, found, cause)):
                    merged[found.gone.id] = found
            elif found.relation == "same" and other.residence == "cold":
                twin = other.id
        if not dry_run:
            _remember(rooms, tier, memory, twin)
    return list(merged.values())


def _may_go(found: Merged, tier: HotTier, beside: Collection[int], merged: Mapping[str, Merged]) -> bool:
    """Whether it is for this run to take one of the two out of the file."""
    is_done = bool(merged.keys() & {found.gone.id, found.kept.id})
    return found.gone.hot_tier == tier.id and not is_done and not is_for_a_person(found.gone, beside)


def _uncompared(rooms: Rooms, tier: HotTier) -> list[Memory]:
    with rooms.db.read() as c:
        entries = memories.select(c, "file_memories", namespace=tier.namespace, hot_tier=tier.id)
        known = standing.by_seq(c, tier.namespace, [memory.seq for memory in entries])
    waiting = [
        memory
        for memory in entries
        if memory.residence == "hot"
        and memory.origin not in JUDGED_WHEN_THEY_CAME
        and not memory.file_hash
        and not (memory.seq in known and known[memory.seq].compared.startswith(memory.norm_hash))
    ]
    return waiting[:MOST_COMPARED]


def _alike(rooms: Rooms, memory: Memory) -> list[Merged]:
    """Memories that say the same as this one, and hot ones that it adds to, or that add to it."""
    scouted = _scouted(rooms, memory)
    found: list[Merged] = []
    with rooms.db.read() as c:
        for near in neighbours(c, memory, scouted, archived=0):
            other = near.memory
            if edges.hands_off(c, other, memory.norm_hash, now=rooms.clock()):
                continue
            old, new = (other, memory) if other.seq < memory.seq else (memory, other)
            relation = judge(old.content, new.content, likeness=near.likeness).relation
            if relation == "same":
                found.append(Merged(gone=new, kept=old, relation=relation))
            elif relation == "refines":
                found.append(Merged(gone=old, kept=new, relation=relation))
    return found


def _scouted(rooms: Rooms, memory: Memory) -> Scouted:
    """What the vectors say, where the memory has its own by now."""
    name = rooms.embedding.fingerprint(0)
    with rooms.db.read() as c:
        number = None if name is None else vectors.known_fingerprint(c, name)
        parts = None if number is None else vectors.cached_parts(c, memory.content, number)
    if parts is None or name is None:
        return Scouted()
    return rooms.admission.scout.look(
        {memory.content: parts}, memory.namespace, fingerprint=name, calibration=rooms.embedding.calibration
    )


def _merge(rooms: Rooms, found: Merged, cause: Cause) -> bool:
    old, new = sorted((found.gone, found.kept), key=lambda memory: memory.seq)
    evidence = ({"code": "overflow", "old": "", "new": ""},)
    try:
        return bool(
            in_turn(relate)(
                rooms, old.id, new.id, found.relation, replace(cause, reason=found.relation), evidence=evidence
            )
        )
    except (Conflict, HotFileError) as error:  # somebody is at one of them; the next run looks again
        _log.info("two entries were not merged: %s", error.code)
        return False


def _remember(rooms: Rooms, tier: HotTier, memory: Memory, twin: str) -> None:
    with rooms.db.write() as c:
        known = standing.by_seq(c, tier.namespace, [memory.seq]).get(memory.seq)
        now = known or retention.fresh(rooms.clock(), resident_days=rooms.options.resident_days)
        standing.put(c, tier.namespace, memory.seq, replace(now, compared=f"{memory.norm_hash} {twin}".strip()))
