"""How two texts relate, as a language model sees it: one of five labels, and never a text's own opinion of itself.

The texts come from anywhere, so they may hold orders to whoever reads them. What would change a memory therefore needs
more than one answer: the same one again to another question with the texts in the other order; and where a text speaks
of answers or verdicts, the model must first show that it compares that text and does not obey it.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from memorycore.domain.text import fold
from memorycore.errors import LlmError
from memorycore.llm.answers import LABELS, label_of
from memorycore.llm.framing import framings, new_mark, put
from memorycore.llm.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from memorycore.domain.judge import Relation
    from memorycore.llm.endpoint import ChatEndpoint

DESTRUCTIVE = frozenset({"same", "refines", "supersedes"})
_KEEPS_NUMBERS = frozenset({"same", "refines"})
_DIGITS = re.compile(r"\d+")
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"relation": {"type": "string", "enum": list(LABELS)}},
    "required": ["relation"],
    "additionalProperties": False,
}


def ask_relation(endpoint: ChatEndpoint, old: str, new: str, *, new_mark: Callable[[], str] = new_mark) -> Relation:
    """How ``new`` relates to ``old``. Up to four calls, each with its own mark from ``new_mark``.

    ``different``, which changes nothing, is also the answer about a pair that must not be sent (``shown``), and where
    the model does not hold to what it said.

    Raises:
        LlmError: The model is away, or gave none of the five labels, or more than one (``bad_answer``).
    """
    texts = shown(old, new)
    if texts is None:
        return "different"
    old, new = texts

    def ask(framing: str, *in_order: str) -> Relation:
        return _ask(endpoint, framing, in_order, new_mark())

    first = ask("first", old, new)
    if first not in DESTRUCTIVE:
        return first
    if first in _KEEPS_NUMBERS and not _keeps_numbers(old, new, alone=first == "same"):
        return "different"
    if ask("second", new, old) != first:
        return "different"
    sentence = str(framings()["control"]["sentence"])
    if any(ask("first", sentence, text) != "different" for text in (old, new) if speaks_of_verdicts(text)):
        return "different"
    return first


def speaks_of_verdicts(text: str) -> bool:
    """Whether a text holds a word that could be meant for the model. Wide on purpose: a hit costs one more call."""
    folded = fold(text)
    return any(word in folded for word in _words())


def _keeps_numbers(old: str, new: str, *, alone: bool) -> bool:
    """Whether all numbers of ``old`` stand in ``new``; ``alone``: and no others. No model is believed against that."""
    before, after = (Counter(_DIGITS.findall(fold(text))) for text in (old, new))
    return before == after if alone else before <= after


def _ask(endpoint: ChatEndpoint, framing: str, in_order: tuple[str, ...], mark: str) -> Relation:
    fields = dict(zip(framings()[framing]["fields"], in_order, strict=True))
    label = label_of(put(endpoint, framing, fields, mark, SCHEMA))
    if label is None:
        raise LlmError(model=endpoint.model, why="bad_answer", host=endpoint.host)
    return label


@cache
def _words() -> tuple[str, ...]:
    return tuple(fold(word) for word in framings()["control"]["words"])
