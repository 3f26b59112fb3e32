"""Take back what was done: one event, the last change, what one run did, or all that was automatic since a moment."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memorycore import answers, messages
from memorycore.core import entering, history
from memorycore.core.entering import Entered
from memorycore.core.rooms import Rooms
from memorycore.domain.memory import Event, Memory, Target
from memorycore.errors import Conflict, HotFileError, InvalidInput, MemoryCoreError, NotAvailable
from memorycore.hot.document import DELIMITER
from memorycore.hot.tier import HotTier
from memorycore.intake import QUARANTINED
from memorycore.lifecycle import rows, turn, undo, way_back
from memorycore.lifecycle.hot import Begun
from memorycore.lifecycle.rows import Cause
from memorycore.lifecycle.turn import in_turn
from memorycore.lifecycle.undo import Means, Taken
from memorycore.lifecycle.way_back import Obstacle, Step
from memorycore.store import ledger, memories, standing

if TYPE_CHECKING:
    import apsw

LOOKED_BACK = 500  # events among which the last change is looked for
WORST_FIRST: tuple[answers.UndoStatus, ...] = ("conflict", "undone", "would_undo", "nothing_to_undo")
REFUSALS = (Conflict, HotFileError, InvalidInput, NotAvailable)


def undo_events(  # noqa: PLR0913 four ways to say what is meant
    rooms: Rooms,
    *,
    actor: str,
    event: int | None = None,
    last: bool = False,
    run: str = "",
    since: datetime | None = None,
    dry_run: bool = False,
) -> answers.Undone:
    """Undo what exactly one of ``event``, ``last``, ``run``, ``since`` names, the last thing first.

    Raises:
        InvalidInput: Not exactly one was given, or there is no such event or run.
    """
    if sum((event is not None, last, bool(run), since is not None)) != 1:
        raise InvalidInput(field="EVENT", why="one_of_event_last_run_since")
    rooms.touch()
    with rooms.db.read() as c:
        chosen = list(_chosen(c, rooms, event=event, run=run, since=since))
    cause = rooms.cause(actor, way_back.REASON)
    told = _rehearsed(rooms, chosen, cause) if dry_run else [_undone(rooms, one, cause) for one in chosen]
    if not dry_run:
        rooms.catch_up()
    answer: answers.Undone = {"status": _status(told), "events": told}
    if dry_run:
        answer["dry_run"] = True
    return answer


def _status(told: Iterable[answers.UndoneEvent]) -> answers.UndoStatus:
    found: list[answers.UndoStatus] = [one["status"] for one in told]
    return min(found or WORST_FIRST[-1:], key=WORST_FIRST.index)


def _chosen(
    c: "apsw.Connection", rooms: Rooms, *, event: int | None, run: str, since: datetime | None
) -> Iterable[Event]:
    """The events that are meant, in the order in which they are taken back."""
    if event is not None:
        found = ledger.by_number(c, event, rooms.namespaces)
        if found is None:
            raise InvalidInput(field="EVENT", why="no_such_event", value=event)
        return _with_what_it_made(c, rooms, [found])
    if run:
        whole = ledger.of_run(c, run, rooms.namespaces)
        if not whole:
            raise InvalidInput(field="--run", why="no_such_run", value=run)
        return _with_what_it_made(c, rooms, _meant(c, rooms, whole))
    if since is not None:
        automatic = ledger.to_undo(c, rooms.namespaces, since=since, automatic=True)
        return [one for one in automatic if _in_bulk(c, rooms, one)]
    return _last(c, rooms)


def _meant(c: "apsw.Connection", rooms: Rooms, run: list[Event]) -> list[Event]:
    """What of one call is taken back: what it did by itself, else what somebody asked it to do."""
    able = [one for one in run if way_back.can_be_undone(one) and not _is_quarantine(c, rooms, one)]
    return [one for one in able if one.automatic and not _is_placing(one, run)] or able


def _last(c: "apsw.Connection", rooms: Rooms) -> list[Event]:
    for automatic in (True, False):
        for one in ledger.to_undo(c, rooms.namespaces, limit=LOOKED_BACK, automatic=automatic):
            is_step = isinstance(way_back.step_of(c, one, rooms.namespaces, rooms.clock()), Step)
            if is_step and (_in_bulk(c, rooms, one) if automatic else not _is_quarantine(c, rooms, one)):
                run = ledger.of_run(c, one.run, rooms.namespaces) or [one]  # an old ledger knows no runs
                return _meant(c, rooms, [other for other in run if other.undone_by is None])
    return []


def _in_bulk(c: "apsw.Connection", rooms: Rooms, event: Event) -> bool:
    """Whether an automatic event is meant by whoever names none.

    Where the same call put a text that it had added belongs to the adding.
    """
    if event.action == "moved" and _is_placing(event, ledger.of_run(c, event.run, rooms.namespaces)):
        return False
    return way_back.can_be_undone(event) and not _is_quarantine(c, rooms, event)


def _is_placing(event: Event, run: list[Event]) -> bool:
    return event.action == "moved" and any(one.action == "added" for one in run if one.memory_id == event.memory_id)


def _is_quarantine(c: "apsw.Connection", rooms: Rooms, event: Event) -> bool:
    """Whether it put a text into quarantine: nobody lets it out without having looked at it."""
    if event.action != "trashed" or event.change:
        return False
    memory = memories.by_id(c, event.memory_id, rooms.namespaces)
    return memory is not None and memory.trash_reason == QUARANTINED


def _with_what_it_made(c: "apsw.Connection", rooms: Rooms, events: list[Event]) -> list[Event]:
    """To undo an undo, the memory that it had made of a wording goes first: the wording goes back where it was."""
    chosen: dict[int, Event] = {}
    for one in events:
        if one.action == "undone" and (made := one.facts.get("made")):
            for its in memories.events(c, str(made), rooms.namespaces)[:1]:
                chosen.setdefault(its.seq, its)
        chosen.setdefault(one.seq, one)
    return list(chosen.values())


def _undone(rooms: Rooms, event: Event, cause: Cause) -> answers.UndoneEvent:
    """Take one event back; what is in the way becomes part of the answer, so that the others go on."""
    try:
        return _take_back(rooms, event.seq, cause)
    except REFUSALS as error:
        return _refused(rooms, event, error)


@in_turn
def _take_back(rooms: Rooms, number: int, cause: Cause) -> answers.UndoneEvent:
    with rooms.db.write() as c:
        event = _fresh(c, rooms, number)
        step = way_back.step_of(c, event, rooms.namespaces, cause.at)
        if isinstance(step, Obstacle):
            return _hindered(rooms, event, step)
        memory = step.memory
        turn.check_free(c, memory.namespace, cause.at, memory_id=memory.id, text=step.back.content)
        means = _means(rooms, step, cause)
        taken = undo.begin(c, step, means) or undo.take_back(c, step, means)
    if isinstance(taken, Begun):
        taken = undo.take_back_in_file(rooms.db, taken, step, means)
    elif means.tier and memory.in_file:
        means.tier.stamp([taken.memory], cause.at)
    placed = _into_file(rooms, taken, means)
    back, made = (
        memory and replace(memory, residence="hot" if memory.id in placed.ids else memory.residence)
        for memory in (taken.memory, taken.made)
    )
    told = _told(rooms, step, back, made, taken.event)
    if placed.why:
        told["code"], told["message"] = placed.why, messages.text(placed.why, rooms.options.language)
    return told


def _into_file(rooms: Rooms, taken: Taken, means: Means) -> Entered:
    """Bring what belongs there into the hot file. For a text that comes back, others leave."""
    if means.tier and taken.begun and not taken.retiring:
        return entering.enter(rooms, means.tier, taken.begun, means.cause)
    placed = undo.place(rooms.db, taken, means)
    return Entered(ids=placed.ids, usage=placed.usage)


def _fresh(c: "apsw.Connection", rooms: Rooms, number: int) -> Event:
    found = ledger.by_number(c, number, rooms.namespaces)
    if found is None:
        raise InvalidInput(field="EVENT", why="no_such_event", value=number)
    return found


def _means(rooms: Rooms, step: Step, cause: Cause) -> Means:
    return Means(
        cause=cause,
        new_id=rooms.new_id,
        sticky=timedelta(days=rooms.options.undo_sticky_days),
        tier=_tier(rooms, step),
    )


def _tier(rooms: Rooms, step: Step) -> HotTier | None:
    """The hot file of a memory. One in another folder matters only where an entry has to change.

    Raises:
        NotAvailable: The entry that has to change is in another folder.
    """
    memory = step.memory if step.memory.in_file else step.back if step.to else None
    if memory is None:
        return None
    try:
        return rooms.tier_of(memory)
    except NotAvailable:
        if step.changes_file:
            raise
        return None


def _rehearsed(rooms: Rooms, chosen: Iterable[Event], cause: Cause) -> list[answers.UndoneEvent]:
    """What would become of them, one after the other: done in the store, without the files, and dropped."""
    told: list[answers.UndoneEvent] = []
    room: dict[Target, int] = {target: tier.room() for target, tier in rooms.tiers.items()}
    with rooms.db.rehearse() as c:
        for one in chosen:
            event = _fresh(c, rooms, one.seq)
            step = way_back.step_of(c, event, rooms.namespaces, cause.at)
            if isinstance(step, Obstacle):
                told.append(_hindered(rooms, event, step))
                continue
            try:
                tier = _tier(rooms, step)
            except NotAvailable as error:
                told.append(_refused(rooms, event, error))
                continue
            means = replace(_means(rooms, step, cause), tier=None)
            taken = undo.take_back(c, step, means)
            back, made = taken.memory, taken.made
            if tier and step.to == "hot":
                back = _placed(rooms, c, back, tier, room, cause)
            if tier and made and step.memory.residence == "hot":
                made = _placed(rooms, c, made, tier, room, cause)
            told.append({**_told(rooms, step, back, made, None), "status": "would_undo"})
    return told


def _placed(
    rooms: Rooms, c: "apsw.Connection", memory: Memory, tier: HotTier, room: dict[Target, int], cause: Cause
) -> Memory:
    needed = len(DELIMITER) + len(memory.content)
    if memory.residence == "stub" and (stood := standing.of(c, memory)) is not None:  # its pointer goes
        needed -= len(DELIMITER) + len(stood.pointer)
    if needed > room[tier.target] and not rooms.admission.make_room(tier.target, [memory]).fits:
        return memory
    room[tier.target] = max(room[tier.target] - needed, 0)
    return rows.move(c, memory, "hot", cause, tier=tier)


def _told(
    rooms: Rooms, step: Step, back: Memory | None, made: Memory | None, number: int | None
) -> answers.UndoneEvent:
    answer = _about(rooms, step.event, step.memory, "undone")
    if back is not None:
        answer["tier"] = history.tier_of(back)
        if back.content != step.memory.content:
            answer["before"], answer["after"] = step.memory.content, back.content
            answer.pop("text", None)
    if made is not None:
        answer["made"], answer["made_text"] = made.id, made.content
    if number is not None:
        answer["redo"] = history.command(number)
    return answer


def _about(rooms: Rooms, event: Event, memory: Memory | None, status: answers.UndoStatus) -> answers.UndoneEvent:
    answer: answers.UndoneEvent = {
        "event": event.seq,
        "status": status,
        "what": history.sentence(event, memory, rooms.options.language),
        "id": event.memory_id,
    }
    if memory is not None and memory.state != "purged":
        answer["text"] = memory.content
    return answer


def _hindered(rooms: Rooms, event: Event, obstacle: Obstacle) -> answers.UndoneEvent:
    """Why an event is not taken back; where somebody changed the text since, with both texts."""
    memory = obstacle.memory
    status: answers.UndoStatus = "nothing_to_undo" if obstacle.code in way_back.HARMLESS else "conflict"
    answer = _about(rooms, event, memory, status)
    answer["code"] = obstacle.code
    answer["message"] = messages.text(
        f"undo.{obstacle.code}", rooms.options.language, by=obstacle.by, id=obstacle.other
    )
    if obstacle.by is not None:
        answer["by"] = obstacle.by
    if obstacle.other:
        answer["other"] = obstacle.other
    if status == "conflict" and memory is not None and "content" in event.change:
        answer["before"], answer["after"] = memory.content, str(event.change["content"][0])
        answer.pop("text", None)
    return answer


def _refused(rooms: Rooms, event: Event, error: MemoryCoreError) -> answers.UndoneEvent:
    with rooms.db.read() as c:
        memory = memories.by_id(c, event.memory_id, rooms.namespaces)
    answer = _about(rooms, event, memory, "conflict")
    answer["code"], answer["message"] = error.code, messages.error_text(error, rooms.options.language)
    return answer
