"""Read a text once and say which cues of the vocabulary stand where: words of duty, taste, completion, dates.

The words themselves are data, one file per language in ``domain/vocabulary``. Latin scripts are matched by whole
words, scripts without blanks by pieces of text; compounds that hold a cue by accident are listed as ``mask`` there.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Literal

from memorycore.domain.text import fold, script_class

Language = Literal["en", "fr", "de", "es", "zh", "ja", "ko"]
_LATIN_LANGUAGES: tuple[Language, ...] = ("en", "fr", "de", "es")
_BY_SCRIPT: dict[str, Language] = {"han": "zh", "kana": "ja", "hangul": "ko"}

_GAP_CHARS = 16
_GAP_WORDS = 5
_TOKEN = re.compile(
    r"[^\W\d_]+n't|'(?:s|m|re|ve|ll|d)\b|\b(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)'(?=\w)|[^\W\d_][^\W_]*(?:[-_][^\W_]+)*|\d[\w.,:-]*|[^\w\s]",
)
_CURLY = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "「": '"', "」": '"', "『": '"', "』": '"'}
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_QUOTED = re.compile(r"\"[^\"\n]{1,400}\"|《[^》\n]{1,80}》|(?<!\w)'[^'\n]{2,200}'(?!\w)")
_SENTENCE_END = re.compile(r"[。！？!?；;\n]+|\.+(?=\s|$)")
_CLAUSE_END = re.compile(r"[。！？!?；;\n]+|(?<!\d)[,:]+|[,:]+(?!\d)|\.+(?=\s|$)|\s[-–—]+\s|—+|\(|\)")
_NUMERIC_DATE = re.compile(
    r"(?<!\d)(?:19|20)\d\d\s?(?:[-/.]|年|년)\s?\d{1,2}\s?(?:[-/.]|月|월)\s?\d{1,2}(?!\d)\s?[日号일]?"
    r"|(?<![\d.])20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)"
    r"|(?<!\d)\d{1,2}\s?[月월]\s?\d{1,2}\s?[日号일]?"
    r"|(?<![\d.])\d{1,2}\.\s?\d{1,2}\.\s?(?:(?:19|20)\d\d|\d\d)(?!\d)"
    r"|(?<![\d/])\d{1,2}/\d{1,2}/(?:(?:19|20)\d\d|\d\d)(?![\d/])"
    r"|\A\s*\[?\d{1,2}[/.]\d{1,2}(?=[\s\]])(?!\s*[a-z%])"
    r"|[一二三四五六七八九十]{1,2}月[一二三四五六七八九十]{1,3}[日号]",
)
_DAY_NUMBER = re.compile(r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|er|\.)?,?")


@dataclass(frozen=True, slots=True)
class Hit:
    """One cue in a text: its name, the words that showed it, and where they stand in the folded text."""

    cue: str
    word: str
    start: int
    end: int
    first: bool
    """Whether nothing but filler stands before it in its clause."""


@dataclass(frozen=True, slots=True)
class Token:
    word: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A text with everything that was found in it; positions are those of the folded text."""

    text: str
    language: Language
    tokens: tuple[Token, ...]
    hits: dict[str, tuple[Hit, ...]]
    quoted_hits: dict[str, tuple[Hit, ...]]
    sentences: tuple[tuple[int, int], ...]
    clauses: tuple[tuple[int, int], ...]
    code_chars: int
    quoted_chars: int

    def of(self, *cues: str) -> list[Hit]:
        """Hits of these cues outside quotes and code, in order of place."""
        found = [hit for cue in cues for hit in self.hits.get(cue, ())]
        return sorted(found, key=lambda hit: (hit.start, -hit.end))

    def has(self, *cues: str) -> bool:
        return any(cue in self.hits for cue in cues)

    def sentence_of(self, hit: Hit) -> tuple[int, int]:
        return _span_at(self.sentences, hit.start)

    def clause_of(self, hit: Hit) -> tuple[int, int]:
        return _span_at(self.clauses, hit.start)

    def within(self, span: tuple[int, int], *cues: str) -> list[Hit]:
        """Hits of these cues that begin inside a span."""
        return [hit for hit in self.of(*cues) if span[0] <= hit.start < span[1]]


def read(content: str) -> Reading:
    """Find every cue of a text. Pure; the vocabulary is loaded at the first call."""
    text = fold(content.translate(_CURLY)).translate(_CURLY)
    language = language_of(text)
    visible, quoted, code_chars = _set_apart(text)
    clauses = _spans(_CLAUSE_END, visible)
    tokens = tuple(Token(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(text))
    found: dict[str, list[Hit]] = {}
    aside: dict[str, list[Hit]] = {}
    for hit in _scan(text, tokens, language, clauses):
        if visible[hit.start] != "\x00":
            found.setdefault(hit.cue, []).append(hit)
        elif any(start <= hit.start < end for start, end in quoted):
            aside.setdefault(hit.cue, []).append(hit)
    return Reading(
        text=text,
        language=language,
        tokens=tuple(token for token in tokens if visible[token.start] != "\x00"),
        hits={cue: tuple(hits) for cue, hits in found.items()},
        quoted_hits={cue: tuple(hits) for cue, hits in aside.items()},
        sentences=_spans(_SENTENCE_END, visible),
        clauses=clauses,
        code_chars=code_chars,
        quoted_chars=sum(end - start for start, end in quoted),
    )


def language_of(folded: str) -> Language:
    """The language whose vocabulary fits a folded text; English where nothing says otherwise."""
    script = script_class(folded)
    if script in _BY_SCRIPT:
        return _BY_SCRIPT[script]
    words = set(_TOKEN.findall(folded))
    votes = {language: len(words & _lexicon(language).stopwords) for language in _LATIN_LANGUAGES}
    return max(_LATIN_LANGUAGES, key=lambda language: votes[language])


def _set_apart(text: str) -> tuple[str, list[tuple[int, int]], int]:
    """Blank out code and quotations. Returns the text with NUL in their place, the quotations, the length of code."""
    chars = list(text)
    code_chars = 0
    for match in _CODE.finditer(text):
        chars[match.start() : match.end()] = "\x00" * len(match.group())
        code_chars += len(match.group())
    quoted = [match.span() for match in _QUOTED.finditer("".join(chars))]
    if sum(end - start for start, end in quoted) >= len(text.strip(" .。")) - 1:
        return "".join(chars), [], code_chars  # the whole text in quotation marks is the text itself
    for start, end in quoted:
        chars[start:end] = "\x00" * (end - start)
    return "".join(chars), quoted, code_chars


def _spans(end_of: re.Pattern[str], text: str) -> tuple[tuple[int, int], ...]:
    spans: list[tuple[int, int]] = []
    start = 0
    for match in end_of.finditer(text):
        if text[start : match.start()].strip():
            spans.append((start, match.end()))
            start = match.end()
    if text[start:].strip() or not spans:
        spans.append((start, len(text)))
    return tuple(spans)


def _span_at(spans: tuple[tuple[int, int], ...], place: int) -> tuple[int, int]:
    return next((span for span in spans if place < span[1]), spans[-1])


@dataclass(frozen=True, slots=True)
class _Piece:
    """A cue of a script without blanks: its pieces, with gaps between them, and whether it is tied to a clause edge."""

    parts: tuple[str, ...]
    at_start: bool
    at_end: bool
    cues: tuple[str, ...]
    mask: bool


_Phrase = tuple[tuple[str, ...], tuple[str, ...]]  # the words, and the cues they show


@dataclass(slots=True)
class _Lexicon:
    stopwords: frozenset[str] = frozenset()
    phrases: dict[str, list[_Phrase]] = field(default_factory=dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]])
    pieces: dict[str, list[_Piece]] = field(default_factory=dict[str, list[_Piece]])


@cache
def _lexicon(language: Language) -> _Lexicon:
    source = (files("memorycore.domain") / "vocabulary" / f"routing.{language}.toml").read_text(encoding="utf-8")
    table = tomllib.loads(source)
    lexicon = _Lexicon(stopwords=frozenset(fold(word) for word in table.get("words", {}).get("stopwords", ())))
    words = language in _LATIN_LANGUAGES
    by_entry: dict[str, list[str]] = {}
    for cue, entries in table["cues"].items():
        for entry in entries:
            for phrase in _expanded(fold(entry).replace("...", "…")) if words else [fold(entry)]:
                by_entry.setdefault(phrase, []).append(cue)
    for entry, cues in by_entry.items():
        if words:
            phrase = tuple(entry.split())
            lexicon.phrases.setdefault(phrase[0], []).append((phrase, tuple(dict.fromkeys(cues))))
        else:
            _add_piece(lexicon, entry, tuple(cues))
    return lexicon


_SLOT = re.compile(r"\(([^)]*)\)|([^()|]+)|(\|)")


def _expanded(entry: str) -> Iterator[str]:
    """Every phrase that an entry stands for: ``will (not|) do|shall`` → will not do, will do, shall."""
    branch: list[list[str]] = []
    for group, plain, bar in _SLOT.findall(entry):
        if bar:
            yield from (" ".join(" ".join(choice).split()) for choice in product(*branch))
            branch = []
        else:
            branch.append([plain] if plain else group.split("|"))
    yield from (" ".join(" ".join(choice).split()) for choice in product(*branch))


def _add_piece(lexicon: _Lexicon, entry: str, cues: tuple[str, ...]) -> None:
    parts = tuple(entry.strip("^$").replace("...", "…").split("…"))
    piece = _Piece(parts, entry.startswith("^"), entry.endswith("$"), cues, "mask" in cues)
    lexicon.pieces.setdefault(parts[0][0], []).append(piece)


def _scan(
    text: str, tokens: tuple[Token, ...], language: Language, clauses: tuple[tuple[int, int], ...]
) -> Iterator[Hit]:
    starts = {_first_place(text, span) for span in clauses}
    yield from _dates(text)
    words: Language = language if language in _LATIN_LANGUAGES else "en"
    yield from _scan_words(tokens, _lexicon(words), starts)
    if language not in _LATIN_LANGUAGES:
        ends = {_last_place(text, span) for span in clauses}
        yield from _scan_pieces(text, _lexicon(language), starts, ends)


def _first_place(text: str, span: tuple[int, int]) -> int:
    place = span[0]
    while place < span[1] and not text[place].isalnum():
        place += 1
    return place


def _last_place(text: str, span: tuple[int, int]) -> int:
    place = span[1]
    while place > span[0] and not text[place - 1].isalnum():
        place -= 1
    return place


def _dates(text: str) -> Iterator[Hit]:
    for match in _NUMERIC_DATE.finditer(text):
        yield Hit("date", match.group().strip(), match.start(), match.end(), first=match.start() == 0)


def _scan_words(tokens: tuple[Token, ...], lexicon: _Lexicon, starts: set[int]) -> Iterator[Hit]:
    words = [token.word for token in tokens]
    found = list(_phrases(words, lexicon))
    masked = {place for place, length, cues in found if "mask" in cues for place in range(place, place + length)}
    filler = {place for place, _, cues in found if "filler" in cues}
    first: set[int] = set()
    fresh = True
    for place, token in enumerate(tokens):
        fresh = token.start in starts or (fresh and (place - 1 in filler or not tokens[place - 1].word[0].isalnum()))
        if fresh:
            first.add(place)
    for place, length, cues in found:
        if masked.intersection(range(place, place + length)):
            continue
        start, end = tokens[place].start, tokens[place + length - 1].end
        for cue in cues:
            if cue == "month":
                yield from _date_of_month(tokens, place)
            yield Hit(cue, " ".join(words[place : place + length]), start, end, place in first)


def _phrases(words: list[str], lexicon: _Lexicon) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Place, length in words and cues of every phrase that stands in the words."""
    for place, word in enumerate(words):
        for phrase, cues in lexicon.phrases.get(word, ()):
            length = 1 if len(phrase) == 1 else _phrase_length(words, place, phrase)
            if length:
                yield place, length, cues


def _phrase_length(words: list[str], place: int, phrase: tuple[str, ...]) -> int:
    """How many words a phrase takes from ``place`` on, 0 when it does not stand there; "…" is a gap of words."""
    if "…" not in phrase:
        return len(phrase) if tuple(words[place : place + len(phrase)]) == phrase else 0
    gap = phrase.index("…")
    if tuple(words[place : place + gap]) != phrase[:gap]:
        return 0
    last = phrase[-1]
    reach = words[place + gap : place + gap + _GAP_WORDS + 1]
    return gap + reach.index(last) + 1 if last in reach else 0


def _date_of_month(tokens: tuple[Token, ...], place: int) -> Iterator[Hit]:
    """A day of a month in words: "4 May 2026", "March 3rd", "12 juin", "3 de marzo"."""
    before = place - 2 if place >= 2 and tokens[place - 1].word in {"de", "of"} else place - 1  # noqa: PLR2004 two words back
    if before >= 0 and _DAY_NUMBER.fullmatch(tokens[before].word.rstrip(".")):
        yield Hit(
            "date",
            " ".join(t.word for t in tokens[before : place + 1]),
            tokens[before].start,
            tokens[place].end,
            first=before == 0,
        )
    elif place + 1 < len(tokens) and _DAY_NUMBER.fullmatch(tokens[place + 1].word.rstrip(",.:")):
        after = tokens[place + 1]
        yield Hit(
            "date", f"{tokens[place].word} {after.word.rstrip(',.:')}", tokens[place].start, after.end, first=place == 0
        )


def _scan_pieces(text: str, lexicon: _Lexicon, starts: set[int], ends: set[int]) -> Iterator[Hit]:
    masked: set[int] = set()
    found: list[tuple[_Piece, int, int]] = []
    for start, char in enumerate(text):
        for piece in lexicon.pieces.get(char, ()):
            end = _piece_end(text, piece, start)
            if end < 0 or (piece.at_start and start not in starts) or (piece.at_end and end not in ends):
                continue
            if piece.mask:
                masked.update(range(start, end))
            else:
                found.append((piece, start, end))
    longer = {start for piece, start, _ in found if "user" in piece.cues}
    for piece, start, end in found:
        if start in masked or end - 1 in masked or (end - start == 1 and start in longer):
            continue
        for cue in piece.cues:
            yield Hit(cue, text[start:end], start, end, start in starts)


def _piece_end(text: str, piece: _Piece, start: int) -> int:
    """Where a cue ends that begins at ``start``, -1 when it does not stand there."""
    if not text.startswith(piece.parts[0], start):
        return -1
    end = start + len(piece.parts[0])
    for part in piece.parts[1:]:
        place = text.find(part, end, end + _GAP_CHARS + len(part))
        if place < 0 or _SENTENCE_END.search(text, end, place):
            return -1
        end = place + len(part)
    if piece.parts[0][0].isascii() and start and text[start - 1].isascii() and text[start - 1].isalnum():
        return -1
    if (
        text[end - 1].isascii()
        and text[end - 1].isalnum()
        and end < len(text)
        and text[end].isascii()
        and text[end].isalnum()
    ):
        return -1
    return end
