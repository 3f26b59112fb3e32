"""Dates and times of day in the forms people write them, as keys that are equal for equal moments."""

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from memorycore.domain.assertion.amounts import chinese
from memorycore.domain.assertion.words import table


class Moment(NamedTuple):
    """``kind`` date or time; ``key`` is equal for equal moments; ``zone`` hours east of UTC where one is said."""

    kind: str
    key: str
    end: int
    zone: str = ""


_PART = "凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|午前|午後|오전|오후"
_N = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"
_CJK_YEAR = "((?:19|20)[0-9][0-9]|[一二][〇零一二三四五六七八九]{3}) ?[年년]"
_CJK_DATE = re.compile(
    rf"(?:{_CJK_YEAR} ?)?({_N}) ?[月월] ?(?:({_N}) ?[日号일])?(?![\d份])"
    rf"|{_CJK_YEAR}(?![间以])"
)
_ISO = re.compile(
    r"((?:19|20)\d\d)[-/.](0?[1-9]|1[0-2])[-/.](0?[1-9]|[12]\d|3[01])(?!\d)"
    r"|((?:19|20)\d\d)-(0[1-9]|1[0-2])(?![\d-])"
)
_DAY_FIRST = re.compile(r"(0?[1-9]|[12]\d|3[01])\.(0?[1-9]|1[0-2])\.((?:19|20)\d\d)(?!\d)")
_QUARTER = re.compile(r"q([1-4])(?!\w)(?: ?((?:19|20)\d\d))?")
_O_CLOCK = r"点钟|点整|点(?![评心击餐半]?[评心击餐])|時(?!间|間)|시(?!간)"
_CJK_TIME = re.compile(
    rf"({_PART}|晚|早)? ?({_N}|两) ?(?:{_O_CLOCK})"
    rf" ?(?:(半|반)|([一三])刻|({_N}|[一二三四五]?十[一二三四五六七八九]?) ?分?(?=\D|$))?"
)
_PART_CLOCK = re.compile(rf"({_PART}) ?(\d{{1,2}}):(\d\d)")
_CLOCK = re.compile(
    r"(\d{1,2})(?:[:h]|\.(?=\d\d ?(?:uhr|am|pm)))(\d\d)(?::\d\d)?(?!\d)(?: ?(am|pm|a\.m\.|p\.m\.|uhr)(?!\w))?"
    r"|(\d{1,2}) ?(am|pm|a\.m\.|p\.m\.|uhr|heures?)(?!\w)"
)
_SPOKEN = re.compile(r"(half past|quarter past|quarter to) (\w+)|(noon|midnight)(?!\w)")
_PM = frozenset({"下午", "傍晚", "晚上", "晚", "午後", "오후", "pm", "p.m."})
_ABBREVIATED = 3
_HALF_DAY = 12
_HOURS = 24


@cache
def _month_numbers() -> dict[str, int]:
    return {name: number for number, names in enumerate(table("numerals")["months"]["names"], 1) for name in names}


@cache
def month_beginnings() -> frozenset[str]:
    """What the names of months begin with, three characters each."""
    return frozenset(name[:3] for name in _month_numbers())


@cache
def _worded() -> re.Pattern[str]:
    month = "|".join(sorted(_month_numbers(), key=len, reverse=True))
    day = r"(\d{1,2})(?:st|nd|rd|th|er|\.)?"
    year = r"(?:,? (?:de |del )?((?:19|20)\d\d))?"
    return re.compile(
        rf"{day}(?: of| de)? ({month})\.?(?!\w){year}|({month})\.? {day}(?![\d:.%]| ?(?:am|pm)\b){year}(?!\w)"
        rf"|({month})\.?,? ((?:19|20)\d\d)(?!\d)|({month})(?!\w)"
    )


@cache
def _behind_digits() -> re.Pattern[str]:
    """What every date and time that begins with digits goes on with: most numbers are neither."""
    months = "".join(sorted({re.escape(name[0]) for name in _month_numbers()}))
    return re.compile(rf"\d{{1,4}}(?: ?[年년月월点時시apuh]|[:./snrte-]| [od{months}])")


@cache
def _zone() -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in sorted(table("numerals")["zones"], key=len, reverse=True))
    return re.compile(rf" ?\(?({names})(?!\w)(?:([+-]\d{{1,2}}))?\)?")


@cache
def _zone_in_front() -> re.Pattern[str]:
    names = [name for name in table("numerals")["zones"] if not name.isascii() or " " in name]
    return re.compile("|".join(map(re.escape, names)))


def moment_at(text: str, place: int, *, proper: bool = False) -> Moment | None:
    """The date or time that begins at a place of a folded text, the longest one."""
    if text[place].isdecimal() and not _behind_digits().match(text, place):
        return None
    zone = ""
    start = place
    if front := _zone_in_front().match(text, place):
        zone = f"{table('numerals')['zones'][front[0]]:g}"
        start = front.end() + (text[front.end() : front.end() + 1] == " ")
    time = _time_at(text, start)
    if time is not None:
        return _zoned(text, time, zone)
    if zone:
        return None
    found = [moment for read in _DATES if (moment := read(text, place))]
    if word := _in_words(text, place, proper=proper):
        found.append(word)
    return max(found, key=lambda moment: moment.end, default=None)


def _time_at(text: str, place: int) -> tuple[int, int] | None:
    """Minutes since midnight and the end of the text that said so."""
    if found := _PART_CLOCK.match(text, place):
        return _minutes(int(found[2]), int(found[3]), found[1]), found.end()
    if found := _CJK_TIME.match(text, place):
        hour = int(_number(found[2]))
        minute = 30 if found[3] else 15 * int(_number(found[4])) if found[4] else int(_number(found[5] or "0"))
        return _minutes(hour, minute, found[1] or ""), found.end()
    if found := _CLOCK.match(text, place):
        hour, minute, part = (found[4], 0, found[5]) if found[4] else (found[1], found[2], found[3] or "")
        return _minutes(int(hour), int(minute), part), found.end()
    found = _SPOKEN.match(text, place)
    return _spoken(found) if found else None


def _spoken(found: re.Match[str]) -> tuple[int, int] | None:
    """Half past five, noon."""
    if found[3]:
        return (_HALF_DAY * 60 if found[3] == "noon" else 0), found.end()
    hour = table("numerals")["values"]["en"].get(found[2])
    if hour is None and found[2].isdecimal() and int(found[2]) <= _HOURS:
        hour = int(found[2])
    if hour is None:
        return None
    shift = {"half past": 30, "quarter past": 15, "quarter to": -15}[found[1]]
    return (hour * 60 + shift) % (_HOURS * 60), found.end()


def _minutes(hour: int, minute: int, part: str) -> int:
    if part in _PM and hour < _HALF_DAY:
        hour += _HALF_DAY
    if part in {"am", "a.m.", "凌晨", "오전"} and hour == _HALF_DAY:
        hour = 0
    return hour * 60 + minute


def _zoned(text: str, time: tuple[int, int], zone: str) -> Moment:
    minutes, end = time
    if not zone and (after := _zone().match(text, end)):
        offset = float(table("numerals")["zones"][after[1]]) + float(after[2] or 0)
        zone, end = f"{offset:g}", after.end()
    if zone:
        return Moment("time", f"@{(minutes - float(zone) * 60) % (_HOURS * 60):g}z", end, zone)
    return Moment("time", f"@{minutes}", end)


def _number(text: str) -> float:
    return float(text) if text.isdecimal() else chinese(text) or 0


def _date(year: object, month: object = None, day: object = None) -> str:
    parts = [f"{int(_number(str(part)))}" if part else "" for part in (year, month, day)]
    return "d" + "-".join(parts)


def _iso(text: str, place: int) -> Moment | None:
    found = _ISO.match(text, place)
    if found is None:
        return None
    key = _date(found[1], found[2], found[3]) if found[1] else _date(found[4], found[5])
    return Moment("date", key, found.end())


def _cjk(text: str, place: int) -> Moment | None:
    found = _CJK_DATE.match(text, place)
    if found is None:
        return None
    return Moment("date", _date(found[1] or found[4], found[2], found[3]), found.end())


def _european(text: str, place: int) -> Moment | None:
    found = _DAY_FIRST.match(text, place)
    return Moment("date", _date(found[3], found[2], found[1]), found.end()) if found else None


def _quarter(text: str, place: int) -> Moment | None:
    found = _QUARTER.match(text, place)
    return Moment("date", f"q{found[1]}-{found[2] or ''}", found.end()) if found else None


def _in_words(text: str, place: int, *, proper: bool) -> Moment | None:
    found = _worded().match(text, place)
    if found is None:
        return None
    months = _month_numbers()
    month = found[2] or found[4] or found[7]
    if month:
        key = _date(found[3] or found[6] or found[8], months[month], found[1] or found[5])
        return Moment("date", key, found.end())
    alone = found[9]
    if len(alone) <= _ABBREVIATED and alone not in {"may", "mai"}:
        return None  # "Jan" alone is a name
    if alone in table("numerals")["months"]["ambiguous"] and not (proper or _names_a_month(text, place, alone)):
        return None
    return Moment("date", _date(None, months[alone]), found.end())


def _names_a_month(text: str, place: int, word: str) -> bool:
    before = text[:place].split()[-1:] or [""]
    if before[0] in table("numerals")["months"]["after"] and before[0] != "to":
        return True
    return word in {"march", "mai"} and before[0] in table("numerals")["months"]["after"]


_DATES: tuple[Callable[[str, int], Moment | None], ...] = (_iso, _cjk, _european, _quarter)
