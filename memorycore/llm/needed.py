"""Whether a rule might be needed for what was asked lately, as a language model sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from memorycore.errors import LlmError
from memorycore.llm.answers import choice_of
from memorycore.llm.framing import new_mark, put

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorycore.llm.endpoint import ChatEndpoint

Needed = Literal["yes", "no", "unsure"]
WORDS: tuple[Needed, ...] = get_args(Needed)
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"needed": {"type": "string", "enum": list(WORDS)}},
    "required": ["needed"],
    "additionalProperties": False,
}


def ask_needed(endpoint: ChatEndpoint, rule: str, questions: Sequence[str]) -> Needed:
    """Whether any of the questions could need the rule. One call; all of them may be shown (``shown_alone``).

    Raises:
        LlmError: The model is away, or its answer is none of the three words (``bad_answer``).
    """
    said = put(endpoint, "needed", {"rule": rule, "questions": list(questions)}, new_mark(), SCHEMA)
    word = choice_of(said, "needed", WORDS)
    if word is None:
        raise LlmError(model=endpoint.model, why="bad_answer", host=endpoint.host)
    return word
