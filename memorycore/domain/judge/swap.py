"""``Spaces instead of tabs``: the new text names the old value as the one that something else stands for now."""

from memorycore.domain.assertion import Assertion, Term
from memorycore.domain.assertion.tokens import Token
from memorycore.domain.judge.case import Case
from memorycore.domain.judge.relations import words_of
from memorycore.domain.judge.verdict import Verdict, evidence, verdict

_ENDS = frozenset({"punct", "prep", "contrast", "modal", "cue"})
_PLACED = frozenset({"prep", "contrast"})
_NEAREST = 2
_NEAR = 3  # terms in front of "instead", in languages that put it behind


def said_instead(case: Case) -> Verdict | None:
    """``supersedes`` when what is given up is what the old text says, unless each speaks of a place of its own."""
    sign, earlier = _sign(case.new), _sign(case.old)
    if sign is None or case.said_newly("limited"):
        return None
    given_up = _given_up(sign, case.new)
    gone = {id(term) for term in _given_up(earlier, case.old)} if earlier else set[int]()
    affirmed = {term.key for term in case.old.content if not term.denied and id(term) not in gone}
    told = [term for term in given_up if term.kind != "verb"] or given_up
    if not told or any(term.key not in affirmed for term in told):
        return None
    word = evidence("cue_swap", new=case.new.text[sign.start : sign.end])
    if other := _own_place(case, sign, given_up):
        return Verdict(relation="different", evidence=(evidence("subject", new=other),), limited=True)
    return verdict("supersedes", word, evidence("value", new=given_up[0].text))


def _sign(text: Assertion) -> Token | None:
    return next((token for token in text.tokens if _is_sign(token, text)), None)


def _is_sign(token: Token, text: Assertion) -> bool:
    words = text.text[token.start : token.end].casefold()
    return (
        token.kind == "cue" and token.key == "swap" and words in words_of("swap", "front") | words_of("swap", "behind")
    )


def _given_up(sign: Token, text: Assertion) -> list[Term]:
    """The words that "instead of" governs: behind it, in Japanese and Korean in front of it."""
    if text.text[sign.start : sign.end].casefold() in words_of("swap", "behind"):
        before = [term for term in text.terms if term.token.end <= sign.start]
        start = next((at + 1 for at in reversed(range(len(before))) if _breaks(before, at, sign, text)), 0)
        return [term for term in before[start:] if term.kind not in _PLACED | {"soft", "conj"}][-_NEAR:]
    first = next((term.token.start for term in text.content if term.token.start >= sign.end), sign.end)
    ends = (token.start for token in text.tokens if token.start > first and token.kind in _ENDS)
    stop = next(ends, len(text.text))
    return [term for term in text.content if first <= term.token.start < stop]


def _taken_up(sign: Token, text: Assertion) -> list[Term]:
    """What stands there now: right in front of "instead of", in Japanese and Korean right behind it."""
    behind = text.text[sign.start : sign.end].casefold() in words_of("swap", "behind")
    near = [term for term in text.content if (term.token.start >= sign.end if behind else term.token.end <= sign.start)]
    return near[:_NEAREST] if behind else near[-_NEAREST:]


def _breaks(terms: list[Term], place: int, sign: Token, text: Assertion) -> bool:
    """A phrase or a topic ends here."""
    following = terms[place + 1].token.start if place + 1 < len(terms) else sign.start
    between = [token for token in text.tokens if terms[place].token.end <= token.start < following]
    return terms[place].kind in _PLACED or any(token.kind in {"topic", "punct", "cue"} for token in between)


def _own_place(case: Case, sign: Token, given_up: list[Term]) -> str:
    """Where the new text holds, when the old one does not say so: in its phrases, or as its subject."""
    gone = {id(term) for term in (*given_up, *_taken_up(sign, case.new))}
    known = case.old.keys
    placed = False
    for term in case.new.terms:
        placed = term.kind in _PLACED or (placed and term.kind != "verb")
        if placed and term.kind not in _PLACED | {"soft", "conj"} and id(term) not in gone and term.key not in known:
            return term.text
    return ""
