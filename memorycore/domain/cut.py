"""Cutting a text to length where a reader would: between words, and never inside what is one character to people."""

import unicodedata

WORD_CHARS = 40  # so far back a word may begin; what is longer, or has no blanks, is cut between characters

_JOINER = "\u200d"
_REGIONAL = ("\U0001f1e6", "\U0001f1ff")  # two of them are one flag
_SKIN_TONE = ("\U0001f3fb", "\U0001f3ff")
_JAMO = ("\u1160", "\u11ff")  # vowels and final consonants of Hangul, which follow the first one of their syllable


def beginning(text: str, most: int) -> str:
    """The beginning of ``text``: at most ``most`` code points, whole words where there are blanks between words."""
    if len(text) <= most:
        return text
    end = most
    for place in range(most, max(0, most - WORD_CHARS), -1):
        if text[place].isspace():
            return text[:place].rstrip()
    while end > 0 and _belongs_together(text, end):
        end -= 1
    return text[:end]


def _belongs_together(text: str, place: int) -> bool:
    """Whether the characters before and at ``place`` are one to a reader (of UAX 29 what matters for cutting)."""
    before, at = text[place - 1], text[place]
    if _JOINER in {before, at} or unicodedata.category(at) in {"Mn", "Mc", "Me"}:
        return True
    if _SKIN_TONE[0] <= at <= _SKIN_TONE[1] or _JAMO[0] <= at <= _JAMO[1]:
        return True
    if not _REGIONAL[0] <= at <= _REGIONAL[1]:
        return False
    first = place
    while first > 0 and _REGIONAL[0] <= text[first - 1] <= _REGIONAL[1]:
        first -= 1
    return (place - first) % 2 == 1
