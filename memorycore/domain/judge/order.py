"""When two texts say the same words in another order: a list, a phrase in front, a passive, or roles swapped."""

import re
from itertools import takewhile

from memorycore.domain.assertion import SOFT, Assertion
from memorycore.domain.judge.alignment import Run
from memorycore.domain.judge.case import Case
from memorycore.domain.judge.relations import are_inverse, words_of

_FREE_KINDS = frozenset({"date", "time", "num", "code", "contrast"})
_FREE_WORDS = frozenset({
    "daily", "weekly", "monthly", "yearly", "hourly", "nightly", "always", "usually", "often", "sometimes", "rarely",
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "morning", "afternoon", "evening",
    "night", "noon", "weekend", "workday", "spring", "summer", "autumn", "winter", "automatic", "manual",
})  # fmt: skip
_SEQUENCE = frozenset({"before", "after", "first", "last"})


def order_differs(case: Case) -> str:
    """Empty when the order means nothing, else ``direction``, ``order`` or ``role``."""
    if not case.diff.moved or _as_sorted_lists(case.old) == _as_sorted_lists(case.new):
        return ""
    if values_swapped(case):
        return "role"
    if (
        _lists_equal(case.old.form, case.new.form)
        or _one_changed_sides(case)
        or _put_in_genitive(case)
        or _rotated_at_copula(case)
        or _one_is_passive(case)
        or _holds_both_ways(case)
        or _condition_moved(case)
    ):
        return ""
    if _core(case.old, _prepositions(case.new)) == _core(case.new, _prepositions(case.old)):
        return ""
    keys = {term.key for term in case.new.terms}
    if {"from", "to"} <= keys:
        return "direction"
    return "order" if keys & _SEQUENCE or _has_sequence_words(case.new) else "role"


_VALUES = frozenset({"date", "time", "num", "code"})
_BESIDE = 3  # terms on either side that tell what a value is of


def values_swapped(case: Case) -> bool:
    """Whether two values stand where the other one stood: ``room 3 has 5 windows``, ``room 5 has 3 windows``."""
    old, new = _company(case.old), _company(case.new)
    shared = [key for key in old if key in new]
    return any(
        _alike(new[one], old[other]) > _alike(new[one], old[one])
        and _alike(new[other], old[one]) > _alike(new[other], old[other])
        for place, one in enumerate(shared)
        for other in shared[place + 1 :]
    )


def _company(assertion: Assertion) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """For each value that is said once the terms before it, nearest first, and those after it; values as one sign."""
    keys = [term.key for term in assertion.terms]
    masked = ["#" if term.kind in _VALUES else term.key for term in assertion.terms]
    return {
        key: (tuple(masked[:place][::-1][:_BESIDE]), tuple(masked[place + 1 :][:_BESIDE]))
        for place, key in enumerate(keys)
        if assertion.terms[place].kind in _VALUES and keys.count(key) == 1
    }


def _alike(one: tuple[tuple[str, ...], tuple[str, ...]], other: tuple[tuple[str, ...], tuple[str, ...]]) -> int:
    """How many terms two companies have in common, counted from the value outwards."""
    return sum(
        len(list(takewhile(lambda pair: pair[0] == pair[1], zip(mine, theirs, strict=False))))
        for mine, theirs in zip(one, other, strict=True)
    )


_PAIR_AND_RELATION = 3


def _holds_both_ways(case: Case) -> bool:
    """``Mia is married to Tom``: two names and a relation that has no direction."""
    keys = [term.key for term in case.new.content]
    names = [term for term in case.new.content if term.kind in {"name", "name?"}]
    related = any(term.key in words_of("symmetric", "words") for term in case.new.terms)
    return related and len(names) == 2 and len(keys) <= _PAIR_AND_RELATION  # noqa: PLR2004 the two


def _condition_moved(case: Case) -> bool:
    """``If A, B`` and ``B if A``."""
    old, new = (
        tuple([term.key for term in one.content if term.condition == side] for side in (True, False))
        for one in (case.old, case.new)
    )
    return bool(old[0]) and old == new


def is_inverse(run: Run) -> bool:
    """Whether a replacement is of one verb or relation by its inverse: sell, buy."""
    return len(run.old) == 1 and len(run.new) == 1 and are_inverse(run.old[0].key, run.new[0].key)


def roles_swapped(case: Case) -> bool:
    """Whether the two first things that the texts name in another order have changed places."""
    old, new = (_arguments(one, case) for one in (case.old, case.new))
    names = {term.key for term in case.old.content if term.kind in {"name", "name?"}} & case.new.keys
    if len(names) > 1:
        old, new = [key for key in old if key in names], [key for key in new if key in names]
    place = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), None)
    if place is None or new[place] not in old or old[place] not in new:
        return False
    first, second = old[place], new[place]
    return old.index(first) < old.index(second) and new.index(second) < new.index(first)


def _arguments(assertion: Assertion, case: Case) -> list[str]:
    differing = {term.key for run in case.diff.runs for term in (*run.old, *run.new)}
    return [term.key for term in assertion.content if term.key not in differing and term.kind != "verb"]


def _as_sorted_lists(assertion: Assertion) -> list[str]:
    """Keys in order, items of a list in alphabetical order."""
    terms = assertion.terms
    keys = [term.key for term in terms]
    place = 0
    while place < len(terms):
        items = [place]
        end = place
        while (following := _next_item(assertion, end)) is not None:
            items.append(following)
            end = following
        if len(items) > 1:
            for at, key in zip(items, sorted(keys[item] for item in items), strict=True):
                keys[at] = key
        place = end + 1
    return [key for key, term in zip(keys, terms, strict=True) if term.kind != "conj"]


_BETWEEN_ITEMS = re.compile(r"\s*(?:、|,|/|&|\band\b|\bor\b|\bund\b|\bet\b|\by\b|和|与|及|跟|以及|と|や)\s*")
_REACH = 6


def _lists_equal(old: str, new: str) -> bool:
    """Whether two texts differ only in the order of the items of one list."""
    start = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0)
    tail = next((at for at, (one, other) in enumerate(zip(old[::-1], new[::-1], strict=False)) if one != other), 0)
    for before in range(min(_REACH, start) + 1):
        for behind in range(min(_REACH, tail) + 1):
            middle = [_BETWEEN_ITEMS.split(one[start - before : len(one) - tail + behind]) for one in (old, new)]
            if len(middle[0]) > 1 and all(middle[0]) and sorted(middle[0]) == sorted(middle[1]):
                return True
    return False


def _one_changed_sides(case: Case) -> bool:
    """Only one thing stands on the other side of the verb, and a preposition there says which part it plays."""
    moved = [term for term in case.diff.moved if term.kind != "verb"]
    if len(moved) != 1:
        return False
    return {_preposition(moved[0].key, case.old), _preposition(moved[0].key, case.new)} in ({"", "for"}, {"", "by"})


def _next_item(assertion: Assertion, place: int) -> int | None:
    """Place of the next item of a list: behind "and", "和", a comma between."""
    terms = assertion.terms
    if place + 1 >= len(terms) or terms[place].kind in {"conj", "prep", "soft"}:
        return None
    following = terms[place + 1]
    if following.kind == "conj" or (following.kind == "prep" and following.key == "with"):
        return place + 2 if place + 2 < len(terms) else None
    between = assertion.text[terms[place].token.end : following.token.start].strip()
    return place + 1 if between in {",", "、", "/"} else None


def _rotated_at_copula(case: Case) -> bool:
    """``Paris is the capital`` and ``the capital is Paris``."""
    if not all(map(_has_copula, (case.old, case.new))):
        return False
    old, new = [term.key for term in case.old.content], [term.key for term in case.new.content]
    cut = sum(term.subject for term in case.old.content)
    return bool(cut) and old[cut:] + old[:cut] == new


def _put_in_genitive(case: Case) -> bool:
    """``The parcel weighs 3 kg`` and ``the weight of the parcel is 3 kg``."""
    old, new = ([term.key for term in one.content] for one in (case.old, case.new))
    return old == _turned_at_of(case.new, new) or new == _turned_at_of(case.old, old)


def _turned_at_of(assertion: Assertion, keys: list[str]) -> list[str]:
    """Keys with the words on both sides of the first "of" in each other's place."""
    of = next((one for one in assertion.tokens if assertion.text[one.start : one.end] == "of"), None)
    place = sum(term.token.start < of.start for term in assertion.content) if of else 0
    if not 0 < place < len(keys):
        return []
    return [*keys[: place - 1], keys[place], keys[place - 1], *keys[place + 1 :]]


def _has_copula(assertion: Assertion) -> bool:
    """``is``, or the 在 that says where something is."""
    at = assertion.language == "zh" and not any(term.kind == "verb" for term in assertion.content)
    return any(token.kind == "be" or (at and token.kind == "prep" and token.key == "at") for token in assertion.tokens)


def _core(assertion: Assertion, others: dict[str, str]) -> list[str]:
    """Keys in order, without what can stand anywhere: times, and phrases with the same preposition in both."""
    mine = _prepositions(assertion)
    return [
        term.key
        for term in assertion.content
        if term.kind not in _FREE_KINDS
        and term.key not in _FREE_WORDS
        and not (mine.get(term.key) and mine.get(term.key) == others.get(term.key))
    ]


def _prepositions(assertion: Assertion) -> dict[str, str]:
    """Each term of a phrase that a preposition opens, with the preposition."""
    found: dict[str, str] = {}
    current, end, behind = "", 0, False
    for term in assertion.terms:
        between = assertion.text[end : term.token.start]
        if current and ((term.kind == "verb" and behind) or any(sign in between for sign in ",;.:!?")):
            current = ""
        behind = term.kind not in {"prep", "contrast"}  # "after release": a verb right there is a noun
        if not behind:
            current = term.key
        elif current and term.kind not in SOFT:
            found[term.key] = current
        end = term.token.end
    return found


def _preposition(key: str, assertion: Assertion) -> str:
    for place, term in enumerate(assertion.terms):
        if term.key == key and place and assertion.terms[place - 1].kind == "prep":
            return assertion.terms[place - 1].key
    return ""


def _one_is_passive(case: Case) -> bool:
    return _is_passive(case.old) != _is_passive(case.new)


def _is_passive(assertion: Assertion) -> bool:
    """``is … -ed``, 被, 由."""
    tokens = assertion.tokens
    for place, token in enumerate(tokens):
        if token.kind == "prep" and token.key == "by" and assertion.language in {"zh", "ja"}:
            return True
        if token.kind == "be" or token.key in {"must", "mustnot", "may"}:
            following = [other for other in tokens[place + 1 : place + 4] if other.kind not in {"neg", "func", "be"}]
            if following and following[0].past:
                return True
    return False


def _has_sequence_words(assertion: Assertion) -> bool:
    return any(sign in assertion.text for sign in ("先", "then", "first", "まず", "먼저"))
