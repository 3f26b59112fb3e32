"""A shorter wording of one text, as a language model puts it. Nothing of it is believed here: the caller checks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorycore.errors import LlmError
from memorycore.llm.answers import text_of
from memorycore.llm.framing import new_mark, put

if TYPE_CHECKING:
    from memorycore.llm.endpoint import ChatEndpoint

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


def ask_shorter(endpoint: ChatEndpoint, text: str) -> str:
    """What the model would say instead of a text that may be shown (``shown_alone``). One call.

    Raises:
        LlmError: The model is away, or its answer holds no text (``bad_answer``).
    """
    shorter = text_of(put(endpoint, "shorten", {"note": text}, new_mark(), SCHEMA))
    if not shorter:
        raise LlmError(model=endpoint.model, why="bad_answer", host=endpoint.host)
    return shorter
