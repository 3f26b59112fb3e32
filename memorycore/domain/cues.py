"""Read a text once and say which cues of the vocabulary stand where: words of duty, taste, completion, dates.

What stands in quotation marks or code is kept apart, since it is mentioned, not said.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from memorycore.domain.lexicon import CJK_LANGUAGES, LATIN_LANGUAGES, Language, Lexicon, Piece, lexicon
from memorycore.domain.text import fold, script_class

Span = tuple[int, int]

_BY_SCRIPT: dict[str, Language] = {"han": "zh", "kana": "ja", "hangul": "ko"}
_GAP_CHARS = 16
_GAP_WORDS = 5
_LONGEST_SPAN = 800
_APART = "\x00"

_TOKEN = re.compile(
    r"[^\W\d_]+n't"  # don't
    r"|'(?:s|m|re|ve|ll|d)\b"  # user's: two words
    r"|\b(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)'(?=\w)"  # l'utilisateur: two words
    r"|[^\W\d_][^\W_]*(?:[-_][^\W_]+)*"  # must-have, i18n: one word
    r"|\d[\w.,:-]*|[^\w\s]"
)
_NAME = re.compile(r"(?<=[^\W\d_A-Z] )[A-ZÀ-Þ][a-zß-ÿ]+\b|(?<=, )[A-ZÀ-Þ][a-zß-ÿ]+\b")  # a capital within a sentence
_CLITIC = re.compile(r"-(?:moi|toi|lui|nous|vous|leur|les|le|la)$")  # "réponds-moi" is "réponds"
_QUOTE_MARKS = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "「": '"', "」": '"', "『": '"', "』": '"'}
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_QUOTED = re.compile(r"\"[^\"\n]{1,400}\"|《[^》\n]{1,80}》|(?<!\w)'[^'\n]{2,200}'(?!\w)")
_SENTENCE_END = re.compile(r"[。！？!?；;\n]+|\.+(?=\s|$)")
_CLAUSE_END = re.compile(r"[。！？!?；;\n]+|(?<!\d)[,:]+|[,:]+(?!\d)|\.+(?=\s|$)|\s[-–—]+\s|—+|\(|\)")
_NUMERIC_DATE = re.compile(
    r"(?<!\d)(?:19|20)\d\d\s?(?:[-/.]|年|년)\s?\d{1,2}\s?(?:[-/.]|月|월)\s?\d{1,2}(?!\d)\s?[日号일]?"  # 2026-08-15
    r"|(?<![\d.])20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)"  # 20260815
    r"|(?<!\d)\d{1,2}\s?[月월]\s?\d{1,2}\s?[日号일]?"  # 8月15日
    r"|(?<![\d.])\d{1,2}\.\s?\d{1,2}\.\s?(?:(?:19|20)\d\d|\d\d)(?!\d)"  # 15.8.2026
    r"|(?<![\d/])\d{1,2}/\d{1,2}/(?:(?:19|20)\d\d|\d\d)(?![\d/])"  # 15/8/2026
    r"|\A\s*\[?\d{1,2}[/.]\d{1,2}(?=[\s\]])(?!\s*[a-z%])"  # 8/15 in front
    r"|[一二三四五六七八九十]{1,2}月[一二三四五六七八九十]{1,3}[日号]"
)
_NUMERAL = re.compile(r"\d|月")
_DAY_NUMBER = re.compile(r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|er)?")
_CHINESE_GRAMMAR = re.compile(r"[的了已是在不把要就都和用]")


class Hit(NamedTuple):
    """One cue in a text: its name, the words that showed it, where they stand, and whether they open a clause."""

    cue: str
    word: str
    start: int
    end: int
    first: bool


class Token(NamedTuple):
    word: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A text with all that was found in it. Positions are code points of the folded ``text``.

    ``names`` are words in the middle of a sentence that begin with a capital, folded.
    ``tokens`` and ``hits`` leave out quotations and code; ``quoted_hits`` are those in quotations.
    """

    text: str
    language: Language
    lexicon: Lexicon
    tokens: tuple[Token, ...]
    hits: dict[str, list[Hit]]
    quoted_hits: dict[str, list[Hit]]
    sentences: tuple[Span, ...]
    clauses: tuple[Span, ...]
    code_chars: int
    names: tuple[Token, ...]

    @property
    def in_words(self) -> bool:
        """Whether the language puts blanks between words that carry grammar at their edges (Latin scripts)."""
        return self.language not in CJK_LANGUAGES

    def has(self, *cues: str) -> bool:
        return any(cue in self.hits for cue in cues)

    def of(self, *cues: str) -> list[Hit]:
        """Hits of these cues in order of place, the longest first where several begin together."""
        return self.within((0, len(self.text)), *cues)

    def within(self, span: Span, *cues: str) -> list[Hit]:
        """Hits of these cues that begin inside a span."""
        found: list[Hit] = []
        for cue in cues:
            hits = self.hits.get(cue)
            if hits:
                found.extend(hits[bisect_left(hits, span[0], key=_start) : bisect_left(hits, span[1], key=_start)])
        return sorted(found, key=_place) if len(found) > 1 else found

    def tokens_in(self, span: Span) -> tuple[Token, ...]:
        """Words and signs that begin inside a span."""
        first = bisect_left(self.tokens, span[0], key=_start)
        return self.tokens[first : bisect_left(self.tokens, span[1], lo=first, key=_start)]

    def sentence_of(self, hit: Hit) -> Span:
        return _span_at(self.sentences, hit.start)

    def clause_of(self, hit: Hit) -> Span:
        return _span_at(self.clauses, hit.start)

    def word_after(self, hit: Hit) -> str:
        """The next word or sign, empty at the end."""
        place = bisect_left(self.tokens, hit.end, key=_start)
        return self.tokens[place].word if place < len(self.tokens) else ""

    def word_before(self, hit: Hit) -> str:
        """The word or sign before, empty at the beginning."""
        place = bisect_left(self.tokens, hit.start, key=_start) - 1
        while place >= 0 and self.tokens[place].end > hit.start:
            place -= 1
        return self.tokens[place].word if place >= 0 else ""


def _start(item: Hit | Token) -> int:
    return item.start


def _place(hit: Hit) -> tuple[int, int]:
    return hit.start, -hit.end


def _span_at(spans: tuple[Span, ...], place: int) -> Span:
    return spans[min(bisect_right(spans, place, key=lambda span: span[1]), len(spans) - 1)]


def read(content: str) -> Reading:
    """Find every cue of a text. Pure; the vocabulary of a language is loaded when first met."""
    text = fold(content.translate(_QUOTE_MARKS)).translate(_QUOTE_MARKS)
    tokens = tuple(Token(_without_clitic(m.group()), m.start(), m.end()) for m in _TOKEN.finditer(text))
    language = language_of(text, {token.word for token in tokens})
    visible, quoted, code_chars = _set_apart(text)
    clauses = _spans(_CLAUSE_END, visible)
    hits: dict[str, list[Hit]] = {}
    quoted_hits: dict[str, list[Hit]] = {}
    for hit in _scan(text, tokens, language, clauses):
        if visible[hit.start] != _APART:
            hits.setdefault(hit.cue, []).append(hit)
        elif any(start <= hit.start < end for start, end in quoted):
            quoted_hits.setdefault(hit.cue, []).append(hit)
    for found in hits.values():
        found.sort(key=_place)
    return Reading(
        text=text,
        language=language,
        lexicon=lexicon(language),
        tokens=tuple(token for token in tokens if visible[token.start] != _APART),
        hits=hits,
        quoted_hits=quoted_hits,
        sentences=_spans(_SENTENCE_END, visible),
        clauses=clauses,
        code_chars=code_chars,
        names=tuple(Token(fold(m.group()), m.start(), m.end()) for m in _NAME.finditer(content)),
    )


def _without_clitic(word: str) -> str:
    return _CLITIC.sub("", word) if "-" in word else word


def language_of(folded: str, words: set[str]) -> Language:
    """The language whose vocabulary fits a folded text; English where nothing says otherwise."""
    script = _BY_SCRIPT.get(script_class(folded))
    if script is not None:
        return script
    if _CHINESE_GRAMMAR.search(folded):  # round English nouns, as in "hotfix 已 deploy"
        return "zh"
    return max(LATIN_LANGUAGES, key=lambda language: lexicon(language).votes(words))


def _set_apart(text: str) -> tuple[str, list[Span], int]:
    """Blank out code and quotations. Returns the text with NUL in their place, the quotations, the length of code."""
    chars = list(text)
    code_chars = 0
    for match in _CODE.finditer(text):
        chars[match.start() : match.end()] = _APART * len(match.group())
        code_chars += len(match.group())
    quoted = [match.span() for match in _QUOTED.finditer("".join(chars))]
    if sum(end - start for start, end in quoted) >= len(text.strip(" .。")):
        return "".join(chars), [], code_chars  # the whole text in quotation marks is the text itself
    for start, end in quoted:
        chars[start:end] = _APART * (end - start)
    return "".join(chars), quoted, code_chars


def _spans(end_of: re.Pattern[str], text: str) -> tuple[Span, ...]:
    spans: list[Span] = []
    start = 0
    for match in end_of.finditer(text):
        if text[start : match.start()].strip():
            spans.append((start, match.end()))
            start = match.end()
    if text[start:].strip() or not spans:
        spans.append((start, len(text)))
    return tuple(part for span in spans for part in _short_enough(span))


def _short_enough(span: Span) -> Iterator[Span]:
    """A stretch without an end is cut, so that reading it takes time in proportion to its length."""
    for start in range(span[0], max(span[1], span[0] + 1), _LONGEST_SPAN):
        yield start, min(span[1], start + _LONGEST_SPAN)


def _scan(text: str, tokens: tuple[Token, ...], language: Language, clauses: tuple[Span, ...]) -> Iterator[Hit]:
    starts = {_first_place(text, span) for span in clauses}
    if _NUMERAL.search(text):
        for match in _NUMERIC_DATE.finditer(text):
            yield Hit("date", match.group().strip(), match.start(), match.end(), match.start() in starts)
    # Chinese, Japanese and Korean texts carry English words among their own.
    yield from _scan_words(tokens, lexicon("en" if language in CJK_LANGUAGES else language), starts)
    if language in CJK_LANGUAGES:
        ends = {_last_place(text, span) for span in clauses}
        yield from _scan_pieces(text, lexicon(language), starts, ends)


def _first_place(text: str, span: Span) -> int:
    return next((place for place in range(*span) if text[place].isalnum()), span[1])


def _last_place(text: str, span: Span) -> int:
    return next((place + 1 for place in reversed(range(*span)) if text[place].isalnum()), span[0])


def _scan_words(tokens: tuple[Token, ...], vocabulary: Lexicon, starts: set[int]) -> Iterator[Hit]:
    words = [token.word for token in tokens]
    found = list(_phrases(words, vocabulary))
    masked = {place for at, length, cues in found if "mask" in cues for place in range(at, at + length)}
    first = _opening_places(tokens, {place for place, _, cues in found if "filler" in cues}, starts)
    for place, length, cues in found:
        if not masked.isdisjoint(range(place, place + length)):
            continue
        start, end = tokens[place].start, tokens[place + length - 1].end
        for cue in cues:
            if cue == "month":
                yield from _day_of_month(tokens, place)
            yield Hit(cue, " ".join(words[place : place + length]), start, end, place in first)


def _opening_places(tokens: tuple[Token, ...], filler: set[int], starts: set[int]) -> set[int]:
    """Places of the words that open a clause, counting past signs and filler such as "please"."""
    first: set[int] = set()
    opening = True
    for place, token in enumerate(tokens):
        passed = place - 1 in filler or not tokens[place - 1].word[0].isalnum()
        opening = token.start in starts or (opening and passed)
        if opening:
            first.add(place)
    return first


def _phrases(words: list[str], vocabulary: Lexicon) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Place, length in words and cues of every phrase that stands in the words."""
    for place, word in enumerate(words):
        if word in vocabulary.words:
            yield place, 1, vocabulary.words[word]
        if word not in vocabulary.phrases:
            continue
        longer = vocabulary.phrases[word]
        following = words[place + 1] if place + 1 < len(words) else ""
        for phrase, cues in (*longer.get(following, ()), *longer.get("…", ())):
            length = _phrase_length(words, place, phrase)
            if length:
                yield place, length, cues


def _phrase_length(words: list[str], place: int, phrase: tuple[str, ...]) -> int:
    """How many words a phrase takes from ``place`` on, 0 when it does not stand there."""
    if "…" not in phrase:
        return len(phrase) if tuple(words[place : place + len(phrase)]) == phrase else 0
    gap = phrase.index("…")
    if tuple(words[place : place + gap]) != phrase[:gap]:
        return 0
    reach = words[place + gap : place + gap + _GAP_WORDS + 1]
    return gap + reach.index(phrase[-1]) + 1 if phrase[-1] in reach else 0


def _day_of_month(tokens: tuple[Token, ...], place: int) -> Iterator[Hit]:
    """A day of a month in words: "4 May 2026", "March 3rd", "12 juin", "3 de marzo", "3. März"."""
    before = place - 1
    while before >= 0 and tokens[before].word in {"de", "of", "."}:
        before -= 1
    if before >= 0 and _DAY_NUMBER.fullmatch(tokens[before].word.rstrip(".")):
        words = " ".join(token.word for token in tokens[before : place + 1])
        yield Hit("date", words, tokens[before].start, tokens[place].end, before == 0)
    elif place + 1 < len(tokens) and _DAY_NUMBER.fullmatch(tokens[place + 1].word.rstrip(",.:")):
        after = tokens[place + 1]
        yield Hit(
            "date", f"{tokens[place].word} {after.word.rstrip(',.:')}", tokens[place].start, after.end, place == 0
        )


def _scan_pieces(text: str, vocabulary: Lexicon, starts: set[int], ends: set[int]) -> Iterator[Hit]:
    found = [
        (piece, start, end)
        for start in range(len(text))
        for piece in _pieces_at(text, start, vocabulary)
        if (end := _piece_end(text, piece, start))
        and (start in starts or not piece.at_start)
        and (end in ends or not piece.at_end)
    ]
    masked = {place for piece, start, end in found if "mask" in piece.cues for place in range(start, end)}
    # A verb of one character yields to a noun that begins with it: "用户" is no "用".
    nouns = {start for piece, start, end in found if end - start > 1 and ("user" in piece.cues or "noun" in piece.cues)}
    for piece, start, end in found:
        hidden = start in masked or end - 1 in masked
        if (hidden and not ("mask" in piece.cues and "session" in piece.cues)) or (end - start == 1 and start in nouns):
            continue
        for cue in piece.cues:
            yield Hit(cue, text[start:end], start, end, start in starts)


def _pieces_at(text: str, start: int, vocabulary: Lexicon) -> tuple[Piece, ...]:
    pair = text[start : start + 2]
    single = vocabulary.pieces.get(text[start], ()) if len(pair) > 1 else ()
    return (*single, *vocabulary.pieces.get(pair, ()))


def _piece_end(text: str, piece: Piece, start: int) -> int:
    """Where a cue ends that begins at ``start``, 0 when it does not stand there."""
    if not text.startswith(piece.parts[0], start) or _joins(text, start):
        return 0
    end = start + len(piece.parts[0])
    edge = _SENTENCE_END if piece.wide else _CLAUSE_END
    for part in piece.parts[1:]:
        place = text.find(part, end, end + _GAP_CHARS + len(part))
        if place < 0 or edge.search(text, end, place):
            return 0
        end = place + len(part)
    return 0 if _joins(text, end) else end


def _joins(text: str, place: int) -> bool:
    """Whether a Latin word or number runs across this place."""
    around = text[place - 1 : place + 1] if place else ""
    return len(around) > 1 and around.isascii() and around.isalnum()
