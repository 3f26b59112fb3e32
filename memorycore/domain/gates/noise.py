"""Texts that hold nothing to remember: signs without a letter, bare acknowledgements, keys hit at random.

What is found here is not kept at all, so the gate errs on the other side: a single word that could be a value
("蓝色", "B+", "DGIA") is none of its business, and a finished status line is for the router to judge.
"""

import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from memorycore.domain.gates import Finding
from memorycore.domain.gates.forms import folded

_LONGEST = 60
_MOST_WORDS = 8
_FEWEST_ALIKE = 5
_SHORTEST_RUN = 3
_SHORTEST_MASH = 4

_LETTER_OR_DIGIT = re.compile(r"[^\W_\u115f\u1160\u3164\uffa0]")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_HAN = re.compile(r"[\u4e00-\u9fff]+")


def find(text: str) -> Finding | None:
    """Say why nothing of a text is worth a memory. Rules: empty, filler, mash. Linear in the text's length."""
    if not _LETTER_OR_DIGIT.search(text):
        return Finding(gate="noise", rule="empty")
    if len(text) > _LONGEST:
        return None
    words = _WORD.findall(folded(text))
    if not words or len(words) > _MOST_WORDS:
        return None
    if _fills(words):
        return Finding(gate="noise", rule="filler")
    if len(words) == 1 and _is_mash(words[0]):
        return Finding(gate="noise", rule="mash")
    return None


@dataclass(frozen=True, slots=True)
class _Fillers:
    core: frozenset[str]
    phrases: frozenset[str]
    core_pieces: frozenset[str]
    beside: frozenset[str]
    beside_pieces: frozenset[str]
    rows: tuple[str, ...]
    layouts: frozenset[str]


@cache
def _vocabulary() -> _Fillers:
    source = files("memorycore.domain") / "vocabulary" / "noise.toml"
    table = tomllib.loads(source.read_text(encoding="utf-8"))

    def words(part: str, name: str) -> frozenset[str]:
        return frozenset(map(folded, table[part][name]))

    return _Fillers(
        core=words("core", "words"),
        phrases=words("core", "phrases"),
        core_pieces=words("core", "pieces"),
        beside=words("beside", "words"),
        beside_pieces=words("beside", "pieces"),
        rows=tuple(table["keyboard"]["rows"]),
        layouts=frozenset(table["keyboard"]["layouts"]),
    )


def _fills(words: list[str]) -> bool:
    """Whether every word fills, and at least one does so by itself."""
    fillers = _vocabulary()
    if " ".join(words) in fillers.phrases:
        return True
    alone = False
    for word in words:
        if _HAN.fullmatch(word):
            if not _made_of(word, fillers.core_pieces | fillers.beside_pieces):
                return False
            alone = alone or any(piece in word for piece in fillers.core_pieces)
        elif word in fillers.core:
            alone = True
        elif word not in fillers.beside:
            return False
    return alone


def _made_of(word: str, pieces: Collection[str]) -> bool:
    """Whether a run of characters can be cut into pieces without a rest."""
    reached = [True] + [False] * len(word)
    for end in range(1, len(word) + 1):
        reached[end] = any(
            reached[end - len(piece)] and word.endswith(piece, 0, end) for piece in pieces if len(piece) <= end
        )
    return reached[-1]


def _is_mash(word: str) -> bool:
    """One letter held down, or a run of neighbouring keys, once or again and again: "asdfgh", "sdfsdf"."""
    if word.isdigit() or word in _vocabulary().layouts:
        return False
    if len(set(word)) == 1 and len(word) >= _FEWEST_ALIKE - (not word.isascii()):
        return True
    if len(word) < _SHORTEST_MASH:
        return False
    unit = word[: (word + word).find(word, 1)]
    long_enough = _SHORTEST_MASH if len(unit) == len(word) else _SHORTEST_RUN
    return len(unit) >= long_enough and any(unit in row or unit in row[::-1] for row in _vocabulary().rows)
