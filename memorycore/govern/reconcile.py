"""Bring rows and hot files into agreement after a host, an editor or a crash changed a file.

The file decides which texts are hot and how they are worded; the row decides everything else. Rows and file are
compared inside one write transaction of the store: no process of ours can begin or end a change of a file meanwhile, so
whatever differs and stands in no open intent was done by somebody else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import apsw
from rapidfuzz import fuzz

from memorycore.domain.memory import Memory
from memorycore.domain.routing import Routing, route
from memorycore.domain.text import entry_hash, fold, norm_hash
from memorycore.hot.files import Contents
from memorycore.hot.tier import HotTier
from memorycore.lifecycle import hot, rows
from memorycore.lifecycle.hot import Begun
from memorycore.lifecycle.rows import Cause
from memorycore.store import Database, intents, memories, vectors
from memorycore.store.intents import Intent
from memorycore.store.memories import to_ms

ACTOR = "host"
# Below this share of common words two texts of one pass are taken for two facts, not for one edited entry.
SAME_SUBJECT = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """Counts of one pass. ``emptied``: the file lost all of several entries at once, which looks like damage."""

    added: int = 0
    edited: int = 0
    removed: int = 0
    finished: int = 0
    emptied: int = 0

    @property
    def changed(self) -> bool:
        return bool(self.added or self.edited or self.removed or self.finished or self.emptied)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostChanges:
    """What somebody else did to a file: new texts, vanished rows, and rows whose wording changed."""

    added: tuple[str, ...]
    removed: tuple[Memory, ...]
    edited: tuple[tuple[Memory, str], ...]


def compare(entries: Sequence[str], known: Sequence[Memory], under_way: Sequence[Intent]) -> HostChanges:
    """Diff a file against the rows by hash, leaving out every text of a change that is under way.

    One removed and one added text about the same subject are an edit; pairs are taken best first, each text once.
    """
    ours = {entry_hash(text) for intent in under_way for text in intent.texts()}
    in_file = {entry_hash(text): text for text in entries}
    in_rows = {entry_hash(memory.content): memory for memory in known}
    added = [text for key, text in in_file.items() if key not in in_rows and key not in ours]
    removed = [memory for key, memory in in_rows.items() if key not in in_file and key not in ours]
    edited: list[tuple[Memory, str]] = []
    ranked = sorted(
        (
            (_likeness(memory.content, text), index, number)
            for index, memory in enumerate(removed)
            for number, text in enumerate(added)
        ),
        key=lambda item: (-item[0], item[1], item[2]),
    )
    taken_rows: set[int] = set()
    taken_texts: set[int] = set()
    for likeness, index, number in ranked:
        if likeness >= SAME_SUBJECT and index not in taken_rows and number not in taken_texts:
            taken_rows.add(index)
            taken_texts.add(number)
            edited.append((removed[index], added[number]))
    return HostChanges(
        added=tuple(text for number, text in enumerate(added) if number not in taken_texts),
        removed=tuple(memory for index, memory in enumerate(removed) if index not in taken_rows),
        edited=tuple(edited),
    )


def _likeness(old: str, new: str) -> float:
    """0..100: how much of two wordings is common, counted in words, or in characters where no blanks part words."""
    one, other = fold(old), fold(new)
    return max(fuzz.ratio(one, other), fuzz.token_sort_ratio(one, other))


def reconcile(db: Database, tier: HotTier, *, new_id: Callable[[], str], now: datetime) -> Reconciled:
    """One pass over one hot file; cheap when nothing changed since the last one.

    Raises:
        HotFileError: The file cannot be read; rows and file stay as they are.
    """
    sha = tier.look().sha256
    with db.read() as c:
        row = intents.find_tier(c, tier.namespace, tier.directory, tier.target)
        if row is not None and row.file_sha == sha and not intents.open_intents(c, tier.namespace, tier.id):
            return Reconciled()
    tier.settle()
    with db.write() as c:
        row = intents.tier_row(c, tier.namespace, tier.directory, tier.target, now)
        contents = tier.look()
        first = row.file_sha == ""
        if first:
            tier.keep_first_state(now)
        finished, unfinished = _recover(c, tier, contents.entries, now)
        under_way = intents.open_intents(c, tier.namespace, tier.id)
        known = memories.select(c, "hot_memories", namespace=tier.namespace, hot_tier=tier.id)
        changes = compare(contents.entries, known, under_way)
        this = Pass(contents=contents, new_id=new_id, now=now, first=first)
        done = _apply(c, tier, changes, this)
        intents.set_file_sha(c, tier.id, contents.sha256)
    if unfinished:
        hot.place(db, tier, unfinished, Cause(actor=ACTOR, at=now, reason="recovered"))
    if done.changed or first:
        with db.read() as c:
            tier.stamp(memories.select(c, "hot_memories", namespace=tier.namespace, hot_tier=tier.id), now)
    return replace(done, finished=finished + len(unfinished))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One look at the file, and what applying its changes needs beside the rows."""

    contents: Contents
    new_id: Callable[[], str]
    now: datetime
    first: bool


def _apply(c: apsw.Connection, tier: HotTier, changes: HostChanges, this: Pass) -> Reconciled:
    cause = Cause(actor=ACTOR, at=this.now)
    for memory, text in changes.edited:
        routing = _routing(text, tier)
        fields = {"content": text, "kind": routing.kind, "policy": routing.policy, "protected": routing.protected}
        changed = rows.revise(c, memory, fields, replace(cause, reason="host_edited"))
        vectors.queue_job(c, tier.namespace, changed.seq, to_ms(this.now) or 0)
    for text in changes.added:
        _adopt(c, tier, text, this)
    # An empty file where several entries were known is what a crash of another writer leaves behind. The texts stay
    # active in the cold tier, so that nothing is forgotten for it.
    emptied = not this.contents.entries and len(changes.removed) > 1
    for memory in changes.removed:
        if emptied:
            rows.move(c, memory, "cold", replace(cause, reason="file_emptied"))
        else:
            rows.trash(c, memory, replace(cause, reason="host_removed"))
    return Reconciled(
        added=len(changes.added),
        edited=len(changes.edited),
        removed=0 if emptied else len(changes.removed),
        emptied=len(changes.removed) if emptied else 0,
    )


def _adopt(c: apsw.Connection, tier: HotTier, text: str, this: Pass) -> None:
    """Give a text that somebody wrote into the file its row: a cold or binned one with these words, or a new one."""
    cause = Cause(actor=ACTOR, at=this.now, reason="first_contact" if this.first else "host_added")
    where = {"namespace": tier.namespace, "norm_hash": norm_hash(text)}
    cold = memories.select(c, "active_by_norm_hash", **where, scope="global", session_id="")
    if cold and cold[0].residence != "hot" and cold[0].content == text:
        rows.move(c, cold[0], "hot", cause, hot_tier=tier.id)
        return
    binned = memories.select(c, "binned_by_norm_hash", **where)
    if binned and binned[0].content == text:
        back = rows.restore(c, binned[0], cause)
        vectors.queue_job(c, tier.namespace, back.seq, to_ms(this.now) or 0)
        rows.move(c, back, "hot", cause, hot_tier=tier.id)
        return
    new = rows.add(c, _row_of(c, text, tier, this), cause)
    vectors.queue_job(c, tier.namespace, new.seq, to_ms(this.now) or 0)


def _row_of(c: apsw.Connection, text: str, tier: HotTier, this: Pass) -> Memory:
    # A sidecar of another machine, of a lost database or of the predecessor knows more than the text alone.
    meta = this.contents.sidecar.entries.get(entry_hash(text))
    routing = _routing(text, tier)
    written = meta.written_at if meta and meta.written_at else this.now
    return Memory(
        id=meta.id if meta and meta.id and not memories.id_taken(c, meta.id) else this.new_id(),
        namespace=tier.namespace,
        content=text,
        norm_hash=norm_hash(text),
        kind=routing.kind,
        policy=routing.policy,
        protected=routing.protected,
        importance=meta.importance if meta and meta.importance is not None else routing.importance,
        importance_given=bool(meta and meta.importance is not None),
        residence="hot",
        hot_tier=tier.id,
        target=tier.target,
        origin="legacy" if this.first else "hermes",
        created_at=min(written, this.now),
        updated_at=min(written, this.now),
    )


def _routing(text: str, tier: HotTier) -> Routing:
    return route(text, importance=None, target=tier.target, kind=None, policy=None)


def _recover(c: apsw.Connection, tier: HotTier, entries: Sequence[str], now: datetime) -> tuple[int, list[Begun]]:
    """Finish or withdraw the changes whose process died.

    Returns:
        How many were ended here, and the additions that never reached the file, for the caller to place now.
    """
    ended = 0
    to_place: list[Begun] = []
    present = set(entries)
    for intent in intents.open_intents(c, tier.namespace, tier.id):
        if not intents.abandoned(intent, to_ms(now) or 0):
            continue
        intents.end(c, intent.id)
        memory = memories.by_id(c, intent.memory_id, (tier.namespace,))
        if memory is None or memory.state != "active":
            continue
        ended += 1
        cause = Cause(actor=intent.actor, at=now, reason=intent.reason, facts={"recovered": True})
        if intent.operation == "add" and intent.new_text in present:
            rows.move(c, memory, "hot", cause, hot_tier=tier.id)
        elif intent.operation == "add" and memory.residence != "hot":
            ended -= 1
            to_place.append(hot.begin(c, tier, memory, "add", cause))
        elif intent.operation == "replace" and intent.new_text in present and intent.old_text not in present:
            changed = rows.revise(c, memory, {"content": intent.new_text}, cause)
            vectors.queue_job(c, tier.namespace, changed.seq, to_ms(now) or 0)
        elif intent.operation == "remove" and intent.old_text not in present:
            rows.trash(c, memory, cause)
    return ended, to_place
