"""The judge's vocabulary, read from ``domain/vocabulary/judge.*.toml`` and indexed for a scan of a text.

Two kinds of words: small words of one language (``judge.<language>.toml``), compared as written, and concepts with
their words in all languages (``judge.concepts.toml``), compared by stem. The longest entry wins.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from memorycore.domain.text import fold

LATIN = ("en", "fr", "de", "es")
CJK = ("zh", "ja", "ko")
_COLUMNS = ("en", "zh", "ja", "ko", "fr", "de", "es")
_TELLING = frozenset({"func", "soft", "be", "prep", "conj", "neg", "modal"})
"""Kinds whose words tell one language from another."""


class Entry(NamedTuple):
    """What a word is: its kind (``verb``, ``noun``, ``neg``, ``cue`` …) and its key within the kind."""

    kind: str
    key: str


class Phrases(NamedTuple):
    """All phrases that begin with one word: their lengths in words, longest first, and what each is.

    ``alone``: what the word is by itself. ``second``: words that go on with one of the phrases.
    """

    lengths: tuple[int, ...]
    entries: dict[tuple[str, ...], tuple[Entry, ...]]
    alone: Entry | None
    second: frozenset[str]

    def longest(self, given: tuple[str, ...]) -> tuple[int, Entry] | None:
        """The longest phrase that these words begin with: how many words it has, and what it is."""
        for length in self.lengths:
            if found := self.entries.get(given[:length]):
                return min(length, len(given)), found[0]
        return None


@dataclass(slots=True)
class Words:
    """Vocabulary of one language, by the first word (Latin scripts) or first character (scripts without blanks)."""

    exact: dict[str, Phrases] = field(default_factory=dict[str, Phrases])
    stems: dict[str, Phrases] = field(default_factory=dict[str, Phrases])
    pieces: dict[str, list[tuple[str, Entry]]] = field(default_factory=dict[str, list[tuple[str, Entry]]])
    irregular: dict[str, str] = field(default_factory=dict[str, str])
    patterns: dict[str, re.Pattern[str]] = field(default_factory=dict[str, re.Pattern[str]])


@cache
def table(name: str) -> dict[str, Any]:
    source = (files("memorycore.domain") / "vocabulary" / f"judge.{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(source)


@cache
def words(language: str) -> Words:
    """Load and index one language; once per process."""
    result = Words()
    grammar = table(language)
    result.patterns = {name: re.compile(pattern) for name, pattern in grammar.get("patterns", {}).items()}
    for base, forms in grammar.get("irregular", {}).items():
        result.irregular |= dict.fromkeys(forms, base)
    exact: dict[tuple[str, ...], list[Entry]] = {}
    stems: dict[tuple[str, ...], list[Entry]] = {}
    for kind, key, entry in _small_words(grammar):
        if language in CJK:
            _add_piece(result, entry, Entry("word", entry) if kind == "keep" else Entry(kind, key))
        else:
            phrase = tuple(entry.split())
            exact.setdefault(phrase, []).append(Entry(kind, key))
    for kind, key, entry in _concepts(language):
        if language in CJK:
            _add_piece(result, entry, Entry(kind, key))
        else:
            plain = tuple(entry.replace("-", " ").split())
            exact.setdefault(plain, []).append(Entry(kind, key))
            phrase = tuple(lemma(word, language, result.irregular) for word in plain)
            stems.setdefault(phrase, []).append(Entry(kind, key))
    result.exact, result.stems = _by_first_word(exact), _by_first_word(stems)
    for pieces in result.pieces.values():
        # Stable: small words stay before concepts of their length, and kept words come behind both.
        pieces.sort(key=lambda pair: (-len(pair[0]), pair[1].kind == "word"))
    return result


def _by_first_word(index: dict[tuple[str, ...], list[Entry]]) -> dict[str, Phrases]:
    """Small words stay before concepts of the same words, and kept words come behind both."""
    found: dict[str, dict[tuple[str, ...], tuple[Entry, ...]]] = {}
    for phrase, entries in index.items():
        found.setdefault(phrase[0], {})[phrase] = tuple(sorted(entries, key=lambda entry: entry.kind == "word"))
    return {
        word: Phrases(
            lengths=tuple(sorted({len(phrase) for phrase in phrases}, reverse=True)),
            entries=phrases,
            alone=next(iter(phrases.get((word,), ())), None),
            second=frozenset(phrase[1] for phrase in phrases if len(phrase) > 1),
        )
        for word, phrases in found.items()
    }


def _small_words(grammar: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for kind, keys in grammar.items():
        if kind not in {"patterns", "irregular"}:
            for key, entries in keys.items():
                for entry in entries:
                    yield kind, key, _folded(entry)


def _concepts(language: str) -> Iterator[tuple[str, str, str]]:
    column = _COLUMNS.index(language)
    aliases: dict[str, str] = table("relations")["alias"]
    for kind, rows in table("concepts").items():
        for row in rows:
            columns = row.split("|")
            key = fold(columns[0].split(",")[0].strip())
            key = aliases.get(key, key)
            for entry in columns[column].split(","):
                if word := _folded(entry.strip()):
                    yield kind, key, word


def _folded(entry: str) -> str:
    """Folded as the scan folds a text: character by character, so that ß stays one."""
    return fold(entry.replace("ß", "\x00")).replace("\x00", "ß")


def _add_piece(result: Words, piece: str, entry: Entry) -> None:
    result.pieces.setdefault(piece[0], []).append((piece, entry))


_FOREIGN_ENDINGS = re.compile(
    r"(?:ements?|ations?|euses?|ières?|ées?|és|ions|ent|ant|ant|ons|ez|er|es|en|em|et|te|st|as|os|an|ar|ir|e|s|n|t|a|o|x)$"
)
_SHORTEST_STEM = 4


@lru_cache(maxsize=8192)
def _stem(word: str, language: str) -> str:
    if language == "en":
        return _english(word)
    cut = _FOREIGN_ENDINGS.sub("", word)
    return cut if len(cut) >= _SHORTEST_STEM else word


def lemma(word: str, language: str, irregular: dict[str, str]) -> str:
    """The form under which inflected forms of a word meet. Rough: it need not be a word."""
    return _stem(irregular.get(word, word), language)


class Begun(NamedTuple):
    """What begins with a word: phrases as written and by stem, the words of the longest one, and the word's stem."""

    exact: Phrases | None
    stems: Phrases | None
    longest: int
    stem: str


@lru_cache(maxsize=8192)
def begun(word: str, language: str) -> Begun:
    """What may begin with a word of a language in Latin script."""
    own = words(language)
    stem = lemma(word, language, own.irregular)
    exact, stems = own.exact.get(word), own.stems.get(stem)
    return Begun(exact, stems, max(exact.lengths[0] if exact else 0, stems.lengths[0] if stems else 0), stem)


class Known(NamedTuple):
    """A phrase in a text: what it is, how many words, its end, and the word that tells its tense with its stem."""

    entry: Entry
    length: int
    end: int
    told: str
    stem: str


def alone(place: int, word: str, start: Begun) -> Known | None:
    """A word by itself."""
    entry = (start.exact and start.exact.alone) or (start.stems and start.stems.alone)
    return Known(entry, 1, place + len(word), word, start.stem) if entry else None


def positive(word: str, stem: str, language: str) -> str:
    """``taller than`` → tall, when that is a word we know."""
    if language != "en" or not word.endswith("er"):
        return stem
    bases = (word[:-2], word[:-1], word[:-3], f"{word[:-3]}y")
    return next((found for base in bases if (found := lemma(base, "en", {})) in words(language).stems), stem)


_VOWEL = re.compile(r"[aeiouy]")
_SHORT = 4


def _english(word: str) -> str:
    """Plural, past and -ing taken off, British spelling folded with American: a light stemmer after Porter's step 1."""
    if len(word) < _SHORT:
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ied", "ed"):
        base = word[: -len(ending)]
        if word.endswith(ending) and len(base) > 2 and _VOWEL.search(base):  # noqa: PLR2004 "bring" and "red" stay
            word = base + "y" if ending == "ied" else base
            if word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    word = re.sub(r"is(e|ation)?$", r"iz\1", word) if len(word) > 5 else word  # noqa: PLR2004 "noise" stays
    word = re.sub(r"our$", "or", re.sub(r"tre$", "ter", word))
    return word.removesuffix("e") or word


@lru_cache(maxsize=2048)
def concepts_in(text: str, language: str) -> frozenset[str]:
    """Keys of the verbs that a cue's words stand for."""
    own = words(language if language in LATIN else "en")
    found: set[str] = set()
    for word in text.split():
        stem = lemma(word, language, own.irregular)
        if phrases := own.stems.get(stem):
            found.update(entry.key for entry in phrases.entries.get((stem,), ()) if entry.kind == "verb")
    if language in CJK:
        for place, character in enumerate(text):
            for piece, entry in words(language).pieces.get(character, ()):
                longer = not place and piece.startswith(text)
                if entry.kind == "verb" and (longer or (len(piece) > 1 and text.startswith(piece, place))):
                    found.add(entry.key)
    return frozenset(found)


def _telling(language: str) -> frozenset[str]:
    """Words of one language that tell it from others."""
    return frozenset(
        entry for kind, _, entry in _small_words(table(language)) if kind in _TELLING and len(entry.split()) == 1
    )


@cache
def guess_latin() -> dict[str, tuple[str, ...]]:
    """Small words and the languages that have them, to tell which language a text is in."""
    owners: dict[str, tuple[str, ...]] = {}
    for language in LATIN:
        for word in _telling(language):
            owners[word] = (*owners.get(word, ()), language)
    return owners
