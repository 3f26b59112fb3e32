"""What leaves a hot file, in which order and as what: planned on values, nothing is touched.

The same plan serves the overflow, its dry run, and the forecast of the audit, which runs it on days to come.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memorycore.domain import pointer
from memorycore.domain.memory import Memory
from memorycore.domain.retention import days_since
from memorycore.govern.overflow.ladder import (
    RULES,
    UNUSED,
    Entry,
    Pressure,
    Signal,
    is_sinking,
    pressure_of,
    signals,
    weight_of,
)
from memorycore.govern.overflow.sheet import Ground, Move, Sheet, cost
from memorycore.hot.document import size
from memorycore.store.intents import How

_MOST_IN_VAIN = 20
"""Of rules in a row this many are asked for a pointer that has room; of the others none is likely to be shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done with one file. Sizes are code points without what is about to come in.

    ``fold``: the folded line as it shall be, empty for none, None when it stays as it is. ``fits``: whether what comes
    in has room then. ``deferred``: what would leave but for a running session.
    """

    moves: tuple[Move, ...] = ()
    fold: str | None = None
    before: int = 0
    after: int = 0
    pressure: Pressure = "none"
    fits: bool = True
    aim_reached: bool = True
    deferred: tuple[Move, ...] = ()

    def texts_after(self, entries: Sequence[Entry]) -> list[str]:
        """The entries of the file as this plan leaves them."""
        moved = {id(move.entry): move.pointer for move in self.moves}
        kept = [moved.get(id(entry), entry.text) for entry in entries]
        if self.fold is not None:
            kept = [text for text in kept if not pointer.is_fold(text)] + [self.fold]
        return [text for text in kept if text]


def plan(entries: Sequence[Entry], ground: Ground) -> Plan:
    """Plan one run.

    What was for a session only leaves after it. Other status lines, states past their time and what the cold tier has
    leave towards the aim; rules leave only down to the rule budget, the lightest first. Under hard pressure more
    leaves, least necessary first, until what comes in fits; where that cannot be, none of it leaves in vain.
    """
    full = _planned(entries, ground, towards=ground.marks.aim, at_rest=True)
    if not ground.in_session:
        return full
    least = _planned(entries, ground, towards=ground.ceiling, at_rest=False)
    leaving = {id(move.entry) for move in least.moves}
    return Plan(
        moves=least.moves, fold=least.fold, before=least.before, after=least.after, pressure=least.pressure,
        fits=least.fits, aim_reached=least.aim_reached,
        deferred=tuple(move for move in full.moves if id(move.entry) not in leaving),
    )  # fmt: skip


def _planned(entries: Sequence[Entry], ground: Ground, *, towards: int, at_rest: bool) -> Plan:
    """``at_rest``: as if no session were at work, whose prompt holds the file."""
    sheet = Sheet(entries, ground)
    pressure = pressure_of(sheet.total, ground.marks)
    if at_rest:
        _let_go(sheet, _passing(sheet), until=lambda: False)
    _let_go(sheet, _cheap(sheet, pressure), until=lambda: sheet.total <= towards)
    if at_rest and ground.budget.enabled and ground.log_on:
        _keep_the_rule_budget(sheet)
    if sheet.total > ground.ceiling:
        _make_it_fit(sheet)
    _fold(sheet)
    return Plan(
        moves=tuple(sheet.moves.values()),
        fold=sheet.fold,
        before=size([entry.text for entry in entries]),
        after=sheet.total - ground.needed,
        pressure=pressure,
        fits=sheet.total <= ground.ceiling,
        aim_reached=sheet.total - ground.needed <= ground.marks.aim,
    )


Candidates = Iterable[tuple[int, str, How | None]]  # place, reason, and as what; None: a pointer, where that helps


def _all(entries: Iterable[tuple[int, Entry]], reason: str, how: How | None) -> Candidates:
    return ((place, reason, how) for place, _ in entries)


def _let_go(sheet: Sheet, candidates: Candidates, *, until: Callable[[], bool]) -> None:
    for place, reason, how in candidates:
        if until():
            return
        sheet.let_go(place, reason, how)


def _passing(sheet: Sheet) -> Candidates:
    """What a host wrote that was for the session only."""
    passing = [(place, entry) for place, entry in sheet.movable() if entry.passing]
    yield from ((place, *_as_pressed(entry, "session_over")) for place, entry in passing)


def _cheap(sheet: Sheet, pressure: Pressure) -> Candidates:
    """What leaves first: nobody needs it in the prompt."""
    ground = sheet.ground
    open_entries = [(place, entry) for place, entry in sheet.movable() if not _is_found(entry, ground)]
    yield from _all((one for one in open_entries if one[1].stale), "stale", "bin")
    states = [(place, entry) for place, entry in open_entries if entry.is_state and not entry.stale]
    yield from _all((one for one in states if one[1].twin), "same", "bin")
    for place, entry in sorted(states, key=lambda one: _written(one[1])):
        if not entry.twin and _age_days(entry, ground) >= ground.state_ttl_days:
            yield place, "state_expired", "cold"
    if pressure == "none":
        return
    for place, entry in open_entries:
        told = _signals(entry, ground)
        if "redundant" in told:
            yield place, "redundant", "bin"
        elif "completed" in told and not _is_resident(entry, ground):
            yield place, "completed", "cold"


def _keep_the_rule_budget(sheet: Sheet) -> None:
    """Rules that are light and unused leave while the file is above its soft mark; only some in one run.

    What is in use stays until the room is needed: an evicted rule costs more than some characters of a prompt.
    """
    ground = sheet.ground
    sinking = [one for one in _lightest(sheet) if is_sinking(one[1], ground.now, ground.budget)]
    for place, entry in sinking[: ground.budget.most_evicted]:
        if sheet.rules_fit:
            return
        sheet.let_go(place, "idle" if "idle" in _signals(entry, ground) else "evicted", None)


def _make_it_fit(sheet: Sheet) -> None:
    """Hard pressure: more leaves until what comes in fits. What would leave in vain stays."""
    before = set(sheet.moves)
    spare = sheet.spare_for_pointers()
    _let_go(sheet, _under_pressure(sheet), until=lambda: sheet.total <= sheet.ground.ceiling - spare)
    left = [place for place in sheet.moves if place not in before]
    if sheet.total > sheet.ground.ceiling and sheet.ground.needed:
        sheet.take_back(left)
    elif spare:
        _point_to_the_last(sheet, left)


def _point_to_the_last(sheet: Sheet, left: Sequence[int]) -> None:
    """Of many that leave at once those that weigh most leave a pointer, and stay where there is room for it."""
    in_vain = 0
    for place in reversed(left):
        in_vain = 0 if sheet.point(place) else in_vain + 1
        if in_vain == _MOST_IN_VAIN:
            break
    for place in reversed(left):
        if sheet.would_fit(place):
            sheet.take_back([place])


def _under_pressure(sheet: Sheet) -> Candidates:
    """States, old pointers, facts, rules that no question was about, then by weight; what is new comes last."""
    ground, budget = sheet.ground, sheet.ground.budget
    free = [(place, entry) for place, entry in sheet.movable() if not _is_resident(entry, ground)]
    states = sorted((one for one in free if one[1].is_state), key=lambda one: _written(one[1]))
    yield from ((place, *_as_pressed(entry)) for place, entry in states)
    for place, since in sheet.pointers():
        if days_since(since, ground.now) >= budget.pointer_rest_days:
            yield place, "pointer_folded", "cold"
    if not budget.enabled:
        return
    lightest = _lightest(sheet)
    yield from _all((one for one in lightest if one[1].by_use), "room", None)
    rules = [one for one in lightest if not one[1].by_use]
    dormant = [one for one in rules if _signals(one[1], ground) & UNUSED][: budget.most_evicted]
    yield from _all(dormant, "dormant", None)
    yield from _all((one for one in rules if one not in dormant), "room", None)
    if not ground.needed:  # a file that somebody else filled presses, but nobody waits
        return
    resident = [(place, entry) for place, entry in sheet.movable() if _is_resident(entry, ground)]
    for place, entry in sorted(resident, key=lambda one: _residency_order(one[1])):
        yield place, *_as_pressed(entry)


def _as_pressed(entry: Entry, reason: str = "room") -> tuple[str, How | None]:
    """Why and as what an entry leaves that is in the way: a finished status line is one all the same."""
    if entry.stale:
        return "stale", "bin"
    if not entry.is_state:
        return reason, None
    return ("same", "bin") if entry.twin else (reason, "cold")


def _lightest(sheet: Sheet) -> list[tuple[int, Entry]]:
    """Rules that may leave, the lightest for the room that it takes first; before them facts that are there by use.

    A question finds a fact wherever it is, and hardly ever a rule, which works only where it is read.
    Where items differ in size, what a cache keeps best is value per unit of size (GreedyDual-Size, Cao and Irani 1997).
    """
    ground = sheet.ground
    rules = [one for one in sheet.movable() if one[1].is_rule and not _is_resident(one[1], ground)]

    def lightness(one: tuple[int, Entry]) -> tuple[bool, bool, float, int]:
        place, entry = one
        is_needed = entry.needed_until is not None and ground.now < entry.needed_until
        return not entry.by_use, is_needed, weight_of(entry, ground.now, ground.budget) / cost(entry.text), place

    return sorted(rules, key=lightness)


def _fold(sheet: Sheet) -> None:
    """Pointers beyond their share become one line, the oldest first; so do those that left for room."""
    ground = sheet.ground
    most = int(ground.budget.pointer_share * ground.limit)
    old = sheet.pointers()
    while True:
        if old and sheet.single_pointer_chars > most:  # whatever the line says
            sheet.let_go(old.pop(0)[0], "pointer_folded", "cold")
            continue
        gone = [move.entry.text for move in sheet.moves.values() if move.entry.type == "stub"]
        if gone:
            sheet.fold = _folded(sheet, gone)
        if not old or sheet.pointer_chars() <= most:
            break
        sheet.let_go(old.pop(0)[0], "pointer_folded", "cold")
    if sheet.fold and (sheet.total > ground.ceiling or sheet.pointer_chars() > most):
        sheet.fold = ""


def _folded(sheet: Sheet, gone: Sequence[str]) -> str:
    """The line for pointers that go, the newest first, and for those that it stood for before."""
    lines = [*reversed(gone), *([sheet.line] if sheet.line else [])]
    return pointer.fold(lines, most=sheet.ground.budget.pointer_chars)


def _signals(entry: Entry, ground: Ground) -> frozenset[Signal]:
    return signals(entry, ground.now, ground.budget, log_on=ground.log_on)


def _is_resident(entry: Entry, ground: Ground) -> bool:
    if entry.standing is None or entry.type == "stub" or entry.by_use:
        return False
    return entry.standing.resident_until > ground.now


def _is_found(entry: Entry, ground: Ground) -> bool:
    """Whether it was in the file when we first saw it, not long ago: then nothing moves it but hard pressure."""
    return entry.memory is not None and entry.memory.origin == "legacy" and _is_resident(entry, ground)


def _residency_order(entry: Entry) -> tuple[object, ...]:
    standing, memory = entry.standing, entry.memory
    if standing is None or memory is None:
        return (True,)
    order = (standing.resident_until, standing.touched_at, memory.importance, -len(entry.text))
    return not entry.is_state, not entry.stale, *order


def _written(entry: Entry) -> datetime:
    assert entry.memory is not None  # noqa: S101 only entries with a row are candidates
    return max(entry.memory.created_at, entry.memory.updated_at)


def _age_days(entry: Entry, ground: Ground) -> float:
    return days_since(_written(entry), ground.now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Return:
    """Retired memories that come back into a file, and what leaves for them."""

    coming: tuple[Memory, ...] = ()
    moves: tuple[Move, ...] = ()
    fold: str | None = None


def plan_return(entries: Sequence[Entry], wanted: Sequence[tuple[Memory, float]], ground: Ground) -> Return:
    """Plan which memories, each with its effective weight, come back: the likeliest first, at most ``most_restored``.

    One finds room under the ceiling, or takes it from lighter rules that may leave; else it stays cold.
    """
    sheet = Sheet(entries, ground)
    places = {entry.memory.id: place for place, entry in enumerate(entries) if entry.memory and entry.type == "stub"}
    likeliest = wanted[: ground.budget.most_restored]
    coming = [memory for memory, weight in likeliest if _takes_room(sheet, memory, weight, places.get(memory.id))]
    if any(move.entry.type == "stub" for move in sheet.moves.values()):
        _fold(sheet)
    back = {memory.id for memory in coming}
    moves = tuple(move for move in sheet.moves.values() if move.entry.memory and move.entry.memory.id not in back)
    return Return(coming=tuple(coming), moves=moves, fold=sheet.fold)


def _takes_room(sheet: Sheet, memory: Memory, weight: float, pointer_at: int | None) -> bool:
    ground = sheet.ground
    evicted: list[int] = []
    sheet.bring(memory, pointer_at)
    for place, reason, how in _yielding(sheet, memory, weight, pointer_at):
        if sheet.total <= ground.ceiling:
            break
        sheet.let_go(place, reason, how)
        evicted.append(place)
    if sheet.total <= ground.ceiling:
        return True
    sheet.take_back(evicted)
    sheet.bring(memory, pointer_at, times=-1)
    return False


def _yielding(sheet: Sheet, memory: Memory, weight: float, pointer_at: int | None) -> Candidates:
    """What makes room for what comes back: states and old pointers, then facts, then rules that together weigh less.

    For a fact only facts do that together weigh less.
    """
    ground = sheet.ground
    states = [one for one in sheet.movable() if one[1].is_state and not _is_resident(one[1], ground)]
    yield from ((place, *_as_pressed(entry)) for place, entry in sorted(states, key=lambda one: _written(one[1])))
    for place, since in sheet.pointers():
        if place != pointer_at and days_since(since, ground.now) >= ground.budget.pointer_rest_days:
            yield place, "pointer_folded", "cold"
    is_rule = memory.policy in RULES
    for place, entry in _lightest(sheet):
        if not (is_rule and entry.by_use):
            weight -= weight_of(entry, ground.now, ground.budget)
        if weight <= 0 or not (is_rule or entry.by_use):
            return
        yield place, "yielded", None
