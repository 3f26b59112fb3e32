"""How two concepts stand to one another, read from ``judge.relations.toml``."""

from collections.abc import Iterable
from functools import cache, lru_cache

from memorycore.domain.assertion.words import lemma, table

MOST_WORDS_KEPT = 4_096  # any word of any text is asked for


def _named(words: Iterable[str]) -> list[str]:
    """Words under the names that texts are read with: "high" is "height"."""
    aliases: dict[str, str] = table("relations")["alias"]
    return [aliases.get(word, word) for word in words]


@cache
def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for group in map(_named, table("relations")["opposites"]["groups"]):
        for word in group:
            found.setdefault(word, set()).update(other for other in group if other != word)
    return {word: frozenset(others) for word, others in found.items()}


def are_opposite(one: str, other: str) -> bool:
    """Whether both cannot hold of one thing at one time."""
    return other in _opposites().get(one, ())


@cache
def _relatives() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(group) for group in table("relations")["kin"]["equal"])


def are_one_relative(one: str, other: str) -> bool:
    """Whether two words of one language name the same relative; plurals and particles count for nothing."""
    if one.startswith(other) or other.startswith(one):
        return True
    return any(one in group and other in group for group in _relatives())


@cache
def _apart() -> dict[str, frozenset[str]]:
    """For each word, as written and by stem, the words of its groups, as stems."""
    found: dict[str, set[str]] = {}
    for group in table("relations")["apart"]["groups"]:
        stems = {lemma(word, "en", {}) for word in group}
        for word in group:
            for form in (word, lemma(word, "en", {})):
                found.setdefault(form, set()).update(stems - {lemma(word, "en", {})})
    return {word: frozenset(others) for word, others in found.items()}


def are_two_things(one: str, other: str) -> bool:
    """Whether two words of one language differ, though one concept joins them: desk, table."""
    others = _apart().get(one) or _apart().get(lemma(one, "en", {}), frozenset())
    return lemma(other, "en", {}) in others


@cache
def _siblings() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(group) for group in table("relations")["siblings"]["groups"])


def are_siblings(one: str, other: str) -> bool:
    """Whether two are different values of one kind."""
    return one != other and any(one in group and other in group for group in _siblings())


@cache
def _inverse() -> frozenset[frozenset[str]]:
    return frozenset(frozenset(_named(pair)) for pair in table("relations")["inverse"]["pairs"])


def are_inverse(one: str, other: str) -> bool:
    """Whether one says with swapped roles what the other says."""
    return one != other and frozenset((one, other)) in _inverse()


@cache
def _complements() -> frozenset[frozenset[str]]:
    return frozenset(frozenset(_named(pair)) for pair in table("relations")["complements"]["pairs"])


def are_complements(one: str, other: str) -> bool:
    """Whether not to be the one is to be the other."""
    return frozenset((one, other)) in _complements()


@cache
def words_of(section: str, name: str) -> frozenset[str]:
    return frozenset(_named(table("relations")[section][name]))


@lru_cache(maxsize=MOST_WORDS_KEPT)
def ends(old: str) -> frozenset[str]:
    """Concepts whose coming ends what ``old`` said."""
    return frozenset(table("relations")["ends"].get(old, ()))


@lru_cache(maxsize=MOST_WORDS_KEPT)
def kinds_of(concept: str) -> frozenset[str]:
    """A concept and everything that belongs to it."""
    found = {concept}
    for member in table("relations")["kinds"].get(concept, ()):
        if member not in found:
            found |= kinds_of(member)
    return frozenset(found)


@lru_cache(maxsize=MOST_WORDS_KEPT)
def refused_by(concept: str) -> frozenset[str]:
    """What one who is so does not take: a vegan no meat, no egg."""
    return frozenset(kind for food in table("relations")["refuses"].get(concept, ()) for kind in kinds_of(food))


@cache
def slots() -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """Attribute → verbs that state it, verbs of an event that gives it a new value."""
    return {
        name: (frozenset(slot["states"]), frozenset(slot["events"]))
        for name, slot in table("relations")["slot"].items()
    }
