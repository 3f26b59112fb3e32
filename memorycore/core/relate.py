"""Two memories that are both in the store, and what follows from how they stand to each other.

A second opinion, a verdict that had to wait for a vector, and a person's decision in review all end here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memorycore.core.rooms import Rooms
from memorycore.domain.judge import Relation
from memorycore.domain.memory import Memory
from memorycore.errors import Conflict
from memorycore.hot.document import why_not_hot
from memorycore.hot.tier import HotTier
from memorycore.intake import inherited, is_for_a_person
from memorycore.lifecycle import hot, relations, rows, turn
from memorycore.lifecycle.rows import Cause
from memorycore.store import edges, memories

Evidence = Sequence[Mapping[str, str]]


def relate(
    rooms: Rooms, old_id: str, new_id: str, relation: Relation, cause: Cause, *, evidence: Evidence = ()
) -> list[int]:
    """Draw the consequence of a relation between two active memories; automation only proposes what is guarded.

    ``same`` and ``refines`` lose no wording: of ``same`` the one that is not kept goes into the bin, and with
    ``refines`` the older one ends for the newer one, which says all of it.

    Returns:
        Numbers of the events, for undo.

    Raises:
        Conflict: One of them is not active any more, or somebody is changing it.
        HotFileError: A hot file cannot be used now; the change then waits as a proposal.
    """
    old, new = rooms.any(old_id), rooms.any(new_id)
    if old.state != "active" or new.state != "active":
        raise Conflict(id=old.id if old.state != "active" else new.id)
    if relation == "same":
        return _same(rooms, old, new, cause)
    if relation == "supersedes" or relation == "refines":  # noqa: PLR1714 the checker follows it so
        return _end(rooms, old, new, relation, cause, evidence)
    with rooms.db.write() as c:
        old, new = turn.claim(c, old, cause.at), turn.claim(c, new, cause.at)
        if relation == "disputes":
            return [relations.dispute(c, old, new, cause, evidence=evidence)]
    return []


def _same(rooms: Rooms, old: Memory, new: Memory, cause: Cause) -> list[int]:
    """Keep the older one, unless only the newer one is in the prompt."""
    kept, other = (new, old) if new.residence == "hot" and old.residence != "hot" else (old, new)
    if cause.automatic and _only_by_hand(rooms, other):
        return []
    tier = rooms.tier_of(other) if other.in_file else None
    said = replace(cause, reason="said_again", facts={**cause.facts, "said": other.content})
    gone = replace(cause, reason="same", facts={**cause.facts, "as": kept.id})
    with rooms.db.write() as c:
        kept, other = turn.claim(c, kept, cause.at), turn.claim(c, other, cause.at)
        for ref in other.refs:
            kept = memories.add_ref(c, kept, ref)
        rows.confirm(c, kept, said)
        begun = hot.begin(c, tier, other, "remove", gone) if tier else None
        if begun is None:
            rows.trash(c, other, gone)
        event = c.last_insert_rowid()
    if tier and begun:
        event = hot.discard(rooms.db, tier, begun, gone).event
    return [event]


def _end(
    rooms: Rooms, old: Memory, new: Memory, relation: edges.Relation, cause: Cause, evidence: Evidence
) -> list[int]:
    """The older one ends for the newer one, which takes its place in the hot file."""
    if cause.automatic and _only_by_hand(rooms, old):
        with rooms.db.write() as c:
            old, new = turn.claim(c, old, cause.at), turn.claim(c, new, cause.at)
            return [relations.propose(c, old, new, relation, cause, evidence=evidence)]
    later = new.valid_from is not None and new.valid_from > cause.at
    tier = rooms.tier_of(old) if old.in_file and not later else None
    gone = added = None
    with rooms.db.write() as c:
        old, new = turn.claim(c, old, cause.at), turn.claim(c, new, cause.at)
        if legacy := inherited(old, new):
            new = rows.revise(c, new, legacy, replace(cause, reason="takes_over", facts={}))
        if tier is None:
            return [relations.supersede(c, old, new, cause, evidence=evidence, relation=relation)]
        gone = hot.begin(c, tier, old, "remove", replace(cause, reason="superseded"), by=new.id)
        if old.residence == "hot" and may_be_hot(new, tier):
            added = hot.begin(c, tier, new, "add", cause)
    done = hot.exchange(rooms.db, tier, [gone], added, by=new, cause=cause, evidence={old.id: evidence})
    return list(done.events)


def _only_by_hand(rooms: Rooms, memory: Memory) -> bool:
    return is_for_a_person(memory, {tier.id for tier in rooms.tiers.values()})


def may_be_hot(new: Memory, tier: HotTier) -> bool:
    """Whether a memory may come into a hot file in the place of another; room is not looked at."""
    is_free = new.residence != "hot" and new.scope == "global" and "untrusted" not in new.flags
    return is_free and not why_not_hot(new.content, limit=tier.limit)
