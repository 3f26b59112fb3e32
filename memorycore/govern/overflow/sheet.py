"""The sheet on which a plan is made: the file as it will stand, counted as entries leave it and others come."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memorycore.domain import pointer
from memorycore.domain.memory import Memory
from memorycore.govern.overflow.ladder import Entry
from memorycore.hot.document import DELIMITER
from memorycore.options import BudgetOptions, Thresholds
from memorycore.store.intents import How

_WORTH_A_POINTER = 8  # code points that a pointer has to save
_SHORTEST_POINTER = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a plan stands on beside the entries.

    ``needed``: code points that are about to come in, delimiters included; ``needed_rules`` of them for rules.
    ``log_on``: whether questions are logged, so that unused is known to be unused. ``in_session``: a host's prompt
    holds the file as it is, and without hard pressure nothing leaves it.
    """

    now: datetime
    limit: int
    marks: Thresholds
    budget: BudgetOptions
    state_ttl_days: float
    needed: int = 0
    needed_rules: int = 0
    log_on: bool = True
    in_session: bool = False

    @property
    def ceiling(self) -> int:
        """Code points up to which a write of ours may fill the file."""
        return self.marks.hard if self.budget.enabled else self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One entry that leaves, as what and why. ``pointer`` is what then stands in its place."""

    entry: Entry
    how: How
    reason: str
    pointer: str = ""


class Sheet:
    """The file while the plan is made: what leaves so far, by place, and what then stands in it."""

    def __init__(self, entries: Sequence[Entry], ground: Ground) -> None:
        self.entries = entries
        self.ground = ground
        self.moves: dict[int, Move] = {}
        self.line = next((entry.text for entry in entries if entry.memory is None and pointer.is_fold(entry.text)), "")
        self.fold: str | None = None
        self._pins = pinned_within(entries, limit=ground.limit, share=ground.budget.pin_share)
        texts = {entry.text for entry in entries}
        self._chars = sum(map(cost, texts))
        texts |= {entry.memory.content for entry in entries if entry.type == "stub" and entry.memory}
        self._taken = pointer.Taken(texts)
        self._stood = {
            place: cost(entry.text)
            for place, entry in enumerate(entries)
            if entry.type == "stub" and entry.standing and not _is_undone(entry, ground)
        }
        self.single_pointer_chars = sum(self._stood.values())
        self._rule_chars = sum(cost(entry.text) for entry in entries if entry.is_rule)

    @property
    def total(self) -> int:
        """Code points with what is about to come in."""
        line = 0 if self.fold is None else cost(self.fold) - cost(self.line)
        return max(0, self._chars + line + self.ground.needed - len(DELIMITER))

    @property
    def rule_chars(self) -> int:
        """Code points of rules, delimiters included, with those about to come in. No pointer pushes a rule out."""
        return self._rule_chars + self.ground.needed_rules

    @property
    def rules_fit(self) -> bool:
        """Whether no rule has to leave: the file is below its soft mark, pointers apart, or rules are in budget."""
        is_low = self.total - self.pointer_chars() <= self.ground.marks.soft
        return is_low or self.rule_chars <= self.ground.marks.rule_budget

    def movable(self) -> list[tuple[int, Entry]]:
        """The entries that may still leave, if any has to."""
        return [
            (place, entry)
            for place, entry in enumerate(self.entries)
            if place not in self.moves and place not in self._pins and entry.memory
            if not (entry.is_hidden or _is_undone(entry, self.ground))
        ]

    def pointers(self) -> list[tuple[int, datetime]]:
        """Pointers that stand in the file since an earlier run: place, and since when, the oldest first."""
        found = [
            (place, standing.retired_at or standing.touched_at)
            for place in self._stood
            if place not in self.moves and (standing := self.entries[place].standing)
        ]
        return sorted(found, key=lambda item: item[1])

    def pointer_chars(self) -> int:
        return self.single_pointer_chars + cost(self.line if self.fold is None else self.fold)

    def let_go(self, place: int, reason: str, how: How | None) -> None:
        """Plan that an entry leaves; ``how`` None: as a pointer, where one saves room."""
        entry = self.entries[place]
        text = self._pointer_for(entry) if how is None else ""
        self.moves[place] = Move(entry=entry, how=how or ("stub" if text else "cold"), reason=reason, pointer=text)
        self._taken.add(text)
        self._count(place, self.moves[place], 1)

    def point(self, place: int) -> bool:
        """Plan that an entry leaves a pointer after all, if one saves room; whether that had room in the share."""
        move = self.moves[place]
        if move.pointer or move.how != "cold":
            return True
        spare = int(self.ground.budget.pointer_share * self.ground.limit) - self.pointer_chars()
        if spare < pointer.shortest() + len(DELIMITER):
            return False
        text = self._pointer_for(move.entry, gone=True)
        if text and cost(text) <= spare:
            self._count(place, move, -1)
            self.moves[place] = replace(move, how="stub", pointer=text)
            self._taken.add(text)
            self._count(place, self.moves[place], 1)
        return not text or cost(text) <= spare

    def would_fit(self, place: int) -> bool:
        """Whether an entry that leaves finds room if it stays."""
        move = self.moves[place]
        return self.total + cost(move.entry.text) - cost(move.pointer) <= self.ground.ceiling

    def spare_for_pointers(self) -> int:
        """Code points to keep for pointers: none, unless somebody else has filled the file above its hard mark.

        A pointer pushes no rule out, as a rule; but of a file that was twice as full something should tell.
        """
        is_overfull = self.total - self.ground.needed > self.ground.ceiling
        most = int(self.ground.budget.pointer_share * self.ground.limit)
        return max(0, most - self.pointer_chars()) if is_overfull and self.ground.budget.enabled else 0

    def take_back(self, places: Iterable[int]) -> None:
        for place in places:
            self._count(place, self.moves.pop(place), -1)

    def bring(self, memory: Memory, pointer_at: int | None, *, times: int = 1) -> None:
        """Plan that a rule comes in, in the place of its pointer where that stands; ``times`` -1 takes it back."""
        freed = 0 if pointer_at is None else cost(self.entries[pointer_at].text)
        self._chars += times * (cost(memory.content) - freed)
        self._rule_chars += times * cost(memory.content)

    def _count(self, place: int, move: Move, times: int) -> None:
        self._chars -= times * (cost(move.entry.text) - cost(move.pointer))
        self.single_pointer_chars += times * (cost(move.pointer) - self._stood.get(place, 0))
        if move.entry.is_rule:
            self._rule_chars -= times * cost(move.entry.text)

    def _pointer_for(self, entry: Entry, *, gone: bool = False) -> str:
        budget = self.ground.budget
        if not budget.enabled or entry.memory is None or not entry.is_rule:
            return ""
        most = min(budget.pointer_chars, len(entry.text) - _WORTH_A_POINTER)
        if most < _SHORTEST_POINTER:
            return ""
        room = self.ground.ceiling - self.total + (0 if gone else cost(entry.text))
        if room < pointer.shortest() + len(DELIMITER):  # of a file that is far too full nearly all leave like that
            return ""
        text = pointer.pointer(entry.memory.content, most=most, taken=self._taken)
        return text if cost(text) <= room else ""


def _is_undone(entry: Entry, ground: Ground) -> bool:
    return entry.undone_until is not None and entry.undone_until > ground.now


def pinned_within(entries: Sequence[Entry], *, limit: int, share: float) -> frozenset[int]:
    """The places of pinned entries that stay: the oldest, as many as their ``share`` of ``limit`` code points holds."""
    room = room_of_pins(limit=limit, share=share)
    pinned = [(entry.memory.seq, place) for place, entry in enumerate(entries) if entry.memory and entry.memory.pinned]
    held: set[int] = set()
    for _, place in sorted(pinned):
        room -= cost(entries[place].text)
        if room >= 0:
            held.add(place)
    return frozenset(held)


def room_of_pins(*, limit: int, share: float) -> int:
    """Code points of all pinned entries that stay, delimiters included. No entry that is longer does, if all alone."""
    return int(share * limit)


def cost(text: str) -> int:
    """Code points of an entry with its delimiter."""
    return len(text) + len(DELIMITER) if text else 0
