"""What a chat model said: its words out of the service's JSON, and out of its words the one label, word or text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

from memorycore.domain.judge import Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

W = TypeVar("W", bound=str)

LABELS: tuple[Relation, ...] = get_args(Relation)

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*?)\n?```\Z", re.DOTALL)
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


def choice_of(said: str, field: str, words: Sequence[W]) -> W | None:
    """The one of ``words`` that stands in a field of the answer, or is all of it; None when there is none."""
    found = _object(said)
    value = found.get(field) if isinstance(found, dict) else found
    plain = value.strip(" \n.*\"'").casefold() if isinstance(value, str) else ""
    return next((word for word in words if word == plain), None)


def text_of(said: str) -> str:
    """The text that an answer gives: in its field ``text``, else all that it says. Empty when it gives none."""
    found = _object(said)
    value = found.get("text") if isinstance(found, dict) else found
    return value.strip() if isinstance(value, str) else ""


def _object(said: str) -> dict[str, object] | str | None:
    """The JSON object that an answer is, or its words where it does not look like one."""
    spoken = _THOUGHTS.sub("", said).strip()
    if fenced := _FENCE.match(spoken):
        spoken = fenced[1].strip()
    if not spoken.startswith(("{", "[", '"', "`")):
        return spoken
    try:
        found: Any = json.loads(spoken)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object] | str", found) if isinstance(found, dict | str) else None
