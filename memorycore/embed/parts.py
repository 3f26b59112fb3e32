"""A long text in parts that each fit one vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorycore.domain.text import split_parts

if TYPE_CHECKING:
    from collections.abc import Callable

_SHORTEST_PART_CHARS = 40
_LONGEST_WORD = 20
_LATIN_CHARS_PER_TOKEN = 3.5
_OTHER_TOKENS_PER_CHAR = 0.8
# Signs that models spell one by one; a text full of them passes every guard that counts characters.
_DENSE = frozenset("{}[]()<>=+-*/\\|&%$#@!?;:,.\"'`~^_0123456789")


def estimate_tokens(text: str) -> int:
    """Tokens of a text for a model whose tokenizer is not at hand, rather too many than too few."""
    dense = sum(map(text.count, _DENSE))
    latin = sum(char < "\u0250" for char in text) - dense
    other = len(text) - dense - latin
    return int(dense + latin / _LATIN_CHARS_PER_TOKEN + other * _OTHER_TOKENS_PER_CHAR) + 1


def cut(text: str, *, limit: int, count: Callable[[str], int]) -> list[str]:
    """Parts of at most ``limit`` tokens, cut at sentence ends where there are some; nothing is lost."""
    if len(text) <= _SHORTEST_PART_CHARS or len(text) < limit:  # no character is more than one token
        return [text]
    tokens = count(text)
    if tokens <= limit:
        return [text]
    chars = max(_SHORTEST_PART_CHARS, int(len(text) * limit / tokens * 0.95))
    pieces = split_parts(text, min(chars, len(text) - 1))
    return [part for piece in pieces for part in cut(piece, limit=limit, count=count)] or [text[:chars]]


def gist(text: str, *, most: int, count: Callable[[str], int]) -> str:
    """A question of at most ``most`` tokens as it is, and of a longer one its beginning and its end.

    What a long message asks stands in front of what it tells, or behind.
    """
    if len(text) < most or (tokens := count(text)) <= most:  # no character is more than one token
        return text
    half = max(1, int(len(text) * most / tokens * 0.95)) // 2
    short = f"{_whole_words(text, half)} {_whole_words(text, -half)}"
    return short if len(short) >= len(text) or count(short) <= most else gist(short, most=most, count=count)


def _whole_words(text: str, length: int) -> str:
    """So many characters of the beginning or, where negative, of the end; where blanks part words, no part of one."""
    taken = text[:length] if length > 0 else text[length:]
    whole, blank, rest = taken.rpartition(" ") if length > 0 else taken.partition(" ")[::-1]
    return whole if blank and len(rest) < _LONGEST_WORD else taken
