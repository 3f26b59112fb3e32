"""Texts that leave a hot file by themselves, and those that come back: one file write for all of them.

A text that retires stays in the store: as a stub, of which a pointer stands in the file, or cold, or in the bin. The
order is that of ``hot``: an intent for each, the file, the rows. Between intent and file the store is read back: what
is not there whole, and found by its words, does not leave the file.
"""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TypeVar

import apsw

from memorycore.domain.memory import Memory
from memorycore.domain.retention import Standing
from memorycore.errors import Conflict, MemoryCoreError, StoreBusy
from memorycore.hot.tier import HotTier, Turn, Turned
from memorycore.lifecycle import hot, rows, turn
from memorycore.lifecycle.hot import Begun
from memorycore.lifecycle.rows import Cause
from memorycore.store import Database, all_rows, edges, give_way, intents, standing
from memorycore.store.intents import How, Intent
from memorycore.store.memories import to_ms

AT_ONCE = 1_000  # of those that leave together, how many one transaction takes: half a second

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """A memory whose entry leaves its file, or becomes a pointer, and why.

    A stub may leave as well, or get another ``pointer``; one that is cold gets a pointer back. ``reason`` becomes that
    of the event, and with ``bin`` that of the bin. ``facts`` go into the ledger.
    """

    memory: Memory
    how: How
    reason: str
    pointer: str = ""
    facts: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def text(self) -> str | None:
        """What is to stand in the file for it."""
        return self.pointer or None if self.how == "stub" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rearranged:
    """What became of it.

    ``left``: ids of those that went where they should. ``kept``: why others did not, of ``pinned``, ``hidden`` (the
    store knows the entry masked only), ``undone`` (somebody took that back lately), ``changed`` (row or entry),
    ``busy`` (somebody is at it, or the store), ``unsafe`` (it was not read back). ``placed``: ids of those that stand
    in the file now. ``usage`` of the file (``used/limit``), empty where it was not looked at; ``wrote``: it changed.
    """

    left: frozenset[str] = frozenset()
    kept: Mapping[str, str] = field(default_factory=dict[str, str])
    placed: frozenset[str] = frozenset()
    usage: str = ""
    wrote: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Retiring:
    """One change that was begun: its intent, what it is, by whom, and how the memory stands in its file."""

    intent: int
    leaving: Leaving
    cause: Cause
    standing: Standing | None = None

    @property
    def memory(self) -> Memory:
        return self.leaving.memory


def rearrange(  # noqa: PLR0913 what leaves, what comes, and why
    db: Database,
    tier: HotTier,
    leaving: Sequence[Leaving],
    coming: Sequence[Begun],
    cause: Cause,
    *,
    fold: str | None = None,
    resident_days: float | None = None,
    again: bool = False,
) -> Rearranged:
    """Let memories leave a hot file and others come, in one write.

    What was changed meanwhile is left alone. What finds no room is held back. ``coming`` was begun by the caller, with
    operation ``add``: new texts, and cold ones or stubs that come back. ``fold``: the one line that stands for pointers
    that are not there, empty for none, None for the one that is there. ``resident_days``: how long what comes stays at
    least, if not as long as the file says. ``again``: the caller tries again with what found no room, which is not held
    back yet.

    Raises:
        HotFileError: The file cannot be used now; nothing left, and what was to come is held back.
    """
    if resident_days is not None:
        tier = replace(tier, resident=timedelta(days=resident_days))
    begun: list[Retiring] = []
    kept: dict[str, str] = {}
    with hot.let_go_on_failure(db, tier, begun), hot.let_go_on_failure(db, tier, coming):
        for part in _parts(leaving):
            try:
                with db.write() as c:
                    more, refused = _begin(c, tier, part, replace(cause, automatic=True))
            except StoreBusy:  # what comes has its intent already
                more, refused = [], {item.memory.id: "busy" for item in part}
            begun += more
            kept |= refused
            if len(part) == AT_ONCE:
                give_way()
    done = carry_out(db, tier, begun, coming, cause, fold=fold, again=again)
    return replace(done, kept={**kept, **done.kept})


def _parts(items: Sequence[T]) -> list[Sequence[T]]:
    """So many that one transaction takes them while others wait for their turn."""
    return [items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE)]


def _begin(
    c: apsw.Connection, tier: HotTier, leaving: Iterable[Leaving], cause: Cause
) -> tuple[list[Retiring], dict[str, str]]:
    """Step 1: write down what shall leave, and why others may not."""
    begun: list[Retiring] = []
    kept: dict[str, str] = {}
    busy = intents.at_work(c, tier.namespace, to_ms(cause.at) or 0)
    for item in leaving:
        if why := _why_kept(c, tier, item.memory, cause, busy):
            kept[item.memory.id] = why
        else:
            busy.add(item.memory.id)
            begun.append(enter(c, tier, item, cause))
    return begun, kept


def enter(c: apsw.Connection, tier: HotTier, leaving: Leaving, cause: Cause, *, promised: bool = False) -> Retiring:
    """Step 1 for one that may leave. A pointer that is another memory's already does not come.

    What was ``promised`` is done by whoever finds the intent, when this process dies.
    """
    memory = leaving.memory
    if leaving.pointer and hot.is_taken(c, tier, memory, leaving.pointer):
        leaving = replace(leaving, pointer="")
    stood = standing.of(c, memory)
    old = {"hot": memory.content, "stub": stood.pointer if stood else ""}.get(memory.residence)
    intent = Intent(
        id=0,
        memory_id=memory.id,
        operation="retire",
        old_text=old,
        new_text=leaving.text,
        actor=cause.actor,
        reason=leaving.reason,
        started_at_ms=to_ms(cause.at) or 0,
        owner=intents.me(),
        promised=promised,
        how=leaving.how,
    )
    number = intents.begin(c, memory.namespace, tier.id, intent)
    return Retiring(intent=number, leaving=leaving, cause=cause, standing=stood)


def _why_kept(c: apsw.Connection, tier: HotTier, memory: Memory, cause: Cause, busy: Container[str]) -> str:
    """Why a memory may not leave now; empty when it may."""
    if memory.pinned:
        return "pinned"
    if memory.residence == "hot" and memory.file_hash:
        return "hidden"
    if memory.hot_tier != tier.id or memory.state != "active":
        return "changed"
    if edges.hands_off(c, memory, memory.norm_hash, now=cause.at):
        return "undone"
    try:
        now = turn.claim(c, memory, cause.at, busy=busy)
    except Conflict:
        return "changed" if turn.is_changed(c, memory) else "busy"
    return "pinned" if now.pinned else "hidden" if now.file_hash != memory.file_hash else ""


def carry_out(  # noqa: PLR0913 what leaves, what comes, and why
    db: Database,
    tier: HotTier,
    begun: Sequence[Retiring],
    coming: Sequence[Begun],
    cause: Cause,
    *,
    fold: str | None = None,
    again: bool = False,
) -> Rearranged:
    """Steps 2 and 3: read back, change the file, then the rows. Where the store fails, the next look ends it.

    Raises:
        HotFileError: The file cannot be used now; nothing left, and what was to come is held back.
    """
    with hot.let_go_on_failure(db, tier, [*begun, *coming]):
        return _carry_out(db, tier, begun, coming, cause, fold=fold, again=again)


def _carry_out(  # noqa: PLR0913 as ``carry_out``
    db: Database,
    tier: HotTier,
    begun: Sequence[Retiring],
    coming: Sequence[Begun],
    cause: Cause,
    *,
    fold: str | None,
    again: bool,
) -> Rearranged:
    safe = _read_back(db, begun)
    sure = {item.intent for item in safe}
    kept = {item.memory.id: "unsafe" for item in begun if item.intent not in sure}
    if not safe and not coming and fold is None:
        return Rearranged(kept=kept)
    turns = [Turn(memory=item.memory, text=item.leaving.text, standing=item.standing) for item in safe]
    try:
        turns += hot.arrivals(db, tier, coming, cause)
        turned = tier.rearrange(turns, cause.at, fold=fold, beside=hot.beside(db, tier))
    except MemoryCoreError:
        with db.write() as c:
            for item in safe:
                intents.end(c, item.intent)
            for item in coming:
                if intents.end(c, item.intent):
                    rows.hold_back(c, item.memory, replace(cause, reason="file_unusable"))
        raise
    left: set[str] = set()
    *early, last = _parts(safe) or [[]]
    for part in early:  # whoever dies or fails in between leaves the other intents, which the next look settles
        with db.write() as c:
            left |= _settle_all(c, tier, part, turned, kept)
        give_way()
    with db.write() as c:
        left |= _settle_all(c, tier, last, turned, kept)
        present = turned.written.present
        ended = [item for item in coming if not again or item.memory.content in present]
        placed = hot.placed_ones(c, tier, ended, turned.written, cause)
        hot.follow(c, tier, turned.written)
    wrote = turned.written.sha_before != turned.written.sha_after
    return Rearranged(left=frozenset(left), kept=kept, placed=placed, usage=turned.written.usage, wrote=wrote)


def _settle_all(
    c: apsw.Connection, tier: HotTier, safe: Sequence[Retiring], turned: Turned, kept: dict[str, str]
) -> set[str]:
    """Step 3 for many: ids of those that left; why others did not comes into ``kept``."""
    left: set[str] = set()
    for item in safe:
        # Who took this process for dead has ended it; where they left the row as it was, the file says what is true.
        if not intents.end(c, item.intent) and not _is_as_before(hot.fresh(c, item.memory), item.memory):
            kept[item.memory.id] = "busy"
        elif settle(c, tier, item.leaving, _stands(item.leaving, turned), item.cause):
            left.add(item.memory.id)
        else:
            kept[item.memory.id] = "changed"
    return left


def _is_as_before(now: Memory, before: Memory) -> bool:
    return (now.state, now.residence, now.file_hash) == (before.state, before.residence, before.file_hash)


def _read_back(db: Database, begun: Sequence[Retiring]) -> list[Retiring]:
    """Those whose text the store has, as somebody else would read it. The intents of others are ended."""
    if not begun:
        return []
    where = {
        "namespace": begun[0].memory.namespace,
        "seqs": json.dumps([item.memory.seq for item in begun]),
    }
    with db.read() as c:
        found = dict(all_rows(c, "safe_texts", where))
    safe = [item for item in begun if found.get(item.memory.seq) == item.memory.content]
    sure = {item.intent for item in safe}
    unsafe = [item for item in begun if item.intent not in sure]
    if unsafe:
        with db.write() as c:
            for item in unsafe:
                intents.end(c, item.intent)
    return safe


def _stands(leaving: Leaving, turned: Turned) -> How | None:
    """What became of the entry: None where it was not touched."""
    memory, text = leaving.memory, leaving.text
    if not memory.in_file:  # a pointer came
        return "stub" if text is not None and text in turned.written.present else None
    if memory.id not in turned.left:
        return None
    return "stub" if memory.id in turned.pointed else "bin" if leaving.how == "bin" else "cold"


def settle(c: apsw.Connection, tier: HotTier, leaving: Leaving, stands: How | None, cause: Cause) -> bool:
    """Step 3 for one row; False where it stays as it is."""
    now = hot.fresh(c, leaving.memory)
    if stands is None or now.state != "active":
        return False
    why = replace(cause, reason=leaving.reason, facts={**cause.facts, **leaving.facts})
    if stands == "bin":
        rows.trash(c, now, why)
    elif stands == "stub" and not hot.is_taken(c, tier, now, leaving.pointer):
        rows.move(c, now, "stub", why, tier=tier, pointer=leaving.pointer)
    elif now.residence != "cold":
        rows.move(c, now, "cold", why, tier=tier)
    return True
