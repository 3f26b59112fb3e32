"""Two texts that share all or nearly all words: polarity, duty, scope and order decide."""

from memorycore.domain.assertion import Assertion
from memorycore.domain.assertion.words import table
from memorycore.domain.judge.alignment import Run
from memorycore.domain.judge.case import Case, differing
from memorycore.domain.judge.conflict import VALUES
from memorycore.domain.judge.meaning import incompatible_in_other_words
from memorycore.domain.judge.order import is_inverse, order_differs, roles_swapped
from memorycore.domain.judge.period import later
from memorycore.domain.judge.relations import are_complements, are_opposite, words_of
from memorycore.domain.judge.verdict import Evidence, Verdict, evidence, verdict

IGNORABLE = frozenset({"about", "all", "some", "many", "few"})
"""Quantifiers that may be left out; in the place of one another they differ."""
_PERSONS = frozenset({"i", "you", "he", "she", "we", "they", "我", "你", "他", "她"})


def same_words(case: Case) -> Verdict:
    """All content is shared."""
    return (
        unit(case)
        or _over(case)
        or _differing_sign(case)
        or lost_or_later(case)
        or _unsure(case)
        or _completed(case)
        or _since_or_except(case)
        or verdict("same", evidence("wording", case.old.text, case.new.text))
    )


def unit(case: Case) -> Verdict | None:
    """Equal numbers in other units."""
    if case.unit_differs is None:
        return None
    return _conflict(case, case.unit_differs)


def _conflict(case: Case, sign: Evidence) -> Verdict:
    return verdict("supersedes", case.change, sign) if case.change else verdict("disputes", sign)


def _over(case: Case) -> Verdict | None:
    word = case.said_newly("end")
    return verdict("supersedes", evidence("cue_end", new=word)) if word else None


def _differing_sign(case: Case) -> Verdict | None:
    sign = (
        _negation(case) or _duty(case) or _scope(case) or _small_words(case) or _persons_swapped(case) or _order(case)
    )
    if sign is None:
        return None
    if sign.code == "negation" and "yet" in case.old.cues and "yet" not in case.new.cues:
        return verdict("supersedes", evidence("event", old=case.old.cues["yet"][0]), sign)
    if sign.code in VALUES:
        return _conflict(case, sign)
    return verdict("disputes" if sign.code in {"role", "order"} else "different", sign)


def lost_or_later(case: Case) -> Verdict | None:
    """Words about time or limits are gone or otherwise: another period, or the same thing as of a later day."""
    if not case.lost_cue:
        return None
    newer = later(case)
    return verdict("supersedes", newer) if newer else verdict("different", evidence("less", case.lost_cue))


def _unsure(case: Case) -> Verdict | None:
    if case.said_newly("hedge") or case.said_newly("condition"):
        return verdict("different", evidence("force"), undecided=True)
    return None


def _completed(case: Case) -> Verdict | None:
    """``is being repaired``, then ``has been repaired``."""
    if ("ongoing" in case.old.cues) == ("ongoing" in case.new.cues):
        return None
    done = "ongoing" in case.old.cues and any(token.past for token in case.new.tokens)
    return verdict("supersedes" if done else "different", evidence("event", case.old.text, case.new.text))


def _since_or_except(case: Case) -> Verdict | None:
    if word := case.said_newly("since"):
        return verdict("refines", evidence("detail", new=word))
    if word := case.said_newly("exception"):
        return verdict("disputes", evidence("scope", new=word))
    return None


def _negation(case: Case) -> Evidence | None:
    if case.diff.flipped and case.old.negations % 2 != case.new.negations % 2:
        old, new = case.diff.flipped[0]
        return evidence("negation", old.text, new.text)
    return None


def _other_kind(case: Case) -> Evidence | None:
    """``非生产`` beside ``生产``: two kinds of thing, and no denial of one."""
    prefixes = tuple(table("relations")["other_kind"]["prefixes"])
    for old, new in case.diff.flipped:
        before = (case.old.text[: old.token.start], case.new.text[: new.token.start])
        if any(text.casefold().endswith(prefixes) for text in before):
            return evidence("subject", old.text, new.text)
    return None


def _moved_negation(case: Case) -> Evidence | None:
    """A word that only one text denies, though both deny something: the other one denies what it adds."""
    if not case.diff.flipped or any(run.kind != "added" for run in case.diff.runs):
        return None
    old, new = case.diff.flipped[0]
    return evidence("negation", old.text, new.text)


def _ban(case: Case) -> Evidence | None:
    """``Always ask``, ``never ask``: but for how often it is done, only the ban differs."""
    frequent = words_of("frequency", "words")
    if any(term.key not in frequent for run in case.diff.runs for term in (*run.old, *run.new)):
        return None
    return _duty(case) if "mustnot" in case.old.modals ^ case.new.modals else None


def _duty(case: Case) -> Evidence | None:
    """Must, may, must not, need not; a duty beside a plain statement is no conflict unless it forbids."""
    old, new = case.old.modals, case.new.modals
    should = frozenset({"should"})
    if {old, new} == {should, frozenset[str]()} or {old, new} == {should, frozenset({"must"})}:
        return None
    if old == new:
        return None
    weak = not (old and new) and "mustnot" not in old ^ new
    return evidence("force" if weak else "modality", " ".join(sorted(old)), " ".join(sorted(new)))


def _scope(case: Case) -> Evidence | None:
    differing_words = case.old.quantifiers ^ case.new.quantifiers
    if not (case.old.quantifiers and case.new.quantifiers) or differing_words <= {"about"}:
        differing_words -= IGNORABLE
    if not differing_words:
        return None
    old, new = (" ".join(sorted(differing_words & one.quantifiers)) for one in (case.old, case.new))
    return evidence("scope", old, new)


def _small_words(case: Case) -> Evidence | None:
    if not case.diff.soft or case.diff.moved:
        return None
    run = case.diff.soft[0]
    opposite = any(are_opposite(old.key, new.key) for old in run.old for new in run.new)
    return differing("polarity" if opposite else "small_words", run, case)


def _persons_swapped(case: Case) -> Evidence | None:
    """``he owes me``, ``I owe him``."""
    old, new = _persons(case.old), _persons(case.new)
    return evidence("role", case.old.text, case.new.text) if old != new and sorted(old) == sorted(new) else None


def _persons(assertion: Assertion) -> list[str]:
    return [term.key for term in assertion.terms if term.kind == "soft" and term.key in _PERSONS]


def _order(case: Case) -> Evidence | None:
    code = order_differs(case)
    return evidence(code, case.old.text, case.new.text) if code else None


def said_from_both_sides(case: Case) -> Verdict | None:
    """``A sold it to B`` and ``B bought it from A`` are one; ``A bought it from B`` is the reverse."""
    runs = case.diff.runs
    if len(runs) != 1 or not is_inverse(runs[0]) or case.diff.flipped or not case.diff.moved:
        return None
    if roles_swapped(case):
        return verdict("same", differing("inverse", runs[0], case))
    return verdict("disputes", evidence("role", case.old.text, case.new.text))


def denied_complement(case: Case) -> Verdict | None:
    """``is not open`` and ``is closed``."""
    runs = case.diff.runs
    if len(runs) != 1 or not _is_complement(runs[0]) or case.change or case.diff.moved:
        return None
    if case.old.negations % 2 == case.new.negations % 2 or case.old.modals != case.new.modals:
        return None
    still = all(any(token.kind == "be" for token in one.tokens) for one in (case.old, case.new))
    return verdict("same", differing("wording", runs[0], case)) if still else None


def _is_complement(run: Run) -> bool:
    return len(run.old) == 1 == len(run.new) and are_complements(run.old[0].key, run.new[0].key)


def said_twice(case: Case) -> Verdict | None:
    """The same statements, one of them said twice: "is not against it, he is for it"."""
    if case.old.keys != case.new.keys:
        return None
    old, new = ({(term.key, term.denied) for term in one.content} for one in (case.old, case.new))
    if old != new or case.old.modals != case.new.modals or case.change or order_differs(case):
        return None
    if case.lost_cue or case.unit_differs or _scope(case):
        return None
    return verdict("same", evidence("wording", case.old.text, case.new.text))


def polarity(case: Case) -> Verdict | None:
    """A shared word denied in one text only."""
    if kind := _other_kind(case):
        return verdict("different", kind)
    sign = _negation(case) or _moved_negation(case) or _ban(case)
    if sign is None:
        return None
    if replaced := case.diff.of("replaced"):
        return _other_denied(case, replaced, sign)
    if "yet" in case.old.cues and "yet" not in case.new.cues and not case.new.negations:
        return verdict("supersedes", evidence("event", old=case.old.cues["yet"][0]), sign)
    frequent = words_of("frequency", "words")
    rest = [run for run in case.diff.runs if any(term.key not in frequent for term in (*run.old, *run.new))]
    if any(run.in_subject for run in rest) and not case.change:
        return verdict("different", differing("subject", case.diff.runs[0], case))
    return _conflict(case, sign)


def _other_denied(case: Case, replaced: tuple[Run, ...], sign: Evidence) -> Verdict:
    """Something is denied, and something else is spoken of too."""
    if case.change and case.strong_change and not any(run.in_subject for run in replaced):
        return verdict("supersedes", case.change, sign)
    return incompatible_in_other_words(case) or verdict("different", differing("other_negation", replaced[0], case))
