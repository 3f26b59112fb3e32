"""Transitions that need the local store only. Each takes the open connection of a write transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import apsw

from memorycore.domain.memory import Event, Memory, Residence, State
from memorycore.domain.retention import DAY, Standing, arrived, left
from memorycore.domain.text import entry_hash, norm_hash
from memorycore.hot.tier import HotTier
from memorycore.store import edges, memories, standing, vectors

FILE_EMPTIED = "file_emptied"
HIDING = frozenset({"masked", "secret", "pii", "left"})  # what a row is told of its entry in a hot file


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Who changes something, when, and why; ``facts`` go into the ledger.

    ``run`` joins what one call does. ``automatic``: nobody asked for this very change; it can be undone.
    """

    actor: str
    at: datetime
    reason: str = ""
    facts: Mapping[str, object] = field(default_factory=dict[str, object])
    run: str = ""
    automatic: bool = False


def add(c: apsw.Connection, memory: Memory, cause: Cause) -> Memory:
    """A new memory, in the state and residence that it carries."""
    stored = memories.insert_memory(c, memory)
    _heed(c, stored, cause)
    record(c, stored, stored, "added" if memory.state == "active" else memory.state, cause)
    return stored


def _heed(c: apsw.Connection, memory: Memory, cause: Cause) -> None:
    """Keep a tombstone of a text that a person wanted gone, and none of one that is in use.

    Whatever is automatic asks for it before it gets here; so whoever brings a text back was told to.
    """
    if memory.state == "active":
        edges.lift_tombstone(c, memory.namespace, memory.norm_hash)
    elif memory.is_wanted_gone:
        edges.put_tombstone(c, memory, reason=memory.trash_reason, at=memory.trashed_at or cause.at)


def confirm(c: apsw.Connection, memory: Memory, cause: Cause) -> Memory:
    """The same was said again: count it as a use and trust it more. Another wording (``said``) stays in the ledger."""
    said = cause.facts.get("said")
    if said == memory.content:
        cause = replace(cause, facts={name: fact for name, fact in cause.facts.items() if name != "said"})
    confirmed = replace(
        memory, confidence=1 - (1 - memory.confidence) * 0.8, use_count=memory.use_count + 1, last_used_at=cause.at
    )
    stored = memories.update_memory(c, memory, confirmed)
    record(c, memory, stored, "confirmed", cause)
    return stored


def after(memory: Memory, changes: Mapping[str, Any]) -> Memory:
    """The memory as it would be after these changes."""
    changed = replace(memory, **changes)
    is_reworded = changed.content != memory.content and "file_hash" not in changes
    if is_reworded and memory.residence != "stub":  # the new wording has nothing to hide; a pointer stays what it is
        changed = out_of_file(changed)
    return replace(changed, norm_hash=norm_hash(changed.content))


def revise(c: apsw.Connection, memory: Memory, changes: Mapping[str, Any], cause: Cause) -> Memory:
    """Change fields of a memory; a new text keeps the old one as a revision and waits for a new vector.

    Pass only what differs.
    """
    changed = after(memory, {**changes, "updated_at": cause.at, "version": memory.version + 1})
    if changed.content != memory.content:
        memories.add_revision(c, memory, cause.at)
    stored = memories.update_memory(c, memory, changed)
    if changed.content != memory.content:
        _heed(c, stored, cause)
        _queue_vector(c, stored, cause)
    record(c, memory, stored, "revised", replace(cause, facts={**cause.facts, "fields": sorted(changes)}))
    return stored


def out_of_file(memory: Memory) -> Memory:
    """A memory whose entry leaves its file, or is reworded: what the store has of it is the masked text."""
    if memory.residence == "stub":
        return replace(memory, file_hash="")
    if not memory.file_hash:
        return memory
    return replace(memory, file_hash="", flags=tuple(flag for flag in memory.flags if flag not in HIDING))


def move(
    c: apsw.Connection,
    memory: Memory,
    residence: Residence,
    cause: Cause,
    *,
    tier: HotTier | None = None,
    pointer: str = "",
) -> Memory:
    """Change where the text lives. A memory that leaves a hot file remembers which one it was in.

    ``pointer`` is what stands in the file for a stub. One that leaves since its file was lost stands as before.
    """
    stays = residence == "hot" and memory.residence != "stub"
    moved = replace(memory if stays else out_of_file(memory), residence=residence)
    if residence == "stub":
        moved = replace(moved, file_hash=entry_hash(pointer))
    if tier is not None:
        moved = replace(moved, hot_tier=tier.id, target=tier.target)
    stored = memories.update_memory(c, memory, moved)
    if residence == "hot" and tier is not None:
        stood = standing.of(c, memory)
        standing.put(c, memory.namespace, memory.seq, standing_there(memory, stood, tier, cause.at))
    elif cause.reason != FILE_EMPTIED:
        _leave(c, memory, cause, pointer=pointer)
    facts = {**cause.facts, "to": residence} | ({"pointer": pointer} if pointer else {})
    record(c, memory, stored, "moved", replace(cause, facts=facts))
    return stored


def standing_there(memory: Memory, stood: Standing | None, tier: HotTier, at: datetime) -> Standing:
    """How a memory stands in its file from now on. ``stood``: how it stood until now."""
    return arrived(stood, at, resident_days=tier.resident / DAY, was_there=memory.hot_tier is not None)


def _leave(c: apsw.Connection, memory: Memory, cause: Cause, *, pointer: str = "") -> None:
    """Note that a text left its file, and what stands there for it; of a pointer that goes nothing is noted."""
    if memory.residence == "hot":
        standing.put(c, memory.namespace, memory.seq, left(standing.of(c, memory), cause.at, pointer=pointer))
    elif pointer:
        known = standing.of(c, memory) or left(None, cause.at)
        standing.put(c, memory.namespace, memory.seq, replace(known, pointer=pointer))


def hold_back(c: apsw.Connection, memory: Memory, cause: Cause) -> None:
    """Note that a memory is meant for its hot file and could not go there; it stays as it is."""
    record(c, memory, memory, "held_back", cause)


def trash(c: apsw.Connection, memory: Memory, cause: Cause) -> Memory:
    """Put a memory into the recycle bin; ``cause.reason`` says for whom recall may revive it."""
    binned = replace(
        out_of_file(memory), state="trashed", residence="cold", trashed_at=cause.at, trash_reason=cause.reason
    )
    stored = memories.update_memory(c, memory, binned)
    _heed(c, stored, cause)
    _leave(c, memory, cause)
    record(c, memory, stored, "trashed", replace(cause, facts={**cause.facts, "was": memory.residence}))
    return stored


def reject(c: apsw.Connection, memory: Memory, cause: Cause) -> Memory:
    """A person does not want what is in the bin already; it stays there until it is purged."""
    stored = memories.update_memory(c, memory, replace(memory, trash_reason=cause.reason))
    _heed(c, stored, cause)
    record(c, memory, stored, "trashed", cause)
    return stored


def supersede(c: apsw.Connection, memory: Memory, by: Memory, cause: Cause) -> Memory:
    """Another memory took its place: it ends where the newer one begins, and stays for history.

    Where the newer one begins in the future, the old one lives until then.
    """
    ended = by.valid_from or cause.at
    later = ended > cause.at
    superseded = replace(
        memory if later else out_of_file(memory),
        state="active" if later else "superseded",
        residence=memory.residence if later else "cold",
        valid_until=ended if memory.valid_until is None else min(ended, memory.valid_until),
    )
    stored = memories.update_memory(c, memory, superseded)
    if not later:
        _leave(c, memory, cause)
    facts = {**cause.facts, "was": memory.residence, "by": by.id}
    record(c, memory, stored, "superseded", replace(cause, facts=facts))
    return stored


def expire(c: apsw.Connection, memory: Memory, state: State, cause: Cause) -> Memory:
    """The time of a memory is over by its own word: it is no answer any more, and stays for looking back.

    ``state``: ``superseded`` where another one was to take its place then, else ``expired``.
    """
    stored = memories.update_memory(c, memory, replace(out_of_file(memory), state=state, residence="cold"))
    _leave(c, memory, cause)
    record(c, memory, stored, "expired", cause)
    return stored


def revert(c: apsw.Connection, memory: Memory, back: Memory, cause: Cause, *, pointer: str = "") -> tuple[Memory, int]:
    """Take a change back: the row becomes ``back``; ``cause.facts`` names the event that is undone.

    ``pointer`` is what stands in the file for one that is a stub then.

    Returns:
        The row and the number of the event that says so. Where the row is right already, only the event is written.
    """
    stored = memory
    if back != memory:
        back = replace(back, updated_at=cause.at, version=memory.version + 1)
        if back.content != memory.content:
            memories.add_revision(c, memory, cause.at)
        stored = memories.update_memory(c, memory, back)
        _heed(c, stored, cause)
        if stored.residence != "hot":
            _leave(c, memory, cause, pointer=pointer)
        if stored.state == "active" and (memory.state != "active" or stored.content != memory.content):
            _queue_vector(c, stored, cause)
    return stored, record(c, memory, stored, "undone", cause)


def restore(c: apsw.Connection, memory: Memory, cause: Cause) -> Memory:
    """Take a memory out of the bin, into the cold tier. A way back into the hot file is the caller's next step."""
    back = replace(memory, state="active", residence="cold", trashed_at=None, trash_reason="", updated_at=cause.at)
    stored = memories.update_memory(c, memory, back)
    _heed(c, stored, cause)
    _queue_vector(c, stored, cause)
    record(c, memory, stored, "restored", cause)
    return stored


def _queue_vector(c: apsw.Connection, memory: Memory, cause: Cause) -> None:
    vectors.queue_job(c, memory.namespace, memory.seq, memories.to_ms(cause.at) or 0)


def record(c: apsw.Connection, before: Memory, after: Memory, action: str, cause: Cause) -> int:
    """Write what happened to a row into the ledger, with what it changed; the number of the event."""
    event = Event(
        seq=0,
        at=cause.at,
        action=action,
        memory_id=after.id,
        actor=cause.actor,
        reason=cause.reason,
        facts=dict(cause.facts),
        run=cause.run,
        automatic=cause.automatic,
        change=memories.difference(before, after),
    )
    return memories.add_event(c, event, after.namespace)
