"""Bring rows and hot files into agreement after a host, an editor or a crash changed a file.

The file decides which texts are hot and how they are worded; the row decides everything else. Rows and file are
compared inside one write transaction of the store: no process of ours can begin or end a change of a file meanwhile, so
whatever differs and stands in no open intent was done by somebody else. Very many new texts get their rows in several.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, lru_cache

import apsw
from rapidfuzz import fuzz

from memorycore.domain.memory import Memory, Policy
from memorycore.domain.retention import DAY, Standing, fresh
from memorycore.domain.routing import Routing, route
from memorycore.domain.text import entry_hash, fold, holds_lines, norm_hash
from memorycore.govern import belonging, pointers
from memorycore.govern.recover import finish, recover
from memorycore.hot.files import Contents, snapshot
from memorycore.hot.sidecar import EntryMeta
from memorycore.hot.tier import HotTier
from memorycore.intake import Shown, as_data, as_kept
from memorycore.lifecycle import hot, rows
from memorycore.lifecycle.rows import Cause
from memorycore.options import GateOptions
from memorycore.store import Database, all_rows, first_row, give_way, intents, memories, standing, vectors
from memorycore.store.intents import Intent
from memorycore.store.memories import to_ms

ACTOR = "host"
RULES = frozenset({"core", "rule"})
# Below this share of common words two texts of one pass are taken for two facts, not for one edited entry.
SAME_SUBJECT = 60.0
CERTAIN = 101.0  # no likeness of words counts against it
AT_ONCE = 500  # new texts that get their rows in one transaction: a third of a second
MOST_COMPARED = 5_000_000_000  # half a second: about 400 entries that became 400 others


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """Counts of one pass.

    ``emptied``: the file lost all of several entries at once, which looks like damage. ``pointers`` that went, came or
    were worded anew. ``later``: of the texts that were added those that still lack a row.
    """

    added: int = 0
    edited: int = 0
    removed: int = 0
    finished: int = 0
    emptied: int = 0
    pointers: int = 0
    later: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.added or self.edited or self.removed or self.finished or self.emptied or self.pointers)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostChanges:
    """What somebody else did to a file: new texts, vanished rows, and rows whose wording changed.

    Of a stub, what vanished is its pointer, and what it was worded into becomes its text.
    """

    added: tuple[str, ...]
    removed: tuple[Memory, ...]
    edited: tuple[tuple[Memory, str], ...]


def compare(  # noqa: PLR0913 two sides, and what is known of a text beside its words
    entries: Sequence[str],
    known: Sequence[Memory],
    under_way: Sequence[Intent],
    *,
    is_cold: Callable[[str], bool] = lambda _: False,
    is_of: Callable[[Memory, str], bool | None] = lambda _memory, _text: None,
    as_known: Callable[[str], str] = str,
    settled: Collection[str] = (),
) -> HostChanges:
    """Diff a file against the rows by hash, leaving out every text of a change that is under way.

    One removed and one added text about the same subject are an edit; pairs are taken best first, each text once.
    ``is_cold`` tells a text that a cold memory has already: that one comes back, and no other takes its words.
    ``is_of`` knows of some texts whether they are a memory's, whatever their words are; of others it says None.
    ``as_known`` gives a text as rows know it, masked. ``settled``: hashes of entries that were looked at already.
    """
    changing = {intent.memory_id for intent in under_way}
    ours = {entry_hash(text) for intent in under_way for text in intent.texts()}
    ours |= {memory.entry_key for memory in known if memory.id in changing} | set(settled)
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
        is_known = is_known and not _without_standing(c, tier)
    if is_known:
        if contents.unstamped:
            hot.restamp(db, tier, now)
        return Reconciled()
    tier.settle()
    with db.write() as c:
        row = intents.tier_row(c, tier.namespace, tier.directory, tier.target, now)
        contents = tier.look()
        first = row.file_sha == ""
        if first:
            tier.keep_first_state(now)
        unfinished = recover(c, tier, contents.entries, new_id=new_id, now=now)
        this = Pass(
            contents=contents, new_id=new_id, now=now, first=first, gates=gates, read=_reader(tier, gates)
        )  # fmt: skip
        done = _follow(c, tier, this)
        stood = _stand(c, tier, this)
        if not done.later:
            _note(c, tier, this)
        elif not first:  # else whoever goes on after a kill has it before itself for the first time as well
            snapshot(tier.path, contents.data, folder=tier.snapshots, now=now)  # which of them were there already
            intents.set_file_sha(c, tier.id, intents.LOOK_AGAIN)
    _adopt_later(db, tier, done.later, this)
    finish(db, tier, unfinished, Cause(actor=ACTOR, at=now, reason="recovered"))
    if done.changed or first or stood:
        hot.restamp(db, tier, now)
    return replace(done, finished=unfinished.count, later=())


def _note(c: apsw.Connection, tier: HotTier, this: "Pass") -> None:
    """Rows and file agree. What somebody is at was left out of it, and may end otherwise than it looks now."""
    is_whole = not intents.open_intents(c, tier.namespace, tier.id)
    intents.set_file_sha(c, tier.id, this.contents.sha256 if is_whole else intents.LOOK_AGAIN)


def _adopt_later(db: Database, tier: HotTier, texts: Sequence[str], this: "Pass") -> None:
    """Adopt the rest of a file that came with very many new texts, some at a time, so that others get their turn.

    Whatever changed in between is for the next look, which goes on here.
    """
    for start in range(0, len(texts), AT_ONCE):
        part = texts[start : start + AT_ONCE]
        give_way()
        for text in part:  # what takes longest, while nobody waits
            this.read(text)
        with db.write() as c:
            if tier.look().sha256 != this.contents.sha256:
                return
            for text in part:
                key = {"namespace": tier.namespace, "hot_tier": tier.id, "entry_hash": entry_hash(text), "id": ""}
                if first_row(c, "other_hot_memory", key) is None:
                    _adopt(c, tier, text, this)
            _stand(c, tier, this)
            if start + AT_ONCE >= len(texts):
                _note(c, tier, this)


def _reader(tier: HotTier, gates: GateOptions) -> Callable[[str], tuple[Shown, Routing]]:
    """What is kept of an entry, and what it is."""

    @cache
    def read(text: str) -> tuple[Shown, Routing]:
        kept = as_kept(text, gates)
        return kept, _routing(kept, tier)

    return read


def _follow(c: apsw.Connection, tier: HotTier, this: "Pass") -> Reconciled:
    """Let the rows follow the file, whatever is under way left out."""
    contents, as_known = this.contents, _masked(this.gates)
    under_way = intents.open_intents(c, tier.namespace, tier.id)
    known = memories.select(c, "file_memories", namespace=tier.namespace, hot_tier=tier.id)
    found = pointers.look(c, tier, _seen(contents, known, under_way, as_known))
    ownership, were_two = belonging.by_wording(c, contents), belonging.side_by_side(tier)

    def is_of(memory: Memory, text: str) -> bool | None:
        known = found.is_of(memory, text)
        known = ownership(memory, text) if known is None else known
        return False if known is None and were_two(memory, text) else known

    changes = compare(
        contents.entries,
        known,
        under_way,
        is_cold=lambda text: _cold_memory(c, tier, as_known(text)) is not None,
        is_of=is_of,
        as_known=as_known,
        settled=found.settled,
    )
    for memory, text in found.returned:
        _take_in(c, tier, memory, as_kept(text, this.gates), Cause(actor=ACTOR, at=this.now, reason="host_added"))
    pointers.apply(c, tier, found, Cause(actor=ACTOR, at=this.now))
    done = _apply(c, tier, changes, this)
    hot.forget_pointers(c, tier, contents.entries)
    return replace(done, added=done.added + len(found.returned), pointers=done.pointers + found.count)


def _seen(
    contents: Contents, known: Sequence[Memory], under_way: Sequence[Intent], as_known: Callable[[str], str]
) -> pointers.Seen:
    """What of a look at the file is about pointers: nothing that somebody is changing."""
    changing = {intent.memory_id for intent in under_way}
    ours = {entry_hash(text) for intent in under_way for text in intent.texts()}
    ours |= {memory.entry_key for memory in known}
    present = frozenset(map(entry_hash, contents.entries))
    free = [memory for memory in known if memory.id not in changing]
    return pointers.Seen(
        stubs=[memory for memory in free if memory.residence == "stub"],
        gone=[memory for memory in free if memory.residence == "hot" and memory.entry_key not in present],
        present=present,
        new=[text for text in contents.entries if entry_hash(text) not in ours],
        sidecar=contents.sidecar,
        as_known=as_known,
    )


def _masked(gates: GateOptions) -> Callable[[str], str]:
    """How the rows know the text of an entry."""

    @cache
    def masked(text: str) -> str:
        return as_kept(text, gates).content

    return masked


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One look at the file, and what applying its changes needs beside the rows."""

    contents: Contents
    new_id: Callable[[], str]
    now: datetime
    first: bool
    gates: GateOptions
    read: Callable[[str], tuple[Shown, Routing]]


def _apply(c: apsw.Connection, tier: HotTier, changes: HostChanges, this: Pass) -> Reconciled:
    cause = Cause(actor=ACTOR, at=this.now)
    for memory, text in changes.edited:
        kept, routing = this.read(text)
        fields = {"kind": routing.kind, "policy": routing.policy, "protected": routing.protected, **_of_entry(kept)}
        edited = replace(cause, reason="host_edited")
        # Whoever words a pointer into a rule means the rule, and has it in the file.
        inside = memory if memory.residence == "hot" else rows.move(c, memory, "hot", edited, tier=tier)
        rows.revise(c, inside, fields, edited)
    for text in changes.added[:AT_ONCE]:
        _adopt(c, tier, text, this)
    # An empty file where several entries were known is what a crash of another writer leaves behind, and a file that is
    # gone was moved or not mounted. The texts stay active in the cold tier, so that nothing is forgotten for it.
    emptied = not this.contents.entries and (len(changes.removed) > 1 or not this.contents.exists)
    stubs = [memory for memory in changes.removed if memory.residence == "stub"]
    texts = [memory for memory in changes.removed if memory.residence != "stub"]
    for memory in texts:
        if emptied:
            rows.move(c, memory, "cold", replace(cause, reason=rows.FILE_EMPTIED))
        else:
            rows.trash(c, memory, replace(cause, reason="host_removed"))
    pointers.drop(c, stubs, cause)
    return Reconciled(
        added=len(changes.added),
        edited=len(changes.edited),
        removed=0 if emptied else len(texts),
        emptied=len(texts) if emptied else 0,
        pointers=len(stubs),
        later=changes.added[AT_ONCE:],
    )


def _without_standing(c: apsw.Connection, tier: HotTier) -> list[int]:
    found = all_rows(c, "lacks_standing", {"namespace": tier.namespace, "hot_tier": tier.id})
    return [int(seq) for (seq,) in found]


def _stand(c: apsw.Connection, tier: HotTier, this: Pass) -> bool:
    """Write down how entries stand that nobody has a standing of: as their sidecar says, else as new."""
    seqs = _without_standing(c, tier)
    for memory in memories.by_seq(c, seqs, (tier.namespace,)).values():
        meta = this.contents.sidecar.entries.get(memory.entry_key)
        standing.put(c, tier.namespace, memory.seq, _as_stamped(meta, tier, this))
    return bool(seqs)


def _as_stamped(meta: EntryMeta | None, tier: HotTier, this: Pass) -> Standing:
    """How an entry stands by its sidecar; at first contact it stays as long as a new one."""
    new = fresh(this.now, resident_days=tier.resident / DAY)
    if meta is None:
        return new
    until = None if this.first else meta.resident_until
    # The predecessor's weight fades from the last use on, of which it notes no other time.
    used = meta.last_active_at if meta.weight is not None else None
    weighed = min(meta.weight_at or used or meta.written_at, this.now)
    return replace(
        new,
        weight=new.weight if meta.weight is None else meta.weight,
        weighed_at=weighed,
        touched_at=min(max(meta.last_active_at or weighed, weighed), this.now),
        resident_until=min(until or new.resident_until, new.resident_until),
    )


def _adopt(c: apsw.Connection, tier: HotTier, text: str, this: Pass) -> None:
    """Give a text that somebody wrote into the file its row: a cold or binned one with these words, or a new one."""
    cause = Cause(actor=ACTOR, at=this.now, reason="first_contact" if this.first else "host_added")
    kept, _ = this.read(text)
    cold = _cold_memory(c, tier, kept.content)
    if cold is not None:
        _take_in(c, tier, cold, kept, cause)
        return
    binned = memories.select(c, "binned_by_norm_hash", namespace=tier.namespace, norm_hash=norm_hash(text))
    if binned and binned[0].content == text and not kept.flags:
        rows.move(c, rows.restore(c, binned[0], cause), "hot", cause, tier=tier)
        return
    new = rows.add(c, _row_of(c, text, tier, this), cause)
    vectors.queue_job(c, tier.namespace, new.seq, to_ms(this.now) or 0)


def _take_in(c: apsw.Connection, tier: HotTier, memory: Memory, kept: Shown, cause: Cause) -> None:
    """Let a memory that is outside be hot, in the words that stand in the file."""
    inside = rows.move(c, memory, "hot", cause, tier=tier)
    if inside.content != kept.content or kept.flags:
        rows.revise(c, inside, _of_entry(kept), cause)


def _cold_memory(c: apsw.Connection, tier: HotTier, text: str) -> Memory | None:
    """The memory outside the hot files that has this text already, by its compared form.

    Not one of which a pointer stands in another file: that pointer would stand for nothing then.
    """
    same = memories.select(
        c, "all_active_by_norm_hash", namespaces=json.dumps([tier.namespace]), norm_hash=norm_hash(text)
    )
    cold = [one for one in same if one.residence == "cold" or (one.residence == "stub" and one.hot_tier == tier.id)]
    return next((memory for memory in cold if memory.content == text), cold[0] if cold else None)


def _of_entry(kept: Shown) -> dict[str, object]:
    """The fields of a row that its entry decides."""
    return {"content": kept.content, "flags": kept.flags, "file_hash": kept.file_hash}


def _row_of(c: apsw.Connection, text: str, tier: HotTier, this: Pass) -> Memory:
    # A sidecar of another machine, of a lost database or of the predecessor knows more than the text alone.
    kept, routing = this.read(text)
    meta = this.contents.sidecar.entries.get(entry_hash(text))
    if meta is None or meta.type == "stub":  # a pointer to what is not here is a text like any other
        meta = EntryMeta(
            type="rule" if routing.policy in RULES else "state",
            written_at=this.now,
            origin="legacy" if this.first else "hermes",
        )
    written = min(meta.written_at, this.now)
    updated = max(written, min(meta.updated_at or written, this.now))
    used = min(meta.last_active_at or updated, this.now)
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
        updated_at=updated,
        last_used_at=used if used > updated else None,
    )


def _policy(routing: Routing, meta: EntryMeta) -> Policy:
    """The policy of a text whose sidecar says only whether it is a rule."""
    if (routing.policy in RULES) == (meta.type == "rule"):
        return routing.policy
    return "rule" if meta.type == "rule" else "fact"


def _routing(kept: Shown, tier: HotTier) -> Routing:
    routing = route(kept.content, importance=None, target=tier.target, kind=None, policy=None)
    return as_data(routing) if kept.untrusted else routing
