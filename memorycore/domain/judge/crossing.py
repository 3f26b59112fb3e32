"""Two languages: equality only with strong evidence, since words that no list knows may say anything."""

from collections import Counter
from dataclasses import dataclass

from memorycore.domain.assertion import Assertion, Term
from memorycore.domain.judge.case import Case
from memorycore.domain.judge.meaning import ended_by_event
from memorycore.domain.judge.relations import are_opposite, are_siblings, words_of
from memorycore.domain.judge.verdict import Evidence, Verdict, evidence, verdict

_KNOWN = frozenset({"verb", "noun", "adjective", "num", "date", "time", "code", "contrast"})
_NAMED = frozenset({"name", "name?", "code", "word"})
_TYPED = ("num", "time", "date", "code")
_NEAR = 0.5
_COMMON = 0.4
_SURE_LIKENESS = 0.9
_LIGHT = frozenset({"have", "put", "keep", "hold", "daily", "go", "make", "name", "use", "digit", "number", "place"})
"""Verbs that one language says and another leaves out."""


@dataclass(frozen=True, kw_only=True)
class _Overlap:
    """What two texts share by concept, and what is left over."""

    common: Counter[str]
    left_old: frozenset[str]
    left_new: frozenset[str]
    unknown_old: tuple[str, ...]
    unknown_new: tuple[str, ...]
    share: float
    """Shared concepts as a share of the shorter text's, 0..1."""
    whole_share: float
    """Shared concepts as a share of all content of both, 0..1."""
    denied: bool
    """One denies an odd number of times more than the other."""

    @property
    def firm(self) -> bool:
        """Enough in common, of all that both say, to speak of one thing."""
        things = self.common.keys() - {"user"}
        return bool(things) and self.share >= _NEAR and self.whole_share >= _COMMON

    @property
    def whole(self) -> bool:
        """Every word of the old text is known and stands in the new one."""
        return not self.left_old and not self.unknown_old and sum(self.common.values()) > 1 and not self.denied


def across(case: Case, likeness: float | None) -> Verdict:
    """Judge two texts of different languages by their concepts, numbers, dates and negations."""
    seen = _overlap(case)
    typed = _typed_difference(case)
    if relatives := [term for term in case.strangers if term.key in words_of("kin", "words")]:
        return verdict("different", evidence("subject", new=relatives[0].text))
    return (
        _conflict(case, seen, typed)
        or ended_by_event(case)
        or _replaced(case, seen.common)
        or _other_duty(case, seen)
        or _denied(case, seen)
        or (_contained(case, seen) if typed is None else None)
        or (_alike(seen, likeness) if typed is None else None)
        or verdict("different", evidence("language", case.old.text, case.new.text), undecided=bool(seen.common))
    )


def _overlap(case: Case) -> _Overlap:
    old, new = _known(case.old, case.new), _known(case.new, case.old)
    common = old & new
    said = len(case.old.content) + len(case.new.content)
    return _Overlap(
        common=common,
        left_old=frozenset(old - new) - _LIGHT,
        left_new=frozenset(new - old) - _LIGHT,
        unknown_old=_unknown(case.old, case.new),
        unknown_new=_unknown(case.new, case.old),
        share=sum(common.values()) / (min(sum(old.values()), sum(new.values())) or 1),
        whole_share=2 * (sum(common.values()) + _same_measure(case)) / (said or 1),
        denied=case.old.negations % 2 != case.new.negations % 2,
    )


def _same_measure(case: Case) -> bool:
    """Both give a figure of one kind: degrees, euros, a time of day."""
    old, new = (
        {term.token.dimension or term.kind for term in one.content if term.kind == "time" or term.token.dimension}
        for one in (case.old, case.new)
    )
    return bool(old & new)


def _conflict(case: Case, seen: _Overlap, typed: Evidence | None) -> Verdict | None:
    sign = (typed or _opposites(case)) if seen.firm else None
    if sign is None or (typed and case.said_newly("end")):
        return None  # it is over, but with something else
    return verdict("supersedes" if case.change else "disputes", sign)


def _other_duty(case: Case, seen: _Overlap) -> Verdict | None:
    if not seen.firm:
        return None
    if _binding(case.old) and _binding(case.new) and _binding(case.old) != _binding(case.new) and not seen.left_old:
        return verdict("disputes", evidence("modality"))
    if "mustnot" in case.old.modals ^ case.new.modals and not seen.left_old and not case.new.negations:
        return verdict("supersedes" if case.change else "disputes", evidence("modality"))
    if "only" in case.new.quantifiers ^ case.old.quantifiers:
        return verdict("disputes", evidence("scope"), undecided=True)
    return None


def _denied(case: Case, seen: _Overlap) -> Verdict | None:
    if not seen.denied or not seen.firm or seen.left_old or seen.unknown_old:
        return None
    return verdict("supersedes" if case.change else "disputes", evidence("negation"))


def _contained(case: Case, seen: _Overlap) -> Verdict | None:
    """All of the old text is in the new one, word by word."""
    if not seen.whole or case.change is not None or case.strangers or _binding(case.old) != _binding(case.new):
        return None
    if not seen.left_new and not seen.unknown_new:
        return verdict("same", evidence("language", case.old.text, case.new.text))
    if len(case.new.content) > len(case.old.content):
        return verdict("refines", evidence("language"), evidence("detail", new=" ".join(seen.unknown_new)))
    return None


def _alike(seen: _Overlap, likeness: float | None) -> Verdict | None:
    """The model finds them equal, half of the known words are shared, and none of the old ones is missing."""
    if likeness is None or likeness < _SURE_LIKENESS or seen.share < _NEAR or seen.denied or seen.left_old:
        return None
    return verdict("same", evidence("language"), evidence("likeness"))


def _replaced(case: Case, common: Counter[str]) -> Verdict | None:
    """The new text tells a change of what the old one says: from its value to another, or its subject moved."""
    if case.change is None or case.said_newly("also"):
        return None
    if {case.change.code.removeprefix("cue_"), "past"} & case.old.cues.keys():
        return None  # both say "now", or the old one told of the past already
    names = {term.key for term in case.old.content if term.kind in _NAMED}
    if any(term.key in names and _preposition_before(term, case.new) == "from" for term in case.new.content):
        return verdict("supersedes", case.change)
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
    return verdict("supersedes", case.change) if sure or (typed and case.strong_change) else None


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


def _binding(assertion: Assertion) -> frozenset[str]:
    return frozenset("must" if key == "should" else key for key in assertion.modals)


def _known(assertion: Assertion, other: Assertion) -> Counter[str]:
    """Concepts, and words of any kind that the other text has too: names, brands."""
    shared = _words(assertion) & _words(other)
    return Counter(
        {term.key for term in assertion.content if term.kind in _KNOWN} | {word for word in shared if len(word) > 1}
    )


def _words(assertion: Assertion) -> frozenset[str]:
    """Words of no list as they are written: stems differ from language to language, names do not."""
    return frozenset(term.text.casefold() for term in assertion.content if term.kind not in _KNOWN)


def _unknown(assertion: Assertion, other: Assertion) -> tuple[str, ...]:
    return tuple(
        term.text for term in assertion.content if term.kind not in _KNOWN and term.text.casefold() not in _words(other)
    )


def _typed_difference(case: Case) -> Evidence | None:
    for kind in _TYPED:
        old, new = (_of(one, kind) for one in (case.old, case.new))
        measures = [{term.token.dimension for term in terms} for terms in (old, new)]
        if old and new and measures[0] & measures[1] and not {term.key for term in old} & {term.key for term in new}:
            return evidence({"num": "number"}.get(kind, kind), old[0].text, new[0].text)
    return None


def _of(assertion: Assertion, kind: str) -> list[Term]:
    return [term for term in assertion.content if term.kind == kind]
