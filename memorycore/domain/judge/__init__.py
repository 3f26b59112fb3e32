"""The judge: how a new text stands to one that is stored, by rules that compare evidence and not similarity.

``same``, ``refines`` and ``supersedes`` destroy something, so each needs positive evidence; in doubt a pair is
``disputes`` when one slot of one subject has two values, else ``different``.
"""

import re

from memorycore.domain.assertion import Assertion
from memorycore.domain.judge.alignment import LONGEST, Run
from memorycore.domain.judge.case import Case, case_of, differing, snippet
from memorycore.domain.judge.conflict import VALUES, slot_of
from memorycore.domain.judge.crossing import across
from memorycore.domain.judge.meaning import ended_by_event, incompatible_in_other_words
from memorycore.domain.judge.order import is_inverse, order_differs, roles_swapped
from memorycore.domain.judge.period import is_finer_date, later
from memorycore.domain.judge.refine import misfit
from memorycore.domain.judge.relations import are_complements, are_opposite, words_of
from memorycore.domain.judge.verdict import Evidence, Relation, Verdict, evidence, verdict

__all__ = ["Evidence", "Relation", "Verdict", "judge"]

_CLOSE = 0.3
_IGNORABLE = frozenset({"about", "all", "some", "many", "few"})
_ENDING_COVERAGE = 0.6


def judge(old: str, new: str, *, likeness: float | None = None) -> Verdict:
    """How ``new`` stands to ``old``.

    Args:
        old: The stored text.
        new: The text that arrives.
        likeness: Calibrated semantic score of the two, 0 for unrelated, 1 for equal; only ever helps across languages.

    Never raises. Texts beyond some thousand characters are compared as a whole.
    """
    case = case_of(old, new)
    if case.old.form == case.new.form:
        return verdict("same", evidence("form"))
    if case.old.cut or case.new.cut or max(len(case.old.terms), len(case.new.terms)) > LONGEST:
        return verdict("different", evidence("long"), undecided=True)
    if (apart := _apart(case)) is not None:
        return apart
    if _scripts_differ(case):
        return across(case, likeness)
    if not case.diff.runs:
        return _same_words(case)
    return _of_one_subject(case, _by_rules(case))


def _of_one_subject(case: Case, found: Verdict) -> Verdict:
    """Nothing is superseded by what is said of somebody or something else, or of a part or a time only."""
    if found.relation != "supersedes" or not case.strangers or any(sign.code == "subject" for sign in found.evidence):
        return found
    return _stranger(case)


def _stranger(case: Case) -> Verdict:
    words = evidence("subject", new=snippet(case.strangers, case.new))
    occasion = all(term.kind == "date" or term.key in words_of("occasion", "words") for term in case.strangers)
    front = case.new.tokens[0].kind in {"prep", "contrast", "date"}
    sign = evidence("period", new=words.new) if occasion else words
    return Verdict(relation="different", evidence=(sign,), limited=occasion or front)


def _by_rules(case: Case) -> Verdict:
    return (
        _inverse(case)
        or _complement(case)
        or _said_twice(case)
        or ended_by_event(case)
        or _polarity(case)
        or _additions(case)
        or incompatible_in_other_words(case)
        or _replacements(case)
        or _unrelated(case)
    )


def _apart(case: Case) -> Verdict | None:
    """Limited statements and the past stand beside what holds now; they never replace it."""
    if word := case.said_newly("limited"):
        related = bool(case.diff.shared)
        return Verdict(relation="different", evidence=(evidence("limited", new=word),), limited=related)
    if "limited" in case.old.cues and "limited" not in case.new.cues:
        return verdict("different", evidence("limited", old=case.old.cues["limited"][0]))
    past = case.said_newly("past")
    ended = (
        past
        and "until" not in past
        and not case.diff.of("replaced")
        and not case.diff.of("removed")
        and case.overlap > _ENDING_COVERAGE
    )
    if ended and not case.old.past:
        return verdict("supersedes", evidence("past", new=past))
    was = case.old.cues.get("past") and not case.new.cues.get("past") and case.diff.runs
    if was and case.change is None:
        return verdict("different", evidence("past", old=case.old.cues["past"][0]))
    if past and not case.strong_change and not case.only_in_addition("past"):
        return verdict("different", evidence("past", new=past))
    if case.new.past and not case.old.past and case.change is None and case.diff.runs:
        return _past_tense(case)
    return None


def _past_tense(case: Case) -> Verdict | None:
    """What was beside what is; an event that ends a state, or shows it false, is another matter."""
    return (
        None
        if ended_by_event(case) or incompatible_in_other_words(case)
        else verdict("different", evidence("past"), undecided=True)
    )


def _scripts_differ(case: Case) -> bool:
    latin = {"en", "fr", "de", "es"}
    if case.old.language == case.new.language:
        return False
    return case.overlap < 0.8 or not {case.old.language, case.new.language} <= latin  # noqa: PLR2004 a few words mislead


def _same_words(case: Case) -> Verdict:
    """All content is shared: polarity, modality, scope and order decide."""
    if case.unit_differs is not None:
        return verdict("supersedes" if case.change else "disputes", *filter(None, (case.change, case.unit_differs)))
    if word := case.said_newly("end"):
        return verdict("supersedes", evidence("cue_end", new=word))
    sign = _sign_difference(case)
    if sign is not None:
        code = sign.code
        if case.change and code in VALUES:
            return verdict("supersedes", case.change, sign)
        return verdict("disputes" if code in VALUES | {"role", "order"} else "different", sign)
    if case.lost_cue:
        newer = later(case)
        return verdict("supersedes", newer) if newer else verdict("different", evidence("less", case.lost_cue))
    if case.said_newly("hedge") or case.said_newly("condition"):
        return verdict("different", evidence("force"), undecided=True)
    if ("ongoing" in case.old.cues) != ("ongoing" in case.new.cues):
        done = "ongoing" in case.old.cues and any(token.past for token in case.new.tokens)
        return verdict("supersedes" if done else "different", evidence("event", case.old.text, case.new.text))
    if case.said_newly("since"):
        return verdict("refines", evidence("detail", new=case.said_newly("since")))
    if case.said_newly("exception"):
        return verdict("disputes", evidence("scope", new=case.said_newly("exception")))
    return verdict("same", evidence("wording", case.old.text, case.new.text))


def _sign_difference(case: Case) -> Evidence | None:
    """The first of negation, modality, scope, small words and order that differs."""
    if case.diff.flipped and case.old.negations % 2 != case.new.negations % 2:
        old, new = case.diff.flipped[0]
        return evidence("negation", old.text, new.text)
    if case.old.modals != case.new.modals:
        weak = not (case.old.modals and case.new.modals) and "mustnot" not in case.old.modals ^ case.new.modals
        return evidence("force" if weak else "modality", " ".join(case.old.modals), " ".join(case.new.modals))
    scope = case.old.quantifiers ^ case.new.quantifiers
    if not (case.old.quantifiers and case.new.quantifiers) or scope <= {"about"}:
        scope -= _IGNORABLE
    if scope:
        return evidence("scope", *(" ".join(scope & one.quantifiers) for one in (case.old, case.new)))
    if case.diff.soft and not case.diff.moved:
        run = case.diff.soft[0]
        apart = any(are_opposite(old.key, new.key) for old in run.old for new in run.new)
        return differing("polarity" if apart else "small_words", run, case)
    if _persons(case.old) != _persons(case.new) and sorted(_persons(case.old)) == sorted(_persons(case.new)):
        return evidence("role", case.old.text, case.new.text)
    if order := order_differs(case):
        return evidence(order, case.old.text, case.new.text)
    return None


_PERSONS = frozenset({"i", "you", "he", "she", "we", "they", "我", "你", "他", "她"})


def _persons(assertion: Assertion) -> list[str]:
    return [term.key for term in assertion.terms if term.kind == "soft" and term.key in _PERSONS]


def _inverse(case: Case) -> Verdict | None:
    """``A sold it to B`` and ``B bought it from A`` are one; ``A bought it from B`` is the reverse."""
    if len(case.diff.runs) != 1 or not is_inverse(case.diff.runs[0]) or case.diff.flipped:
        return None
    run = case.diff.runs[0]
    if not case.diff.moved:
        return None
    if roles_swapped(case):
        return verdict("same", differing("inverse", run, case))
    return verdict("disputes", evidence("role", case.old.text, case.new.text))


def _is_complement(run: Run) -> bool:
    return len(run.old) == 1 == len(run.new) and are_complements(run.old[0].key, run.new[0].key)


def _complement(case: Case) -> Verdict | None:
    """``is not open`` and ``is closed``."""
    if len(case.diff.runs) != 1 or not _is_complement(case.diff.runs[0]) or case.change or case.diff.moved:
        return None
    if case.old.negations % 2 == case.new.negations % 2 or case.old.modals != case.new.modals:
        return None
    still = all(any(token.kind == "be" for token in one.tokens) for one in (case.old, case.new))
    return verdict("same", differing("wording", case.diff.runs[0], case)) if still else None


def _said_twice(case: Case) -> Verdict | None:
    """The same statements, one of them said twice: "is not against it, he is for it"."""
    old, new = ({(term.key, term.denied) for term in one.content} for one in (case.old, case.new))
    if old != new or case.old.modals != case.new.modals or case.change or order_differs(case):
        return None
    return verdict("same", evidence("wording", case.old.text, case.new.text))


def _polarity(case: Case) -> Verdict | None:
    """A shared word denied in one text only."""
    if not case.diff.flipped or case.old.negations % 2 == case.new.negations % 2:
        return None
    old, new = case.diff.flipped[0]
    sign = evidence("negation", old.text, new.text)
    replaced = [run for run in case.diff.runs if run.kind == "replaced"]
    if replaced:
        if case.change and case.strong_change and not any(run.in_subject for run in replaced):
            return verdict("supersedes", case.change, sign)
        if (other := incompatible_in_other_words(case)) is not None:
            return other
        return verdict("different", differing("other_negation", replaced[0], case))
    frequent = words_of("frequency", "words")
    apart = [run for run in case.diff.runs if any(term.key not in frequent for term in (*run.old, *run.new))]
    if any(run.in_subject for run in apart) and not case.change:
        return verdict("different", differing("subject", case.diff.runs[0], case))
    return verdict("supersedes", case.change, sign) if case.change else verdict("disputes", sign)


def _additions(case: Case) -> Verdict | None:
    """The new text holds the old one and more."""
    runs = case.diff.runs
    if any(run.kind != "added" for run in runs) or case.overlap < _CLOSE or case.diff.moved:
        return None
    if case.unit_differs is not None:
        return verdict("supersedes" if case.change else "disputes", *filter(None, (case.change, case.unit_differs)))
    if any(case.said_newly(cue) for cue in ("end", "correction", "change")) and case.change is not None:
        return verdict("supersedes", case.change)
    if case.lost_cue:
        newer = later(case)
        return verdict("supersedes", newer) if newer else verdict("different", evidence("less", case.lost_cue))
    if "only" in case.new.quantifiers - case.old.quantifiers and (scope := _narrowed(case)) is not None:
        return verdict("disputes", scope)
    if case.said_newly("hedge") and not case.only_in_addition("hedge"):
        return verdict("different", evidence("force"), undecided=True)
    for run in runs:
        sign = misfit(run, case)
        if sign is not None and sign.code == "polarity":
            return verdict("disputes", sign)
        if sign is not None:
            return verdict("different", sign, undecided=sign.code != "subject")
    if exception := case.said_newly("exception"):
        return verdict("disputes", evidence("scope", new=exception))
    if (scope := _narrowed(case)) is not None:
        return verdict("disputes", scope)
    return verdict("refines", *(differing("detail", run, case) for run in runs))


def _narrowed(case: Case) -> Evidence | None:
    """A word of scope or duty inside the old statement, not in what is added behind it."""
    first = min(run.new[0].token.start for run in case.diff.runs)
    openings = [token.start for token in case.new.tokens if token.kind == "punct" and token.start < first]
    kept = [new.token.start for _, new in case.diff.shared if new.token.start < first]
    if openings and kept and openings[-1] > max(kept):
        first = openings[-1]
    for token in case.new.tokens:
        inside = token.start < first
        if token.kind == "quantifier" and token.key not in case.old.quantifiers | _IGNORABLE and inside:
            return evidence("scope", new=case.new.text[token.start : token.end])
        if token.kind == "modal" and token.key not in case.old.modals and inside:
            return evidence("modality", new=case.new.text[token.start : token.end])
    return None


def _replacements(case: Case) -> Verdict | None:
    """One slot has another value, or something else is spoken of."""
    replaced = case.diff.of("replaced")
    if not replaced:
        return _ended(case) if case.strong_change else None
    if not case.diff.shared or (case.overlap < _CLOSE and not _one_subject(case)):
        return None
    if all(is_finer_date(run) for run in replaced) and not case.diff.of("removed") and case.change is None:
        return verdict("refines", *(differing("detail", run, case) for run in replaced))
    if case.strangers and not any(run.in_subject for run in replaced) and later(case) is None:
        return _stranger(case)
    if _ends_another(case):
        return verdict("different", differing("other_negation", replaced[0], case))
    signs = [slot_of(run, case) for run in replaced]
    codes = {sign.code for sign in signs}
    sign = later(case)
    if codes == {"period"} and sign is not None:
        return verdict("supersedes", sign)
    if sign is not None and case.change is not None and not codes & {"subject", "condition"}:
        return verdict("supersedes", case.change, sign)
    if case.diff.moved and not case.change:
        return verdict("different", evidence("role", case.old.text, case.new.text))
    firm = _firm(signs, replaced, case)
    if firm is None:
        return _person_replaced(case, replaced, signs) or verdict(
            "different", *signs, undecided=not codes & {"subject", "condition", "period"}
        )
    if firm.code in VALUES:
        change = case.change or sign
        if change and not case.said_newly("also"):
            return verdict("supersedes", change, firm)
        return verdict("disputes", firm)
    if firm.code in {"many", "object", "action"} and case.change and not case.said_newly("also"):
        return verdict("supersedes", case.change, firm)
    return verdict("different", firm, undecided=firm.code in {"object", "action"})


def _ends_another(case: Case) -> bool:
    """It is over, but with something else: takes aspirin, no longer takes ibuprofen."""
    instead = any(case.said_newly(cue) for cue in ("now", "change", "swap", "correction", "since"))
    goes_on = any(token.kind == "conj" and token.key == "but" for token in case.new.tokens)
    return bool(case.said_newly("end")) and not instead and not goes_on and len(_clauses(case)) == 1


def _clauses(case: Case) -> list[str]:
    return [part for part in re.split(r"[,;:]", case.new.text.rstrip(". ")) if part]


def _one_subject(case: Case) -> bool:
    """What stands before the predicate is the same in both, and both say what it is."""
    old, new = ([term.key for term in one.content if term.subject] for one in (case.old, case.new))
    return (
        bool(old)
        and old == new
        and all(any(token.kind == "be" for token in one.tokens) for one in (case.old, case.new))
    )


def _firm(signs: list[Evidence], runs: tuple[Run, ...], case: Case) -> Evidence | None:
    """The slot that decides, None when what differs is not one slot."""
    codes = {sign.code for sign in signs}
    if len(runs) > 1 and _other_occasion(runs, codes, case):
        return None
    if codes & {"subject", "condition", "period", "attribute"}:
        return None
    if len(runs) == 1:
        return signs[0]
    if codes <= {"number", "time", "date", "unit", "code", "timezone"}:
        return signs[0]
    values = [sign for sign in signs if sign.code in VALUES]
    return values[0] if len(values) == len(signs) else None


def _other_occasion(runs: tuple[Run, ...], codes: set[str], case: Case) -> bool:
    """Another number on another day, or at another time of day, is another fact."""
    if codes & {"number", "unit", "value", "object", "many", "name"}:
        event = any(term.key in words_of("event", "verbs") for term in case.new.content)
        if "date" in codes and event:
            return True
        return any(term.key in words_of("occasion", "words") for run in runs for term in (*run.old, *run.new))
    return False


def _person_replaced(case: Case, runs: tuple[Run, ...], signs: list[Evidence]) -> Verdict | None:
    """Somebody else does now what one did: only the name in front differs, and a word says that it changed."""
    if len(runs) != 1 or signs[0].code != "subject" or case.change is None or case.diff.of("added"):
        return None
    if all(term.kind in {"name", "name?", "char"} for term in (*runs[0].old, *runs[0].new)):
        return verdict("supersedes", case.change, signs[0])
    return None


def _ended(case: Case) -> Verdict | None:
    """The old statement is said again with a word that it is over."""
    assert case.change is not None
    covered = len(case.diff.shared) / max(1, len(case.old.content))
    if covered >= _ENDING_COVERAGE or (case.shared_predicate and case.overlap >= _CLOSE):
        return verdict("supersedes", case.change, evidence("shared", snippet(case.new.content[:1], case.new)))
    return None


def _unrelated(case: Case) -> Verdict:
    return verdict("different", evidence("apart"), undecided=case.overlap >= _CLOSE)
