"""What a chat model said: its words out of the service's JSON, and the one label out of its words."""

from __future__ import annotations

import json
import re
from typing import Any, cast, get_args

from memorycore.domain.judge import Relation

LABELS: tuple[Relation, ...] = get_args(Relation)

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_FIELD = re.compile(r'"relation"\s*:\s*("[^"]*"|[^\s",}]+)')
# Latin letters only: a label may stand right between Chinese characters.
_LABEL = re.compile(rf"(?<![A-Za-z_])({'|'.join(LABELS)})(?![A-Za-z_])", re.IGNORECASE)
# "These are not the same" holds one label and means another.
_DENIAL = re.compile(
    r"\b(?:no|not|nor|never|neither|cannot|hardly|rather than|instead of)\b|n['’]t\b|[不非没沒無无未别別勿]",
    re.IGNORECASE,
)


def words_of(body: bytes) -> str | None:
    """The content of the first choice of a chat completion; None where the body is no such thing."""
    try:
        content: Any = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):  # the last: brackets nested without end
        return None
    if isinstance(content, list):  # some services send parts
        parts = [cast("dict[str, Any]", part) for part in cast("list[Any]", content) if isinstance(part, dict)]
        content = "".join(str(part.get("text", "")) for part in parts)
    return content if isinstance(content, str) else None


def label_of(said: str) -> Relation | None:
    """The one label that an answer holds: in its field, else alone in its words. None when there is none or a choice.

    What a model thinks aloud does not count. An answer that denies anything in free words is not read: half of "not the
    same" is a label.
    """
    spoken = _THOUGHTS.sub("", said)
    fields = {value.strip('"').strip().casefold() for value in _FIELD.findall(spoken)}
    if fields:
        found = fields
    elif _DENIAL.search(spoken):
        return None
    else:
        found = {word.casefold() for word in _LABEL.findall(spoken)}
    return next((label for label in LABELS if found == {label}), None)
