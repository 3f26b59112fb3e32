"""Records of something done: on which day, and whether that is long ago."""

import re
from datetime import date, datetime
from functools import lru_cache

from memorycore.domain.assertion.moments import moment_at
from memorycore.domain.completion import find_completion
from memorycore.domain.cues import read
from memorycore.domain.guidance import find_guidance
from memorycore.domain.retention import DAY
from memorycore.domain.text import fold

LEAST_MARKS = 2
MOST_GUIDANCE = 0.4  # a word of duty in a record does not make it a rule
_COMPACT = re.compile(r"(?<![\d.])((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?!\d)")
_BEGINS = re.compile(r"(?<!\w)\w|\d+")
_WHOLE_DAY = re.compile(r"d(\d{4})-(\d{1,2})-(\d{1,2})")
_READ_CHARS = 2_000


@lru_cache(maxsize=1024)
def day_of(text: str) -> date | None:
    """The last day that a text names with its year; None when it names none."""
    folded = fold(text[:_READ_CHARS])
    found = [_day(*match.groups()) for match in _COMPACT.finditer(folded)]
    for place in {match.start() for match in _BEGINS.finditer(folded)}:
        moment = moment_at(folded, place)
        if moment is not None and (named := _WHOLE_DAY.fullmatch(moment.key)):
            found.append(_day(*named.groups()))
    return max((day for day in found if day is not None), default=None)


def _day(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None


def is_old_record(text: str, now: datetime, *, days: float) -> bool:
    """Whether a text tells of a day at least ``days`` ago, with two words of completion and no directive."""
    day = day_of(text)
    return day is not None and (now.date() - day) / DAY >= days and _is_record(text)


@lru_cache(maxsize=1024)
def _is_record(text: str) -> bool:
    reading = read(text[:_READ_CHARS])
    completion = find_completion(reading)
    return completion.marks >= LEAST_MARKS and not completion.pending and find_guidance(reading).weight <= MOST_GUIDANCE
