"""Conflicts that no alignment shows: what one refuses, what is denied of a kind, events that end a state."""

import re

from memorycore.domain.assertion import Assertion, Term
from memorycore.domain.judge.case import Case
from memorycore.domain.judge.relations import ends, kinds_of, refused_by, slots, words_of
from memorycore.domain.judge.verdict import Evidence, Verdict, evidence, verdict

_DENIAL = re.compile(r"\b(?:not|never)\b")
_PRESENT = frozenset({"is", "are", "'s", "'re"})


def same_subject(case: Case) -> bool:
    """Both speak of the same one, as far as the words before the predicate tell; no subject is the speaker."""
    if case.old.content and case.new.content and case.old.content[0].key == case.new.content[0].key:
        return True
    old, new = _subjects(case)
    return old == new or bool(old & new)


def _subjects(case: Case) -> tuple[set[str], set[str]]:
    """What stands before the predicate in both, a day in front left out: "in May the user moved"."""
    old, new = (
        {term.key for term in one.content if term.subject and term.kind != "date"} - {"user"}
        for one in (case.old, case.new)
    )
    return old, new


def incompatible_in_other_words(case: Case) -> Verdict | None:
    """``vegan`` and ``eats steak``; ``does not drink`` and ``two beers``; ``has no lift`` and ``the lift``."""
    if not same_subject(case) or (case.said_newly("end") and not case.old.negations):
        return None
    pair = _refused(case.old, case.new) or _refused(case.new, case.old, turned=True)
    pair = pair or _denied_kind(case.old, case.new) or _denied_kind(case.new, case.old, turned=True)
    if pair is None:
        return None
    return verdict("supersedes" if case.change else "disputes", *([case.change] if case.change else []), pair)


def _refused(one: Assertion, other: Assertion, *, turned: bool = False) -> Evidence | None:
    if other.negations:
        return None
    for term in one.content:
        if term.denied or not (foods := refused_by(term.key)):
            continue
        for taken in other.content:
            if taken.key in foods and not taken.denied:
                return _pair("incompatible", term, taken, turned=turned)
    return None


def _denied_kind(one: Assertion, other: Assertion, *, turned: bool = False) -> Evidence | None:
    """A thing denied in one text, it or one of its kind affirmed in the other, and nothing else denied."""
    if not one.negations or other.negations:
        return None
    denied = [term for term in one.content if term.denied]
    affirmed = {term.key: term for term in other.content}
    objects = [term for term in one.content if term.kind not in {"verb", "adjective"} and term.key != "user"]
    for term in denied:
        kinds = kinds_of(term.key) if term.kind == "noun" else {term.key}
        found = next((affirmed[key] for key in kinds if key in affirmed), None)
        if found is None:
            continue
        rest = [thing for thing in objects if thing.key != term.key]
        if all(any(key in affirmed for key in kinds_of(thing.key)) for thing in rest):
            return _pair("negation", term, found, turned=turned)
    return None


def _pair(code: str, term: Term, taken: Term, *, turned: bool) -> Evidence:
    return evidence(code, taken.text, term.text) if turned else evidence(code, term.text, taken.text)


def ended_by_event(case: Case) -> Verdict | None:
    """A later event in a life: worked there, joined somewhere else; closed, reopened; likes, cannot stand."""
    if not same_subject(case) or case.new.cues.get("past") or _not_yet(case.new):
        return None
    two_events = "perfect" in case.old.cues or _named_apart(case)
    return (None if two_events else _state_ended(case)) or _slot_filled_anew(case)


def _not_yet(text: Assertion) -> bool:
    """``has not been repaired``: nothing happened."""
    return any(_DENIAL.search(words) for words in text.cues.get("perfect", ()))


def _state_ended(case: Case) -> Verdict | None:
    if case.new.events and case.change is not None and (told := _ended_in_passing(case)):
        return verdict("supersedes", case.change, told)
    for old in case.old.content:
        if old.denied or not (ending := ends(old.key)):
            continue
        for new in case.new.content:
            if new.key not in ending or new.denied:
                continue
            if (old.key == "repair" and not _under_way(case.old, old)) or _is_hour(case.old, old):
                continue
            if _of_the_same_thing(case, old, new) and not _opens_another(case.new, new) and _happened(case, new):
                return verdict("supersedes", evidence("event", old.text, new.text))
    return None


def _ended_in_passing(case: Case) -> Evidence | None:
    """A word of change tells the event, of the same thing and of nothing else: "the bakery has reopened"."""
    if not (case.old.keys & case.new.keys) - {"user"} or case.new.keys - case.old.keys - case.new.events:
        return None
    for old in case.old.content:
        told = ends(old.key) & case.new.events
        if told and not old.denied and old.key != "repair" and old.key not in case.new.keys:
            return evidence("event", old.text, " ".join(sorted(told)))
    return None


def _opens_another(text: Assertion, event: Term) -> bool:
    """``has opened a branch``: an object behind it makes another event of it."""
    behind = [token for token in text.tokens if token.start >= event.token.end][:2]
    return event.key in {"open", "close"} and any(token.key == "article" for token in behind[:1])


def _is_hour(one: Assertion, verb: Term) -> bool:
    """``closes at seven`` tells of every day, and no opening ends it."""
    return verb.key in {"open", "close"} and any(term.kind == "time" for term in one.content)


def _under_way(one: Assertion, verb: Term) -> bool:
    """It goes on, and is not told as done: "is being repaired", 在修."""
    return "ongoing" in one.cues or one.text.endswith("在", 0, verb.token.start)


def _slot_filled_anew(case: Case) -> Verdict | None:
    """Home or employer: a verb states it in the old text, an event gives it another value in the new one."""
    if not _speaker_or_equal(case):
        return None
    for states, events in slots().values():
        before = next((term for term in case.old.content if term.key in states and not term.denied), None)
        if before is None or before.key in words_of("transitive", "verbs"):
            continue
        if told := case.new.events & events:
            return verdict("supersedes", evidence("event", before.text, " ".join(told)))
        event = next((term for term in case.new.content if term.key in events and not term.denied), None)
        if event is not None and _happened(case, event):
            return verdict("supersedes", evidence("event", before.text, event.text))
    return None


def _of_the_same_thing(case: Case, old: Term, new: Term) -> bool:
    """A state with an object ends when both texts name something besides the person, the state and the event."""
    if old.key not in words_of("transitive", "verbs"):
        return True
    return bool((case.old.keys & case.new.keys) - {"user", old.key, new.key})


def _named_apart(case: Case) -> bool:
    """Both name things in their predicate, and none the same: a branch in Ulm, a branch in Bonn."""
    old, new = (
        {term.key for term in one.content if term.kind == "name" and not term.subject} for one in (case.old, case.new)
    )
    verbs = {term.key for term in case.old.content if term.kind == "verb"}
    states = {verb for states, _ in slots().values() for verb in states}
    return bool(old and new) and not old & new and not verbs & states


def _happened(case: Case, event: Term) -> bool:
    """The event is told as done: a past form, 了, "just", or a subject-less note about oneself."""
    before = [token for token in case.new.tokens if token.end <= event.token.start and token.kind != "func"]
    state = bool(before) and before[-1].kind == "be" and case.new.text[before[-1].start : before[-1].end] in _PRESENT
    past = (event.token.past and not state) or bool(case.change)
    after = case.new.text[event.token.start : event.token.end + 3]
    own_taste = not any(term.subject for term in case.new.content) and event.key in words_of("many", "verbs")
    return past or "了" in after or own_taste


def _speaker_or_equal(case: Case) -> bool:
    old, new = _subjects(case)
    return old == new
