"""One thing stands in the new text for another in the old: another value of a slot, or another fact."""

import re

from memorycore.domain.assertion import Assertion
from memorycore.domain.judge.alignment import Run
from memorycore.domain.judge.case import Case, differing, snippet
from memorycore.domain.judge.conflict import VALUES, slot_of
from memorycore.domain.judge.period import is_dated, is_finer_date, later
from memorycore.domain.judge.relations import are_opposite, are_siblings, ends, words_of
from memorycore.domain.judge.verdict import Evidence, Verdict, evidence, verdict

_CLOSE = 0.3
_COVERED = 0.6
_HALF = 0.5
_APART = frozenset({"subject", "condition", "period", "attribute"})
_TYPED = frozenset({"number", "time", "date", "unit", "code", "timezone"})
_ON_OCCASION = frozenset({"number", "unit", "value", "object", "many", "name"})
_TYING = frozenset({"polarity", "negation", "scope"})
"""Slots that tie two statements by themselves: what is left-handed and what is right-handed is one side of a thing."""
_TWO_VALUES = 4
_FEW = 2
_CLAUSE_BREAK = re.compile(r"[,;:.] |[,;](?!\d)")
_CLAUSE_END = re.compile(r"[,;:]")


def one_thing_for_another(case: Case) -> Verdict | None:
    """``supersedes`` or ``disputes`` when one slot has another value, ``different`` when something else is meant."""
    replaced = case.diff.of("replaced")
    if not replaced:
        return _ended(case)
    if all(old.kind == "num" for old, _ in case.diff.shared) or (case.overlap < _CLOSE and not _says_what_it_is(case)):
        return None
    if any(_spans_clauses(run, case) for run in replaced):
        return verdict("different", evidence("apart"), undecided=True)
    signs = [slot_of(run, case) for run in replaced]
    if case.change is None and _turned_twice(signs):
        return verdict("different", *signs)
    return (
        _told_more_closely(case, replaced)
        or _of_a_stranger(case, replaced)
        or _ends_another(case, replaced)
        or _as_of_later(case, signs)
        or _roles_moved(case)
        or _several(case, replaced, signs)
        or _one_slot(case, _deciding(signs, replaced, case))
    )


def _turned_twice(signs: list[Evidence]) -> bool:
    """Opens at six, closes at nine; likes early, hates late: what is turned round holds of something else."""
    codes = [sign.code for sign in signs]
    return "polarity" in codes and len(codes) > 1 and all(code == "polarity" or code in _TYPED for code in codes)


def other_subject(case: Case) -> Verdict:
    """The new text speaks of somebody or something that the old one does not name, or of an occasion."""
    words = evidence("subject", new=snippet(case.strangers, case.new))
    occasion = all(term.kind == "date" or term.key in words_of("occasion", "words") for term in case.strangers)
    in_front = case.new.tokens[0].kind in {"prep", "contrast", "date"}
    sign = evidence("period", new=words.new) if occasion else words
    return Verdict(relation="different", evidence=(sign,), limited=occasion or in_front)


def _told_more_closely(case: Case, replaced: tuple[Run, ...]) -> Verdict | None:
    if case.change is not None or case.diff.of("removed") or not all(map(is_finer_date, replaced)):
        return None
    return verdict("refines", *(differing("detail", run, case) for run in replaced))


def _of_a_stranger(case: Case, replaced: tuple[Run, ...]) -> Verdict | None:
    if not case.strangers or any(run.in_subject for run in replaced) or later(case) is not None:
        return None
    return other_subject(case)


def _ends_another(case: Case, replaced: tuple[Run, ...]) -> Verdict | None:
    """It is over, but with something else: takes aspirin, no longer takes ibuprofen."""
    instead = any(case.said_newly(cue) for cue in ("now", "change", "swap", "correction", "since"))
    goes_on = any(token.kind == "conj" and token.key == "but" for token in case.new.tokens)
    clauses = [part for part in _CLAUSE_END.split(case.new.text.rstrip(". ")) if part]
    if not case.said_newly("end") or instead or goes_on or len(clauses) > 1:
        return None
    return verdict("different", differing("other_negation", replaced[0], case))


def _as_of_later(case: Case, signs: list[Evidence]) -> Verdict | None:
    """Both say as of when they hold, and the new one is later."""
    newer = later(case) if case.change or not is_dated(case.new) else None
    codes = {sign.code for sign in signs}
    if newer is None:
        return None
    if codes == {"period"}:
        return verdict("supersedes", newer)
    if case.change is not None and not codes & {"subject", "condition"}:
        return verdict("supersedes", case.change, newer)
    return None


def _roles_moved(case: Case) -> Verdict | None:
    if case.diff.moved and not case.change:
        return verdict("different", evidence("role", case.old.text, case.new.text))
    return None


def _several(case: Case, replaced: tuple[Run, ...], signs: list[Evidence]) -> Verdict | None:
    """More than one slot differs, or a subject: another fact, unless somebody took over from somebody."""
    if _deciding(signs, replaced, case) is not None:
        return None
    known = {sign.code for sign in signs} & {"subject", "condition", "period"}
    return _person_replaced(case, replaced, signs) or verdict("different", *signs, undecided=not known)


def _one_slot(case: Case, sign: Evidence | None) -> Verdict | None:
    if sign is None:
        return None
    if sign.code not in _TYING and not _one_attribute(case):
        return verdict("different", sign, undecided=True)
    change = None if case.said_newly("also") else case.change
    if change is not None and not case.strong_change and not _of_one_thing(case, sign):
        return verdict("different", sign, undecided=True)
    if sign.code in VALUES:
        change = change or (None if case.said_newly("also") else later(case))
        return verdict("supersedes", change, sign) if change else verdict("disputes", sign)
    if sign.code in {"many", "object", "action"} and change and _replaces(case, change):
        return verdict("supersedes", change, sign)
    return verdict("different", sign, undecided=sign.code in {"object", "action"})


def _of_one_thing(case: Case, sign: Evidence) -> bool:
    """Whether "now" and "from May on" speak of the same: half of all is shared, or the whole subject.

    What somebody does now is no news of what they did, unless both say a part of it: walks to work, cycles to work.
    """
    if sign.code == "action" and not (case.shared_predicate or _both_are(case) or "name" in case.old.keys):
        return False
    if sign.code == "many" and any(old.key == "have" for old, _ in case.diff.shared):
        return False
    old, new = ({term.key for term in one.content if term.subject} for one in (case.old, case.new))
    return case.overlap >= _HALF or (bool(old) and old == new)


def _both_are(case: Case) -> bool:
    return all(any(token.kind == "be" for token in one.tokens) for one in (case.old, case.new))


def _replaces(case: Case, change: Evidence) -> bool:
    """Whether a word of change makes another object the new one, where more than one may hold.

    Not so when the old text told that something is over, and the new one tells of something else. Of two orders, "from
    now on" begins one of its own: only another person in the same place is the successor.
    """
    if change.code == "cue_perfect" or ("end" in case.old.cues and "end" not in case.new.cues):
        return False
    ordered = (case.old.command, case.new.command) != (None, None) or bool(case.old.modals and case.new.modals)
    return not ordered or case.strong_change or _only_names(case)


def _only_names(case: Case) -> bool:
    return all(term.kind in {"name", "name?"} for run in case.diff.runs for term in (*run.old, *run.new))


def _one_attribute(case: Case) -> bool:
    """Both say something of the same side of a thing: a word of the predicate is shared, or both only say what it is.

    A person has many sides, so that "the user" alone ties nothing together; and a figure is no value for a word.
    """
    told = case.new.keys | case.new.events
    subject = {old.key for old, _ in case.diff.shared if old.subject} - {"user"}
    if any(ends(term.key) & told for term in case.old.content):
        return True
    if case.shared_predicate:
        return bool(subject) or case.strong_change or not _only_a_verb(case)
    verbs = [term for term in case.old.content if not term.subject and (term.kind == "verb" or term.token.past)]
    if not subject or any(term.key not in words_of("light", "verbs") for term in verbs):
        return False
    return _kinds(case.old) == _kinds(case.new)


def _only_a_verb(case: Case) -> bool:
    """A person, or nobody, and what is done: "uses", "prefers", which takes many objects."""
    shared = {old.key for old, _ in case.diff.shared if not old.subject} - {"user"}
    runs = [run for run in case.diff.runs if max(len(run.old), len(run.new)) <= _FEW]
    values = [(old.key, new.key) for run in runs for old in run.old for new in run.new]
    if any(are_siblings(*pair) or are_opposite(*pair) for pair in values):
        return False
    return shared <= words_of("loose", "verbs")


def _kinds(assertion: Assertion) -> frozenset[str]:
    """Which typed values the predicate holds."""
    occasions = words_of("occasion", "words")
    return frozenset(
        "occasion" if term.key in occasions else term.kind
        for term in assertion.content
        if not term.subject and (term.kind in {"num", "time"} or term.key in occasions)
    )


def _deciding(signs: list[Evidence], runs: tuple[Run, ...], case: Case) -> Evidence | None:
    """The slot that decides, None when what differs is not one slot."""
    codes = {sign.code for sign in signs}
    if codes & _APART or (len(runs) > 1 and _other_occasion(runs, codes, case)):
        return None
    values = [sign for sign in signs if sign.code in VALUES]
    if len(runs) == 1 or codes <= _TYPED:
        return signs[0]
    return values[0] if len(values) == len(signs) else None


def _other_occasion(runs: tuple[Run, ...], codes: set[str], case: Case) -> bool:
    """Another number on another day, or at another time of day, is another fact."""
    if not codes & _ON_OCCASION:
        return False
    event = any(term.key in words_of("event", "verbs") for term in case.new.content)
    occasions = words_of("occasion", "words")
    return ("date" in codes and event) or any(term.key in occasions for run in runs for term in (*run.old, *run.new))


def _person_replaced(case: Case, runs: tuple[Run, ...], signs: list[Evidence]) -> Verdict | None:
    """Somebody else does now what one did: only the name in front differs, and a word says that it changed."""
    if (
        len(runs) != 1
        or signs[0].code != "subject"
        or not runs[0].in_subject
        or case.change is None
        or case.diff.of("added")
    ):
        return None
    ruled = bool(case.old.modals and case.new.modals)  # 和同事说话要客气: for whom a rule is
    after = runs[0].after  # 甲供应商: which supplier
    label = after is not None and after.kind == "noun" and after.token.start == runs[0].new[-1].token.end
    if not ruled and not label and all(term.kind in {"name", "name?", "char"} for term in (*runs[0].old, *runs[0].new)):
        return verdict("supersedes", case.change, signs[0])
    return None


def _spans_clauses(run: Run, case: Case) -> bool:
    """What differs goes over the end of a clause: two stories, not two values."""
    spans = (snippet(run.old, case.old), snippet(run.new, case.new))
    return len(run.old) + len(run.new) > _TWO_VALUES and any(_CLAUSE_BREAK.search(span) for span in spans)


def _says_what_it_is(case: Case) -> bool:
    """What stands before the predicate is the same in both, and both say what it is."""
    old, new = ([term.key for term in one.content if term.subject] for one in (case.old, case.new))
    return bool(old) and old == new and _both_are(case)


def _ended(case: Case) -> Verdict | None:
    """The old statement is said again with a word that it is over."""
    if not case.strong_change or case.change is None:
        return None
    covered = len(case.diff.shared) / max(1, len(case.old.content))
    if covered >= _COVERED or (case.shared_predicate and case.overlap > _HALF):
        return verdict("supersedes", case.change, evidence("shared", snippet(case.new.content[:1], case.new)))
    return None
