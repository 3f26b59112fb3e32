"""Where a text announces a value: the words of a vocabulary, at the edges of words and inside identifiers."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_LATIN = re.compile(r"[A-Za-z0-9\u00c0-\u024f]")
# パス is no part of パスポート: in this script a word ends where the script does.
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]")
_LONG_WORD = 8
# Three letters between the signs of base64 are part of it.
_SHORT_WORD, _BASE64 = 3, ("+", "/")
_NUMBER_PART = re.compile(r"(?:nummer|number|num|nr|no|n)(?![A-Za-z])", re.IGNORECASE)
_NEXT_PART = re.compile(r"[_-]?([A-Za-z]{1,30}|\d{1,30})")
_NEXT_WORD = re.compile(r"[ \t]?([^\W\d_]{1,30}(?:'s)?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One announcing word: its kind in the vocabulary and where it stands. ``glued``: inside a longer word."""

    kind: str
    word: str
    start: int
    end: int
    glued: bool = False


def lower(text: str) -> str:
    """Lower case with every character at its place: a few capitals have a longer small form, those stay."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(small if len(small := char.lower()) == 1 else char for char in text)


def find_labels(text: str, lowered: str, vocabulary: Iterable[tuple[str, str]]) -> list[Label]:
    """Every label in the text, in order; of two at the same place the longer one.

    Args:
        text: The text, for capitals inside identifiers.
        lowered: The same text from ``lower``.
        vocabulary: Pairs of word and kind.
    """
    hits: list[Label] = []
    for word, kind in vocabulary:
        if word in lowered:
            hits.extend(_hits(text, lowered, word, kind))
    hits.sort(key=lambda hit: (hit.start, -hit.end))
    kept: list[Label] = []
    reached = 0
    for hit in hits:
        if hit.end > reached or (kept and (hit.start, hit.end) == (kept[-1].start, kept[-1].end)):
            kept.append(hit)
            reached = hit.end
    return kept


def _hits(text: str, lowered: str, word: str, kind: str) -> Iterator[Label]:
    start = lowered.find(word)
    while start >= 0:
        end = start + len(word)
        glued = False
        if _LATIN.match(word[0]) and start and _LATIN.match(text[start - 1]):
            glued = not _starts_part(text, start)
        if not glued or len(word) >= _LONG_WORD:
            if _LATIN.match(word[-1]) and lowered.startswith("s", end) and not _LATIN.match(text[end + 1 : end + 2]):
                end += 1
            within = len(word) <= _SHORT_WORD and (text[start - 1 : start] in _BASE64 or text[end : end + 1] in _BASE64)
            if not within and not (_KATAKANA.match(word[-1]) and _KATAKANA.match(text[end : end + 1])):
                yield Label(kind=kind, word=word, start=start, end=end, glued=glued)
        start = lowered.find(word, start + len(word))


def _starts_part(text: str, start: int) -> bool:
    """Whether a capital begins a part of an identifier: the S of ``dbSecret`` and of ``APISecret``."""
    after = text[start + 1 : start + 2]
    return text[start].isupper() and (not text[start - 1].isupper() or after.islower())


def ends_word(text: str, label: Label) -> bool:
    """Whether a word ends with its label, or with what makes it a number: "long" is no "lon", "Passnummer" a "Pass"."""
    if not _LATIN.match(label.word[-1]) or not _LATIN.match(text[label.end : label.end + 1]):
        return True
    return bool(_NUMBER_PART.match(text, label.end))


def value_part(text: str, label: Label, still: frozenset[str]) -> int | None:
    """Where the identifier around a label ends: ``DB_PASSWORD_PROD`` still names a value, ``token_count`` none."""
    end = label.end
    if not _LATIN.match(label.word[-1]):
        return end
    while part := _NEXT_PART.match(text, end):
        parted = text[end] in "_-" or part.group(1).isdigit() or (text[end].isupper() and text[end - 1].islower())
        if not parted or part.group(1).lower() not in still:
            return None
        end = part.end()
    return end


def names_other(text: str, lowered: str, end: int, other: frozenset[str], other_cjk: tuple[str, ...]) -> bool:
    """Whether the word behind a label makes it something else: a password manager, 密码学, a token count."""
    if lowered.startswith(other_cjk, end):
        return True
    word = _NEXT_WORD.match(text, end)
    return bool(word) and word.group(1).lower() in other
