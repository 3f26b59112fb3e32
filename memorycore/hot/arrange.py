"""What a hot file becomes when entries leave it and others come: one new state for one write. All of it is pure."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from memorycore.domain.text import entry_hash
from memorycore.hot.document import DELIMITER, size


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaves:
    """An entry that goes, by its hash; ``pointer`` takes its place, if any."""

    id: str
    key: str
    pointer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comes:
    """A text that goes to the end, or into the place of the entry with the hash ``instead`` where that stands."""

    id: str
    text: str
    instead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What shall happen to a file. ``fold``: the one line that stands for many pointers, None to leave it as it is.

    ``stale``: hashes of pointers, each with the hash of the entry beside which nobody needs it. ``ceiling``: code
    points above which nothing that is new makes the file longer. ``is_fold`` tells the line that stands for pointers.
    """

    leaving: Sequence[Leaves] = ()
    coming: Sequence[Comes] = ()
    fold: str | None = None
    stale: Mapping[str, str] = field(default_factory=dict[str, str])
    ceiling: int
    is_fold: Callable[[str], bool]


@dataclass(slots=True, kw_only=True)
class Arranged:
    """``left``: ids whose entry was there and goes; ``pointed``: those of them whose pointer stands in its place."""

    entries: list[str]
    left: set[str] = field(default_factory=set[str])
    pointed: set[str] = field(default_factory=set[str])


def arrange(entries: Sequence[str], wish: Wish) -> Arranged:
    """The entries as they shall stand. What is not exactly there is left alone; what finds no room stays out."""
    done = _leave(without_stale(entries, wish.stale), wish.leaving, wish.ceiling)
    if wish.fold is not None:
        _fold(done, wish, wish.fold)
    for item in wish.coming:
        _come(done, item, wish.ceiling)
    return done


def without_stale(entries: Sequence[str], stale: Mapping[str, str]) -> list[str]:
    """The entries without pointers to others of them."""
    if not stale:
        return list(entries)
    keys = set(map(entry_hash, entries))
    return [entry for entry in entries if stale.get(entry_hash(entry)) not in keys]


def _leave(entries: Sequence[str], leaving: Sequence[Leaves], ceiling: int) -> Arranged:
    """The entries without those that leave, one after the other; a file may have tens of thousands."""
    done = Arranged(entries=[])
    slots: list[str | None] = list(entries)
    places: dict[str, int] = {}
    for place, entry in enumerate(entries):
        places.setdefault(entry_hash(entry), place)
    present, chars = Counter(entries), size(entries)
    for item in leaving:
        place = places.pop(item.key, None)
        if place is None or (entry := slots[place]) is None:
            continue
        slots[place] = None
        done.left.add(item.id)
        present[entry] -= 1
        chars -= len(entry) + len(DELIMITER)
        if not item.pointer or present[item.pointer]:
            continue
        needed = len(item.pointer) + len(DELIMITER)
        if len(item.pointer) <= len(entry) or chars + needed <= ceiling:
            slots[place] = item.pointer
            places[entry_hash(item.pointer)] = place
            present[item.pointer] += 1
            chars += needed
            done.pointed.add(item.id)
    done.entries = [entry for entry in slots if entry is not None]
    return done


def _fold(done: Arranged, wish: Wish, fold: str) -> None:
    """Keep one such line, the one that is wanted; it comes only where it fits."""
    places = [place for place, entry in enumerate(done.entries) if wish.is_fold(entry)]
    before = size(done.entries)
    rest = [entry for entry in done.entries if not wish.is_fold(entry)]
    if fold and fold not in rest:
        with_it = [*rest]
        with_it.insert(places[0] if places else len(rest), fold)
        if size(with_it) <= max(wish.ceiling, before):
            rest = with_it
    done.entries = rest


def _come(done: Arranged, item: Comes, ceiling: int) -> None:
    place = _place(done.entries, item.instead) if item.instead else None
    changed = [*done.entries]
    if item.text in changed:  # somebody put it there: of the two, its pointer goes
        if place is not None and changed[place] != item.text:
            del done.entries[place]
        return
    if place is None:
        changed.append(item.text)
    else:
        changed[place] = item.text
    if size(changed) <= ceiling:
        done.entries = changed


def _place(entries: Sequence[str], key: str) -> int | None:
    return next((place for place, entry in enumerate(entries) if entry_hash(entry) == key), None)
