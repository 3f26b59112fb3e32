"""Import: what was found in files comes in by the way of every export, and old pointers find the texts behind them.

Each batch is one transaction, and whatever is there already changes nothing: an import that was killed is run again.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memorycore import intake, reply_import
from memorycore.answers_import import Imported
from memorycore.core.rooms import Rooms
from memorycore.domain.memory import Memory
from memorycore.domain.pointer import pointer
from memorycore.domain.routing import Reason
from memorycore.domain.text import entry_hash
from memorycore.errors import Conflict, HotFileError
from memorycore.hot.sidecar import EntryMeta
from memorycore.hot.tier import HotTier
from memorycore.intake import Admitted
from memorycore.lifecycle import retire, rows, turn, way_back
from memorycore.lifecycle.retire import Leaving
from memorycore.lifecycle.rows import Cause
from memorycore.reply_import import Outcome
from memorycore.store import intents, memories, queries, standing
from memorycore.transfer import hot_files, places, reading
from memorycore.transfer.found import Found, Ground, Item, OldPointer, derived_id

if TYPE_CHECKING:
    import apsw

BATCH = 64
QUESTIONS = 500
REASON = way_back.IMPORTED

Report = Callable[[int, int], None]
T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class _Run:
    """One import under way. ``behind``: the item with the text that an old pointer stands for."""

    rooms: Rooms
    cause: Cause
    dry_run: bool
    report: Report
    behind: dict[OldPointer, Item] = field(default_factory=dict["OldPointer", Item])
    seen: set[str] = field(default_factory=set[str])
    done: int = 0
    total: int = 0

    def advance(self, count: int) -> None:
        self.done += count
        self.report(self.done, self.total)


def take_over(
    rooms: Rooms, named: Sequence[Path], left_in: Iterable[Path], *, actor: str, dry_run: bool, report: Report
) -> Imported:
    """Import what the ``named`` files and folders hold; with none, what the predecessor left in folders.

    Nothing of these files is changed or locked. ``report`` is told how many records are done, and of how many.

    Raises:
        StoreError: Our own database cannot be used now.
    """
    if not dry_run:
        rooms.touch()
    options = rooms.options
    paths = places.files_of(named) if named else places.left_behind(left_in)
    ground = Ground(
        now=rooms.clock(), zone=options.timezone, trash_days=options.trash_days, log_days=options.budget.log_days
    )
    own = {os.path.realpath(tier.path) for tier in rooms.tiers.values()}
    foreign = [path for path in paths if os.path.realpath(path) not in own]
    found = reading.read_all(foreign, ground, workshop=options.data_dir)
    found += [
        Found(path=path, what="hot", items=(Item(ref=path.name, left_out="in_use"),))
        for path in paths
        if path not in foreign
    ]
    found += _own_pointers(rooms)
    run = _Run(rooms=rooms, cause=replace(rooms.cause(actor, REASON), automatic=True), dry_run=dry_run, report=report)
    found = _with_texts(run, found)
    run.total = sum(len(one.items) + len(one.pointers) for one in found)
    for old in [
        old for old in run.behind if old.is_ours and not dry_run
    ]:  # so that an undo, which goes back, ends here
        with suppress(Conflict), rooms.db.write() as c:
            _take_line(c, rooms.tiers[old.target], old, run.cause)
    outcomes = {number: _let_in(run, one) for number, one in enumerate(found)}
    for number, one in enumerate(found):
        outcomes[number] += [_pointed(run, old) for old in one.pointers]
    if not dry_run:
        rooms.settle_remote()
    return reply_import.answer(found, outcomes, options, run=run.cause.run, dry_run=dry_run)


def _own_pointers(rooms: Rooms) -> list[Found]:
    """Lines of the predecessor in files that we look after, of which nobody knows yet what they stand for."""
    found: list[Found] = []
    for target, tier in rooms.tiers.items():
        with suppress(HotFileError):  # status names it
            contents = tier.look()
            old = hot_files.old_pointers(contents.document, contents.sidecar, target, is_ours=True)
            with rooms.db.read() as c:
                known = memories.select(c, "file_memories", namespace=tier.namespace, hot_tier=tier.id)
            stubs = {memory.entry_key for memory in known if memory.residence == "stub"}
            if left := tuple(one for one in old if entry_hash(one.text) not in stubs):
                found.append(Found(path=tier.path, what="hot", pointers=left))
    return found


def _with_texts(run: _Run, found: Sequence[Found]) -> list[Found]:
    """The files with the texts behind old pointers marked as the rules that they are."""
    texts = [item for one in found if one.what in {"store", "lines"} for item in one.items]
    for old in (old for one in found for old in one.pointers):
        if (item := reading.behind(old, texts)) is not None:
            run.behind[old] = item
    behind = {id(item) for item in run.behind.values()}
    return [
        replace(one, items=tuple(reading.as_rule(item) if id(item) in behind else item for item in one.items))
        if one.what in {"store", "lines"}
        else one
        for one in found
    ]


def _let_in(run: _Run, found: Found) -> list[Outcome]:
    """Let the items of one file in, in their order."""
    outcomes: list[Outcome] = []
    size = QUESTIONS if found.what == "questions" else BATCH
    for batch in _batches(found.items, size):
        if found.what == "questions":
            outcomes += _asked(run, batch)
        else:
            outcomes += _remembered(run, batch, found.path)
        run.advance(len(batch))
    return outcomes


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch


def _remembered(run: _Run, batch: Sequence[Item], path: Path) -> list[Outcome]:
    wanted = [item.memory for item in batch if item.memory is not None]
    admitted = iter(_rehearsed(run, wanted) if run.dry_run else _admitted(run, wanted, path))
    outcomes: list[Outcome] = []
    for item in batch:
        if item.memory is None:
            outcomes.append(Outcome(item=item, becomes="left_out"))
            continue
        done = next(admitted)
        outcomes.append(reply_import.of(item, done))
        if done.recorded.outcome == "hot" and item.meta is not None and not run.dry_run:
            _weigh(run, done.recorded.memory, item.meta)
    return outcomes


def _admitted(run: _Run, wanted: Sequence[Memory], path: Path) -> list[Admitted]:
    cause = replace(run.cause, at=run.rooms.clock(), facts={"from": str(path)})
    return run.rooms.admission.admit(wanted, cause, wait_s=None, later=True) if wanted else []


def _rehearsed(run: _Run, wanted: Sequence[Memory]) -> Iterator[Admitted]:
    """What would become of each; of two that are the same, the second is known by then."""
    for memory in wanted:
        done = run.rooms.admission.rehearse(memory, run.cause)
        now = done.candidate.memory
        key = f"{now.state} {now.norm_hash} {now.scope} {now.session_id}"
        if done.recorded.outcome in {"hot", "cold", "stale"} and key in run.seen:
            done = replace(done, recorded=replace(done.recorded, outcome="known"))
        run.seen.add(key)
        yield done


def _weigh(run: _Run, memory: Memory, meta: EntryMeta) -> None:
    """Let an entry stand as its sidecar said: as much weight, used as lately, and resident no longer than a new one."""
    if meta.weight is None and meta.last_active_at is None:
        return
    now = run.cause.at
    with run.rooms.db.write() as c:
        stood = standing.of(c, memory)
        if stood is None:
            return
        weighed = min(meta.weight_at or meta.last_active_at or meta.written_at, now)
        stood = replace(
            stood,
            weight=stood.weight if meta.weight is None else meta.weight,
            weighed_at=weighed,
            touched_at=min(max(meta.last_active_at or weighed, weighed), now),
            resident_until=min(meta.resident_until or stood.resident_until, stood.resident_until),
        )
        standing.put(c, memory.namespace, memory.seq, stood)


def _asked(run: _Run, batch: Sequence[Item]) -> list[Outcome]:
    """Write questions into the log, behind its gate; one that is there already stays as it is."""
    options, namespace = run.rooms.options, run.rooms.options.namespace
    outcomes: list[Outcome] = []
    asked = [item if options.activity_log else replace(item, question=None, left_out="log_off") for item in batch]
    with run.rooms.db.rehearse() if run.dry_run else run.rooms.db.write() as c:
        for item in asked:
            text = intake.as_logged(item.question.text) if item.question else ""
            if item.question is None or not text:
                outcomes.append(Outcome(item=item, becomes="left_out"))
                continue
            is_new = queries.note_once(c, namespace, replace(item.question, text=text))
            outcomes.append(Outcome(item=item, becomes="question" if is_new else "known", text=text))
        queries.trim(c, run.cause.at, days=options.budget.log_days, kb=options.budget.log_kb)
    return outcomes


def _pointed(run: _Run, old: OldPointer) -> Outcome:
    """Let an old pointer find its text: the line stays in a file of ours, and a new one comes for that of another."""
    run.advance(1)
    item = Item(ref=old.text)
    text = run.behind.get(old)
    tier = run.rooms.tiers[old.target]
    key = text.ref if text else old.cold_id
    with run.rooms.db.read() as c:
        memory = memories.by_id(c, derived_id(f"row {key}"), (tier.namespace,)) if key else None
        if memory is None and text is not None and text.memory is not None:
            memory = intake.known(c, replace(text.memory, namespace=tier.namespace))
    if run.dry_run and memory is None and text is not None and text.memory is not None:
        return Outcome(item=item, becomes="pointer", text=text.memory.content)
    if memory is None or memory.state != "active":
        if old.is_ours and not run.dry_run:
            with run.rooms.db.write() as c:  # its text did not come in, so the line is what it was
                intents.set_file_sha(c, tier.id, intents.LOOK_AGAIN)
        return Outcome(item=replace(item, left_out="text_not_found"), becomes="left_out", text=old.text)
    if memory.residence != "cold":
        return Outcome(item=item, becomes="known", memory_id=memory.id, text=memory.content)
    if not run.dry_run:
        try:
            done = _adopt(run, tier, old, memory) if old.is_ours else _place(run, tier, memory)
        except (Conflict, HotFileError):  # somebody is at it, or the file cannot be used: the text is cold meanwhile
            done = False
        if not done:
            reasons = (Reason(code="no_room"),)
            return Outcome(item=item, becomes="known", memory_id=memory.id, text=memory.content, reasons=reasons)
    return Outcome(item=item, becomes="pointer", memory_id=memory.id, text=memory.content)


def _adopt(run: _Run, tier: HotTier, old: OldPointer, memory: Memory) -> bool:
    """Let a line of a file, a text like any other until now, be the pointer to its text. The file stays as it is."""
    cause = replace(run.cause, at=run.rooms.clock())
    with run.rooms.db.write() as c:
        _take_line(c, tier, old, cause)
        now = turn.claim(c, memory, cause.at)
        rows.move(c, now, "stub", cause, tier=tier, pointer=old.text)
    return True


def _take_line(c: "apsw.Connection", tier: HotTier, old: OldPointer, cause: Cause) -> None:
    """The line is no text of its own any more. The file is not touched; whoever reads it anew takes it in again."""
    known = memories.select(c, "file_memories", namespace=tier.namespace, hot_tier=tier.id)
    line = next((one for one in known if one.entry_key == entry_hash(old.text)), None)
    if line is not None and line.residence == "hot":
        rows.trash(c, turn.claim(c, line, cause.at), replace(cause, reason="stood_for"))


def _place(run: _Run, tier: HotTier, memory: Memory) -> bool:
    """Put a pointer of ours to a text into its file. Without room the text stays cold, as a rule that left the file."""
    cause = replace(run.cause, at=run.rooms.clock())
    if memory.hot_tier is None:
        with run.rooms.db.write() as c:
            now = turn.claim(c, memory, cause.at)
            memory = memories.update_memory(c, now, replace(now, hot_tier=tier.id, target=tier.target))
    line = pointer(memory.content, most=run.rooms.options.budget.pointer_chars, taken=tier.document().entries)
    leaving = Leaving(memory=memory, how="stub", reason=REASON, pointer=line)
    done = retire.rearrange(run.rooms.db, tier, [leaving], [], cause)
    return memory.id in done.left
