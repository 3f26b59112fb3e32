"""Numbers that are names: rule 4, the second entry, 3号泵. Another number is another thing, not another value."""

import re

from memorycore.domain.assertion import Assertion, Term
from memorycore.domain.judge.alignment import Run
from memorycore.domain.judge.case import Case
from memorycore.domain.judge.relations import words_of

_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)$|\w*(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)$")
_LABEL = re.compile(r"(?:\b(?:no|nr|n°|num|№)\.?|#|第)\s*$")
_BEHIND = re.compile(r"\s*[号號號](?![码碼])|\s*番(?:目|線|の)|\s*번")
_NAMING = frozenset({"noun", "verb", "word", "name?", "adjective"})
_PLACING = frozenset({"at", "to", "by", "from", "inside"})


def names_which(run: Run, case: Case) -> bool:
    """Whether two numbers tell which thing is meant, in both texts."""
    if not all(terms and terms[0].kind == "num" and not terms[0].token.dimension for terms in (run.old, run.new)):
        return False
    return _is_name(run.old[0], case.old) and _is_name(run.new[0], case.new)


def _is_label(words: str, assertion: Assertion, number: Term) -> bool:
    """``pump 4``, but neither ``seats 800 people`` nor ``pumps: 4``."""
    word = words.split(maxsplit=1)[0].rstrip("#.(") if words.strip() else ""
    counted = any(
        term.token.start > number.token.end and not assertion.text[number.token.end : term.token.start].strip()
        for term in assertion.terms
        if term.kind in {"noun", "word"}
    )
    return word.isascii() and not word.endswith(("s", ":")) and not counted and word in words_of("numbered", "words")


def _is_name(number: Term, assertion: Assertion) -> bool:
    """A place where something is ("in room 4", "on the second floor") stays a value."""
    text = assertion.text
    before = text[: number.token.start].casefold()
    tokens = [token for token in assertion.tokens if token.end <= number.token.start and token.key != "article"]
    ordinal = bool(_ORDINAL.match(number.text.casefold()) or before.endswith("第"))
    behind = bool(_BEHIND.match(text, number.token.end)) or number.text.endswith(("号", "號"))
    labelled = bool(_LABEL.search(before)) or behind
    while labelled and tokens and (tokens[-1].key in "#.(" or _LABEL.search(before[: tokens[-1].end])):
        tokens = tokens[:-1]
    if tokens and tokens[-1].kind in _NAMING and _is_label(before[tokens[-1].start :], assertion, number):
        labelled, tokens = True, tokens[:-1]
    return (ordinal or labelled) and not (tokens and tokens[-1].kind == "prep" and tokens[-1].key in _PLACING)
