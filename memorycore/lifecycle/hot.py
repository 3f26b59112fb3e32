"""Transitions that change a hot file.

Order of a change: (1) commit the intent, with the text safe in the store; (2) change the file under its lock, without
touching the database; (3) commit that it is done. Whoever dies in between leaves an open intent, and reconcile
finishes or withdraws it. Each function here does (2) and (3); ``begin`` is (1), inside the caller's transaction.
"""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

import apsw

from memorycore.domain.memory import Memory
from memorycore.domain.text import entry_hash, holds_lines, replace_lines
from memorycore.errors import Conflict, InvalidInput, MemoryCoreError, NotFound, StoreError
from memorycore.hot.document import why_not_hot
from memorycore.hot.tier import Beside, HotTier, Turn, Written
from memorycore.lifecycle import relations, rows
from memorycore.lifecycle.rows import Cause
from memorycore.store import Database, all_rows, first_row, intents, memories, sql, standing
from memorycore.store.intents import Intent, Operation
from memorycore.store.memories import to_ms

LET_GO_MS = 500  # who failed has waited already; else it is taken for dead after a minute

Follow = Callable[[apsw.Connection, Memory], Memory]  # what becomes of a row after its file was changed
Evidences = Mapping[str, Sequence[Mapping[str, str]]]  # by the id of the memory that they are about


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Ids of the memories that are hot now, and how full the file is (``used/limit``)."""

    ids: frozenset[str] = frozenset()
    usage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The memory after a change, how full its hot file is then (``used/limit``) if it has one, and the event."""

    memory: Memory
    usage: str = ""
    event: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Discarded:
    """Ids of the memories that are in the bin now, and how full their hot file is then (``used/limit``)."""

    ids: frozenset[str] = frozenset()
    usage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A memory and the intent under which its hot file is about to change."""

    intent: int
    memory: Memory


class Under(Protocol):
    """Anything that was begun, with the number of its intent."""

    @property
    def intent(self) -> int: ...


def begin(  # noqa: PLR0913 a change, who it is for, and what it will be
    c: apsw.Connection,
    tier: HotTier,
    memory: Memory,
    operation: Operation,
    cause: Cause,
    *,
    new_text: str | None = None,
    by: str = "",
    undoes: int = 0,
) -> Begun:
    """Step 1: write down what is going to happen to the file."""
    intent = Intent(
        id=0,
        memory_id=memory.id,
        operation=operation,
        old_text=None if operation == "add" else memory.content,
        new_text=memory.content if operation == "add" else new_text,
        actor=cause.actor,
        reason=cause.reason,
        started_at_ms=to_ms(cause.at) or 0,
        owner=intents.me(),
        by=by,
        undoes=undoes,
    )
    return Begun(intent=intents.begin(c, memory.namespace, tier.id, intent), memory=memory)


def place(db: Database, tier: HotTier, begun: Sequence[Begun], cause: Cause) -> Placed:
    """Append memories that are cold to the hot file, in one write; one that finds no room is held back, cold.

    Raises:
        HotFileError: The file cannot be used now; all of them stay cold.
    """
    try:
        turns = arrivals(db, tier, begun, cause)
        written = tier.rearrange(turns, cause.at, beside=beside(db, tier)).written
    except MemoryCoreError:
        with db.write() as c:
            for item in begun:
                intents.end(c, item.intent)
                rows.hold_back(c, item.memory, replace(cause, reason="file_unusable"))
        raise
    with let_go_on_failure(db, tier, begun), db.write() as c:
        placed = placed_ones(c, tier, begun, written, cause)
        follow(c, tier, written)
    return Placed(ids=placed, usage=written.usage)


def placed_ones(
    c: apsw.Connection, tier: HotTier, begun: Sequence[Begun], written: Written, cause: Cause
) -> frozenset[str]:
    """Step 3 for texts that came, or found no room: ids of those that stand in the file."""
    placed = frozenset(item.memory.id for item in begun if item.memory.content in written.present)
    for item in begun:
        if not intents.end(c, item.intent):
            continue
        now = fresh(c, item.memory)
        if item.memory.id in placed and not is_taken(c, tier, item.memory, item.memory.content):
            rows.move(c, now, "hot", cause, tier=tier)
            continue
        rows.hold_back(c, item.memory, replace(cause, reason="no_room"))
        if now.residence == "stub" and now.entry_key not in map(entry_hash, written.present):
            rows.move(c, now, "cold", replace(cause, reason="pointer_removed"), tier=tier)
    return placed


def withdraw(db: Database, begun: Begun, cause: Cause) -> None:
    """Leave out of its file what was to go there; it stays cold."""
    with db.write() as c:
        if intents.end(c, begun.intent):
            rows.hold_back(c, begun.memory, cause)


def carried_over(seen: Memory | None, memory: Memory, content: str | None) -> str | None:
    """The new text for an entry that somebody changed since the caller saw it (``content`` None: for its removal).

    Lines that were put before or after the entry are nobody's wish to lose: they stay around the new text.

    Raises:
        Conflict: The entry was reworded, or it is to be removed.
    """
    if seen is None or seen.content == memory.content:
        return content
    if content is None or not holds_lines(memory.content, seen.content):
        raise Conflict(id=memory.id)
    return replace_lines(memory.content, seen.content, content)


def check_wording(tier: HotTier, old: str, new: str) -> None:
    """Whether an entry may have this wording. One that is too long for a hot file already may stay so.

    Raises:
        InvalidInput: It cannot stand in the file.
    """
    why = why_not_hot(new, limit=tier.limit)
    if why is None or (why == "over_quarter" and why_not_hot(old, limit=tier.limit) == why):
        return
    raise InvalidInput(field="content", why="scanner" if why.startswith("scanner_") else why)


def rewrite(
    db: Database,
    tier: HotTier,
    begun: Begun,
    changes: Mapping[str, Any],
    cause: Cause,
    *,
    then: Follow | None = None,
) -> Done:
    """Replace the text of one hot entry, and only that one. ``then``: what happens to its row, if not ``revise``.

    Raises:
        Conflict: The entry is not in the file any more; nothing changed.
        HotFileError: The file cannot be used now; nothing changed.
    """
    memory = begun.memory
    with withdrawn_on_failure(db, begun):
        changed = replace(memory, **changes, updated_at=cause.at)
        written = tier.swap(memory, changed, cause.at, most=tier.ceiling if cause.automatic else tier.limit)
    with let_go_on_failure(db, tier, [begun]), db.write() as c:
        if is_taken(c, tier, memory, str(changes["content"])):
            raise Conflict(id=memory.id)
        intents.end(c, begun.intent)
        follow(c, tier, written)
        now = fresh(c, memory)
        revised = then(c, now) if then else rows.revise(c, now, changes, cause)
        return Done(memory=revised, usage=written.usage, event=c.last_insert_rowid())


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanged:
    """After an exchange: the numbers of its events, whether the new text is hot, how full the file is."""

    events: tuple[int, ...] = ()
    placed: bool = False
    usage: str = ""


def exchange(  # noqa: PLR0913 what goes, what comes, and why
    db: Database,
    tier: HotTier,
    gone: Sequence[Begun],
    added: Begun | None,
    *,
    by: Memory,
    cause: Cause,
    evidence: Evidences,
) -> Exchanged:
    """Take the entries of memories that ``by`` supersedes out of the file, and put its text in their place.

    Without room for it the new text stays cold.

    Raises:
        HotFileError: The file cannot be used now; nothing changed, and both stay as they are.
    """
    begun = [*gone, *([added] if added else [])]
    try:
        leaving, coming = [item.memory for item in gone], added.memory if added else None
        written = tier.exchange(leaving, coming, cause.at, beside=beside(db, tier))
    except MemoryCoreError:
        with db.write() as c:  # what could not be done is not forgotten: it waits for somebody
            for item in begun:
                intents.end(c, item.intent)
            for item in gone:
                told = evidence.get(item.memory.id, ())
                relations.propose(
                    c, item.memory, by, "supersedes", replace(cause, reason="file_unusable"), evidence=told
                )
        raise
    events: list[int] = []
    with let_go_on_failure(db, tier, begun), db.write() as c:
        for item in gone:
            if intents.end(c, item.intent):
                old = fresh(c, item.memory)
                events.append(relations.supersede(c, old, by, cause, evidence=evidence.get(old.id, ())))
        placed = added is not None and added.memory.content in written.present
        if added is not None and intents.end(c, added.intent):
            if placed and not is_taken(c, tier, added.memory, added.memory.content):
                rows.move(c, fresh(c, added.memory), "hot", cause, tier=tier)
            else:
                rows.hold_back(c, added.memory, replace(cause, reason="no_room"))
        follow(c, tier, written)
    return Exchanged(events=tuple(events), placed=placed, usage=written.usage)


def discard(db: Database, tier: HotTier, begun: Begun, cause: Cause, *, then: Follow | None = None) -> Done:
    """Remove one entry from the hot file and put its memory into the bin, or do ``then`` to its row.

    Raises:
        HotFileError: The file cannot be used now; nothing changed.
    """
    memory = begun.memory
    with withdrawn_on_failure(db, begun):
        written = tier.exchange([memory], None, cause.at, beside=beside(db, tier))
    with let_go_on_failure(db, tier, [begun]), db.write() as c:
        intents.end(c, begun.intent)
        follow(c, tier, written)
        now = fresh(c, memory)
        binned = then(c, now) if then else rows.trash(c, now, cause)
        return Done(memory=binned, usage=written.usage, event=c.last_insert_rowid())


def discard_all(db: Database, tier: HotTier, begun: Sequence[Begun], cause: Cause) -> Discarded:
    """As ``discard``, for several entries of one file, in one write.

    Raises:
        HotFileError: The file cannot be used now; nothing changed.
    """
    try:
        leaving = [item.memory for item in begun]
        written = tier.exchange(leaving, None, cause.at, beside=beside(db, tier))
    except MemoryCoreError:
        with db.write() as c:
            for item in begun:
                intents.end(c, item.intent)
        raise
    with let_go_on_failure(db, tier, begun), db.write() as c:
        done = [item.memory.id for item in begun if intents.end(c, item.intent)]
        for item in begun:
            if item.memory.id in done:
                rows.trash(c, fresh(c, item.memory), cause)
        follow(c, tier, written)
    return Discarded(ids=frozenset(done), usage=written.usage)


@contextmanager
def withdrawn_on_failure(db: Database, begun: Begun) -> Generator[None]:
    """Close the intent when the file could not be changed: the row is right as it is."""
    try:
        yield
    except MemoryCoreError:
        with db.write() as c:
            intents.end(c, begun.intent)
        raise


@contextmanager
def let_go_on_failure(db: Database, tier: HotTier, begun: Sequence[Under]) -> Generator[None]:
    """Where a change cannot be ended, whoever looks at the file next ends it, and waits for nobody."""
    with ExitStack() as failed:
        failed.callback(_let_go, db, tier, begun)
        yield
        failed.pop_all()


def _let_go(db: Database, tier: HotTier, begun: Sequence[Under]) -> None:
    with suppress(StoreError), db.write(timeout_ms=LET_GO_MS) as c:
        intents.let_go(c, tier.namespace, [item.intent for item in begun])


def arrivals(db: Database, tier: HotTier, begun: Sequence[Begun], cause: Cause) -> list[Turn]:
    """What is to come into a file, each with how it stands there from now on."""
    with db.read() as c:
        known = standing.by_seq(c, tier.namespace, [item.memory.seq for item in begun])
    return [
        Turn(
            memory=item.memory,
            text=item.memory.content,
            standing=rows.standing_there(item.memory, known.get(item.memory.seq), tier, cause.at),
        )
        for item in begun
    ]


def beside(db: Database, tier: HotTier) -> Beside:
    """What goes along with a change of a file: its sidecar follows the rows, and pointers go that nobody needs.

    Those are pointers to texts that somebody put back into the file; for them alone nothing is written.
    """
    with db.read() as c:
        known = memories.select(c, "file_memories", namespace=tier.namespace, hot_tier=tier.id)
        standings = standing.by_seq(c, tier.namespace, [memory.seq for memory in known])
        found = all_rows(c, "stale_pointers", {"namespace": tier.namespace, "hot_tier": tier.id})
    return Beside(rows=known, standings=standings, stale={entry_hash(pointer): key for _, key, pointer in found})


def restamp(db: Database, tier: HotTier, now: datetime) -> None:
    """Bring the sidecar of a file up to the rows and how they stand."""
    known = beside(db, tier)
    if known.rows:  # else there may be no folder either, and a look makes none
        tier.stamp(known.rows, now, known.standings)


def is_taken(c: apsw.Connection, tier: HotTier, memory: Memory, text: str) -> bool:
    """Whether the entry with this text is another memory's: after a jump of the clock two may have been at it."""
    where = {"namespace": tier.namespace, "hot_tier": tier.id, "entry_hash": entry_hash(text), "id": memory.id}
    return first_row(c, "other_hot_memory", where) is not None


def fresh(c: apsw.Connection, memory: Memory) -> Memory:
    """The row as it stands now: somebody may have changed other fields meanwhile."""
    found = memories.by_id(c, memory.id, (memory.namespace,))
    if found is None:
        raise NotFound(id=memory.id)
    return found


def follow(c: apsw.Connection, tier: HotTier, written: Written) -> None:
    """Rows and file agree again, unless the file held something new before this write."""
    known = intents.find_tier(c, tier.namespace, tier.directory, tier.target)
    if known is not None and known.file_sha == written.sha_before:
        intents.set_file_sha(c, tier.id, written.sha_after)
    forget_pointers(c, tier, written.present)


def forget_pointers(c: apsw.Connection, tier: HotTier, entries: Collection[str]) -> None:
    """Keep of a text that stands in the file itself no pointer that does not stand beside it."""
    for seq, _, pointer in all_rows(c, "stale_pointers", {"namespace": tier.namespace, "hot_tier": tier.id}):
        if pointer not in entries:
            c.execute(sql["clear_pointer"], {"seq": seq, "namespace": tier.namespace})
