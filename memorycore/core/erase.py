"""Erasing for good: every copy of a text that is within reach goes, and the raw files are searched afterwards.

Order: out of the hot file into the bin; out of snapshots, leftovers and copies of the database; out of the history of
other memories; then the row. After that the database is written anew, its log cut, and every file searched. Whoever
dies in between has lost nothing but time: while the row is there the next run knows what to look for, and once it is
gone only the disk is left to be cleared, which any process does that comes next.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from memorycore import answers_forget
from memorycore.core import change, erase_backups, receipt
from memorycore.core.forget_many import Wanted, select
from memorycore.core.receipt import Outcome
from memorycore.core.rooms import Rooms
from memorycore.domain.memory import Memory
from memorycore.domain.pointer import is_fold, is_pointer, key_of, topics
from memorycore.domain.text import entry_hash, norm_hash, sanitise
from memorycore.errors import Conflict, HotFileError, InvalidInput, NotFound, StoreError
from memorycore.hot import scrub
from memorycore.hot.document import parse
from memorycore.hot.scrub import Unwanted
from memorycore.intake import as_kept
from memorycore.lifecycle import erasure as transition
from memorycore.lifecycle import hot, retire, turn
from memorycore.lifecycle.rows import Cause
from memorycore.lifecycle.turn import in_turn
from memorycore.store import backups, edges, erasure, queries, remote, traces
from memorycore.store.erasure import ERASED, Doomed
from memorycore.store.traces import Trace

LONGEST_WAIT_S = 5.0
MOST_AT_ONCE = 200
AT_ONCE = 10  # memories or texts in one transaction: some tenths of a second in a large store
T = TypeVar("T")
_log = logging.getLogger(__name__)
UPGRADE_COPIES = "memorycore.before-upgrade-*.db"
SNAPSHOTS = "snapshots"


@in_turn
def erase(rooms: Rooms, id_or_text: str, *, actor: str, dry_run: bool = False) -> answers_forget.Erased:
    """Erase one memory, in whatever state: the one with this id, or with exactly this text."""
    seen, memory = _meant(rooms, id_or_text)
    if memory is None:
        return receipt.candidates(change.candidates(rooms, id_or_text))
    if memory.state == "purged":
        return _finish(rooms, memory, id_or_text)
    hot.carried_over(seen, memory, None)
    return _preview(rooms, [memory]) if dry_run else _erase(rooms, [memory], actor)


@in_turn
def erase_many(rooms: Rooms, wanted: Wanted, *, actor: str, dry_run: bool = False) -> answers_forget.Erased:
    """Erase every memory that matches, in use or not.

    Raises:
        InvalidInput: Nothing says which, or they are more than ``MOST_AT_ONCE``.
    """
    rooms.touch()
    chosen = select(rooms, wanted, in_use=False)
    if len(chosen) > MOST_AT_ONCE:
        raise InvalidInput(field="--erase", why="too_many", most=MOST_AT_ONCE, value=len(chosen))
    if not chosen:
        return receipt.nothing()
    return _preview(rooms, chosen) if dry_run else _erase(rooms, chosen, actor)


def _meant(rooms: Rooms, id_or_text: str) -> tuple[Memory | None, Memory | None]:
    """The memory as it stood until now, and as it stands; a text may be that of one in the bin, or erased before."""
    given = sanitise(id_or_text).strip()
    with suppress(NotFound):
        seen = rooms.any(given)
        rooms.touch()
        return seen, rooms.any(seen.id)
    seen, memory = change.meant(rooms, given)
    if memory is not None:
        return seen, memory
    with rooms.db.read() as c:
        out_of_use = erasure.out_of_use(c, given, rooms.namespaces)
        grave = edges.tombstone(c, rooms.options.namespace, norm_hash(given))
    if out_of_use is None and grave is not None:
        with suppress(NotFound):
            out_of_use = rooms.any(grave)
    return None, out_of_use


def _look(rooms: Rooms, roots: Sequence[Memory]) -> Doomed:
    """What goes with memories; where one is masked here, also the entries in files that it stands for."""
    true_texts = [text for memory in roots if memory.flags for text in _true_texts(rooms, memory)]
    with rooms.db.read() as c:
        return erasure.look(c, roots, rooms.namespaces, also=true_texts)


def _true_texts(rooms: Rooms, memory: Memory) -> tuple[str, ...]:
    """Entries of the hot file and of its snapshots that are kept as this memory, with something masked."""
    found: dict[str, None] = {}
    files = [tier.path for tier in rooms.tiers.values()]
    files += [path for path in (rooms.options.data_dir / SNAPSHOTS).rglob("*") if path.is_file()]
    entries: dict[str, None] = {}
    for path in files:
        with suppress(HotFileError, OSError):
            entries |= dict.fromkeys(parse(path.read_bytes(), path=str(path)).entries)
    for entry in entries:
        is_its_own = entry_hash(entry) == memory.file_hash
        if is_its_own or norm_hash(as_kept(entry, rooms.options.gates).content) == memory.norm_hash:
            found[entry] = None
    return tuple(found)


def _preview(rooms: Rooms, roots: Sequence[Memory]) -> answers_forget.Erased:
    """What would go, and where the texts stand now."""
    doomed = _look(rooms, roots)
    searched = traces.search(_files(rooms), erasure.all_traces(doomed))
    with rooms.db.read() as c:
        asked, _ = queries.about(c, doomed.texts, [memory.seq for memory in doomed.memories])
    done = Outcome(roots=tuple(roots), doomed=doomed, removed=dict(doomed.counts), searched=searched)
    done.removed["questions"] = len(asked)
    done.trial = True
    return receipt.preview(done, rooms.options)


def _erase(rooms: Rooms, roots: Sequence[Memory], actor: str) -> answers_forget.Erased:
    texts = _look(rooms, roots).texts
    removed: dict[str, int] = {}
    for memory in roots:
        if memory.in_file:
            change.forget(rooms, memory.id, actor=actor)
            removed["hot_entries"] = removed.get("hot_entries", 0) + 1
    roots = [rooms.any(memory.id) for memory in roots]
    with rooms.db.read() as c:
        doomed = erasure.look(c, roots, rooms.namespaces, also=texts)
    _unfold(rooms, doomed, actor)
    removed |= _scrub_files(rooms, doomed)
    removed |= _scrub_copies(rooms, doomed)
    removed["questions"] = _forget_questions(rooms, doomed)
    unknown = rooms.remote.post.look_for(doomed.memories) if rooms.remote else frozenset[str]()
    removed["history_of_others"] = _wipe(rooms, doomed, rooms.cause(actor, "user"))
    with rooms.db.read() as c:
        left = erasure.traces_of(c, doomed)
    _let_go(rooms)
    done = Outcome(roots=tuple(roots), doomed=doomed, removed={**doomed.counts, **removed})
    done.remark = "" if doomed.passages else "too_short"
    done.copies, done.copies_unknown = _withdraw(rooms, doomed), len(unknown)
    return _verify(rooms, done, left)


def _withdraw(rooms: Rooms, doomed: Doomed) -> list[tuple[str, str]]:
    """Have the copies in the cold store elsewhere forgotten; (service, id there) of those that are still there."""
    ids = [memory.id for memory in doomed.memories]
    if rooms.remote:
        rooms.remote.post.withdraw(ids)
    with rooms.db.read() as c:
        return remote.copies_left(c, rooms.options.namespace, ids)


def _unfold(rooms: Rooms, doomed: Doomed, actor: str) -> None:
    """Take the line that stands for many pointers out of a file, where it names a topic of what is erased."""
    for tier in rooms.tiers.values():
        with suppress(HotFileError):  # the search afterwards tells what is left
            if any(_names_it(entry, doomed) for entry in tier.document().entries):
                retire.rearrange(rooms.db, tier, [], [], rooms.cause(actor, "user"), fold="")


def _names_it(entry: str, doomed: Doomed) -> bool:
    """Whether an entry is the line for many pointers and names a topic of one of these."""
    if not is_fold(entry):
        return False
    named = {key_of(topic) for text in doomed.texts if is_pointer(text) for topic in topics(text)}
    return not named.isdisjoint(map(key_of, topics(entry)))


def _forget_questions(rooms: Rooms, doomed: Doomed) -> int:
    """Take questions that speak of it out of the query log, also those that nobody has written yet."""
    rooms.uses.flush()
    rooms.uses.forget_questions()
    return queries.erase_about(rooms.db, doomed.texts, [memory.seq for memory in doomed.memories], rooms.clock())


def _wipe(rooms: Rooms, doomed: Doomed, cause: Cause) -> int:
    """Take everything out of the database: in steps, so that others can write between them.

    The rows go last, those that were named the very last: as long as one is there, who erases it again knows what to
    look for.

    Returns:
        How many pieces of the history of other memories lost the text.

    Raises:
        Conflict: Somebody has changed one of the memories since they were looked at.
    """
    blanked = 0
    for some in _in_steps(doomed.passages):
        with rooms.db.write() as c:
            blanked += erasure.blank_passages(c, doomed, some, rooms.namespaces)
    with rooms.db.write() as c:
        blanked += erasure.blank_evidence(c, doomed, rooms.namespaces)
    for some in _in_steps(doomed.memories[::-1]):
        with rooms.db.write() as c:
            for memory in some:
                now = turn.claim(c, memory, cause.at)
                if not set(erasure.wordings(c, now, rooms.namespaces)) <= {*doomed.texts, ""}:
                    raise Conflict(id=now.id, why=turn.BEING_CHANGED)
                transition.erase(c, now, cause)
            erasure.note_pending(c)
    return blanked


def _in_steps(items: Sequence[T]) -> list[Sequence[T]]:
    return [items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE)]


def _scrub_files(rooms: Rooms, doomed: Doomed) -> dict[str, int]:
    """Take the text out of sidecars, snapshots, and what dead processes left in our folders."""
    keys = {entry_hash(text) for text in doomed.texts} | {memory.entry_key for memory in doomed.memories}
    for tier in rooms.tiers.values():
        with suppress(HotFileError):  # the search afterwards tells what is left
            if keys & tier.look().sidecar.entries.keys():
                tier.prune(rooms.clock())
    hashes = doomed.hashes
    own = {holder.entry_hash for holder in doomed.holders}
    unwanted = Unwanted(
        is_copy=lambda entry: entry_hash(entry) in keys or norm_hash(entry) in hashes or _names_it(entry, doomed),
        spares=lambda entry: entry_hash(entry) in own,
        passages=doomed.passages,
        mark=ERASED,
    )
    needles = [trace.needle for trace in erasure.all_traces(doomed)]
    folders = [rooms.options.hot_dir, rooms.options.data_dir]
    return {
        "snapshots": scrub.scrub_snapshots(rooms.options.data_dir / SNAPSHOTS, unwanted),
        "leftovers": scrub.drop_leftovers(folders, lambda data: any(needle in data for needle in needles)),
        "backups": erase_backups.scrub(
            rooms.options.data_dir / backups.FOLDER, doomed, rooms.namespaces, unwanted, keys
        ),
    }


def _scrub_copies(rooms: Rooms, doomed: Doomed) -> dict[str, int]:
    """Erase from copies of the database too. One that cannot be used is found by the search, if it holds the text."""
    went = 0
    for path in sorted(rooms.options.data_dir.glob(UPGRADE_COPIES)):
        with suppress(StoreError):
            went += erasure.erase_in_copy(path, doomed, rooms.namespaces) > 0
    return {"upgrade_copies": went}


def _let_go(rooms: Rooms) -> None:
    """Let this process forget it as well: vectors that are kept, and the index of the living."""
    rooms.embedding.forget_kept()
    if rooms.index:
        with rooms.db.read() as c, rooms.index.current(c):
            pass


def _finish(rooms: Rooms, memory: Memory, given: str) -> answers_forget.Erased:
    """Finish an erasure that was interrupted, or had to wait. Who gives the text again has it searched for."""
    texts = (given,) if given != memory.id else ()
    doomed = Doomed(memories=(memory,), texts=texts)
    removed = _scrub_files(rooms, doomed) | _scrub_copies(rooms, doomed)
    removed["questions"] = _forget_questions(rooms, doomed)
    with rooms.db.write() as c:
        erasure.note_pending(c)
        left = erasure.traces_of(c, doomed)
    done = Outcome(roots=(memory,), doomed=doomed, removed=removed, remark="" if texts else "text_unknown")
    done.copies = _withdraw(rooms, doomed)
    return _verify(rooms, done, left)


def _verify(rooms: Rooms, done: Outcome, left: tuple[list[Trace], list[Trace]]) -> answers_forget.Erased:
    """Write the database anew, cut its log, and search every file."""
    done.kept_by = _clear_disk(rooms)
    free, owned = left
    files, ours = _files(rooms), _ours(rooms)
    if free or owned:
        foreign = [
            path for path in files if path not in ours and path not in {tier.path for tier in rooms.tiers.values()}
        ]
        done.searched = traces.search(files, free).together(traces.search(foreign, owned))
    return receipt.of(done, ours=ours, options=rooms.options)


def _clear_disk(rooms: Rooms) -> str:
    """Clear the disk of what was deleted; a code that says why that has to wait. Others finish it then."""
    try:
        return "" if erasure.clear_disk(rooms.db, wait_s=LONGEST_WAIT_S) else "reader_open"
    except StoreError as error:
        _log.warning("the database could not be written anew after an erasure: %s", error.code)
        return "not_rebuilt"


def _files(rooms: Rooms) -> list[Path]:
    return traces.files_below(rooms.options.data_dir, rooms.options.hot_dir)


def _ours(rooms: Rooms) -> frozenset[Path]:
    """Files that we write: what stands in one of them is not erased yet."""
    data = rooms.options.data_dir
    log = rooms.db.path.with_name(rooms.db.path.name + "-wal")
    copies = [*data.glob(UPGRADE_COPIES), *(data / SNAPSHOTS).rglob("*"), *(data / backups.FOLDER).rglob("*")]
    return frozenset({rooms.db.path, log, *copies})
