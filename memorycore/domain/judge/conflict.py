"""Name what kind of slot differs where two assertions of one language differ."""

from memorycore.domain.assertion import Term, patterns
from memorycore.domain.assertion.amounts import NUMERAL
from memorycore.domain.judge.alignment import Run
from memorycore.domain.judge.case import Case, differing, snippet
from memorycore.domain.judge.numbered import names_which
from memorycore.domain.judge.orders import beside_order
from memorycore.domain.judge.relations import are_opposite, kinds_of, slots, words_of
from memorycore.domain.judge.verdict import Evidence

VALUES = frozenset({
    "number", "unit", "date", "time", "frequency", "timezone", "code", "name", "value", "polarity", "negation",
    "modality", "scope",
})  # fmt: skip
"""Slots in which a subject has one value: another value is incompatible."""
_FREQUENCIES = frozenset({
    "daily", "weekly", "monthly", "yearly", "hourly", "nightly", "fortnightly", "every other day", "quarterly",
    "half-yearly", "twice a day", "twice a week", "twice a month",
})  # fmt: skip
_SHORT_RUN = 3
_TYPED = {"num": "number", "date": "date", "time": "time", "code": "code"}


def slot_of(run: Run, case: Case) -> Evidence:
    """The kind of slot that a replacement is in."""
    return differing(_slot(run, case), run, case)


def _slot(run: Run, case: Case) -> str:
    if run.in_condition:
        return "condition"
    if names_which(run, case):
        return "subject"
    return _how_often(run) or _before_or_after(run) or _in_subject(run, case) or _in_predicate(run, case)


def _how_often(run: Run) -> str:
    single = len(run.old) == 1 == len(run.new)
    if single and all(term.key in _FREQUENCIES or term.key.startswith("every ") for term in (*run.old, *run.new)):
        return "frequency"
    return "scope" if _listed(run, words_of("frequency", "words")) else ""


def _before_or_after(run: Run) -> str:
    """Behind what it belongs to, "before" is a matter of order; in front it names a thing: 前门."""
    amount = run.after is not None and run.after.kind in {"num", "time", "date"}
    return "polarity" if _all(run, {"contrast"}) and (run.before is not None or amount) and _opposite(run) else ""


def _in_subject(run: Run, case: Case) -> str:
    if not run.in_subject or (case.new.language != "zh" and case.ordered):
        return ""
    if {"all", "only"} <= case.old.quantifiers ^ case.new.quantifiers:
        return "scope"
    if _is_measure(run, case):
        return "number"
    if _is_day_of_verb(run, case):
        return "date"
    if _is_last_of_unread(run, case):
        return "value"
    return "time" if _all(run, {"time"}) else "period" if _all(run, {"date"}) else "subject"


def _in_predicate(run: Run, case: Case) -> str:
    return (
        ("subject" if _tells_which(run, case) else "")
        or ("negation" if _is_prefixed(run) else "")
        or ("polarity" if _opposite(run) else "attribute" if _turned_and_other(run) else "")
        or beside_order(run, case)
        or _typed_slot(run)
        or ("attribute" if _listed(run, words_of("attribute", "words")) else "")
        or ("many" if _listed(run, words_of("many", "roles")) else "")
        or _action(run)
        or _by_verb(run, case)
    )


def _tells_which(run: Run, case: Case) -> bool:
    """On which server, in which environment: another one with a figure of its own is another fact."""
    if _listed(run, words_of("worlds", "words")):
        return True
    holder = run.before is not None and run.before.key in words_of("holders", "words")
    label = holder and all(term.kind in {"name", "name?", "word", "num"} for term in (*run.old, *run.new))
    return label and any(old.kind in {"num", "time", "date"} for old, _ in case.diff.shared)


def _opposite(run: Run) -> bool:
    if max(len(run.old), len(run.new)) > _SHORT_RUN:
        return False
    pair = next(((one, other) for one in run.old for other in run.new if are_opposite(one.key, other.key)), None)
    return pair is not None and (len(run.old) == 1 or len(run.new) == 1)


def _turned_and_other(run: Run) -> bool:
    """``Before a release``, ``after a crash``; the wiki daily, the forum weekly: an opposite of something else."""
    if len(run.old) < 2 or len(run.new) < 2 or max(len(run.old), len(run.new)) > _SHORT_RUN:  # noqa: PLR2004 it and more
        return False
    return any(are_opposite(one.key, other.key) for one in run.old for other in run.new)


def _action(run: Run) -> str:
    if not _both_act(run):
        return ""
    return "value" if _one_slot(run) else "action"


_DENYING_PREFIXES = ("un", "non", "in", "im", "ir", "dis", "不", "非", "无")


def _is_measure(run: Run, case: Case) -> bool:
    """A measured amount before the verb, as Chinese has it; a bare number in front names a thing: "二号线"."""
    return (
        _all(run, {"num"})
        and all(term.token.dimension for term in (*run.old, *run.new))
        and run.old[0] is not case.old.content[0]
    )


def _is_day_of_verb(run: Run, case: Case) -> bool:
    """A date behind its subject and before the verb, as Chinese has it, when what happened happens once."""
    if case.new.language != "zh" or not _all(run, {"date"}) or run.before is None:
        return False
    return not any(term.key in words_of("event", "verbs") for term in case.new.content)


def _is_prefixed(run: Run) -> bool:
    """``paved`` and ``unpaved``."""
    if len(run.old) != 1 or len(run.new) != 1:
        return False
    short, long = sorted((run.old[0].text.casefold(), run.new[0].text.casefold()), key=len)
    return any(long == prefix + short for prefix in _DENYING_PREFIXES)


def _all(run: Run, kinds: set[str]) -> bool:
    return all(term.kind in kinds for term in (*run.old, *run.new))


def _listed(run: Run, words: frozenset[str]) -> bool:
    return any(term.key in words for term in run.old) and any(term.key in words for term in run.new)


def _typed_slot(run: Run) -> str:
    """Number, unit, date, time, time zone or code, when that is what stands in the place of the other."""
    for kind, slot in _TYPED.items():
        olds = [term for term in run.old if term.kind == kind]
        news = [term for term in run.new if term.kind == kind]
        if not olds or not news:
            continue
        if (len(run.old) > len(olds) and len(run.new) > len(news)) or _counts_other(olds[0], news[0]):
            return "attribute"  # another number of another thing
        return _finer(slot, olds[0], news[0])
    return ""


def _counts_other(old: Term, new: Term) -> bool:
    """Money beside people: both numbers say of what they are, and it is not of one kind."""
    if old.kind != "num" or old.token.dimension == new.token.dimension:
        return False
    return all(term.text[-1:] >= patterns.FIRST_CJK and not NUMERAL.match(term.text[-1:]) for term in (old, new))


def _finer(slot: str, old: Term, new: Term) -> str:
    if slot == "number" and _digits(old) == _digits(new):
        return "unit"
    if slot == "time" and old.token.dimension != new.token.dimension:
        return "timezone"
    return slot


def _digits(term: Term) -> str:
    return "".join(filter(str.isdigit, term.text)) or term.key


def _both_act(run: Run) -> bool:
    acting = [[term for term in terms if term.kind == "verb"] for terms in (run.old, run.new)]
    past = [[term for term in terms if term.token.past] for terms in (run.old, run.new)]
    return bool(acting[0] or past[0]) and bool(acting[1] or past[1])


def _one_slot(run: Run) -> bool:
    old, new = ({term.key for term in terms if term.kind == "verb"} for terms in (run.old, run.new))
    return any(old & (states | events) and new & (states | events) for states, events in slots().values())


def governing(run: Run, case: Case) -> Term | None:
    """The verb whose object or complement a run is: the last one before it, else any the texts share."""
    place = run.new[0].token.start if run.new else run.old[0].token.start
    source = case.new if run.new else case.old
    verbs = [term for term in source.content if term.kind == "verb" and term not in run.new]
    before = [term for term in verbs if term.token.start < place]
    return before[-1] if before else verbs[0] if verbs else None


def _is_last_of_unread(run: Run, case: Case) -> bool:
    """No predicate was found, and the run is what both texts end with: "属虎", "属兔"."""
    texts = ((case.old, run.old), (case.new, run.new))
    return all(
        one.content and all(term.subject for term in one.content) and one.content[-1] in part for one, part in texts
    )


def _behind_passive(run: Run, case: Case) -> bool:
    """``is written in Rust``: a preposition behind a participle."""
    before = [token for token in case.new.tokens if token.start < run.new[0].token.start and token.kind != "func"]
    return (
        len(before) > 2  # noqa: PLR2004 be, participle, preposition
        and before[-1].kind == "prep"
        and before[-2].past
        and any(token.kind == "be" for token in before)
    )


def _governed_by(run: Run, case: Case, verbs: frozenset[str]) -> bool:
    """Whether a verb in front of a run, or behind where none is in front, is one of these."""
    place = run.new[0].token.start
    found = [term for term in case.new.content if term.key in verbs and term.kind != "noun" and term not in run.new]
    before = [term for term in found if term.token.start < place]
    return bool(before) or (bool(found) and case.new.language in {"ja", "ko"})


def _by_verb(run: Run, case: Case) -> str:
    verb = governing(run, case)
    if "only" in case.old.quantifiers & case.new.quantifiers or _behind_passive(run, case) or _one_of_kind(run, case):
        return "value"
    if (case.new.modals and case.old.modals) or _governed_by(run, case, words_of("many", "verbs")):
        return "many"
    if verb is not None and verb.key in words_of("once", "verbs"):
        return "value"
    if all(term.kind in {"name", "name?"} for term in (*run.old, *run.new)):
        return "name"
    if _follows_be_or_preposition(run, case):
        return "value"
    return "value" if verb is None and _all(run, {"char", "adjective", "noun", "word"}) else "object"


def _one_of_kind(run: Run, case: Case) -> bool:
    """One dish of a kind for another, where one is taken at a time: orders a cortado, orders a flat white."""
    if not _governed_by(run, case, words_of("order", "one_of_kind")):
        return False
    old, new = (snippet(terms, text).casefold() for terms, text in ((run.old, case.old), (run.new, case.new)))
    return any(old in kinds and new in kinds for kinds in map(kinds_of, words_of("order", "kinds")))


def _follows_be_or_preposition(run: Run, case: Case) -> bool:
    start = run.new[0].token.start
    earlier = [token for token in case.new.tokens if token.start < start and token.kind not in {"func", "quantifier"}]
    return bool(earlier) and (earlier[-1].kind in {"be", "prep"} or any(token.kind == "be" for token in earlier))
