"""Forgetting many at once: everything that holds some words, carries a tag, is of a session or a time."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from memorycore import answers_forget, messages
from memorycore.core.rooms import Rooms
from memorycore.domain.memory import Memory, Target
from memorycore.domain.text import fold
from memorycore.errors import Conflict, HotFileError, InvalidInput, MemoryCoreError, NotAvailable
from memorycore.lifecycle import hot, rows, turn
from memorycore.lifecycle.rows import Cause
from memorycore.search import RecallFilters
from memorycore.search.question import read_question
from memorycore.store import memories
from memorycore.store.memories import to_ms

BATCH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which memories: all that hold every word of ``query`` and pass ``filters``.

    Words and not meaning decide, since what goes must be foreseeable. ``only``: of those, just these ids.
    """

    query: str = ""
    filters: RecallFilters = field(default_factory=RecallFilters)
    only: Collection[str] = ()

    @property
    def names_something(self) -> bool:
        return bool(self.query.strip()) or self.filters != RecallFilters()


def forget_many(rooms: Rooms, wanted: Wanted, *, actor: str, dry_run: bool = False) -> answers_forget.ForgottenMany:
    """Put every memory that matches into the bin, as one run of the ledger; each hot file is written once."""
    rooms.touch()
    chosen = select(rooms, wanted)
    until = (rooms.clock() + timedelta(days=rooms.options.trash_days)).date().isoformat()
    answer: answers_forget.ForgottenMany = {
        "status": "trashed" if chosen else "nothing",
        "count": len(chosen),
        "items": [],
    }
    if chosen:
        answer["until"] = until
    if dry_run:
        answer["items"], answer["dry_run"] = [_told(memory) for memory in chosen], True
        return answer
    cause = rooms.cause(actor, "user")
    went, skipped = _bin(rooms, chosen, cause)
    answer["items"] = [_told(memory) for memory in chosen if memory.id in went]
    answer["count"] = len(answer["items"])
    if skipped:
        answer["skipped"] = skipped
    if went:
        answer["run"], answer["undo"] = cause.run, f"memorycore undo --run {cause.run}"
    return answer


def select(rooms: Rooms, wanted: Wanted, *, in_use: bool = True) -> list[Memory]:
    """The memories that are meant, oldest first; ``in_use``: only active ones.

    Raises:
        InvalidInput: Nothing says which, or the query has no word in it.
    """
    if not wanted.names_something:
        raise InvalidInput(field="--query", why="no_criterion")
    question, filters = read_question(wanted.query), wanted.filters
    if wanted.query.strip() and not question.words:
        raise InvalidInput(field="--query", why="no_words")
    where = {
        "namespaces": json.dumps(rooms.namespaces), "kind": filters.kind or "", "policy": filters.policy or "",
        "target": filters.target or "", "tier": filters.tier or "", "session_id": filters.session_id,
        "author": filters.author, "since": to_ms(filters.since), "until": to_ms(filters.until),
        "tagged": bool(filters.tags), "in_use": in_use,
        "match": " AND ".join('"' + word.replace('"', '""') + '"' for word in question.words),
    }  # fmt: skip
    tags = {fold(tag) for tag in filters.tags}
    with rooms.db.read() as c:
        found = memories.select(c, "memories_matching", **where)
    return [
        memory
        for memory in found
        if tags <= {fold(tag) for tag in memory.tags}
        and all(phrase in fold(memory.content) for phrase in question.phrases)
        and (not wanted.only or memory.id in wanted.only)
    ]


def _bin(rooms: Rooms, chosen: Sequence[Memory], cause: Cause) -> tuple[set[str], list[answers_forget.Skipped]]:
    """What went, and what did not. Whatever is in the way of one memory is not in the way of the others."""
    went: set[str] = set()
    skipped: list[answers_forget.Skipped] = []
    for target in rooms.tiers:
        entries = [memory for memory in chosen if memory.in_file and memory.target == target]
        went |= _out_of_file(rooms, target, entries, cause, skipped)
    cold = [memory for memory in chosen if not memory.in_file]
    for start in range(0, len(cold), BATCH):
        with rooms.db.write() as c:
            for memory in cold[start : start + BATCH]:
                try:
                    rows.trash(c, turn.claim(c, memory, cause.at), cause)
                except Conflict as error:
                    skipped.append(_skipped(rooms, memory, error))
                else:
                    went.add(memory.id)
    return went, skipped


def _out_of_file(
    rooms: Rooms, target: Target, entries: Sequence[Memory], cause: Cause, skipped: list[answers_forget.Skipped]
) -> frozenset[str]:
    begun: list[hot.Begun] = []
    tier = rooms.tiers[target]
    with rooms.db.write() as c:
        for memory in entries:
            try:
                begun.append(hot.begin(c, rooms.tier_of(memory), turn.claim(c, memory, cause.at), "remove", cause))
            except (Conflict, NotAvailable) as error:
                skipped.append(_skipped(rooms, memory, error))
    if not begun:
        return frozenset()
    try:
        return hot.discard_all(rooms.db, tier, begun, cause).ids
    except HotFileError as error:
        skipped += [_skipped(rooms, item.memory, error) for item in begun]
        return frozenset()


def _skipped(rooms: Rooms, memory: Memory, error: MemoryCoreError) -> answers_forget.Skipped:
    return {"id": memory.id, "code": error.code, "message": messages.error_text(error, rooms.options.language)}


def _told(memory: Memory) -> answers_forget.Forgotten:
    told: answers_forget.Forgotten = {
        "id": memory.id, "content": memory.content, "tier": "hot" if memory.residence == "hot" else "cold",
    }  # fmt: skip
    if memory.residence == "hot":
        told["target"] = memory.target
    return told
