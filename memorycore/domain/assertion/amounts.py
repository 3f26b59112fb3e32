"""Numbers and quantities: digits, Chinese numerals, number words, units folded to one base per dimension."""

import re
from functools import cache
from typing import NamedTuple

from memorycore.domain.assertion.words import table
from memorycore.domain.text import fold

_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "俩": 2}
_STEPS = {"十": 10, "百": 100, "千": 1000}
_LARGE = {"万": 10_000, "亿": 100_000_000}
_TIMES = frozenset({"once", "twice"})
"""They count nothing: "twice a year" is a frequency."""
NUMERAL = re.compile("[零〇一二两三四五六七八九十百千万亿]{1,20}")
SOFT = frozenset({"", "cny", "usd", "eur", "gbp", "jpy", "krw", "chf", "degree"})
"""Dimensions that a speaker leaves out: "12,000" may be 12,000 yuan. Their value is compared without them."""


class Unit(NamedTuple):
    dimension: str
    factor: float


class Amount(NamedTuple):
    """A number with its unit. ``value`` counts bases of the dimension (seconds, metres, kilograms, °C, bytes …)."""

    dimension: str
    value: float

    @property
    def key(self) -> str:
        """Equal for equal amounts; soft dimensions are not in it."""
        return f"#{'' if self.dimension in SOFT else self.dimension}{self.value:.9g}"


@cache
def units() -> dict[str, Unit]:
    """Every name of a unit, folded; English and Romance plurals included."""
    names: dict[str, Unit] = {}
    for dimension, rows in table("units").items():
        if dimension == "telling":
            continue
        if dimension == "counters":
            names |= {fold(name): Unit("", 1) for name in rows if fold(name) not in names}
            continue
        for factor, *words in rows:
            for word in map(fold, words):
                names[word] = Unit(dimension, factor)
                if word.isalpha() and word.isascii() and len(word) > 2:  # noqa: PLR2004 "ms" and "cm" have no plural
                    names.setdefault(f"{word}s", Unit(dimension, factor))
    return names


@cache
def unit_lengths() -> dict[str, tuple[int, ...]]:
    """By the first character of a unit's name: how long such names are, longest first."""
    found: dict[str, set[int]] = {}
    for name in units():
        found.setdefault(name[0], set()).add(len(name))
    return {first: tuple(sorted(lengths, reverse=True)) for first, lengths in found.items()}


@cache
def numerals(language: str) -> tuple[dict[str, float], dict[str, float]]:
    """Numbers of a language in words, and the words that multiply the number before them."""
    found = table("numerals")
    values = {word: value for word, value in found["values"].get(language, {}).items() if word not in _TIMES}
    return values, found["multipliers"].get(language, {})


def chinese(numeral: str) -> float | None:
    """``一万二`` → 12000, ``三十五`` → 35, ``二〇二六`` → 2026; None when it is no numeral."""
    if not any(character in _STEPS or character in _LARGE for character in numeral):
        digits = "".join(str(_DIGITS[character]) for character in numeral)
        return float(digits) if digits else None
    total = section = digit = 0
    last_step = 1
    for character in numeral:
        if character in _DIGITS:
            digit = _DIGITS[character]
        elif character in _STEPS:
            section += (digit or 1) * _STEPS[character]
            digit, last_step = 0, _STEPS[character]
        else:
            total = (total + section + digit or 1) * _LARGE[character]
            section, digit, last_step = 0, 0, _LARGE[character]
    if digit and last_step > 10 and numeral[-2] != "零":  # noqa: PLR2004 一万二 is 12000, 一百零二 is 102
        digit *= last_step // 10
    return float(total + section + digit)


def chinese_decimal(numeral: str) -> float | None:
    """``三点五`` → 3.5; without 点 as ``chinese``."""
    whole, dot, part = numeral.partition("点")
    value = chinese(whole) if NUMERAL.fullmatch(whole) else None
    if value is None or not dot:
        return value
    if not part or any(character not in _DIGITS for character in part):
        return None
    return value + float("0." + "".join(str(_DIGITS[character]) for character in part))


def decimals(digits: str) -> float:
    """``七八`` behind 一米 → 0.78."""
    return float("0." + "".join(str(_DIGITS[character]) for character in digits))


def measure(value: float, unit: Unit | None) -> Amount:
    """A number and its unit as an amount."""
    if unit is None:
        return Amount("", value)
    if unit.dimension == "temperature":
        return Amount("temperature", value if unit.factor > 0 else (value - 32) * 5 / 9)
    return Amount(unit.dimension, value * unit.factor)
