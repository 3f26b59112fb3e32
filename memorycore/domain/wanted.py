"""What kind of thing a question asks for, as a time, a number or a person, and whether a text holds one at all.

A text that shares the subject of "How old is Noor?" and holds no age does not answer. Nothing is said of questions
whose answer may look like anything: why, how, which, yes or no.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from memorycore.domain.assertion.amounts import NUMERAL
from memorycore.domain.assertion.patterns import FIRST_CJK
from memorycore.domain.assertion.tokens import Token, scan
from memorycore.domain.assertion.words import table
from memorycore.domain.text import fold

LONGEST = 600
"""Code points; a longer text holds a thing of every kind, sooner or later."""
_SHORTEST_NAME = 3
_SHARED = 5
"""Letters that the forms of a name share."""
_BEFORE_A_SENTENCE = frozenset(".!?:¿¡\n")
_NUMBER = re.compile(r"(?<![\d.,:])\d+(?:[.,:]\d+)*")
_NAMES = frozenset({"name", "name?"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of thing, how it is asked for, and by what one is recognised; see ``vocabulary/wanted.toml``."""

    name: str
    asks: re.Pattern[str]
    tells: re.Pattern[str] | None
    dimensions: frozenset[str]
    never: frozenset[str]
    moments: bool
    codes: bool
    names: bool
    digits: int


@lru_cache(maxsize=64)
def asked_for(question: str) -> Kind | None:
    """The kind of thing that a question asks for; None: nothing that could be told by its looks."""
    folded = fold(question)
    return next((kind for kind in _kinds() if kind.asks.search(folded)), None)


def holds(kind: Kind, text: str, question: str) -> bool:
    """Whether a text holds a thing of this kind that the question does not say itself."""
    if len(text) > LONGEST or _tells(kind, text, fold(question)):
        return True
    if not kind.names and not _numerals().search(fold(text)):  # to read tokens takes ten times as long
        return False
    asked = frozenset(token.key for token in _read(question))
    return any(token.key not in asked and _is_one(kind, token) for token in _read(text))


def _tells(kind: Kind, text: str, folded: str) -> bool:
    """Whether a pattern finds one; ``folded``: the question."""
    if kind.tells is None:
        return False
    said = frozenset(_NUMBER.findall(folded))
    left = _NUMBER.sub(lambda number: " " if number[0] in said else number[0], fold(text))
    return any(not kind.names or found[0] not in folded for found in kind.tells.finditer(left))


def lacks_a_name(text: str, question: str) -> bool:
    """Whether the question names somebody or something that a text does not name.

    A name is told by its capital, so none is seen in scripts without, nor in German, nor where a sentence begins.
    """
    names = _names(question)
    return bool(names) and any(name not in fold(text) for name in names)


@lru_cache(maxsize=64)
def _names(question: str) -> frozenset[str]:
    tokens, cased, language = scan(question)
    if language == "de":
        return frozenset()
    found = {
        fold(cased[token.start : token.end])[:_SHARED]
        for token in tokens
        if token.kind in _NAMES
        and token.end - token.start >= _SHORTEST_NAME
        and cased[token.start].isupper()
        and cased[token.start + 1].islower()
        and cased[: token.start].rstrip()[-1:] not in _BEFORE_A_SENTENCE | {""}
    }
    return frozenset(found)


def _is_one(kind: Kind, token: Token) -> bool:
    if token.kind == "num":
        return _has_dimension(kind, token.dimension) or _has_digits(kind, token)
    if token.kind in {"date", "time"}:
        return kind.moments
    if token.kind == "code":
        return (kind.codes and any(map(str.isdigit, token.key))) or _has_digits(kind, token)
    return kind.names and token.kind in _NAMES


def _has_dimension(kind: Kind, dimension: str) -> bool:
    if dimension in kind.dimensions:
        return True
    return "*" in kind.dimensions and bool(dimension) and dimension not in kind.never


def _has_digits(kind: Kind, token: Token) -> bool:
    return bool(kind.digits) and sum(map(str.isdigit, token.key)) >= kind.digits


@lru_cache(maxsize=1024)
def _read(text: str) -> tuple[Token, ...]:
    """The near memories of one question are near to the next one too."""
    return tuple(scan(text)[0])


@cache
def _numerals() -> re.Pattern[str]:
    """Digits, Chinese numerals, and the number words of all languages."""
    told = table("numerals")
    words = {fold(word) for name in ("values", "multipliers") for own in told[name].values() for word in own}
    latin = "|".join(sorted(re.escape(word) for word in words if word.isascii() or word[0] < FIRST_CJK))
    others = "|".join(sorted(re.escape(word) for word in words if word[0] >= FIRST_CJK))
    return re.compile(rf"\d|{NUMERAL.pattern.partition(']')[0]}半双]|\b(?:half|quarter|{latin})\b|{others}")


@cache
def _kinds() -> tuple[Kind, ...]:
    text = (files("memorycore.domain") / "vocabulary" / "wanted.toml").read_text(encoding="utf-8")
    return tuple(_kind(name, told) for name, told in tomllib.loads(text).items())


def _kind(name: str, told: Mapping[str, Any]) -> Kind:
    return Kind(
        name=name,
        asks=_any_of(told["asks"]),
        tells=_any_of(told["tells"]) if "tells" in told else None,
        dimensions=frozenset(told.get("dimensions", ())),
        never=frozenset(told.get("never", ())),
        moments=told.get("moments", False),
        codes=told.get("codes", False),
        names=told.get("names", False),
        digits=told.get("digits", 0),
    )


def _any_of(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
