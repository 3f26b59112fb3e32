"""Find phrases of a vocabulary in a folded text: whole words in Latin and Cyrillic scripts, pieces where no blanks are.

Syntax of an entry, whole words: ``a|b`` alternatives, ``(a|b|) c`` alternatives inside a phrase (an empty one for
nothing), ``word(s|ed)`` endings, ``word*`` any ending, ``…`` a gap of up to four words. Pieces: ``(a|b)`` alternatives,
``…`` a gap of up to eight characters.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

_NEVER = re.compile(r"(?!)")
_GAP_WORDS = 4
_GAP_CHARS = 8
_GAP = "…"
_STEM_MIN = 2

CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
WORD = re.compile(
    r"[^\W\d_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
    r"(?:'[^\W\d_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+)?|\d+|[,.:;!?/]"
)
_ENTRY_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*\*?|…|[,.:;!?/]")
_SLOT = re.compile(r"\(([^()]*)\)|([^()]+)")
_ENDINGS = re.compile(r"(\w+)\(([^()]*)\)")


class Hit(NamedTuple):
    """One cue in a text and where it stands."""

    cue: str
    start: int
    end: int


Words = tuple[str, ...]


@dataclass(slots=True)
class _Slot:
    """What may stand at one place of a phrase: by first word, or by the beginning of the first word."""

    words: dict[str, list[Words]] = field(default_factory=dict[str, list[Words]])
    stems: list[tuple[str, Words]] = field(default_factory=list[tuple[str, Words]])
    optional: bool = False
    gap: bool = False


class _Phrase(NamedTuple):
    """A cue, how it is put, and which words may come second (None: any, or none)."""

    cue: str
    slots: tuple[_Slot, ...]
    second: frozenset[str] | None


_Piece = tuple[str, Words]


@dataclass(slots=True)
class Phrases:
    """A vocabulary, indexed by what a scan meets first."""

    words: dict[str, list[_Phrase]] = field(default_factory=dict[str, list[_Phrase]])
    stems: dict[str, list[_Phrase]] = field(default_factory=dict[str, list[_Phrase]])
    stem_lengths: list[int] = field(default_factory=list[int])
    pieces: dict[str, list[_Piece]] = field(default_factory=dict[str, list[_Piece]])
    """By first two characters, or by the only one in front of a gap or the end."""
    piece_start: re.Pattern[str] = _NEVER
    known: set[str] = field(default_factory=set[str])

    def hits(self, text: str) -> Iterator[Hit]:
        """Every cue of a text, in order of place within each script."""
        yield from self._in_words([(match.group(), match.start(), match.end()) for match in WORD.finditer(text)])
        if text.isascii():
            return
        for match in self.piece_start.finditer(text):
            start = match.start()
            for cue, parts in self._pieces_at(text, start):
                end = _piece_end(text, parts, start)
                if end:
                    yield Hit(cue, start, end)

    def _pieces_at(self, text: str, start: int) -> Iterator[_Piece]:
        yield from self.pieces.get(text[start], ())
        if start + 1 < len(text):
            yield from self.pieces.get(text[start : start + 2], ())

    def _in_words(self, tokens: list[tuple[str, int, int]]) -> Iterator[Hit]:
        words = [token[0] for token in tokens]
        for place, word in enumerate(words):
            following = words[place + 1] if place + 1 < len(words) else ""
            for phrase in self._beginning_with(word):
                if phrase.second is None or following in phrase.second:
                    end = _phrase_end(words, place, phrase.slots)
                    if end > place:
                        yield Hit(phrase.cue, tokens[place][1], tokens[end - 1][2])

    def _beginning_with(self, word: str) -> Iterator[_Phrase]:
        yield from self.words.get(word, ())
        for length in self.stem_lengths:
            if length > len(word):
                return
            yield from self.stems.get(word[:length], ())


def index(cues: Mapping[str, Iterable[str]]) -> Phrases:
    """Index a vocabulary whose entries are folded already."""
    found = Phrases()
    for cue, entries in cues.items():
        for entry in entries:
            if CJK.search(entry):
                for piece in _written_out(entry):
                    parts = tuple(piece.split(_GAP))
                    found.pieces.setdefault(parts[0][:2], []).append((cue, parts))
            else:
                for phrase in _top_level(entry):
                    _add(found, cue, _slots(phrase))
    if found.pieces:
        found.piece_start = re.compile("[" + re.escape("".join(piece[0] for piece in found.pieces)) + "]")
    found.stem_lengths = sorted({len(stem) for stem in found.stems})
    return found


def _written_out(entry: str) -> Iterator[str]:
    """Every piece that an entry with alternatives stands for."""
    groups = [group.split("|") if group else [plain] for group, plain in _SLOT.findall(entry)]
    return map("".join, product(*groups))


def _top_level(entry: str) -> Iterator[str]:
    """Alternatives outside brackets."""
    depth = start = 0
    for place, char in enumerate(entry):
        depth += (char == "(") - (char == ")")
        if char == "|" and not depth:
            yield entry[start:place]
            start = place + 1
    yield entry[start:]


def _slots(phrase: str) -> tuple[_Slot, ...]:
    slots: list[_Slot] = []
    written_out = _ENDINGS.sub(
        lambda match: "(" + "|".join(match.group(1) + ending for ending in match.group(2).split("|")) + ")", phrase
    )
    for match in _SLOT.finditer(written_out):
        group, plain = match.groups()
        if group is not None:
            slots.append(_slot(group.split("|")))
        else:
            slots.extend(_slot([word]) for word in _ENTRY_WORD.findall(plain))
    return tuple(slots)


def _slot(alternatives: list[str]) -> _Slot:
    slot = _Slot()
    for alternative in alternatives:
        words = tuple(_ENTRY_WORD.findall(alternative))
        if not words:
            slot.optional = True
        elif words == (_GAP,):
            slot.gap = True
        elif words[0].endswith("*"):
            slot.stems.append((words[0].rstrip("*"), words[1:]))
        else:
            slot.words.setdefault(words[0], []).append(words[1:])
    return slot


def _add(found: Phrases, cue: str, slots: tuple[_Slot, ...]) -> None:
    """File a phrase under every word that it may begin with."""
    for place, slot in enumerate(slots):
        for word, alternatives in slot.words.items():
            found.words.setdefault(word, []).append(_Phrase(cue, slots, _second(alternatives, slots[place + 1 :])))
        for stem, _ in slot.stems:
            found.stems.setdefault(stem, []).append(_Phrase(cue, slots, None))
        if not slot.optional:
            break
    found.known.update(word for slot in slots for word in slot.words)


def _second(alternatives: list[Words], rest: tuple[_Slot, ...]) -> frozenset[str] | None:
    """The words that may follow the first one, None where that is open."""
    found: set[str] = set()
    for more in alternatives:
        if more and not more[0].endswith("*"):
            found.add(more[0])
            continue
        if more or not rest:
            return None
        for slot in rest:
            if slot.gap or slot.stems:
                return None
            found.update(slot.words)
            if not slot.optional:
                break
        else:
            return None
    return frozenset(found)


def _phrase_end(words: list[str], place: int, slots: tuple[_Slot, ...]) -> int:
    """The place after a phrase that begins at ``place``, -1 when it does not stand there."""
    if not slots:
        return place
    slot, rest = slots[0], slots[1:]
    if slot.gap:
        ends = (_phrase_end(words, place + gap, rest) for gap in range(_GAP_WORDS + 1))
        return next((end for end in ends if end >= 0), -1)
    if place < len(words):
        for more in slot.words.get(words[place], ()):
            end = _alternative_end(words, place, more, rest)
            if end >= 0:
                return end
        for stem, more in slot.stems:
            if words[place].startswith(stem):
                end = _alternative_end(words, place, more, rest)
                if end >= 0:
                    return end
    return _phrase_end(words, place, rest) if slot.optional else -1


def _alternative_end(words: list[str], place: int, more: Words, rest: tuple[_Slot, ...]) -> int:
    if not _stand(words, place + 1, more):
        return -1
    return _phrase_end(words, place + 1 + len(more), rest)


def _stand(words: list[str], place: int, more: Words) -> bool:
    if place + len(more) > len(words):
        return False
    return all(
        word.startswith(want[:-1]) if want.endswith("*") else word == want
        for word, want in zip(words[place:], more, strict=False)
    )


def _piece_end(text: str, parts: Words, start: int) -> int:
    """Where a piece ends that begins at ``start``, 0 when it does not stand there."""
    if not text.startswith(parts[0], start):
        return 0
    end = start + len(parts[0])
    for part in parts[1:]:
        place = text.find(part, end, end + _GAP_CHARS + len(part))
        if place < 0:
            return 0
        end = place + len(part)
    return end
