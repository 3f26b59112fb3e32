"""Take back what an event of the ledger did: the row, its edges, and what automation shall not do again.

Nothing is lost by it. A wording that a memory had taken in becomes a memory of its own; what was added leaves for the
bin. ``way_back`` finds the step; here it is done.

The order of a change is that of ``hot``: an intent, the file, the row. Whoever dies in between leaves the intent, which
names the event, and reconcile finishes the undo.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import cast

import apsw

from memorycore.domain.memory import Event, Memory
from memorycore.domain.text import entry_hash, norm_hash
from memorycore.errors import Conflict, HotFileError, NotAvailable
from memorycore.hot.document import why_not_hot
from memorycore.hot.tier import HotTier, Turn
from memorycore.lifecycle import hot, retire, rows
from memorycore.lifecycle.hot import Begun, Placed
from memorycore.lifecycle.retire import Leaving, Retiring
from memorycore.lifecycle.rows import Cause
from memorycore.lifecycle.way_back import COMPRESSED, OTHER, REOPENS, Step, active_with, step_of, wording_of
from memorycore.store import Database, edges, intents, ledger, memories, vectors
from memorycore.store.intents import Intent
from memorycore.store.memories import to_ms

STICKY_DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """Who undoes and with what. ``tier``: the hot file of the memory, where it has one within reach."""

    cause: Cause
    new_id: Callable[[], str]
    sticky: timedelta = timedelta(days=STICKY_DAYS)
    tier: HotTier | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What became of it: the row, the number of the event, the memory that a wording became.

    ``begun`` are texts that are to be placed, ``retiring`` those of which a pointer is.
    """

    memory: Memory
    event: int
    made: Memory | None = None
    begun: tuple[Begun, ...] = ()
    retiring: tuple[Retiring, ...] = ()
    usage: str = ""


def begin(c: apsw.Connection, step: Step, means: Means) -> Begun | None:
    """Write down what is going to happen to the file; None where the row alone changes."""
    if means.tier is None or not step.changes_file:
        return None
    if step.back.residence == "hot":
        hot.check_wording(means.tier, step.memory.content, step.back.content)
        return hot.begin(
            c, means.tier, step.memory, "replace", means.cause, new_text=step.back.content, undoes=step.event.seq
        )
    if step.back.residence == "stub":
        return hot.begin(
            c, means.tier, step.memory, "replace", means.cause, new_text=step.pointer, undoes=step.event.seq
        )
    return hot.begin(c, means.tier, step.memory, "remove", means.cause, undoes=step.event.seq)


def take_back_in_file(db: Database, begun: Begun, step: Step, means: Means) -> Taken:
    """Change the file, then the row.

    Raises:
        Conflict: The entry is not in the file any more; nothing changed.
        InvalidInput: The earlier wording does not fit into the file; nothing changed.
        HotFileError: The file cannot be used now; nothing changed.
    """
    tier, taken = means.tier, list[Taken]()
    if tier is None:
        raise NotAvailable(what=step.memory.id, why="other_hot_directory")
    if step.back.residence == "stub":
        return _point(db, tier, begun, step, means)

    def follow(c: apsw.Connection, _: Memory) -> Memory:
        taken.append(take_back(c, step, means))
        return taken[-1].memory

    if step.back.residence == "hot":
        done = hot.rewrite(db, tier, begun, {"content": step.back.content}, means.cause, then=follow)
    else:
        done = hot.discard(db, tier, begun, means.cause, then=follow)
    return replace(taken[-1], usage=done.usage)


def _point(db: Database, tier: HotTier, begun: Begun, step: Step, means: Means) -> Taken:
    """Put a pointer in the place of a text. Where another entry says the same by now, the text goes without one."""
    with hot.withdrawn_on_failure(db, begun):
        turned = tier.rearrange([Turn(memory=step.memory, text=step.pointer)], means.cause.at)
        if step.memory.id not in turned.left:
            raise Conflict(id=step.memory.id, path=str(tier.path), why="entry_gone")
    if step.memory.id not in turned.pointed:
        step = replace(step, back=replace(rows.out_of_file(step.back), residence="cold"))
    with db.write() as c:
        intents.end(c, begun.intent)
        hot.follow(c, tier, turned.written)
        return replace(take_back(c, step, means), usage=turned.written.usage)


def take_back(c: apsw.Connection, step: Step, means: Means) -> Taken:
    """The transition: row, edges, the memory of a wording, and the mark on the event, all in one transaction."""
    event, cause = step.event, means.cause
    facts: dict[str, object] = {"event": event.seq, "undid": event.action}
    if step.edge is not None:
        facts |= {"edge": step.edge.id, "edge_was": step.edge.status}
        edges.settle(c, step.edge, step.edge_status, by=cause.actor, at=cause.at)
    if turned := _turn_back(c, step, means):
        facts[REOPENS] = turned
    own = _own_memory(c, step, means) if step.wording else None
    if own is not None:
        facts["made"] = own.id
    why = replace(cause, facts={**cause.facts, **facts})
    back, number = rows.revert(c, step.memory, step.back, why, pointer=step.pointer)
    made = None
    if own is not None:
        made = rows.add(c, own, replace(cause, facts={"from": back.id, "event": event.seq}))
        vectors.queue_job(c, made.namespace, made.seq, to_ms(cause.at) or 0)
    _object(c, step, back, made, means)
    _mark(c, step, number)
    return Taken(
        memory=back,
        event=number,
        made=made,
        begun=_ways_into_file(c, step, back, made, means),
        retiring=_way_to_pointer(c, step, back, means),
    )


def _turn_back(c: apsw.Connection, step: Step, means: Means) -> dict[str, str]:
    """Give edges the status back that a decision took from them; what each had until now, by its number."""
    was: dict[str, str] = {}
    for number, status in cast("dict[str, edges.EdgeStatus]", step.event.facts.get(REOPENS, {})).items():
        if (edge := edges.by_number(c, int(number), (step.memory.namespace,))) is not None:
            was[number] = edge.status
            edges.settle(c, edge, status, by=means.cause.actor, at=means.cause.at)
    return was


def _own_memory(c: apsw.Connection, step: Step, means: Means) -> Memory | None:
    """The memory that a wording becomes, unless one has it; it is what the other memory was when it took it in."""
    new = replace(
        step.memory,
        id=means.new_id(), content=step.wording, norm_hash=norm_hash(step.wording), state="active", residence="cold",
        hot_tier=None, created_at=step.event.at, updated_at=means.cause.at, last_used_at=None, use_count=0,
        confidence=0.8, pinned=False, refs=(), file_hash="", version=1, seq=0,
        flags=tuple(flag for flag in step.memory.flags if flag not in rows.HIDING),
    )  # fmt: skip
    others = [same for same in (active_with(c, new), _binned_for(c, new, step.memory)) if same is not None]
    known = new.norm_hash == step.back.norm_hash or any(same.id != step.memory.id for same in others)
    return None if known else new


def _binned_for(c: apsw.Connection, new: Memory, kept: Memory) -> Memory | None:
    """The memory that was put into the bin since ``kept`` says the same: it comes back by an undo of its own."""
    binned = memories.select(c, "binned_by_norm_hash", namespace=new.namespace, norm_hash=new.norm_hash)
    return next((one for one in binned if one.trash_reason == "same" and one.id != kept.id), None)


def _object(c: apsw.Connection, step: Step, back: Memory, made: Memory | None, means: Means) -> None:
    """What automation did and somebody undid is not done again for a while; what is done again may be."""
    event = step.target or step.event
    if not event.automatic:
        return
    for memory, text in _pairs(c, event, back, made):
        if step.event.action == "undone":
            edges.take_hands_back(c, memory, text)
        else:
            edges.keep_hands_off(c, memory, text, until=means.cause.at + means.sticky)


def _pairs(c: apsw.Connection, event: Event, memory: Memory, made: Memory | None) -> Iterable[tuple[Memory, str]]:
    """The memories, each with the hash of the text, that the judge shall not join again, in whichever order."""
    if other := event.facts.get(OTHER.get(event.action, "")):
        made = memories.by_id(c, str(other), (memory.namespace,))
    elif wording := wording_of(event):
        yield memory, norm_hash(wording)
    elif event.reason == COMPRESSED:  # it may not be put in fewer words; what else becomes of it is another matter
        yield memory, COMPRESSED
    else:
        yield memory, memory.norm_hash
    if made is not None:
        yield memory, made.norm_hash
        yield made, memory.norm_hash


def _mark(c: apsw.Connection, step: Step, number: int) -> None:
    """Note on the event which one took it back. What an undo had undone counts again when that is undone."""
    namespace, undoes = step.memory.namespace, step.event
    ledger.mark_undone(c, undoes.seq, namespace, number)
    if step.target is not None:
        ledger.mark_undone(c, step.target.seq, namespace, None)


def _ways_into_file(
    c: apsw.Connection, step: Step, back: Memory, made: Memory | None, means: Means
) -> tuple[Begun, ...]:
    """Intents for what goes into the hot file now: the memory that was there, and the one of a wording."""
    tier = means.tier
    if tier is None:
        return ()
    wanted = [back] if step.to == "hot" else []
    if made is not None and step.memory.residence == "hot":
        wanted.append(made)
    return tuple(
        hot.begin(c, tier, memory, "add", means.cause)
        for memory in wanted
        if not why_not_hot(memory.content, limit=tier.limit)
    )


def _way_to_pointer(c: apsw.Connection, step: Step, back: Memory, means: Means) -> tuple[Retiring, ...]:
    """The intent for a pointer that comes back to the file."""
    if means.tier is None or step.to != "stub":
        return ()
    leaving = Leaving(memory=back, how="stub", reason=means.cause.reason, pointer=step.pointer)
    return (retire.enter(c, means.tier, leaving, means.cause, promised=True),)


def place(db: Database, taken: Taken, means: Means) -> Placed:
    """Bring what belongs there into the hot file; without room, or where the file cannot be used, it stays outside."""
    if means.tier is None or not (taken.begun or taken.retiring):
        return Placed(usage=taken.usage)
    try:
        done = retire.carry_out(db, means.tier, taken.retiring, taken.begun, means.cause)
    except HotFileError:  # it is back all the same, and status names the file
        return Placed(usage=taken.usage)
    return Placed(ids=done.placed, usage=done.usage)


def finish(c: apsw.Connection, intent: Intent, present: Collection[str], means: Means) -> tuple[Begun, ...]:
    """End an undo whose process died after the file had changed; what is to go into the file is left to the caller.

    ``present`` are the hashes of the entries in the file. Where it had not been reached yet, nothing happened.
    """
    namespaces = (means.tier.namespace,) if means.tier else ()
    event = ledger.by_number(c, intent.undoes, namespaces)
    step = None if event is None else step_of(c, event, namespaces, means.cause.at)
    if not isinstance(step, Step) or step.memory.id != intent.memory_id or not step.changes_file:
        return ()  # the file differs from the row, which reconcile takes for somebody's edit
    left = step.memory.entry_key not in present
    came = intent.new_text is None or entry_hash(intent.new_text) in present
    return take_back(c, step, means).begun if left and came else ()
