"""Two languages: equality only with strong evidence, since words that no list knows may say anything."""

from collections import Counter

from memorycore.domain.assertion import Assertion, Term
from memorycore.domain.judge.case import Case
from memorycore.domain.judge.meaning import ended_by_event
from memorycore.domain.judge.relations import are_opposite, are_siblings
from memorycore.domain.judge.verdict import Evidence, Verdict, evidence, verdict

_KNOWN = frozenset({"verb", "noun", "adjective", "num", "date", "time", "code", "contrast"})
_NAMED = frozenset({"name", "name?", "code", "word"})
_TYPED = ("num", "time", "date", "code")
_NEAR = 0.5
_SURE_LIKENESS = 0.9
_LIGHT = frozenset({"have", "put", "hold", "daily", "go", "make", "be called", "use"})
"""Verbs that one language says and another leaves out."""


def across(case: Case, likeness: float | None) -> Verdict:
    old, new = _known(case.old), _known(case.new)
    unknown_old, unknown_new = _unknown(case.old), _unknown(case.new)
    common = old & new
    left_old, left_new = set(old - new) - _LIGHT, set(new - old) - _LIGHT
    size = min(sum(old.values()), sum(new.values())) or 1
    share = sum(common.values()) / size
    typed = _typed_difference(case)
    denied = case.old.negations % 2 != case.new.negations % 2
    firm = common and share >= _NEAR
    if firm and typed is not None:
        return verdict("supersedes" if case.change else "disputes", typed)
    if firm and (opposite := _opposites(case)) is not None:
        return verdict("supersedes" if case.change else "disputes", opposite)
    if (ended := ended_by_event(case)) is not None:
        return ended
    if (replaced := _replaced(case, common)) is not None:
        return verdict("supersedes", replaced)
    if case.old.modals != case.new.modals and firm and not left_old and case.old.modals and case.new.modals:
        return verdict("disputes", evidence("modality"))
    if "only" in case.new.quantifiers ^ case.old.quantifiers and firm:
        return verdict("disputes", evidence("scope"), undecided=True)
    if denied and firm and not left_old and not unknown_old:
        return verdict("supersedes" if case.change else "disputes", evidence("negation"))
    whole = not left_old and not unknown_old and sum(common.values()) > 1 and not denied and typed is None
    if whole and case.change is None and case.old.modals == case.new.modals:
        if not left_new and not unknown_new:
            return verdict("same", evidence("language", case.old.text, case.new.text))
        if case.old.keys and len(case.new.content) > len(case.old.content):
            return verdict("refines", evidence("language"), evidence("detail", new=" ".join(unknown_new)))
    if likeness is not None and likeness >= _SURE_LIKENESS and share >= _NEAR and not denied and not left_old:
        return verdict("same", evidence("language"), evidence("likeness"))
    return verdict("different", evidence("language", case.old.text, case.new.text), undecided=bool(common))


def _replaced(case: Case, common: Counter[str]) -> Evidence | None:
    """The new text tells a change of what the old one says: from its value to another, or its subject moved."""
    if case.change is None or case.said_newly("also"):
        return None
    names = {term.key for term in case.old.content if term.kind in _NAMED}
    if any(term.key in names and _preposition_before(term, case.new) == "from" for term in case.new.content):
        return case.change
    subject = {term.key for term in case.old.content if term.subject and term.kind in _KNOWN}
    if not subject or not subject <= common.keys():
        return None
    typed = _typed_difference(case) is not None
    sibling = any(
        are_siblings(one, other) or are_opposite(one, other)
        for one in case.old.keys - case.new.keys
        for other in case.new.keys - case.old.keys
    )
    sure = (typed or sibling) and len(common) > 1
    return case.change if sure or (typed and case.strong_change) else None


def _opposites(case: Case) -> Evidence | None:
    """One says open where the other says closed."""
    for old in case.old.content:
        for new in case.new.content:
            apart = old.key not in case.new.keys and new.key not in case.old.keys
            if apart and are_opposite(old.key, new.key) and old.denied == new.denied:
                return evidence("polarity", old.text, new.text)
    return None


def _preposition_before(term: Term, assertion: Assertion) -> str:
    place = assertion.terms.index(term)
    before = assertion.terms[place - 1] if place else None
    return before.key if before is not None and before.kind == "prep" else ""


def _known(assertion: Assertion) -> Counter[str]:
    return Counter({term.key for term in assertion.content if term.kind in _KNOWN})


def _unknown(assertion: Assertion) -> list[str]:
    return [term.text for term in assertion.content if term.kind not in _KNOWN]


def _typed_difference(case: Case) -> Evidence | None:
    for kind in _TYPED:
        old, new = (_of(one, kind) for one in (case.old, case.new))
        if old and new and not {term.key for term in old} & {term.key for term in new}:
            return evidence({"num": "number"}.get(kind, kind), old[0].text, new[0].text)
    return None


def _of(assertion: Assertion, kind: str) -> list[Term]:
    return [term for term in assertion.content if term.kind == kind]
