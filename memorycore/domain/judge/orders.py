"""Two orders side by side: another object, place or addressee is another rule, only another choice contradicts.

"Use tabs" and "use spaces" are two choices; "use tabs in report files" stands beside "use tabs in gateway files".
"""

from collections.abc import Iterator

from memorycore.domain.assertion import Assertion, Term
from memorycore.domain.assertion.tokens import Token
from memorycore.domain.judge.alignment import Run
from memorycore.domain.judge.case import Case
from memorycore.domain.judge.relations import are_siblings, words_of

_SCOPES = frozenset(
    {"at", "for", "inside", "behind", "front", "near", "along", "across", "around", "among", "throughout"}
)
_SCOPES_IN_TIME = frozenset({"during", "before", "after"})
_OTHERS = frozenset({"to", "by", "with", "from", "via", "against", "between", "than", "per"})
_NAMES = frozenset({"name", "name?"})
_NAMING = frozenset({"noun", "word", "verb", "name", "name?", "char", "adjective"})


def beside_order(run: Run, case: Case) -> str:
    """``subject`` when a replacement makes another rule, ``object`` when it may, empty when it is another choice."""
    duties = bool(case.old.modals and case.new.modals)
    ordered = duties or case.ordered
    if not (ordered or _chosen(case)) or _is_value(run, case):
        return ""
    opener = _opener(run, case.new)
    if opener is None:
        return _in_object(run, case) if case.ordered and not _chosen(case) else ""
    if _puts(case):
        return ""
    return _in_phrase(run, opener, case, ordered=ordered)


def _is_value(run: Run, case: Case) -> bool:
    """Values of one kind; and a number, date or time, unless one text forbids and the other orders."""
    if any(are_siblings(old.key, new.key) for old in run.old for new in run.new):
        return True
    return _measured(run) and not (case.ordered and _forbids_one(case))


def _measured(run: Run) -> bool:
    return any(term.kind in {"num", "date", "time"} for term in (*run.old, *run.new))


def _forbids_one(case: Case) -> bool:
    return ("mustnot" in case.old.modals) != ("mustnot" in case.new.modals)


def _in_phrase(run: Run, opener: Token, case: Case, *, ordered: bool) -> str:
    """What stands behind a preposition: where, for whom, with what."""
    if ordered and _forbids_one(case):
        return "subject"
    named = all(term.kind in _NAMES for term in (*run.old, *run.new))
    if opener.key in _SCOPES | _SCOPES_IN_TIME or opener.kind == "func":
        return "" if named and not _chosen(case) and not _behind_noun(run, case.new) else "subject"
    if case.new.language == "zh" or _chosen(case) or _before_noun(run, case.new):
        return "subject"  # 给客户写…: for whom; "use … with customers"; "add … to the report code"
    return "object" if ordered and not named else ""


def _in_object(run: Run, case: Case) -> str:
    """The thing that something is done to; what is forbidden of one is allowed of another."""
    if _forbids_one(case):
        return "subject"
    if all(term.kind in _NAMES for term in (*run.old, *run.new)):
        return ""
    return "object" if case.strong_change else "subject"


def _chosen(case: Case) -> bool:
    """The verb of both takes one of several: use, prefer, choose. To forbid one of them chooses none."""
    if "mustnot" in case.old.modals | case.new.modals:
        return False
    return any(True for _ in _verbs_of(case, "choices"))


def _verbs_of(case: Case, name: str) -> Iterator[Term]:
    """Verbs of a list that both texts have, as they stand in the new one; an order may open with a noun's form."""
    verbs = words_of("order", name)
    for old, new in case.diff.shared:
        if old.key in verbs and (old.kind == "verb" or (case.ordered and old is case.old.content[0])):
            yield new


def _puts(case: Case) -> bool:
    """The verb of both says where a thing goes, and the thing stands behind it."""
    return any(_takes_thing(verb, case.new) for verb in _verbs_of(case, "places"))


def _takes_thing(verb: Term, text: Assertion) -> bool:
    """``keep the keys in …``, not ``keep quiet in …``."""
    behind = [token for token in text.tokens if token.start >= verb.token.end]
    end = next((at for at, token in enumerate(behind) if token.kind == "prep"), len(behind))
    return text.language == "zh" or not any(token.kind == "adjective" for token in behind[max(0, end - 1) : end])


def _opener(run: Run, text: Assertion) -> Token | None:
    """The preposition of the phrase that a run stands in, None when it is an object."""
    start = run.new[0].token.start
    before = [token for token in text.tokens if token.end <= start]
    for place in range(len(before) - 1, -1, -1):
        token = before[place]
        if token.kind == "prep" or (token.kind == "contrast" and token.key in _SCOPES_IN_TIME):
            return token if text.language != "zh" or _is_before_verb(token, run, text) else None
        if _is_genitive(token, before[:place], text):
            return token
        if token.kind in {"punct", "be", "cue"} or place == text.command:
            return None
        if text.language == "zh" and token.kind == "verb":
            return None
    return None


def _is_before_verb(preposition: Token, run: Run, text: Assertion) -> bool:
    """A Chinese phrase in front of its verb: 给客户写信, not 写给客户."""
    end = run.new[-1].token.end
    return preposition.key in _SCOPES | _OTHERS and any(
        token.kind in {"verb", "char", "word", "noun"} and token.start >= end for token in text.tokens
    )


def _is_genitive(token: Token, before: list[Token], text: Assertion) -> bool:
    """``of``: the windows of the kitchen."""
    if token.kind != "func" or not before or before[-1].kind not in {"noun", "word"}:
        return False
    word = text.text[token.start : token.end].casefold()
    return word in words_of("order", "genitives")


def _before_noun(run: Run, text: Assertion) -> bool:
    """Part of a name that goes on in both: the report code."""
    if run.after is None or run.after.kind not in _NAMING:
        return False
    return not text.text[run.new[-1].token.end : run.after.token.start].strip()


def _behind_noun(run: Run, text: Assertion) -> bool:
    """A name right behind what it names: hall A."""
    if run.before is None or run.before.kind not in {"noun", "word"}:
        return False
    return not text.text[run.before.token.end : run.new[0].token.start].strip()
