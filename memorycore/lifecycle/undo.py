"""Take back what an event of the ledger did: the row, its edges, and what automation shall not do again.

Nothing is lost by it. A wording that a memory had taken in becomes a memory of its own; what is added leaves for the
bin. Where somebody changed the same columns since, there is no step but an obstacle, and nothing is overwritten.

The order of a change is that of ``hot``: an intent, the file, the row. Whoever dies in between leaves the intent, which
names the event, and reconcile finishes the undo.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, cast

import apsw

from memorycore.domain.memory import Event, Memory
from memorycore.domain.text import entry_hash, norm_hash
from memorycore.errors import HotFileError, NotAvailable
from memorycore.hot.document import why_not_hot
from memorycore.hot.tier import HotTier
from memorycore.lifecycle import hot, rows
from memorycore.lifecycle.hot import Begun, Placed
from memorycore.lifecycle.rows import Cause
from memorycore.store import Database, edges, ledger, memories, vectors
from memorycore.store.edges import Edge, EdgeStatus
from memorycore.store.intents import Intent
from memorycore.store.memories import to_ms

STICKY_DAYS = 30
REASON = "undo"
NEVER = frozenset({"held_back", "purged", "erased"})
BY_EDGE = frozenset({"disputed", "excepted", "proposed"})
REOPENS = "reopens"  # the fact that holds, by the number of an edge, the status that a decision took from it
# The fact that names the memory on the other side.
OTHER = {"superseded": "by", "disputed": "with", "excepted": "to", "proposed": "to", "trashed": "as"}
# What says where a memory is and how often it was used, not what it is.
BESIDE_THE_TEXT = frozenset({"residence", "hot_tier", "target", "use_count", "last_used_at", "confidence"})

Code = Literal["undone_already", "nothing_in_it", "as_before", "gone", "changed_since", "known_already", "decided"]
HARMLESS = frozenset({"undone_already", "nothing_in_it", "as_before"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How one event is taken back. All of it was read in the transaction that acts on it.

    ``back`` is the row as it will be, cold while the way into its file (``to_hot``) is still to go. ``wording``: a text
    that becomes a memory of its own. ``edge`` gets ``edge_status``. ``target``: for the undoing of an undo, what that
    had undone.
    """

    event: Event
    memory: Memory
    back: Memory
    to_hot: bool = False
    wording: str = ""
    edge: Edge | None = None
    edge_status: EdgeStatus = "settled"
    target: Event | None = None

    @property
    def changes_file(self) -> bool:
        """Whether an entry of a hot file has to be reworded or taken out."""
        return self.memory.residence == "hot" and (
            self.back.residence != "hot" or self.back.content != self.memory.content
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Why there is no step. ``by``: the event that is in the way; ``other``: the memory that has the text."""

    code: Code
    memory: Memory | None = None
    by: int | None = None
    other: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """Who undoes and with what. ``tier``: the hot file of the memory, where it has one within reach."""

    cause: Cause
    new_id: Callable[[], str]
    sticky: timedelta = timedelta(days=STICKY_DAYS)
    tier: HotTier | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What became of it: the row, the number of the event, the memory that a wording became, what is to be placed."""

    memory: Memory
    event: int
    made: Memory | None = None
    begun: tuple[Begun, ...] = ()
    usage: str = ""


def can_be_undone(event: Event) -> bool:
    """Whether an event did something that can be taken back; what came after it is not looked at."""
    if event.action in NEVER:
        return False
    if event.action == "confirmed":
        return bool(event.facts.get("said"))
    if event.action in {"added", "trashed", "undone"} or event.action in BY_EDGE:
        return True
    return bool(event.change.keys() - BESIDE_THE_TEXT) or "residence" in event.change or REOPENS in event.facts


def step_of(c: apsw.Connection, event: Event, namespaces: Sequence[str], at: datetime) -> Step | Obstacle:
    """How to take an event back, or what is in the way. Changes nothing.

    To take back what undid an undo is to undo once more what that was about: the step is on the first event then.
    """
    event = _first(c, event, namespaces)
    memory = memories.by_id(c, event.memory_id, namespaces)
    if event.undone_by is not None:
        return Obstacle(code="undone_already", memory=memory, by=event.undone_by)
    if not can_be_undone(event):
        return Obstacle(code="nothing_in_it", memory=memory)
    if memory is None or memory.state == "purged":
        return Obstacle(code="gone")
    edge = _edge(c, event, namespaces)
    return _changed(c, event, memory, edge, namespaces) or _planned(c, event, memory, edge, namespaces, at)


def _first(c: apsw.Connection, event: Event, namespaces: Sequence[str]) -> Event:
    if event.facts.get("undid") != "undone":
        return event
    undo = ledger.by_number(c, _number(event.facts.get("event")), namespaces)
    first = undo and ledger.by_number(c, _number(undo.facts.get("event")), namespaces)
    return first or event


def _planned(
    c: apsw.Connection, event: Event, memory: Memory, edge: Edge | None, namespaces: Sequence[str], at: datetime
) -> Step | Obstacle:
    back, to_hot = _back(event, memory, at)
    wording = _wording(event)
    if back == memory and not (wording or edge or event.automatic or event.action == "undone"):
        return Obstacle(code="as_before", memory=memory)
    if (other := _other_with_text(c, memory, back)) is not None:
        return Obstacle(code="known_already", memory=memory, other=other.id)
    target = ledger.by_number(c, _number(event.facts.get("event")), namespaces) if event.action == "undone" else None
    return Step(
        event=event, memory=memory, back=back, to_hot=to_hot, wording=wording, edge=edge,
        edge_status=_edge_status(event), target=target,
    )  # fmt: skip


def _changed(
    c: apsw.Connection, event: Event, memory: Memory, edge: Edge | None, namespaces: Sequence[str]
) -> Obstacle | None:
    """What came after the event and would be overwritten."""
    if event.action in BY_EDGE:
        is_open = edge is not None and edge.status not in {"settled", "rejected"}
        return None if is_open else Obstacle(code="decided", memory=memory)
    whole = memories.events(c, memory.id, namespaces)
    columns = set(memories.drifted(memory, event.change))
    for again in _done_again(event, whole):
        columns &= set(memories.drifted(memory, again.change))
    later = _changed_since(event, whole)
    if event.action == "added":
        columns = {name for _, changed in later for name in changed} - BESIDE_THE_TEXT
    elif "state" not in event.change and memory.state != ("trashed" if event.action == "trashed" else "active"):
        columns = columns or {"state"}
    if not columns:
        return None
    in_the_way = [number for number, changed in later if changed & columns]
    return Obstacle(code="changed_since", memory=memory, by=max(in_the_way, default=None))


def _done_again(event: Event, whole: Iterable[Event]) -> Iterable[Event]:
    """The events that took back an undo of this one."""
    undone = {one.seq for one in whole if one.action == "undone" and one.facts.get("event") == event.seq}
    return (one for one in whole if one.action == "undone" and one.facts.get("event") in undone)


def _changed_since(event: Event, whole: Sequence[Event]) -> list[tuple[int, frozenset[str]]]:
    """What stands otherwise now than right after an event: the number that would turn it back, and its columns.

    An event and what undid it, and what undid that, turn one change off and on; only where that ended counts.
    """
    known = {one.seq: one for one in whole}
    turns: dict[int, list[Event]] = {}
    for one in whole:
        first = one
        while first.action == "undone" and _number(first.facts.get("event")) in known:
            first = known[_number(first.facts.get("event"))]
        turns.setdefault(first.seq, []).append(one)
    return [
        (ones[-1].seq, frozenset(name for one in ones for name in one.change))
        for ones in turns.values()
        if len(ones) % 2 != sum(one.seq <= event.seq for one in ones) % 2
    ]


def _back(event: Event, memory: Memory, at: datetime) -> tuple[Memory, bool]:
    """The row as it was before the event, and whether it then goes into its hot file.

    The time in the bin begins anew: what comes back to it is not purged the same day.
    """
    if event.action == "added":
        return replace(memory, state="trashed", residence="cold", trashed_at=at, trash_reason=REASON), False
    if event.action == "trashed" and not event.change:  # it was put there when it came in
        return replace(memory, state="active", residence="cold", trashed_at=None, trash_reason=""), False
    back = memories.taken_back(memory, event.change)
    if back.state == "trashed" and memory.state != "trashed":
        back = replace(back, trashed_at=at)
    to_hot = back.residence == "hot" and memory.residence != "hot" and back.state == "active"
    if to_hot or back.state != "active":
        back = replace(back, residence="cold")
    is_other_entry = back.content != memory.content or back.file_hash != memory.file_hash
    if back.residence != "hot" or is_other_entry:  # what a mask had hidden is nowhere any more: the mask is the text
        back = rows.out_of_file(back)
    return back, to_hot


def _wording(event: Event) -> str:
    if event.action == "confirmed":
        return str(event.facts["said"])
    return str(event.change["content"][1]) if is_refinement(event) else ""


def is_refinement(event: Event) -> bool:
    """Whether a memory got the wording of a text that came in."""
    return event.action == "revised" and event.reason == "refined" and "content" in event.change


def _edge(c: apsw.Connection, event: Event, namespaces: Sequence[str]) -> Edge | None:
    number = _number(event.facts.get("edge"))
    return edges.by_number(c, number, namespaces) if number else None


def _edge_status(event: Event) -> EdgeStatus:
    if event.action == "undone":
        return event.facts.get("edge_was", "applied")  # type: ignore[return-value] the ledger holds what it was given
    return "rejected" if event.action in BY_EDGE else "settled"


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _other_with_text(c: apsw.Connection, memory: Memory, back: Memory) -> Memory | None:
    """An active memory that has meanwhile the text that would come back."""
    comes_back = back.state == "active" and (memory.state != "active" or back.norm_hash != memory.norm_hash)
    return _active_with(c, back) if comes_back else None


def _active_with(c: apsw.Connection, memory: Memory) -> Memory | None:
    found = memories.select(
        c, "active_by_norm_hash", namespace=memory.namespace, norm_hash=memory.norm_hash, scope=memory.scope,
        session_id=memory.session_id,
    )  # fmt: skip
    return next((other for other in found if other.id != memory.id), None)


def _binned_for(c: apsw.Connection, new: Memory, kept: Memory) -> Memory | None:
    """The memory that was put into the bin since ``kept`` says the same: it comes back by an undo of its own."""
    binned = memories.select(c, "binned_by_norm_hash", namespace=new.namespace, norm_hash=new.norm_hash)
    return next((one for one in binned if one.trash_reason == "same" and one.id != kept.id), None)


def begin(c: apsw.Connection, step: Step, means: Means) -> Begun | None:
    """Write down what is going to happen to the file; None where the row alone changes."""
    if means.tier is None or not step.changes_file:
        return None
    if step.back.residence == "hot":
        hot.check_wording(means.tier, step.memory.content, step.back.content)
        return hot.begin(
            c, means.tier, step.memory, "replace", means.cause, new_text=step.back.content, undoes=step.event.seq
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

    def follow(c: apsw.Connection, _: Memory) -> Memory:
        taken.append(take_back(c, step, means))
        return taken[-1].memory

    if step.back.residence == "hot":
        done = hot.rewrite(db, tier, begun, {"content": step.back.content}, means.cause, then=follow)
    else:
        done = hot.discard(db, tier, begun, means.cause, then=follow)
    return replace(taken[-1], usage=done.usage)


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
    back, number = rows.revert(c, step.memory, step.back, replace(cause, facts={**cause.facts, **facts}))
    made = None
    if own is not None:
        made = rows.add(c, own, replace(cause, facts={"from": back.id, "event": event.seq}))
        vectors.queue_job(c, made.namespace, made.seq, to_ms(cause.at) or 0)
    _object(c, step, back, made, means)
    _mark(c, step, number)
    return Taken(memory=back, event=number, made=made, begun=_ways_into_file(c, step, back, made, means))


def _turn_back(c: apsw.Connection, step: Step, means: Means) -> dict[str, str]:
    """Give edges the status back that a decision took from them; what each had until now, by its number."""
    was: dict[str, str] = {}
    for number, status in cast("dict[str, EdgeStatus]", step.event.facts.get(REOPENS, {})).items():
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
    others = [same for same in (_active_with(c, new), _binned_for(c, new, step.memory)) if same is not None]
    known = new.norm_hash == step.back.norm_hash or any(same.id != step.memory.id for same in others)
    return None if known else new


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
    elif wording := _wording(event):
        yield memory, norm_hash(wording)
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
    wanted = [back] if step.to_hot else []
    if made is not None and step.memory.residence == "hot":
        wanted.append(made)
    return tuple(
        hot.begin(c, tier, memory, "add", means.cause)
        for memory in wanted
        if not why_not_hot(memory.content, limit=tier.limit)
    )


def place(db: Database, taken: Taken, means: Means) -> Placed:
    """Bring what belongs there into the hot file; without room, or where the file cannot be used, it stays cold."""
    if means.tier is None or not taken.begun:
        return Placed(usage=taken.usage)
    try:
        return hot.place(db, means.tier, taken.begun, means.cause)
    except HotFileError:  # it is back all the same, and status names the file
        return Placed(usage=taken.usage)


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
