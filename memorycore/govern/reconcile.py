"""Bring rows and hot files into agreement after a host, an editor or a crash changed a file.

The file decides which texts are hot and how they are worded; the row decides everything else. Rows and file are
compared inside one write transaction of the store: no process of ours can begin or end a change of a file meanwhile, so
whatever differs and stands in no open intent was done by somebody else.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, lru_cache

import apsw
from rapidfuzz import fuzz

from memorycore.domain.memory import Memory, Policy
from memorycore.domain.routing import Routing, route
from memorycore.domain.text import entry_hash, fold, holds_lines, norm_hash
from memorycore.govern.recover import finish, recover
from memorycore.hot.files import Contents
from memorycore.hot.sidecar import EntryMeta
from memorycore.hot.tier import HotTier
from memorycore.intake import Shown, as_data, as_kept
from memorycore.lifecycle import rows
from memorycore.lifecycle.rows import Cause
from memorycore.options import GateOptions
from memorycore.store import Database, intents, memories, vectors
from memorycore.store.intents import Intent
from memorycore.store.memories import to_ms

ACTOR = "host"
RULES = frozenset({"core", "rule"})
# Below this share of common words two texts of one pass are taken for two facts, not for one edited entry.
SAME_SUBJECT = 60.0
CERTAIN = 101.0  # no likeness of words counts against it
MOST_COMPARED = 5_000_000_000  # half a second: about 400 entries that became 400 others


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


def compare(
    entries: Sequence[str],
    known: Sequence[Memory],
    under_way: Sequence[Intent],
    *,
    is_cold: Callable[[str], bool] = lambda _: False,
    is_of: Callable[[Memory, str], bool | None] = lambda _memory, _text: None,
    as_known: Callable[[str], str] = str,
) -> HostChanges:
    """Diff a file against the rows by hash, leaving out every text of a change that is under way.

    One removed and one added text about the same subject are an edit; pairs are taken best first, each text once.
    ``is_cold`` tells a text that a cold memory has already: that one comes back, and no other takes its words.
    ``is_of`` knows of some texts whether they are a memory's, whatever their words are; of others it says None.
    ``as_known`` gives a text as rows know it, masked.
    """
    changing = {intent.memory_id for intent in under_way}
    ours = {entry_hash(text) for intent in under_way for text in intent.texts()}
    ours |= {memory.entry_key for memory in known if memory.id in changing}
    in_file = {entry_hash(text): text for text in entries}
    in_rows = {memory.entry_key: memory for memory in known}
    added = [text for key, text in in_file.items() if key not in in_rows and key not in ours]
    removed = [memory for key, memory in in_rows.items() if key not in in_file and key not in ours]
    edited: list[tuple[Memory, str]] = []
    new = {number: text for number, text in enumerate(added) if removed and not is_cold(text)}
    ranked = sorted(_pairs(removed, new, is_of, as_known), key=lambda item: (-item[0], item[1], item[2]))
    taken_rows: set[int] = set()
    taken_texts: set[int] = set()
    for _, index, number in ranked:
        if index not in taken_rows and number not in taken_texts:
            taken_rows.add(index)
            taken_texts.add(number)
            edited.append((removed[index], added[number]))
    return HostChanges(
        added=tuple(text for number, text in enumerate(added) if number not in taken_texts),
        removed=tuple(memory for index, memory in enumerate(removed) if index not in taken_rows),
        edited=tuple(edited),
    )


def _likeness(old: str, new: str) -> float:
    """0..100: how much of two wordings is common, counted in words, or in characters where no blanks part words.

    An entry that lines were added to or taken from is the same entry, however many: whoever appends to the file without
    a delimiter makes the last entry longer.
    """
    if holds_lines(new, old) or holds_lines(old, new):
        return 100.0
    (one, one_sorted), (other, other_sorted) = _folded(old), _folded(new)
    return max(fuzz.ratio(one, other), fuzz.ratio(one_sorted, other_sorted))


@lru_cache(maxsize=4096)
def _folded(text: str) -> tuple[str, str]:
    """A wording as it is compared: in its own order, and with its words sorted."""
    folded = fold(text)
    return folded, " ".join(sorted(folded.split()))


def _pairs(
    old: Sequence[Memory],
    new: Mapping[int, str],
    is_of: Callable[[Memory, str], bool | None],
    as_known: Callable[[str], str],
) -> Iterator[tuple[float, int, int]]:
    """(likeness, number of the old text, number of the new one) of all that may be one entry before and after an edit.

    A file that differs as a whole is another file, not an edited one; to look for pairs in it would take minutes.
    """
    if _length(memory.content for memory in old) * _length(new.values()) > MOST_COMPARED:
        return
    for index, memory in enumerate(old):
        for number, text in new.items():
            known = is_of(memory, text)
            likeness = _likeness(memory.content, as_known(text)) if known is None else CERTAIN * known
            if likeness >= SAME_SUBJECT:
                yield likeness, index, number


def _length(texts: Iterable[str]) -> int:
    """What comparing with them costs: their code points, and some for each text."""
    return sum(len(text) + 100 for text in texts)


def reconcile(
    db: Database, tier: HotTier, *, new_id: Callable[[], str], now: datetime, gates: GateOptions
) -> Reconciled:
    """One pass over one hot file; cheap when nothing changed since the last one.

    Raises:
        HotFileError: The file cannot be read; rows and file stay as they are.
    """
    contents = tier.look()
    with db.read() as c:
        row = intents.find_tier(c, tier.namespace, tier.directory, tier.target)
        is_known = row is not None and row.file_sha == contents.sha256
        is_known = is_known and not intents.open_intents(c, tier.namespace, tier.id)
    if is_known:
        if contents.unstamped:
            _stamp(db, tier, now)
        return Reconciled()
    tier.settle()
    with db.write() as c:
        row = intents.tier_row(c, tier.namespace, tier.directory, tier.target, now)
        contents = tier.look()
        first = row.file_sha == ""
        if first:
            tier.keep_first_state(now)
        unfinished = recover(c, tier, contents.entries, new_id=new_id, now=now)
        under_way = intents.open_intents(c, tier.namespace, tier.id)
        known = memories.select(c, "hot_memories", namespace=tier.namespace, hot_tier=tier.id)
        as_known = _masked(gates)
        changes = compare(
            contents.entries,
            known,
            under_way,
            is_cold=lambda text: _cold_memory(c, tier, as_known(text)) is not None,
            is_of=_ownership(c, contents),
            as_known=as_known,
        )
        this = Pass(contents=contents, new_id=new_id, now=now, first=first, gates=gates)
        done = _apply(c, tier, changes, this)
        intents.set_file_sha(c, tier.id, contents.sha256)
    finish(db, tier, unfinished, Cause(actor=ACTOR, at=now, reason="recovered"))
    if done.changed or first:
        _stamp(db, tier, now)
    return replace(done, finished=unfinished.count)


def _masked(gates: GateOptions) -> Callable[[str], str]:
    """How the rows know the text of an entry."""

    @cache
    def masked(text: str) -> str:
        return as_kept(text, gates).content

    return masked


def _ownership(c: apsw.Connection, contents: Contents) -> Callable[[Memory, str], bool | None]:
    """Whose a text is, by the sidecar and by the earlier wordings of the rows: a copy of either may have come back."""

    @cache
    def earlier(memory: Memory) -> frozenset[object]:
        return frozenset(revision["content"] for revision in memories.revisions(c, memory))

    def is_of(memory: Memory, text: str) -> bool | None:
        meta = contents.sidecar.entries.get(entry_hash(text))
        if meta is not None and meta.id is not None:
            return meta.id == memory.id
        return True if text in earlier(memory) else None

    return is_of


def _stamp(db: Database, tier: HotTier, now: datetime) -> None:
    with db.read() as c:
        known = memories.select(c, "hot_memories", namespace=tier.namespace, hot_tier=tier.id)
    if known:  # else there may be no folder either, and a look makes none
        tier.stamp(known, now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One look at the file, and what applying its changes needs beside the rows."""

    contents: Contents
    new_id: Callable[[], str]
    now: datetime
    first: bool
    gates: GateOptions


def _apply(c: apsw.Connection, tier: HotTier, changes: HostChanges, this: Pass) -> Reconciled:
    cause = Cause(actor=ACTOR, at=this.now)
    for memory, text in changes.edited:
        kept = as_kept(text, this.gates)
        routing = _routing(kept, tier)
        fields = {"kind": routing.kind, "policy": routing.policy, "protected": routing.protected, **_of_entry(kept)}
        rows.revise(c, memory, fields, replace(cause, reason="host_edited"))
    for text in changes.added:
        _adopt(c, tier, text, this)
    # An empty file where several entries were known is what a crash of another writer leaves behind, and a file that is
    # gone was moved or not mounted. The texts stay active in the cold tier, so that nothing is forgotten for it.
    emptied = not this.contents.entries and (len(changes.removed) > 1 or not this.contents.exists)
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
    kept = as_kept(text, this.gates)
    cold = _cold_memory(c, tier, kept.content)
    if cold is not None:
        if cold.content != kept.content or kept.flags:  # the file decides the wording
            cold = rows.revise(c, cold, _of_entry(kept), cause)
        rows.move(c, cold, "hot", cause, tier=tier)
        return
    binned = memories.select(c, "binned_by_norm_hash", namespace=tier.namespace, norm_hash=norm_hash(text))
    if binned and binned[0].content == text and not kept.flags:
        rows.move(c, rows.restore(c, binned[0], cause), "hot", cause, tier=tier)
        return
    new = rows.add(c, _row_of(c, text, kept, tier, this), cause)
    vectors.queue_job(c, tier.namespace, new.seq, to_ms(this.now) or 0)


def _cold_memory(c: apsw.Connection, tier: HotTier, text: str) -> Memory | None:
    """The memory outside the hot files that has this text already, by its compared form."""
    same = memories.select(
        c, "all_active_by_norm_hash", namespaces=json.dumps([tier.namespace]), norm_hash=norm_hash(text)
    )
    cold = [memory for memory in same if memory.residence != "hot"]
    return next((memory for memory in cold if memory.content == text), cold[0] if cold else None)


def _of_entry(kept: Shown) -> dict[str, object]:
    """The fields of a row that its entry decides."""
    return {"content": kept.content, "flags": kept.flags, "file_hash": kept.file_hash}


def _row_of(c: apsw.Connection, text: str, kept: Shown, tier: HotTier, this: Pass) -> Memory:
    # A sidecar of another machine, of a lost database or of the predecessor knows more than the text alone.
    routing = _routing(kept, tier)
    meta = this.contents.sidecar.entries.get(entry_hash(text)) or EntryMeta(
        type="rule" if routing.policy in RULES else "state",
        written_at=this.now,
        origin="legacy" if this.first else "hermes",
    )
    written = min(meta.written_at, this.now)
    return Memory(
        id=meta.id if meta.id and not memories.id_taken(c, meta.id) else this.new_id(),
        namespace=tier.namespace,
        content=kept.content,
        norm_hash=norm_hash(kept.content),
        flags=kept.flags,
        file_hash=kept.file_hash,
        kind=routing.kind if kept.untrusted else meta.kind or routing.kind,
        policy=routing.policy if kept.untrusted else meta.policy or _policy(routing, meta),
        protected=() if kept.untrusted else meta.protected if meta.id else routing.protected,
        pinned=meta.pinned,
        importance=routing.importance if meta.importance is None else meta.importance,
        importance_given=meta.importance is not None,
        residence="hot",
        hot_tier=tier.id,
        target=tier.target,
        origin=meta.origin,
        session_id=meta.session_id or "",
        created_at=written,
        updated_at=max(written, min(meta.updated_at or written, this.now)),
        last_used_at=meta.last_active_at and min(meta.last_active_at, this.now),
    )


def _policy(routing: Routing, meta: EntryMeta) -> Policy:
    """The policy of a text whose sidecar says only whether it is a rule."""
    if (routing.policy in RULES) == (meta.type == "rule"):
        return routing.policy
    return "rule" if meta.type == "rule" else "fact"


def _routing(kept: Shown, tier: HotTier) -> Routing:
    routing = route(kept.content, importance=None, target=tier.target, kind=None, policy=None)
    return as_data(routing) if kept.untrusted else routing
