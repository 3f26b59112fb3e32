"""Which of two statements is the later, when both say as of when they hold."""

from functools import lru_cache

from memorycore.domain.assertion import Assertion
from memorycore.domain.assertion.tokens import scan
from memorycore.domain.judge.alignment import Run
from memorycore.domain.judge.case import Case
from memorycore.domain.judge.verdict import Evidence, evidence


def later(case: Case) -> Evidence | None:
    """Evidence that the new text holds as of a later day than the old one."""
    if "since" in case.old.cues and "since" in case.new.cues:
        old, new = case.old.cues["since"][0], case.new.cues["since"][0]
    elif case.change is not None and is_dated(case.old) and is_dated(case.new):
        old, new = case.old.terms[0].text, case.new.terms[0].text
    else:
        return None
    before, after = _date_in(old), _date_in(new)
    newer = before and after and _comparable(before, after) and before < after
    return evidence("later", old, new) if newer or 0 <= _age(old) < _age(new) else None


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
    for token in scan(words)[0]:
        if token.kind == "date" and token.key.startswith("d"):
            return tuple(int(part) if part else 0 for part in token.key[1:].split("-"))
    return ()


def _comparable(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return bool(one[0]) == bool(other[0])
