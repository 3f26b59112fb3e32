"""Act on what a walk found: memories that say the same become one, those that do not go together wait for a person.

Both are automatic. Of two that say the same one goes into the bin, from where undo brings it back, and then neither
the judge nor this joins them again for a while. Which of two is right is never decided here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memorycore.core.relate import relate
from memorycore.core.rooms import Rooms
from memorycore.core.walk import walk
from memorycore.domain.judge import judge
from memorycore.domain.memory import Memory
from memorycore.errors import Conflict, HotFileError, NotAvailable
from memorycore.govern.steps.work import Work
from memorycore.intake import is_for_a_person
from memorycore.lifecycle import relations
from memorycore.lifecycle.rows import Cause
from memorycore.store import all_rows, edges, memories, pair_finds
from memorycore.store.pair_finds import Find
from memorycore.store.step_runs import LOST

if TYPE_CHECKING:
    import apsw

BATCH = 20


def dedup(rooms: Rooms, work: Work, cause: Cause) -> dict[str, object]:
    """Memories with the same compared text, that came in beside each other: one of them stays."""
    with rooms.db.read() as c:
        sets = all_rows(c, "equal_memories", {"namespace": rooms.options.namespace})
    groups = [[int(seq) for seq in str(seqs).split(",")] for (seqs,) in sets]
    extra = sum(len(group) - 1 for group in groups)
    if work.dry_run:
        return {"sets": len(groups), "would_merge": extra}
    merged = 0
    for place, group in enumerate(groups):
        if work.out_of_time():
            break
        with rooms.db.read() as c:
            found = sorted(
                memories.by_seq(c, group, (rooms.options.namespace,)).values(),
                key=lambda memory: (not memory.in_file, memory.seq),
            )
        merged += sum(_merge(rooms, work, found[0], other, cause) for other in found[1:])
        work.report(place + 1, len(groups))
    return {"sets": len(groups), "merged": merged}


def consolidate(rooms: Rooms, work: Work, cause: Cause) -> dict[str, object]:
    """Memories that the judge calls the same, in other words: merged, or proposed, as the setting says."""
    how = rooms.options.maintenance.consolidate
    looked_at = walk(rooms, work)
    finds = _finds(rooms, ("same",))
    if work.dry_run or how == "off":
        return {"looked_at": looked_at, "would_merge": 0 if how == "off" else len(finds)}
    into: dict[int, int] = {}
    merged = 0
    for place, find in enumerate(finds):
        if work.out_of_time():
            break
        kept, other = _ends(rooms, find, into)
        if kept is not None and other is not None:
            done = _merge(rooms, work, kept, other, cause) if how == "merge" else _propose(work, kept, other, cause)
            merged += done
            if done and how == "merge":
                into[other.seq] = kept.seq
        with work.batch() as c:
            pair_finds.drop(c, find)
        work.report(place + 1, len(finds))
    return {"looked_at": looked_at, "merged" if how == "merge" else "proposed": merged}


def conflicts(rooms: Rooms, work: Work, cause: Cause) -> dict[str, object]:
    """Memories that contradict each other: open in review. That one of them is out of date is only proposed."""
    looked_at = walk(rooms, work)
    finds = _finds(rooms, ("disputes", "supersedes"))
    if work.dry_run:
        return {"looked_at": looked_at, "would_open": len(finds)}
    disputed = proposed = 0
    for start in range(0, len(finds), BATCH):
        if work.out_of_time():
            break
        with work.batch() as c:
            for find in finds[start : start + BATCH]:
                told = _tell(c, rooms, find, cause)
                disputed, proposed = disputed + (told == "disputes"), proposed + (told == "supersedes")
                pair_finds.drop(c, find)
        work.report(min(start + BATCH, len(finds)), len(finds))
    return {"looked_at": looked_at, "disputed": disputed, "proposed": proposed}


def _tell(c: "apsw.Connection", rooms: Rooms, find: Find, cause: Cause) -> str:
    """Write down what stands between two memories; what, or nothing where they changed or somebody objected."""
    known = memories.by_seq(c, (find.new_seq, find.old_seq), (rooms.options.namespace,))
    new, old = known.get(find.new_seq), known.get(find.old_seq)
    if new is None or old is None or not find.fits(new, old) or _objected(c, new, old, cause):
        return ""
    facts = {"evidence": list(find.evidence), "later": True}
    why = replace(cause, reason=find.relation, facts=facts)
    if find.relation == "disputes":
        relations.dispute(c, old, new, why, evidence=find.evidence)
    else:
        relations.propose(c, old, new, "supersedes", why, evidence=find.evidence)
    return find.relation


def _finds(rooms: Rooms, wanted: Sequence[pair_finds.Relation]) -> list[Find]:
    with rooms.db.read() as c:
        return pair_finds.of(c, rooms.options.namespace, wanted)


def _ends(rooms: Rooms, find: Find, into: dict[int, int]) -> tuple[Memory | None, Memory | None]:
    """The memory that stays and the one that goes. Where the first was merged itself, that one, if it says it too."""
    target = find.old_seq
    while target in into:
        target = into[target]
    with rooms.db.read() as c:
        known = memories.by_seq(c, (find.new_seq, target), (rooms.options.namespace,))
    new, old = known.get(find.new_seq), known.get(target)
    if new is None or old is None or new.seq == old.seq or new.norm_hash != find.new_hash:
        return None, None
    if target == find.old_seq:
        return (old, new) if find.fits(new, old) else (None, None)
    return (old, new) if judge(old.content, new.content).relation == "same" else (None, None)


def _merge(rooms: Rooms, work: Work, old: Memory, new: Memory, cause: Cause) -> bool:
    """Keep one of two; whether it was done. Where a hot file has to change, that has its own order and transactions."""
    if _is_in_the_way(rooms, old, new, cause):
        return False
    why = replace(cause, reason="same")
    try:
        if old.in_file or new.in_file:
            work.check()
            relate(rooms, old.id, new.id, "same", why)
        else:
            with work.batch():
                relate(rooms, old.id, new.id, "same", why)
    except (Conflict, HotFileError, NotAvailable) as error:
        if error.facts.get("why") == LOST:
            raise
        return False  # somebody is at one of them; the next run looks again
    return True


def _propose(work: Work, old: Memory, new: Memory, cause: Cause) -> bool:
    with work.batch() as c:
        if _objected(c, new, old, cause):
            return False
        relations.propose(c, old, new, "refines", replace(cause, reason="same"))
    return True


def _is_in_the_way(rooms: Rooms, old: Memory, new: Memory, cause: Cause) -> bool:
    """Whether a person has to decide, or has decided otherwise."""
    own = {tier.id for tier in rooms.tiers.values()}
    other = old if new.residence == "hot" and old.residence != "hot" else new
    with rooms.db.read() as c:
        return is_for_a_person(other, own) or _objected(c, new, old, cause)


def _objected(c: "apsw.Connection", new: Memory, old: Memory, cause: Cause) -> bool:
    """Whether somebody undid that the two were joined, or said how they stand to each other."""
    pairs: Iterable[tuple[Memory, Memory]] = ((old, new), (new, old))
    if any(edges.hands_off(c, one, other.norm_hash, now=cause.at) for one, other in pairs):
        return True
    return any({edge.src, edge.dst} == {new.id, old.id} for edge in edges.of(c, new.id, (new.namespace,)))
