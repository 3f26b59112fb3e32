"""What will happen to the entries of a file if nobody uses or writes anything: the plan, run on days to come."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memorycore.domain.records import is_old_record
from memorycore.govern.overflow.ladder import Entry
from memorycore.govern.overflow.plan import plan
from memorycore.govern.overflow.sheet import Ground, Move
from memorycore.store.intents import How

HORIZON_DAYS = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """What happens to an entry first: when, as what it leaves, and why."""

    at: datetime
    how: How
    reason: str


def forecast(entries: Sequence[Entry], ground: Ground, *, days: int = HORIZON_DAYS) -> dict[str, Coming]:
    """By entry text what will become of it within so many days, with one run a day, beginning now.

    Entries that are not named stay.
    """
    found: dict[str, Coming] = {}
    standing = list(entries)
    ground = replace(ground, in_session=False, needed=0, needed_rules=0)
    for day in range(days + 1):
        now = ground.now + timedelta(days=day)
        standing = [_as_of(entry, now, ground) for entry in standing]
        planned = plan(standing, replace(ground, now=now))
        for move in planned.moves:
            found.setdefault(move.entry.text, Coming(at=now, how=move.how, reason=move.reason))
        standing = _after(standing, planned.moves, planned.fold, now)
        if planned.after <= ground.marks.aim and not planned.moves:
            break
    return {entry.text: found[entry.text] for entry in entries if entry.text in found}


def _as_of(entry: Entry, now: datetime, ground: Ground) -> Entry:
    if not entry.is_rule or entry.memory is None or entry.completed:
        return entry
    return replace(entry, completed=is_old_record(entry.memory.content, now, days=ground.budget.completed_days))


def _after(entries: Sequence[Entry], moves: Sequence[Move], fold: str | None, now: datetime) -> list[Entry]:
    """The entries as a run leaves them."""
    moved = {id(move.entry): move for move in moves}
    left: list[Entry] = []
    for entry in entries:
        move = moved.get(id(entry))
        if move is None:
            if fold is None or entry.memory is not None:
                left.append(entry)
        elif move.pointer and entry.standing is not None:
            pointed = replace(entry.standing, retired_at=now, pointer=move.pointer)
            left.append(replace(entry, text=move.pointer, type="stub", standing=pointed, completed=False))
    if fold:
        left.append(Entry(text=fold, type="stub"))
    return left
