"""The judge: how a new text stands to one that is stored, by rules that compare evidence and not similarity.

``same``, ``refines`` and ``supersedes`` destroy something, so each needs positive evidence; in doubt a pair is
``disputes`` when one slot of one subject has two values, else ``different``. The rules are asked in order and the first
that knows decides: what holds for a time only, another language, the same words, then more or other words.
"""

from memorycore.domain.assertion import form_of
from memorycore.domain.judge.addition import held_and_more
from memorycore.domain.judge.alignment import LONGEST
from memorycore.domain.judge.apart import beside_what_holds
from memorycore.domain.judge.case import Case, case_of
from memorycore.domain.judge.crossing import across
from memorycore.domain.judge.footing import (
    has_little_in_common,
    left_out,
    on_one_footing,
    other_of_a_kind,
    says_nothing,
    two_episodes,
)
from memorycore.domain.judge.meaning import ended_by_event, incompatible_in_other_words
from memorycore.domain.judge.period import earlier
from memorycore.domain.judge.replacement import one_thing_for_another, other_subject
from memorycore.domain.judge.restated import restated
from memorycore.domain.judge.statements import comparable
from memorycore.domain.judge.swap import said_instead
from memorycore.domain.judge.verdict import Evidence, Relation, Verdict, evidence, verdict
from memorycore.domain.judge.wording import denied_complement, polarity, said_from_both_sides, said_twice, same_words

__all__ = ["Evidence", "Relation", "Verdict", "judge"]

_CLOSE = 0.3
_MOSTLY_SHARED = 0.8
_LATIN = frozenset({"en", "fr", "de", "es"})


def judge(old: str, new: str, *, likeness: float | None = None) -> Verdict:
    """How ``new`` stands to ``old``.

    Args:
        old: The stored text.
        new: The text that arrives.
        likeness: Calibrated semantic score of the two, 0 for unrelated, 1 for equal; only ever helps across languages.

    Never raises. Texts beyond some thousand characters are compared as a whole.
    """
    if form_of(old) == form_of(new):
        return verdict("same", evidence("form"))
    if not comparable(old, new):
        return verdict("different", evidence("talk"))
    case = case_of(old, new)
    if case.old.cut or case.new.cut or max(len(case.old.terms), len(case.new.terms)) > LONGEST:
        return verdict("different", evidence("long"), undecided=True)
    if has_little_in_common(case):
        found = _instead(case) or ended_by_event(case) or incompatible_in_other_words(case)
        return _newest(case, _of_one_subject(case, found or verdict("different", evidence("apart"))))
    return _newest(case, _of_one_subject(case, _instead(case) or beside_what_holds(case) or _by_rules(case, likeness)))


def _instead(case: Case) -> Verdict | None:
    """What few pairs have is looked for only there."""
    return said_instead(case) if "swap" in case.new.cues else None


def _by_rules(case: Case, likeness: float | None) -> Verdict:
    if _languages_differ(case):
        return across(case, likeness)
    if says_nothing(case):
        return verdict("different", evidence("apart"))
    if sign := other_of_a_kind(case):
        return verdict("different", sign)
    if not on_one_footing(case):
        found = restated(case) or verdict("different", evidence("apart"), undecided=case.overlap >= _CLOSE)
    else:
        found = _by_words(case)
    return two_episodes(case, found) or found


def _by_words(case: Case) -> Verdict:
    if not case.diff.runs:
        return same_words(case)
    return (
        said_from_both_sides(case)
        or denied_complement(case)
        or said_twice(case)
        or ended_by_event(case)
        or polarity(case)
        or _held_and_more(case)
        or incompatible_in_other_words(case)
        or restated(case)
        or one_thing_for_another(case)
        or verdict("different", evidence("apart"), undecided=case.overlap >= _CLOSE)
    )


def _held_and_more(case: Case) -> Verdict | None:
    """A text that names the old value where it tells that it is gone refines nothing."""
    found = held_and_more(case)
    told = restated(case) if found is not None else None
    return told if told is not None and told.relation == "supersedes" else found


def _languages_differ(case: Case) -> bool:
    """Two Latin languages that share nearly all words are one, which a few words misled."""
    languages = {case.old.language, case.new.language}
    return len(languages) > 1 and (case.overlap < _MOSTLY_SHARED or not languages <= _LATIN)


def _of_one_subject(case: Case, found: Verdict) -> Verdict:
    """Nothing is superseded by what is said of somebody or something else, or of a part or a time only."""
    if found.relation != "supersedes" or any(sign.code == "subject" for sign in found.evidence):
        return found
    if case.strangers and not _told_of_a_day(case):
        return found if found == restated(case) else other_subject(case)
    return verdict("different", left) if (left := left_out(case)) else found


def _told_of_a_day(case: Case) -> bool:
    """``In May the office moved``: a day in front of a change is when it happened."""
    return case.strong_change and all(term.kind == "date" for term in case.strangers)


def _newest(case: Case, found: Verdict) -> Verdict:
    """Older news supersedes nothing, even when it arrives later."""
    sign = earlier(case) if found.relation == "supersedes" else None
    return verdict("different", sign) if sign else found
