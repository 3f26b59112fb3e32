"""Overflow: room in the hot files, on demand, on schedule and before a write; and rules that come back.

Everything is planned first (``govern.overflow``). What leaves, what comes back and what is new go into a file in one
write, which removes only what is still there unchanged.
"""

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from memorycore import answers_overflow, reply_overflow
from memorycore.core import model_rounds
from memorycore.core.remote import ROUND_S, SOON_S
from memorycore.core.rooms import Rooms
from memorycore.core.tidy import Merged, merge_alike
from memorycore.domain.memory import Memory, Target
from memorycore.errors import Conflict, HotFileError, MemoryCoreError, StoreError
from memorycore.govern import activity
from memorycore.govern.overflow.gather import entries_of
from memorycore.govern.overflow.ladder import RULES, Entry
from memorycore.govern.overflow.plan import Plan, plan
from memorycore.govern.overflow.sheet import Ground, Move
from memorycore.hot.document import DELIMITER, size
from memorycore.hot.tier import HotTier
from memorycore.intake import Room
from memorycore.lifecycle import retire, rows, turn
from memorycore.lifecycle.retire import Leaving, Rearranged
from memorycore.lifecycle.rows import Cause
from memorycore.store import sessions

ACTOR = "overflow"
FOLDED = "pointer_folded"
SCAN_S = 5.0  # nobody waits for it but who asked for a run
SCAN_AT_END_S = 0.2
TEND_EVERY_S = 600.0
NEXT_WRITE = 203  # code points of an entry that a host may write next, with its delimiter
_log = logging.getLogger(__name__)


def overflow(rooms: Rooms, target: Target | None = None, *, dry_run: bool = False) -> answers_overflow.Overflown:
    """One run over the hot files, or over one: what left or would leave, and why."""
    rooms.touch()
    scanned = activity.Scanned() if dry_run else rooms.scan_activity(timeout_s=SCAN_S)
    cause = replace(rooms.cause(ACTOR, "overflow"), automatic=True)
    tiers = [tier for name, tier in rooms.tiers.items() if target in {None, name}]
    runs = [_run(rooms, tier, cause, dry_run=dry_run) for tier in tiers]
    if not dry_run:
        runs = _with_shorter_texts(rooms, runs)
    no_model = "" if dry_run else rooms.no_model
    return reply_overflow.overflown(runs, scanned, rooms.options, dry_run=dry_run, no_model=no_model)


def tend(rooms: Rooms, *, at_end: bool = False, headroom: int = 0) -> None:
    """What a process that lives long does now and then, and when it ends: read what was asked, and let go what may.

    While a session runs, nothing leaves here; what its prompt holds leaves when it is over. From a file below its soft
    mark only that leaves which was for a session. Nothing waits for it.
    ``headroom``: code points that somebody else is about to put into a file above its soft mark; that much leaves.
    """
    rooms.limits.follow()
    now_s = time.monotonic()
    is_due = at_end or now_s - rooms.tended_at >= TEND_EVERY_S
    if not is_due and not any(_is_refused_next(rooms, tier) for tier in rooms.tiers.values()):
        return
    rooms.tended_at = now_s
    try:
        rooms.scan_activity(timeout_s=SCAN_AT_END_S if at_end else SCAN_S)
        for tier in rooms.tiers.values():
            _tend(rooms, tier, headroom)
    except (StoreError, HotFileError, Conflict) as error:
        _log.info("the hot files were not tended: %s", error.code)


def _tend(rooms: Rooms, tier: HotTier, headroom: int) -> None:
    contents = tier.look()
    chars = size(contents.entries)
    ground = replace(ground_of(rooms, tier), needed=headroom or _next_of_host(rooms, tier, chars))
    is_low = chars <= ground.marks.soft
    if not contents.exists or (is_low and ground.in_session) or (headroom and _has_room(rooms, ground, tier, chars)):
        return
    entries = _entries(rooms, tier)
    if is_low and not any(entry.passing for entry in entries):
        return
    planned, _ = _with_copies(rooms, plan(entries, ground), limit_s=ROUND_S)
    _act(rooms, tier, planned, replace(rooms.cause(ACTOR, "overflow"), automatic=True))
    rooms.room_made[tier.target] = size(tier.document().entries)


def _next_of_host(rooms: Rooms, tier: HotTier, chars: int) -> int:
    """Code points to leave for the next entry of a host, where it would be refused else, whoever filled the file."""
    return NEXT_WRITE if rooms.options.hermes_home and chars + NEXT_WRITE > tier.limit else 0


def _is_refused_next(rooms: Rooms, tier: HotTier) -> bool:
    """Whether a host that writes next would find no room now."""
    with suppress(HotFileError):
        return _next_of_host(rooms, tier, size(tier.look().entries)) > 0
    return False


def _has_room(rooms: Rooms, ground: Ground, tier: HotTier, chars: int) -> bool:
    """Whether room was made for this host before, and little came in since: each change costs it its prompt's cache."""
    last = rooms.room_made.get(tier.target)
    if last is None or chars + ground.needed > tier.limit:
        return False
    return chars <= last + rooms.options.budget.room_step * tier.limit


def _with_shorter_texts(rooms: Rooms, runs: Sequence[reply_overflow.Run]) -> list[reply_overflow.Run]:
    """The runs with what a language model then said in fewer words, where one is asked at all."""
    found = model_rounds.after_overflow(rooms, [(run.tier, run.run) for run in runs if run.problem is None])
    return [
        replace(run, shortened=tuple(one.done), refused=one.refused, usage=one.usage)
        if (one := found.get(run.tier.target)) is not None
        else run
        for run in runs
    ]


def room_for(rooms: Rooms, target: Target, coming: Sequence[Memory]) -> Room:
    """What has to leave a file for memories that are about to go into it. Planned only; the write itself does it."""
    tier = rooms.tiers[target]
    now = rooms.clock()
    with rooms.db.read() as c:
        entries = entries_of(c, tier, tier.document().entries, rooms.options, now)
    planned, _ = _with_copies(rooms, plan(entries, ground_of(rooms, tier, coming)), limit_s=SOON_S)
    return Room(leaving=tuple(map(leaving, planned.moves)), fold=planned.fold, fits=planned.fits)


def ground_of(rooms: Rooms, tier: HotTier, coming: Sequence[Memory] = ()) -> Ground:
    """What a plan for this file stands on now."""
    options, now = rooms.options, rooms.clock()
    with rooms.db.read() as c:
        idle = timedelta(minutes=options.budget.session_idle_minutes)
        in_session = rooms.uses.at_work(idle) or sessions.running(c, tier.namespace, now, idle)
    return Ground(
        now=now,
        limit=tier.limit,
        marks=tier.marks,
        budget=options.budget,
        state_ttl_days=options.state_ttl_days,
        needed=sum(len(memory.content) + len(DELIMITER) for memory in coming),
        needed_rules=sum(len(memory.content) + len(DELIMITER) for memory in coming if memory.policy in RULES),
        log_on=options.activity_log,
        in_session=in_session,
    )


def leaving(move: Move) -> Leaving:
    """A planned move as the transition that does it."""
    memory = move.entry.memory
    assert memory is not None  # noqa: S101 a plan moves only what has a row
    twin = {"as": move.entry.twin} if move.entry.twin and move.how == "bin" else {}
    reason = "same" if twin else move.reason
    return Leaving(memory=memory, how=move.how, reason=reason, pointer=move.pointer, facts=twin)


def _run(rooms: Rooms, tier: HotTier, cause: Cause, *, dry_run: bool) -> reply_overflow.Run:
    ground = ground_of(rooms, tier)
    try:
        found = _entries(rooms, tier)
        ground = replace(ground, needed=_next_of_host(rooms, tier, size([entry.text for entry in found])))
        merged = merge_alike(rooms, tier, ground, cause, dry_run=dry_run)
        entries = _without(found, merged) if dry_run else _entries(rooms, tier)
        planned, unconfirmed = plan(entries, ground), 0
        if not dry_run:
            planned, unconfirmed = _with_copies(rooms, planned, limit_s=ROUND_S)
        done = None if dry_run else _act(rooms, tier, planned, cause)
    except HotFileError as error:
        return reply_overflow.Run(tier=tier, problem=error)
    return reply_overflow.Run(
        tier=tier, found=found, entries=entries, plan=planned,
        merged=[(one.gone, one.kept, one.relation) for one in merged], done=done, run=cause.run,
        errors=0 if done is None else _unverified(rooms, tier, planned, done), unconfirmed=unconfirmed,
    )  # fmt: skip


def _with_copies(rooms: Rooms, planned: Plan, *, limit_s: float) -> tuple[Plan, int]:
    """The plan without entries of which the cold store elsewhere has no copy yet, and how many these are.

    Under hard pressure the row here is the copy, and the service is owed its own.
    """
    if rooms.remote is None or planned.pressure == "hard":
        return planned, 0
    going = [move.entry.memory for move in planned.moves if move.how != "bin" and move.entry.memory is not None]
    confirmed = rooms.remote.confirm(going, limit_s=limit_s)
    missing = {memory.id for memory in going} - confirmed
    if not missing:
        return planned, 0
    moves = [move for move in planned.moves if move.entry.memory is None or move.entry.memory.id not in missing]
    # The one line for many pointers names all of them: it is not written while one of them stays.
    moves = [move for move in moves if move.reason != FOLDED]
    return replace(planned, moves=tuple(moves), fold=None), len(missing)


def _entries(rooms: Rooms, tier: HotTier) -> list[Entry]:
    with rooms.db.read() as c:
        return entries_of(c, tier, tier.document().entries, rooms.options, rooms.clock())


def _without(entries: Sequence[Entry], merged: Sequence[Merged]) -> list[Entry]:
    """The entries that a trial leaves: one of two that say the same is gone by then."""
    gone = {one.gone.id for one in merged}
    return [entry for entry in entries if entry.memory is None or entry.memory.id not in gone]


def _act(rooms: Rooms, tier: HotTier, planned: Plan, cause: Cause) -> Rearranged | None:
    if not planned.moves and planned.fold is None:
        return None
    _retype(rooms, [move.entry.memory for move in planned.moves if move.reason == "completed"], cause)
    return retire.rearrange(rooms.db, tier, list(map(leaving, planned.moves)), [], cause, fold=planned.fold)


def _retype(rooms: Rooms, records: Sequence[Memory | None], cause: Cause) -> None:
    """An old record that was typed as a rule is one of something that was done."""
    for memory in records:
        with suppress(Conflict), rooms.db.write() as c:  # somebody is at it; the next run looks again
            if memory is not None:
                now = turn.claim(c, memory, cause.at)
                rows.revise(c, now, {"policy": "fact", "protected": ()}, replace(cause, reason="completed"))


def _unverified(rooms: Rooms, tier: HotTier, planned: Plan, done: Rearranged) -> int:
    """How many of the entries that left are not where the plan sent them: nowhere, or in two places."""
    present = set(tier.document().entries)
    wrong = 0
    for move in planned.moves:
        memory = move.entry.memory
        if memory is None or memory.id not in done.left:
            continue
        try:
            now = rooms.any(memory.id)
        except MemoryCoreError:
            wrong += 1
            continue
        is_kept = now.state == "trashed" if move.how == "bin" else now.state == "active" and now.residence == move.how
        wrong += not is_kept or (move.entry.text in present and now.residence != "hot")
    return wrong
