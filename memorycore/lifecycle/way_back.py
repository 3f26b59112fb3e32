"""How an event of the ledger is taken back, or what is in the way. Everything here only reads.

Where somebody changed the same columns since, there is no step but an obstacle: nothing that came later is overwritten.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

import apsw

from memorycore.domain.memory import Event, Memory, Residence
from memorycore.domain.text import entry_hash
from memorycore.lifecycle import rows
from memorycore.store import edges, first_row, ledger, memories, standing
from memorycore.store.edges import Edge, EdgeStatus

REASON = "undo"
NEVER = frozenset({"held_back", "purged", "erased"})
BY_EDGE = frozenset({"disputed", "excepted", "proposed"})
COMPRESSED = "compressed"  # the reason of a change to fewer words, and what automation leaves alone when it is undone
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

    ``back`` is the row as it will be, outside its file while the way into it (``to``) is still to go. ``pointer``
    stands there for one that will be a stub. ``wording``: a text that becomes a memory of its own. ``edge`` gets
    ``edge_status``. ``target``: for the undoing of an undo, what that had undone.
    """

    event: Event
    memory: Memory
    back: Memory
    to: Literal["hot", "stub"] | None = None
    pointer: str = ""
    wording: str = ""
    edge: Edge | None = None
    edge_status: EdgeStatus = "settled"
    target: Event | None = None

    @property
    def changes_file(self) -> bool:
        """Whether an entry of a hot file has to be reworded or taken out, or to become a pointer."""
        if self.back.residence != self.memory.residence:
            return self.memory.in_file
        return self.memory.residence == "hot" and self.back.content != self.memory.content


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Why there is no step. ``by``: the event that is in the way; ``other``: the memory that has the text."""

    code: Code
    memory: Memory | None = None
    by: int | None = None
    other: str = ""


IMPORTED = "imported"  # the reason of what an import brought


def can_be_undone(event: Event) -> bool:
    """Whether an event did something that can be taken back; what came after it is not looked at."""
    if event.action in NEVER or event.facts.get("erased"):  # the ledger lost what it would take
        return False
    if event.action == "trashed" and not event.change and event.reason == IMPORTED:  # it was in a bin before it came
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
    target = ledger.by_number(c, _number(event.facts.get("event")), namespaces) if event.action == "undone" else None
    is_move = "residence" in event.change or (target is not None and "residence" in target.change)
    pointer = _pointer(c, memory) if is_move else ""
    back, to = _back(event, memory, at, target=target, pointer=pointer)
    wording = wording_of(event)
    if back == memory and not (to or wording or edge or event.automatic or event.action == "undone"):
        return Obstacle(code="as_before", memory=memory)
    other = _other_with_text(c, memory, back)
    # Of two with one text, one left for the other: that they stand beside each other again is what is asked for.
    if other is not None and not (event.action == "trashed" and event.facts.get("as") == other.id):
        return Obstacle(code="known_already", memory=memory, other=other.id)
    return Step(
        event=event, memory=memory, back=back, to=to, pointer=pointer, wording=wording, edge=edge,
        edge_status=_edge_status(event), target=target,
    )  # fmt: skip


def _pointer(c: apsw.Connection, memory: Memory) -> str:
    """What stood in the hot file for a memory, if it can stand there once more."""
    stood = standing.of(c, memory)
    pointer = stood.pointer if stood is not None else ""
    if memory.residence == "hot":
        once = (event.facts.get("pointer") for event in memories.events(c, memory.id, (memory.namespace,)))
        pointer = next((str(one) for one in reversed(list(once)) if one), pointer)
    where = {
        "namespace": memory.namespace, "hot_tier": memory.hot_tier, "entry_hash": entry_hash(pointer), "id": memory.id
    }  # fmt: skip
    return "" if memory.hot_tier is None or first_row(c, "other_hot_memory", where) else pointer


def _changed(
    c: apsw.Connection, event: Event, memory: Memory, edge: Edge | None, namespaces: Sequence[str]
) -> Obstacle | None:
    """What came after the event and would be overwritten."""
    if event.action in BY_EDGE:
        is_open = edge is not None and edge.status not in {"settled", "rejected"}
        return None if is_open else Obstacle(code="decided", memory=memory)
    whole = ledger.changes_of(c, memory.id, namespaces)
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
    if columns == {"trashed_at"} and not in_the_way:  # an undo put it back into the bin, where its time begins anew
        return None
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


def _back(
    event: Event, memory: Memory, at: datetime, *, target: Event | None, pointer: str
) -> tuple[Memory, Literal["hot", "stub"] | None]:
    """The row as it was before the event, and how it then goes into its hot file.

    The time in the bin begins anew: what comes back to it is not purged the same day.
    """
    if event.action == "added":
        out = rows.out_of_file(memory)
        return replace(out, state="trashed", residence="cold", trashed_at=at, trash_reason=REASON), None
    if event.action == "trashed" and not event.change:  # it was put there when it came in
        return replace(memory, state="active", residence="cold", trashed_at=None, trash_reason=""), None
    back = memories.taken_back(memory, event.change)
    if back.state == "trashed" and memory.state != "trashed":
        back = replace(back, trashed_at=at)
    residence, to = _place(event, memory, back, target=target, pointer=pointer)
    if residence == "stub":
        same = memory.file_hash if memory.residence == "stub" else entry_hash(pointer)
        return replace(back, residence="stub", file_hash=same), to
    back = replace(back, residence=residence)
    is_other_entry = back.content != memory.content or back.file_hash != memory.file_hash
    if back.residence != "hot" or is_other_entry:  # what a mask had hidden is nowhere any more: the mask is the text
        back = rows.out_of_file(back)
    return back, to


def _place(
    event: Event, memory: Memory, back: Memory, *, target: Event | None, pointer: str
) -> tuple[Residence, Literal["hot", "stub"] | None]:
    """Where the row is when the event is taken back, and where it goes from there.

    Out of the file it goes with the row, into the file after it. A stub is out of the file as far as its text goes.
    """
    if back.state != "active":
        return "cold", None
    here = memory.residence
    before, after = _places(event, memory, target)
    if here != "hot" and before == "hot":
        return here, "hot"
    if here == "hot" != before:
        return ("stub" if before == "stub" and pointer else "cold"), None
    if here == "stub" and before == "cold":
        return "cold", None
    return here, "stub" if (here, before, after) == ("cold", "stub", "cold") and pointer else None


def _places(event: Event, memory: Memory, target: Event | None) -> tuple[Residence, Residence]:
    """Where a memory was before an event, and after it. What undid a move has the move itself in another event."""
    if "residence" in event.change:
        before, after = event.change["residence"]
    elif target is not None and "residence" in target.change and "state" not in target.change:
        after, before = target.change["residence"]
    else:
        before = after = memory.residence
    return before, after


def wording_of(event: Event) -> str:
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
    return active_with(c, back) if comes_back else None


def active_with(c: apsw.Connection, memory: Memory) -> Memory | None:
    found = memories.select(
        c, "active_by_norm_hash", namespace=memory.namespace, norm_hash=memory.norm_hash, scope=memory.scope,
        session_id=memory.session_id,
    )  # fmt: skip
    return next((other for other in found if other.id != memory.id), None)
