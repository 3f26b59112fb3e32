"""What kind of thing a question asks for, as a time, a number or a person, and whether a text holds one at all.

A text that shares the subject of "How old is Noor?" and holds no age does not answer. Nothing is said of questions
whose answer may look like anything: why, how, which, yes or no.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
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
_YEAR = re.compile(r"#(19|20)\d\d")
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
    amount: bool
    by_unit: bool
    beside_addresses: bool
    beside_years: bool


@lru_cache(maxsize=64)
def asked_for(question: str) -> Kind | None:
    """The kind of thing that a question asks for; None: nothing that could be told by its looks."""
    folded = fold(question)
    kind = next((kind for kind in _kinds() if kind.asks.search(folded)), None)
    if kind is None or not kind.by_unit:
        return kind
    dimension = _unit_asked_for(folded)
    if not dimension:
        return kind
    return replace(kind, tells=None, dimensions=frozenset({dimension}), moments=False, codes=False)


def holds(kind: Kind, text: str, question: str) -> bool:
    """Whether a text holds a thing of this kind that the question does not say itself."""
    if len(text) > LONGEST:
        return True
    asked, rest = fold(question), fold(text)
    if kind.beside_addresses:
        rest = _words("address", "tells").sub(" ", rest)
    if kind.amount and not _words("places", "asked").search(asked):
        rest = _words("places", "tells").sub(" ", rest)
    if _tells(kind, rest, asked):
        return True
    if not kind.names and not _numerals().search(rest):  # to read tokens takes ten times as long
        return False
    said = frozenset(token.key for token in _read(question))
    read = _read(text if kind.names else rest)  # names are told by their capitals
    return any(token.key not in said and _is_one(kind, token) for token in read)


def _unit_asked_for(folded: str) -> str:
    """The dimension of the unit that a question names, if it is one that only such a number answers."""
    for name in filter(None, (name for found in _words("unit", "names").finditer(folded) for name in found.groups())):
        token, *behind = scan(f"1 {name}")[0]
        is_whole = not behind or (name[0] >= FIRST_CJK and behind[0].kind != "char")
        if is_whole and token.dimension in _told()["unit"]["dimensions"]:
            return token.dimension
    return ""


def _tells(kind: Kind, text: str, folded: str) -> bool:
    """Whether a pattern finds one; both are folded, ``folded`` is the question."""
    if kind.tells is None:
        return False
    said = frozenset(_NUMBER.findall(folded))
    left = _NUMBER.sub(lambda number: " " if number[0] in said else number[0], text)
    return any(not kind.names or found[0] not in folded for found in kind.tells.finditer(left))


def lacks_a_name(text: str, question: str) -> bool:
    """Whether the question names somebody or something that a text does not name.

    A name is told by its capital, so none is seen in scripts without, nor in German, nor where a sentence begins.
    """
    names = _names(question)
    return bool(names) and any(name not in fold(text) for name in names)


def is_about_another(text: str, question: str) -> bool:
    """Whether the question names somebody as a daughter or a dentist, and the text only others of that sort."""
    asked = _roles(question)
    found = _words("roles", "asked").search(fold(question))
    role = next(filter(None, found.groups()), "") if found else ""
    if (role and role in fold(text)) or not (asked or role):
        return False
    told, may_be = _roles(text), _told()["roles"]["may_be"]
    return bool(told) and not any(
        one == other or [one, other] in may_be or [other, one] in may_be for one in asked for other in told
    )


@lru_cache(maxsize=1024)
def _roles(text: str) -> frozenset[str]:
    return frozenset(token.key for token in _read(text)).intersection(_told()["roles"]["words"])


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
    is_year = kind.beside_years and _YEAR.fullmatch(token.key)
    return bool(kind.digits) and not token.dimension and not is_year and sum(map(str.isdigit, token.key)) >= kind.digits


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
    return tuple(_kind(name, told) for name, told in _told().items() if "asks" in told)


@cache
def _words(section: str, column: str) -> re.Pattern[str]:
    return _any_of(_told()[section][column])


@cache
def _told() -> dict[str, dict[str, Any]]:
    text = (files("memorycore.domain") / "vocabulary" / "wanted.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


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
        amount=told.get("amount", False),
        by_unit=told.get("by_unit", False),
        beside_addresses=told.get("beside_addresses", False),
        beside_years=told.get("beside_years", False),
    )


def _any_of(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
