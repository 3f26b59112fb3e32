"""Statements that stand beside what holds: limited to a time or task, or told of the past."""

from memorycore.domain.judge.case import Case
from memorycore.domain.judge.meaning import ended_by_event, incompatible_in_other_words
from memorycore.domain.judge.refine import misfit
from memorycore.domain.judge.relations import words_of
from memorycore.domain.judge.verdict import Verdict, evidence, verdict

_COVERED = 0.6


def beside_what_holds(case: Case) -> Verdict | None:
    """Limited statements and the past replace nothing, whatever else they say."""
    return _limited(case) or _over(case) or _past(case) or _past_tense(case)


def _limited(case: Case) -> Verdict | None:
    if (word := case.said_newly("limited")) and not _changed_for_good(case, word):
        related = bool(case.diff.shared)
        return Verdict(relation="different", evidence=(evidence("limited", new=word),), limited=related)
    if "limited" in case.old.cues and "limited" not in case.new.cues:
        return verdict("different", evidence("limited", old=case.old.cues["limited"][0]))
    return None


def _changed_for_good(case: Case, near: str) -> bool:
    """``This week the office moved``: a change that is told as done outweighs a word for the days around it."""
    change = case.said_newly("change")
    if not change or near.casefold() not in words_of("limits", "near"):
        return False
    if case.new.language == "zh":
        return "了" in case.new.text or case.new.text.find(change) < case.new.text.find(near)
    return any(token.past and token.start >= place for place in _places(case, change) for token in case.new.tokens)


def _places(case: Case, words: str) -> list[int]:
    return [token.start for token in case.new.tokens if case.new.text[token.start : token.end] == words]


def _over(case: Case) -> Verdict | None:
    """``used to``: what the old text says of now, the new one says of the past."""
    word = case.said_newly("past")
    if (
        not word
        or "until" in word
        or word.casefold() in words_of("told", "before")
        or case.old.past
        or case.only_in_addition("past")
        or case.overlap <= _COVERED
    ):
        return None
    if any(run.kind != "added" or misfit(run, case) for run in case.diff.runs):
        return None
    return verdict("supersedes", evidence("past", new=word))


def _past(case: Case) -> Verdict | None:
    """What was, beside what is."""
    words = case.old.cues.get("past", ())
    if words and "past" not in case.new.cues and case.diff.runs and case.change is None:
        return verdict("different", evidence("past", old=words[0]))
    word = case.said_newly("past")
    if word and not case.strong_change and not case.only_in_addition("past"):
        return verdict("different", evidence("past", new=word))
    return None


def _past_tense(case: Case) -> Verdict | None:
    """An event that ends a state, or shows it false, is another matter than what was."""
    if not case.new.past or case.old.past or case.change is not None or not case.diff.runs:
        return None
    if ended_by_event(case) or incompatible_in_other_words(case):
        return None
    return verdict("different", evidence("past"), undecided=True)
