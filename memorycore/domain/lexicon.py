"""The vocabulary of one language, read from ``domain/vocabulary/routing.<language>.toml`` and indexed for scanning.

A file holds ``[words]`` (lists of small words), ``[patterns]`` (regular expressions for what stands beside a cue) and
``[cues]``: for each cue the words that show it. Latin scripts are matched by whole words, with ``|`` between choices,
``(…|…)`` inside a phrase and ``…`` for a gap. Scripts without blanks are matched by pieces of text, with ``^`` and
``$`` for the edges of a clause, ``…`` for a gap in one clause and ``~`` for one in a sentence. All is compared folded.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Literal

from memorycore.domain.text import fold

Language = Literal["en", "fr", "de", "es", "zh", "ja", "ko"]
LATIN_LANGUAGES: tuple[Language, ...] = ("en", "fr", "de", "es")
CJK_LANGUAGES: tuple[Language, ...] = ("zh", "ja", "ko")

Phrase = tuple[tuple[str, ...], tuple[str, ...]]  # the words, and the cues they show
_SLOT = re.compile(r"\(([^)]*)\)|([^()|]+)|(\|)")
_NEVER = re.compile(r"(?!)")
_NO_WORDS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Piece:
    """A cue of a script without blanks: its parts, whether gaps may leave the clause, the clause edge it is tied to."""

    parts: tuple[str, ...]
    wide: bool
    at_start: bool
    at_end: bool
    cues: tuple[str, ...]


@dataclass(slots=True)
class Lexicon:
    """Vocabulary of one language, indexed by what a scan meets first."""

    words: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    phrases: dict[str, dict[str, list[Phrase]]] = field(default_factory=dict[str, dict[str, list[Phrase]]])
    """By first word, then by second ("…" where a gap follows the first)."""
    pieces: dict[str, list[Piece]] = field(default_factory=dict[str, list[Piece]])
    """By first two characters, or by the only one."""
    small_words: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    patterns: dict[str, str] = field(default_factory=dict[str, str])
    known: frozenset[str] = _NO_WORDS

    def list(self, name: str) -> frozenset[str]:
        """A list of small words, empty where the language has none of that name."""
        return self.small_words.get(name, _NO_WORDS)

    def pattern(self, name: str) -> re.Pattern[str]:
        """A pattern, one that never matches where the language has none of that name."""
        return _compiled(self.patterns[name]) if name in self.patterns else _NEVER

    def votes(self, words: set[str]) -> int:
        """How many words of a text a language knows; its small words count double."""
        return len(words & self.known) + 2 * len(words & self.list("stopwords"))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled when it is first asked for: languages are loaded to be told apart, of which one is then read."""
    return re.compile(pattern)


@cache
def lexicon(language: Language) -> Lexicon:
    """Load and index one language; once per process."""
    source = (files("memorycore.domain") / "vocabulary" / f"routing.{language}.toml").read_text(encoding="utf-8")
    table = tomllib.loads(source)
    result = Lexicon()
    for entry, cues in _cues_by_entry(table["cues"], whole_words=language in LATIN_LANGUAGES).items():
        if language in LATIN_LANGUAGES:
            _add_phrase(result, tuple(entry.split()), tuple(cues))
        else:
            _add_piece(result, entry, tuple(cues))
    result.small_words = {name: frozenset(map(fold, words)) for name, words in table.get("words", {}).items()}
    result.patterns = table.get("patterns", {})
    longer = [
        word for same in result.phrases.values() for found in same.values() for words, _ in found for word in words
    ]
    result.known = frozenset(result.words) | frozenset(longer)
    return result


def _cues_by_entry(table: dict[str, list[str]], *, whole_words: bool) -> dict[str, dict[str, None]]:
    """Turn cue → words round, so that a scan finds all cues of a word at once. The inner dict is an ordered set."""
    by_entry: dict[str, dict[str, None]] = {}
    for cue, entries in table.items():
        for entry in entries:
            folded = fold(entry).replace("...", "…")  # folding takes the ellipsis apart
            for phrase in expanded(folded) if whole_words else (folded,):
                by_entry.setdefault(phrase, {})[cue] = None
    return by_entry


def expanded(entry: str) -> Iterator[str]:
    """Every phrase that an entry stands for: ``will (not|) do|shall`` → will not do, will do, shall."""
    branch: list[list[str]] = []
    for group, plain, bar in _SLOT.findall(entry):
        if bar:
            yield from _choices(branch)
            branch = []
        else:
            branch.append([plain] if plain else group.split("|"))
    yield from _choices(branch)


def _choices(branch: list[list[str]]) -> Iterator[str]:
    return (" ".join(" ".join(choice).split()) for choice in product(*branch))


def _add_phrase(result: Lexicon, phrase: tuple[str, ...], cues: tuple[str, ...]) -> None:
    if len(phrase) == 1:
        result.words[phrase[0]] = cues
    else:
        result.phrases.setdefault(phrase[0], {}).setdefault(phrase[1], []).append((phrase, cues))


def _add_piece(result: Lexicon, entry: str, cues: tuple[str, ...]) -> None:
    parts = tuple(re.split("[…~]", entry.strip("^$")))
    piece = Piece(parts, "~" in entry, entry.startswith("^"), entry.endswith("$"), cues)
    result.pieces.setdefault(parts[0][:2], []).append(piece)
