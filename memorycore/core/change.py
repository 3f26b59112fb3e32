"""Verbs that change one memory that the caller names: update, forget, restore."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypedDict, Unpack

from memorycore import answers, intake, messages, reply
from memorycore.core import entering
from memorycore.core.entering import Entered
from memorycore.core.rooms import Rooms
from memorycore.domain.memory import Draft, Kind, Memory, Policy
from memorycore.domain.pointer import pointer
from memorycore.domain.text import sanitise
from memorycore.errors import HotFileError, InvalidInput, NotFound
from memorycore.govern.overflow.gather import entries_of
from memorycore.govern.overflow.ladder import RULES
from memorycore.govern.overflow.sheet import cost, pinned_within, room_of_pins
from memorycore.hot.document import why_not_hot
from memorycore.hot.tier import HotTier
from memorycore.lifecycle import hot, retire, rows, turn
from memorycore.lifecycle.retire import Leaving, Retiring
from memorycore.lifecycle.rows import Cause
from memorycore.lifecycle.turn import in_turn
from memorycore.search import SearchRequest
from memorycore.store import memories, standing


class Changes(TypedDict, total=False):
    """What may be changed by hand; None means: leave it."""

    content: str | None
    importance: float | None
    kind: Kind | None
    policy: Policy | None
    tags: tuple[str, ...] | None
    pinned: bool | None
    valid_until: datetime | None


@in_turn
def update(
    rooms: Rooms, memory_id: str, *, actor: str, dry_run: bool = False, **given: Unpack[Changes]
) -> answers.Changed:
    """Change wording or fields of the memory with this id, or with exactly this text."""
    seen, memory = meant(rooms, memory_id)
    if memory is None:
        likely = candidates(rooms, memory_id)
        if all(found.get("weak") for found in likely.get("candidates", [])):
            raise NotFound(id=memory_id)
        return likely
    changes = _differing(seen, memory, behind_gates(rooms, given))
    _check_changes(rooms, memory, changes)
    cause = rooms.cause(actor, "update")
    if dry_run or not changes:
        return reply.changed(
            "updated" if changes else "unchanged", memory, rows.after(memory, changes), dry_run=dry_run
        )
    tier = rooms.tier_of(memory) if memory.in_file else None
    begun, repointed, done = None, list[Retiring](), hot.Done(memory=memory)
    pointer = _pointer(rooms, tier, changes["content"]) if tier and "content" in changes else ""
    with rooms.db.write() as c:
        now = turn.claim(c, memory, cause.at, new_text=changes.get("content", ""))
        if "content" in changes:
            check_unknown(rooms, rows.after(now, changes))
        if tier and "content" in changes and memory.residence == "hot":
            begun = hot.begin(c, tier, now, "replace", cause, new_text=changes["content"])
        else:
            done = hot.Done(memory=rows.revise(c, now, changes, cause))
            if tier and pointer:
                leaving = Leaving(memory=done.memory, how="stub", reason="pointer_renewed", pointer=pointer)
                repointed.append(retire.enter(c, tier, leaving, cause, promised=True))
    if tier and begun:
        done = hot.rewrite(rooms.db, tier, begun, changes, cause)
    elif tier and repointed:
        with suppress(HotFileError):  # it points there all the same, and status names the file
            retire.carry_out(rooms.db, tier, repointed, [], cause)
    elif tier:
        tier.stamp([done.memory], cause.at)
    entered = _back_in(rooms, done.memory, changes, cause)
    rooms.catch_up()
    return _told(rooms, "updated", memory, done.memory, Entered(usage=done.usage) if entered == Entered() else entered)


def _back_in(rooms: Rooms, memory: Memory, changes: Mapping[str, Any], cause: Cause) -> Entered:
    """A rule that had left its file and is pinned comes back: a pin says that it is to be in the prompt."""
    if changes.get("pinned") and memory.residence == "hot":
        return Entered(why=_why_not_held(rooms, memory))
    if not changes.get("pinned") or memory.policy not in RULES or memory.scope != "global":
        return Entered()
    tier = rooms.tiers[memory.target]
    with rooms.db.read() as c:
        stood = standing.of(c, memory)
    if stood is None or stood.retired_at is None or memory.hot_tier != tier.id:
        return Entered()
    if why_not_hot(memory.content, limit=tier.limit):
        return Entered(why="no_room")
    with rooms.db.write() as c:
        begun = hot.begin(c, tier, turn.claim(c, hot.fresh(c, memory), cause.at), "add", cause)
    return entering.enter(rooms, tier, [begun], cause)


def _why_not_held(rooms: Rooms, memory: Memory) -> str:
    """Why a pin does not hold: the text alone is longer than the share of pins, or older ones fill that already."""
    tier, options = rooms.tiers[memory.target], rooms.options
    if cost(memory.content) > room_of_pins(limit=tier.limit, share=options.budget.pin_share):
        return "pin_too_long"
    try:
        texts = tier.look().entries
    except HotFileError:
        return ""
    with rooms.db.read() as c:
        entries = entries_of(c, tier, texts, options, rooms.clock())
    held = pinned_within(entries, limit=tier.limit, share=options.budget.pin_share)
    over = [entry.memory for place, entry in enumerate(entries) if entry.memory and place not in held]
    return "pins_full" if memory.id in {one.id for one in over} else ""


def _pointer(rooms: Rooms, tier: HotTier, text: str) -> str:
    """What stands in a hot file for a text that is in the store; empty where the file cannot be used."""
    try:
        return pointer(text, most=rooms.options.budget.pointer_chars, taken=tier.document().entries)
    except HotFileError:
        return ""


def behind_gates(rooms: Rooms, given: Changes) -> Changes:
    """The changes without what the gates hold back.

    Raises:
        InvalidInput: Nothing of the new text may be kept.
    """
    content, tags = given.get("content"), given.get("tags")
    passed = intake.admit(
        Draft(content=rooms.options.namespace if content is None else sanitise(content), tags=tags or ()),
        rooms.options.gates,
    )
    clean: Changes = {**given}
    if tags is not None:
        clean["tags"] = passed.draft.tags
    if content is None:
        return clean
    if passed.refused and passed.refused != "noise":
        raise InvalidInput(field="content", why=passed.refused)
    if passed.quarantined:
        raise InvalidInput(field="content", why="orders_the_agent")
    if intake.only_points(passed.draft.content):
        raise InvalidInput(field="content", why=intake.POINTER)
    clean["content"] = sanitise(content) if passed.refused else passed.draft.content
    return clean


def _differing(seen: Memory | None, memory: Memory, given: Changes) -> dict[str, Any]:
    """What of the given fields differs from the memory, as it will be stored."""
    wanted: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if "content" in wanted:
        wanted["content"] = hot.carried_over(seen, memory, sanitise(wanted["content"]).strip())
    if "tags" in wanted:
        wanted["tags"] = tuple(map(sanitise, wanted["tags"]))
    if "importance" in wanted:
        wanted["importance_given"] = True
    return {name: value for name, value in wanted.items() if value != getattr(memory, name)}


def _check_changes(rooms: Rooms, memory: Memory, changes: Mapping[str, Any]) -> None:
    Draft(
        content=changes.get("content", memory.id),  # a text that stays may be longer than one that is new
        importance=changes.get("importance"),
        kind=changes.get("kind"), policy=changes.get("policy"),
    )  # fmt: skip
    if "content" not in changes:
        return
    if memory.residence == "hot":
        hot.check_wording(rooms.tier_of(memory), memory.content, changes["content"])
    check_unknown(rooms, rows.after(memory, changes))


def check_unknown(rooms: Rooms, memory: Memory, field: str = "content") -> None:
    """Refuse a text that another active memory has.

    Raises:
        InvalidInput: It is known already.
    """
    with rooms.db.read() as c:
        other = intake.known(c, memory)
    if other is not None and other.id != memory.id:
        raise InvalidInput(field=field, why="known_already", id=other.id)


@in_turn
def forget(rooms: Rooms, id_or_query: str, *, actor: str, dry_run: bool = False) -> answers.Changed:
    """Put one memory into the bin: the one with this id, or with exactly this text."""
    seen, memory = meant(rooms, id_or_query)
    if memory is None:
        return candidates(rooms, id_or_query)
    hot.carried_over(seen, memory, None)
    until = rooms.clock() + timedelta(days=rooms.options.trash_days)
    if dry_run:
        return reply.changed("trashed", memory, None, until=until, dry_run=True)
    cause = rooms.cause(actor, "user")
    tier = rooms.tier_of(memory) if memory.in_file else None
    with rooms.db.write() as c:
        now = turn.claim(c, memory, cause.at)
        begun = hot.begin(c, tier, now, "remove", cause) if tier else None
        done = hot.Done(memory=now if begun else rows.trash(c, now, cause))
    if tier and begun:
        done = hot.discard(rooms.db, tier, begun, cause)
    return reply.changed("trashed", memory, None, until=until, usage=done.usage)


@in_turn
def restore(rooms: Rooms, memory_id: str, *, actor: str) -> answers.Changed:
    """Take a memory out of the bin, back to where it was; without room in its hot file it comes back cold."""
    rooms.touch()
    memory = rooms.any(memory_id)
    was_hot = memory.hot_tier is not None
    if memory.state == "active" and (memory.residence == "hot" or not was_hot):
        return reply.changed("unchanged", memory, memory)
    if memory.state not in {"active", "trashed"}:
        raise NotFound(id=memory_id)
    cause = rooms.cause(actor, "restore")
    tier = rooms.tier_of(memory) if was_hot else None
    with rooms.db.write() as c:
        memory = turn.claim(c, memory, cause.at, new_text=memory.content)
        if memory.state == "trashed":
            check_unknown(rooms, replace(memory, state="active"), field="id")
            memory = rows.restore(c, memory, cause)
        begun = hot.begin(c, tier, memory, "add", cause) if tier else None
    entered = entering.enter(rooms, tier, [begun], cause) if tier and begun else Entered()
    rooms.catch_up()
    return _told(rooms, "restored", memory, memory, entered)


def _told(rooms: Rooms, status: str, before: Memory, after: Memory, entered: Entered) -> answers.Changed:
    """The answer; where a text is not in its file although somebody wanted it there, with the reason."""
    if after.id in entered.ids:
        after = replace(after, residence="hot")
    answer = reply.changed(status, before, after, usage=entered.usage)
    return {**answer, "reasons": [messages.reason(entered.why, rooms.options.language)]} if entered.why else answer


def meant(rooms: Rooms, id_or_text: str) -> tuple[Memory | None, Memory | None]:
    """The memory that a caller names: as it stood until now, and as the hot file says now."""
    try:
        seen = rooms.named(id_or_text)
    except NotFound:  # the file may bring it back
        seen = None
    rooms.touch()
    return seen, rooms.named(seen.id if seen else id_or_text)


def candidates(rooms: Rooms, words: str) -> answers.Changed:
    """What the words of a caller may have meant; nothing is changed for them."""
    result = rooms.search(words, SearchRequest(namespaces=rooms.namespaces, top_k=5, every_wording=True))
    with rooms.db.read() as c:
        found = memories.by_seq(c, [hit.seq for hit in result.hits], rooms.namespaces)
    return reply.candidates(result, found)
