"""Changes of a hot file whose process died: finish what reached the file or the store, withdraw the rest."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime

import apsw

from memorycore.domain.memory import Memory
from memorycore.domain.text import entry_hash
from memorycore.hot.tier import HotTier
from memorycore.lifecycle import hot, relations, retire, rows, undo
from memorycore.lifecycle.hot import Begun
from memorycore.lifecycle.retire import Leaving, Retiring
from memorycore.lifecycle.rows import Cause
from memorycore.lifecycle.undo import Means
from memorycore.lifecycle.way_back import COMPRESSED
from memorycore.store import Database, intents, memories
from memorycore.store.intents import How, Intent
from memorycore.store.memories import to_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """One abandoned intent, its memory, and the hashes of the entries that stand in the file."""

    intent: Intent
    memory: Memory
    cause: Cause
    present: frozenset[str]

    @property
    def gone(self) -> bool:
        """Whether the entry of the memory is not in the file any more."""
        return self.memory.entry_key not in self.present

    @property
    def arrived(self) -> bool:
        return entry_hash(self.intent.new_text or "") in self.present


@dataclass(slots=True, kw_only=True)
class Unfinished:
    """What was ended in the transaction, and what still has to reach the file, coming or leaving.

    ``retiring`` is what was promised; overflow promises nothing, and looks again another time.
    """

    ended: int = 0
    additions: list[Begun] = field(default_factory=list[Begun])
    leaving: list[tuple[Begun, Memory]] = field(default_factory=list[tuple[Begun, Memory]])
    retiring: list[Retiring] = field(default_factory=list[Retiring])

    @property
    def count(self) -> int:
        return self.ended + len(self.additions) + len(self.leaving) + len(self.retiring)


def recover(
    c: apsw.Connection, tier: HotTier, entries: Sequence[str], *, new_id: Callable[[], str], now: datetime
) -> Unfinished:
    """End the intents of dead processes. ``entries`` is what stands in the file now."""
    found = Unfinished()
    present = frozenset(map(entry_hash, entries))
    for intent in intents.open_intents(c, tier.namespace, tier.id):
        if not intents.abandoned(intent, to_ms(now) or 0):
            continue
        intents.end(c, intent.id)
        memory = memories.by_id(c, intent.memory_id, (tier.namespace,))
        if memory is None or memory.state != "active":
            continue
        cause = Cause(actor=intent.actor, at=now, reason=intent.reason, facts={"recovered": True})
        one = _Found(intent=intent, memory=memory, cause=cause, present=present)
        if intent.how is not None:
            _retired(c, tier, one, intent.how, found)
            continue
        if intent.new_text is not None and hot.is_taken(c, tier, memory, intent.new_text):
            found.ended += 1
            continue  # another memory says that already, and one entry belongs to one memory
        if intent.operation == "add":
            _added(c, tier, one, found)
        elif intent.by:
            _left(c, tier, one, found)
        elif intent.undoes:
            found.ended += 1
            found.additions += undo.finish(c, intent, present, Means(cause=cause, new_id=new_id, tier=tier))
        else:
            found.ended += 1
            _changed(c, one)
    return found


def _added(c: apsw.Connection, tier: HotTier, one: _Found, found: Unfinished) -> None:
    if one.arrived:
        found.ended += 1
        rows.move(c, one.memory, "hot", one.cause, tier=tier)
    elif one.memory.residence != "hot":
        found.additions.append(hot.begin(c, tier, one.memory, "add", one.cause))
    else:
        found.ended += 1


def _retired(c: apsw.Connection, tier: HotTier, one: _Found, how: How, found: Unfinished) -> None:
    """An entry that was to leave, or to become a pointer. Where the file had not been reached yet, it stays."""
    intent, memory = one.intent, one.memory
    leaving = Leaving(memory=memory, how=how, reason=intent.reason, pointer=intent.new_text or "")
    cause = replace(one.cause, automatic=not intent.promised)
    is_pointed = intent.new_text is not None and one.arrived
    is_done = one.gone if memory.in_file else is_pointed
    if intent.promised and not is_done:
        found.retiring.append(retire.enter(c, tier, leaving, cause, promised=True))
        return
    found.ended += 1
    if is_done:
        retire.settle(c, tier, leaving, "stub" if is_pointed else "bin" if how == "bin" else "cold", cause)


def _left(c: apsw.Connection, tier: HotTier, one: _Found, found: Unfinished) -> None:
    """An entry that was to leave for a newer memory, which is in the store: it still does."""
    newer = memories.by_id(c, one.intent.by, (tier.namespace,))
    if newer is None or newer.state != "active":
        found.ended += 1
    elif not one.gone:
        found.leaving.append((hot.begin(c, tier, one.memory, "remove", one.cause, by=newer.id), newer))
    else:
        found.ended += 1
        relations.supersede(c, one.memory, newer, replace(one.cause, automatic=True))


def _changed(c: apsw.Connection, one: _Found) -> None:
    if one.intent.operation == "replace" and one.gone and one.arrived:
        by_itself = one.intent.reason in {"refined", COMPRESSED}
        rows.revise(c, one.memory, {"content": one.intent.new_text}, replace(one.cause, automatic=by_itself))
    elif one.intent.operation == "remove" and one.gone:
        rows.trash(c, one.memory, one.cause)


def finish(db: Database, tier: HotTier, unfinished: Unfinished, cause: Cause) -> None:
    """Bring to the file what never reached it. Where that cannot be used now, each is withdrawn."""
    with ExitStack() as failed:  # what is left of the others is tried all the same
        for begun, newer in unfinished.leaving:
            failed.callback(_leave, db, tier, begun, newer, cause)
        if unfinished.additions or unfinished.retiring:
            retire.carry_out(db, tier, unfinished.retiring, unfinished.additions, cause)


def _leave(db: Database, tier: HotTier, begun: Begun, newer: Memory, cause: Cause) -> None:
    hot.exchange(db, tier, [begun], None, by=newer, cause=replace(cause, automatic=True), evidence={})
