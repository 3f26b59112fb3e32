"""Which of two statements is the later, when both say as of when they hold."""

from functools import lru_cache

from memorycore.domain.assertion import Assertion
from memorycore.domain.assertion.moments import moment_at
from memorycore.domain.judge.alignment import Run
from memorycore.domain.judge.case import Case
from memorycore.domain.judge.verdict import Evidence, evidence
from memorycore.domain.text import fold


def later(case: Case) -> Evidence | None:
    """Evidence that the new text holds as of a later day than the old one."""
    old, new = _as_of(case)
    before, after = _date_in(old), _date_in(new)
    newer = before and after and _comparable(before, after) and before < after
    return evidence("later", old, new) if newer or 0 <= _age(old) < _age(new) else None


def earlier(case: Case) -> Evidence | None:
    """Evidence that the new text tells of an earlier day than the old one: it came later, but is older news."""
    old, new = _as_of(case)
    before, after = _date_in(old), _date_in(new)
    older = before and after and _comparable(before, after) and before > after
    return evidence("period", old, new) if older or 0 <= _age(new) < _age(old) else None


def _as_of(case: Case) -> tuple[str, str]:
    """The words with which both say as of when they hold, empty when one does not."""
    if "since" in case.old.cues and "since" in case.new.cues:
        return case.old.cues["since"][0], case.new.cues["since"][0]
    if is_dated(case.old) and is_dated(case.new):
        return case.old.terms[0].text, case.new.terms[0].text
    return "", ""


def is_dated(assertion: Assertion) -> bool:
    """An entry of a diary: a date, then what happened."""
    tokens = assertion.tokens
    return len(tokens) > 1 and tokens[0].kind == "date" and tokens[1].kind == "punct"


def is_finer_date(run: Run) -> bool:
    """June, then 18 June: the same date told more closely."""
    old, new = ([term for term in terms if term.kind == "date"] for terms in (run.old, run.new))
    if len(old) != 1 or len(run.old) != 1 or not new or old[0].denied != new[0].denied:
        return False
    before, after = old[0].key.split("-"), new[0].key.split("-")
    return len(before) == len(after) and all(
        part in {"", "d", other} for part, other in zip(before, after, strict=True)
    )


_AGES = (("last", "上", "昨", "去年"), ("this", "本", "今", "目前", "现在"))


def _age(words: str) -> int:
    """1 for a period that is going on, 0 for one that is over, -1 when the words do not say."""
    return next((age for age, signs in enumerate(_AGES) if any(sign in words for sign in signs)), -1)


@lru_cache(maxsize=512)
def _date_in(words: str) -> tuple[int, ...]:
    """Year, month and day, 0 where one is not said."""
    text = fold(words)
    for place in range(len(text)):
        if place and text[place - 1].isalnum() and text[place].isascii():
            continue  # within a word or number
        moment = moment_at(text, place, proper=True)
        if moment is not None and moment.kind == "date" and moment.key.startswith("d"):
            return tuple(int(part) if part else 0 for part in moment.key[1:].split("-"))
    return ()


def _comparable(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return bool(one[0]) == bool(other[0])
