"""What a question asks for: its words, the exact things that it names, the times that it names."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from memorycore.domain.pointer import asked_for, key_of
from memorycore.domain.telling import small_words
from memorycore.domain.text import fold, query_tokens, sanitise

MOST_WORDS = 48
MOST_ID_ENDS = 8
_PLACE = files("memorycore.domain") / "vocabulary"
_QUOTED = re.compile(r"[\"“「『]([^\"“”「」『』\n]{2,200})[\"”」』]")
_TAG = re.compile(r"(?<![\w&#])#([\w-]{1,64})")
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_JOINED = r"[^\W\u2e80-\U0003ffff]"  # a letter or digit of a script that parts words by blanks
_ID_END = re.compile(rf"(?<!{_JOINED})(?<![-./@\\+])[0-9a-f]{{8}}(?!{_JOINED})(?![-./:@\\+]{_JOINED})")
# What is written without blanks belongs together: docs/plan, pre-edit, 192.168.7.40, error_codes.
_COMPOUND = re.compile(rf"\b{_JOINED}{{1,64}}(?:[-./:@_'\\+]{_JOINED}{{1,64}}){{1,16}}")
_WORD = re.compile(r"[^\W_]+")
_CJK_RUN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_MOST_NAME_TEXT = 1_000
_HEAD_DATE = re.compile(r"^\s*\[[^\]\n]{1,60}\]")
_YEAR = re.compile(r"(?<!\d)(19\d\d|20\d\d)(?!\d)")
_YEAR_MONTH = re.compile(r"(?<!\d)(?:19|20)\d\d\s*(?:[-/]|年)\s*(0?[1-9]|1[0-2])(?!\d)")
_MONTH_NUMBER = re.compile(r"(?<!\d)(1[0-2]|0?[1-9])\s*(?:月|월)")
_CHINESE_MONTHS = ("一月", "二月", "三月", "四月", "五月", "六月", "七月", "八月", "九月", "十月", "十一月", "十二月")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question as search sees it.

    Attributes:
        text: The whole question, clean; of a pointer that was copied into it, the words.
        words: Folded words and pairs of CJK characters, without small words, unless there are no others.
        compounds: Words written together, as sequences of words: ``docs/plan`` → ``docs plan``.
        phrases: Folded texts in quotation marks.
        tags: Folded names behind ``#``.
        ids: Ids of memories that stand in it.
        id_ends: What may be the end of one, as notes give it: eight hexadecimal digits that belong to nothing longer.
        years, months: The times that it names, as numbers.
        asks_time: It asks when or how long.
        asks_for_a_fact: It is a question, and no task.
        pointed: The whole question as pointers are compared, if the mark of one stands in it; empty otherwise.
    """

    text: str
    words: tuple[str, ...]
    compounds: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    tags: frozenset[str] = frozenset()
    ids: tuple[str, ...] = ()
    id_ends: tuple[str, ...] = ()
    years: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    asks_time: bool = False
    asks_for_a_fact: bool = False
    pointed: str = ""

    def names(self) -> set[str]:
        """What in it may be somebody's name: up to three words in a row, two to four CJK characters in a row."""
        folded = fold(self.text[:_MOST_NAME_TEXT])
        words = _WORD.findall(folded)
        found = {" ".join(words[start : start + count]) for count in (1, 2, 3) for start in range(len(words))}
        for run in _CJK_RUN.findall(folded):
            found |= {run[start : start + count] for count in (2, 3, 4) for start in range(len(run) - count + 1)}
        return found

    def single_characters(self) -> tuple[str, ...]:
        """Its CJK characters one by one, for when pairs find too little."""
        small = small_words()
        return tuple(
            word
            for word in query_tokens(self.text, singles=True)
            if len(word) == 1 and word not in self.words and word not in small
        )[:MOST_WORDS]


def read_question(text: str) -> Question:
    """Take a question apart. Any text will do; nothing in it is an operator."""
    given = sanitise(text).strip()
    clean = asked_for(given)
    folded = fold(clean)
    tokens = query_tokens(clean)
    telling = [word for word in tokens if word not in small_words()]
    compounds = [" ".join(query_words(match.group())) for match in _COMPOUND.finditer(folded)]
    years, months = _times_named(folded)
    return Question(
        text=clean,
        words=tuple((telling or tokens)[:MOST_WORDS]),
        compounds=tuple(dict.fromkeys(compound for compound in compounds if " " in compound))[:MOST_WORDS],
        phrases=tuple(match.group(1).strip() for match in _QUOTED.finditer(folded) if match.group(1).strip())[:8],
        tags=frozenset(_TAG.findall(folded)),
        ids=tuple(_ID.findall(folded)[:MOST_WORDS]),
        id_ends=tuple(dict.fromkeys(_ID_END.findall(folded)))[:MOST_ID_ENDS],
        years=years,
        months=months,
        asks_time=bool(_patterns("asks").search(folded)),
        asks_for_a_fact=bool(_patterns("asks", "questions").search(folded)),
        pointed="" if clean == given else key_of(given),
    )


def query_words(text: str) -> list[str]:
    """All words in order, repeats kept, as the index holds them."""
    return _WORD.findall(text)


def tells_time(text: str) -> bool:
    """Whether a memory names a time. A date in square brackets at its head is when it was said, not what it says."""
    return bool(_patterns("tells").search(_HEAD_DATE.sub("", text).casefold()))


def _times_named(folded: str) -> tuple[frozenset[int], frozenset[int]]:
    months = {int(number) for number in (*_YEAR_MONTH.findall(folded), *_MONTH_NUMBER.findall(folded))}
    months |= {number for number, name in enumerate(_months(), 1) if name.search(folded)}
    months |= {number for number, name in enumerate(_CHINESE_MONTHS, 1) if re.search(f"(?<!十){name}", folded)}
    return frozenset(int(year) for year in _YEAR.findall(folded)), frozenset(months)


@cache
def _patterns(name: str, table: str = "times") -> re.Pattern[str]:
    found: list[str] = tomllib.loads((_PLACE / f"{table}.toml").read_text(encoding="utf-8"))[name]
    return re.compile("|".join(f"(?:{pattern})" for pattern in found))


@cache
def _months() -> tuple[re.Pattern[str], ...]:
    found: list[str] = tomllib.loads((_PLACE / "times.toml").read_text(encoding="utf-8"))["months"]["en"]
    return tuple(re.compile(rf"\b(?:{names})\b") for names in found)
