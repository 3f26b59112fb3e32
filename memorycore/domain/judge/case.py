"""A pair of assertions laid side by side, with what the words say about time and replacement."""

from dataclasses import dataclass, replace
from functools import cached_property

from memorycore.domain.assertion import Assertion, Term, assertion_of
from memorycore.domain.judge.alignment import Difference, Run, difference
from memorycore.domain.judge.relations import words_of
from memorycore.domain.judge.verdict import Evidence, evidence

_STRONG = ("end", "correction", "change", "swap")
_BINDING = ("since", "past", "limited", "end", "exception", "condition", "hedge")
_WEAK = ("since", "now", "perfect")


@dataclass(frozen=True, kw_only=True)
class Case:
    old: Assertion
    new: Assertion

    @cached_property
    def diff(self) -> Difference:
        """The alignment, which some pairs never need."""
        return difference(self.old, self.new)

    def said_newly(self, cue: str) -> str:
        """The words of a cue that only the new text has, empty when there are none."""
        if cue not in self.new.cues:
            return ""
        before = [word.casefold() for word in self.old.cues.get(cue, ())]
        if before and cue == "perfect":
            return ""
        if cue == "end" and "condition" in self.new.cues and "condition" in self.old.cues:
            before = [*before, *words_of("lasting", "not")]  # "if it rains, it is cancelled" ends nothing
        words = [
            word
            for word in self.new.cues[cue]
            if not any(word.casefold() in known or known in word.casefold() for known in before)
        ]
        if words and cue == "change" and self.new.events and self.new.events <= self.old.keys | self.old.events:
            return ""  # both texts tell the same move
        return words[0] if words else ""

    @cached_property
    def strangers(self) -> tuple[Term, ...]:
        """What the new text names before its predicate and the old one does not name at all: another subject.

        Empty when no predicate was found, or when only a property is named ("the place of the meeting").
        """
        terms = self.new.content
        if all(term.subject for term in terms) and "change" not in self.new.cues:
            return ()
        of_it = any(term.subject and term.key != "user" and term.key in self.old.keys for term in terms)
        sides = words_of("attribute", "words") if of_it else frozenset[str]()
        known, told = self.old.keys, words_of("told", "words")
        dated = len(self.new.tokens) > 1 and self.new.tokens[0].kind == "date" and self.new.tokens[1].kind == "punct"
        typed = {term.kind for term in self.old.content if term.kind in {"time", "num"}}
        return tuple(
            term
            for term in terms[dated:]
            if term.subject
            and term.key not in known
            and term.key != "user"
            and term.kind not in typed
            and term.key not in sides
            and term.key not in told
        )

    def only_in_addition(self, cue: str) -> bool:
        """A cue of the new text stands in a clause behind all that the old one said."""
        said = [new.token.end for _, new in self.diff.shared]
        places = [token.start for token in self.new.tokens if token.kind == "cue" and token.key == cue]
        if not said or not places or min(places) < max(said) or any(run.kind != "added" for run in self.diff.runs):
            return False
        return any(sign in self.new.text[max(said) : min(places)] for sign in ",;:.(-")

    @cached_property
    def lost_cue(self) -> str:
        """Words about time, change or limits that only the old text has, or that the new one has otherwise."""
        for cue in _BINDING:
            before, after = self.old.cues.get(cue, ()), self.new.cues.get(cue, ())
            if before and {word.casefold() for word in before} != {word.casefold() for word in after}:
                return before[0]
        return ""

    @cached_property
    def unit_differs(self) -> Evidence | None:
        """Equal numbers in two units that one could leave out: 12 euros, 12 dollars."""
        for old, new in self.diff.shared:
            one, other = old.token.dimension, new.token.dimension
            if old.kind == "num" and one and other and one != other:
                return evidence("unit", old.text, new.text)
        return None

    @cached_property
    def change(self) -> Evidence | None:
        """The sign that the new text takes the place of an old one."""
        for cue in (*_STRONG, *_WEAK):
            if word := self.said_newly(cue):
                return evidence(f"cue_{cue}", new=word)
        return None

    @cached_property
    def strong_change(self) -> bool:
        return any(self.said_newly(cue) for cue in _STRONG)

    @cached_property
    def ordered(self) -> bool:
        """Both are orders; a text that opens with the verb of the other one's order is one too."""
        old, new = self.old.command, self.new.command
        if old is None and new is not None:
            return _opens_with(self.old, self.new.tokens[new].key)
        if new is None and old is not None:
            return _opens_with(self.new, self.old.tokens[old].key)
        return old is not None

    @cached_property
    def overlap(self) -> float:
        """Shared content as a share of all content, 0..1."""
        total = len(self.old.content) + len(self.new.content)
        return 2 * len(self.diff.shared) / total if total else 0.0

    @cached_property
    def shared_predicate(self) -> int:
        return sum(not old.subject and old.key != "user" for old, _ in self.diff.shared)


def _opens_with(text: Assertion, key: str) -> bool:
    return bool(text.content) and text.content[0].key == key and text.content[0].kind not in {"noun", "char"}


def case_of(old: str, new: str) -> Case:
    return case_between(assertion_of(old), assertion_of(new))


def case_between(old: Assertion, new: Assertion) -> Case:
    return Case(old=_settled(old, new), new=_settled(new, old))


def _settled(one: Assertion, other: Assertion) -> Assertion:
    """A word that opens a sentence is a name when the other text has it as one, else the word that it may be."""
    names = other.names
    if one.doubtful <= names:
        return one
    terms = tuple(
        term.with_token(term.token._replace(kind="name?", key=term.token.dimension, dimension=""))
        if term.kind == "name?" and term.key not in names
        else term
        for term in one.terms
    )
    return replace(one, terms=terms)


def snippet(terms: tuple[Term, ...], source: Assertion) -> str:
    """The words of a run as they stand in the text."""
    return source.text[terms[0].token.start : terms[-1].token.end] if terms else ""


def differing(code: str, run: Run, case: Case) -> Evidence:
    return evidence(code, snippet(run.old, case.old), snippet(run.new, case.new))
