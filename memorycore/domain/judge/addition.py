"""The new text holds the old one and more."""

from memorycore.domain.assertion import Assertion
from memorycore.domain.judge.case import Case, differing
from memorycore.domain.judge.refine import misfit
from memorycore.domain.judge.verdict import Evidence, Verdict, evidence, verdict
from memorycore.domain.judge.wording import IGNORABLE, lost_or_later, unit

_CLOSE = 0.3
_REPLACING = ("end", "correction", "change")


def held_and_more(case: Case) -> Verdict | None:
    """``refines``, unless what is added replaces, narrows or makes another statement of it."""
    runs = case.diff.runs
    if any(run.kind != "added" for run in runs) or case.overlap < _CLOSE or case.diff.moved:
        return None
    return (
        unit(case)
        or _replacing(case)
        or lost_or_later(case)
        or _only(case)
        or _hedged(case)
        or _unfitting(case)
        or _prohibition_moved(case)
        or _narrowing(case)
        or verdict("refines", *(differing("detail", run, case) for run in runs))
    )


def _replacing(case: Case) -> Verdict | None:
    if case.change is not None and any(case.said_newly(cue) for cue in _REPLACING):
        return verdict("supersedes", case.change)
    return None


def _only(case: Case) -> Verdict | None:
    scope = _narrowed(case) if "only" in case.new.quantifiers - case.old.quantifiers else None
    return verdict("disputes", scope) if scope else None


def _hedged(case: Case) -> Verdict | None:
    if case.said_newly("hedge") and not case.only_in_addition("hedge"):
        return verdict("different", evidence("force"), undecided=True)
    return None


def _unfitting(case: Case) -> Verdict | None:
    sign = next((found for run in case.diff.runs if (found := misfit(run, case))), None)
    if sign is None:
        return None
    if sign.code == "polarity":
        return verdict("disputes", sign)
    return verdict("different", sign, undecided=sign.code != "subject")


def _prohibition_moved(case: Case) -> Verdict | None:
    """What the old text forbids is no longer what the new one does: ``never`` stands in what is added."""
    old, new = _forbidden(case.old), _forbidden(case.new)
    if not old or old & new:
        return None
    return verdict("disputes", evidence("modality", case.old.text, case.new.text))


def _forbidden(text: Assertion) -> set[str]:
    """The words right behind each prohibition."""
    bans = [token.start for token in text.tokens if token.kind == "modal" and token.key == "mustnot"]
    return {
        following.key
        for start in bans
        if (following := next((term for term in text.terms if term.token.start > start), None)) is not None
    }


def _narrowing(case: Case) -> Verdict | None:
    exception = case.said_newly("exception")
    scope = evidence("scope", new=exception) if exception else _narrowed(case)
    return verdict("disputes", scope) if scope else None


def _narrowed(case: Case) -> Evidence | None:
    """A word of scope or duty inside the old statement, not in what is added behind it."""
    end = _end_of_old(case)
    for token in case.new.tokens:
        if token.start >= end:
            break
        word = case.new.text[token.start : token.end]
        if token.kind == "quantifier" and token.key not in case.old.quantifiers | IGNORABLE:
            return evidence("scope", new=word)
        if token.kind == "modal" and token.key not in case.old.modals | {"should"}:
            return evidence("modality", new=word)
    return None


def _end_of_old(case: Case) -> int:
    """Place in the new text where the first addition begins, its comma included."""
    first = min(run.new[0].token.start for run in case.diff.runs)
    commas = [token.start for token in case.new.tokens if token.kind == "punct" and token.start < first]
    kept = [new.token.start for _, new in case.diff.shared if new.token.start < first]
    return commas[-1] if commas and kept and commas[-1] > max(kept) else first
