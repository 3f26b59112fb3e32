"""Cut a text into words, runs of one script and signs, and what the vocabularies know of a word."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from memorycore.domain.assertion.words import lemma, table
from memorycore.domain.gates import vocabulary
from memorycore.domain.lexicon import LATIN_LANGUAGES, Language, lexicon
from memorycore.domain.text import fold

NAMED, NOUN, LIKELY, POSSIBLE = range(4)
"""Ranks of a topic word, the best first: a name or identifier, a noun, what stands where one stands, a guess."""

_COLUMNS = ("en", "zh", "ja", "ko", "fr", "de", "es")
_HAN = r"\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_KATAKANA = r"\u30a1-\u30fa\u30fc"
_HIRAGANA = r"\u3041-\u309f"
_HANGUL = r"\uac00-\ud7af"
_CJK = f"{_HAN}{_KATAKANA}{_HIRAGANA}{_HANGUL}"
_UNIT = re.compile(
    rf"(?P<han>[{_HAN}]+)|(?P<katakana>[{_KATAKANA}]+)|(?P<hiragana>[{_HIRAGANA}]+)|(?P<hangul>[{_HANGUL}]+)"
    r"|(?P<clitic>(?:[cdjlmnstCDJLMNST]|[Qq]u|[Jj]usqu|[Ll]orsqu|[Pp]uisqu)['’](?=[^\W\d_]))"
    rf"|(?P<latin>[^\W{_CJK}]+(?:(?:[-.]|n?['’])[^\W{_CJK}]+)*)"
    r"|(?P<sign>[^\w\s])"
)
_CODE_LIKE = re.compile(r"[a-z]+[A-Z]|_|\.[A-Za-z]|^[A-Z]{2,}\d*$|^[A-Za-z]{1,4}-?\d{1,3}$")
_CLAUSE_SIGNS = frozenset('.!?;:,…。！？；：，、()[]{}（）【】「」"“”«»\n\x00-–—•>*`|/')


class Unit(NamedTuple):
    """One word, run or sign.

    ``kind``: latin, clitic, han, katakana, hiragana, hangul or sign. ``opens``: a clause begins here, ``begins``: a
    sentence does.
    """

    kind: str
    text: str
    key: str
    start: int
    end: int
    opens: bool
    begins: bool


class Word(NamedTuple):
    """A topic word as it stands in the text, and how telling it is: ``rank`` 0 is the best."""

    text: str
    start: int
    end: int
    rank: int


def units(text: str, language: Language) -> list[Unit]:
    """All words and signs of a text, in order."""
    found: list[Unit] = []
    opens, begins, reached = True, True, 0
    for match in _UNIT.finditer(text):
        kind = str(match.lastgroup)
        between = text[reached : match.start()]
        opens, begins = opens or "\n" in between or "\x00" in between, begins or "\n" in between
        key = fold(match.group()).replace("’", "'")
        found.append(Unit(kind, match.group(), key, *match.span(), opens, begins))
        if kind == "sign":
            opens = opens or match.group() in _CLAUSE_SIGNS
            begins = begins or match.group() in ".!?。！？:：;；-•*"
        else:
            opens = begins = False
        reached = match.end()
    return _without_possessives(found) if language in LATIN_LANGUAGES else found


def _without_possessives(found: list[Unit]) -> list[Unit]:
    """``user's`` is the word "user": the sign and the letter behind it are a word of their own."""
    return [
        unit._replace(text=unit.text[:-2], key=unit.key[:-2], end=unit.end - 2)
        if unit.key.endswith("'s") and len(unit.key) > 2  # noqa: PLR2004 more than the ending
        else unit
        for unit in found
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of the words of one language, folded. Verbs and nouns of Latin scripts are by stem as well."""

    language: Language
    closed: frozenset[str]
    denied: frozenset[str]
    determiners: frozenset[str]
    prepositions: frozenset[str]
    nouns: frozenset[str]
    verbs: frozenset[str]
    either: frozenset[str]
    lists: dict[str, tuple[str, ...]]

    def is_noun(self, key: str) -> bool:
        return key in self.nouns or self._stem(key) in self.nouns

    def is_verb(self, key: str) -> bool:
        return key in self.verbs or self._stem(key) in self.verbs

    def _stem(self, key: str) -> str:
        return lemma(key, self.language, {}) if self.language in LATIN_LANGUAGES else key


@cache
def known(language: Language) -> Known:
    """Once per process and language."""
    own: dict[str, str] = vocabulary("pointer").get(language, {})
    lists = {name: tuple(map(fold, words.split())) for name, words in own.items()}
    cues: dict[str, list[str]] = vocabulary("pointer")["cues"]
    nouns, verbs, others = _concepts(language, "noun"), _concepts(language, "verb"), _concepts(language, "adjective")
    either = _cued(language, cues["either"]) | (nouns & verbs)
    denied = {*lists.get("denied", ()), *_cued(language, cues["denied"]), *(others - nouns - either)}
    small = vocabulary("stopwords")["words"].get(language, "").split() if language in LATIN_LANGUAGES else ()
    return Known(
        language=language,
        closed=frozenset({*lists.get("closed", ()), *map(fold, small), *lexicon(language).list("stopwords")}),
        denied=frozenset(denied),
        determiners=frozenset(lists.get("determiners", ())),
        prepositions=frozenset(lists.get("prepositions", ())),
        nouns=_with_stems(nouns, language),
        verbs=_with_stems(verbs | _cued(language, cues["verbs"]), language),
        either=_with_stems(either | lexicon(language).list("noun_verb"), language),
        lists=lists,
    )


def _cued(language: Language, cues: list[str]) -> frozenset[str]:
    """Words that stand alone in a cue of routing; for scripts without blanks whole pieces of two characters or more."""
    own = lexicon(language)
    words = {word for word, shown in own.words.items() if not set(shown).isdisjoint(cues)}
    pieces = {
        piece.parts[0]
        for same in own.pieces.values()
        for piece in same
        if len(piece.parts) == 1 and len(piece.parts[0]) > 1 and not set(piece.cues).isdisjoint(cues)
    }
    return frozenset(words | pieces)


@cache
def _concepts(language: Language, kind: str) -> frozenset[str]:
    rows: dict[str, Any] = table("concepts")
    column = _COLUMNS.index(language)
    return frozenset(
        fold(word.strip())
        for row in rows[kind]
        for word in row.split("|")[column].split(",")
        if " " not in word.strip()
    )


def _with_stems(words: frozenset[str], language: Language) -> frozenset[str]:
    if language not in LATIN_LANGUAGES:
        return words
    return words | {lemma(word, language, {}) for word in words}


def looks_named(text: str) -> bool:
    """Whether a word looks like an identifier, a file name or an abbreviation: ``max_retries``, ``README.md``, ``PR``.

    A long mix of letters and digits is none: it may be a key.
    """
    digits = sum(character.isdigit() for character in text)
    return bool(_CODE_LIKE.search(text)) and (not digits or len(text) <= 8)  # noqa: PLR2004 longer than "RFC-3339"


def latin_words(found: list[Unit]) -> Iterator[Word]:
    """Latin words in a text of another script: identifiers and nouns, no verbs and no small words."""
    english = known("en")
    for unit in found:
        if unit.kind != "latin" or not may_name(unit, english):
            continue
        if looks_named(unit.text):
            yield Word(unit.text, unit.start, unit.end, NAMED)
        elif english.is_noun(unit.key) or not (english.is_verb(unit.key) or unit.key.endswith(("ed", "ing", "ly"))):
            yield Word(unit.text, unit.start, unit.end, LIKELY)


def may_name(unit: Unit, own: Known) -> bool:
    """Whether nothing forbids a Latin word: it is long enough, holds letters, and is no small or denied word."""
    key = unit.key
    long_enough = len(key) > 2 or (len(key) == 2 and unit.text.isupper())  # noqa: PLR2004 "PR", "CI"
    if (
        not long_enough
        or "'" in key
        or not key[0].isalpha()
        or (any(map(str.isdigit, key)) and not looks_named(unit.text))
    ):
        return False
    return key.isprintable() and key not in own.closed and key not in own.denied and key not in own.determiners
