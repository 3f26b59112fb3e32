"""What Hermes' memory tool refused for want of room: no hook tells of it, so it is read from the messages of a turn."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

TOOL = "memory"
# As Hermes words it: a text over the limit, and the answer to a model that tried too often.
OF_SIZE = ("exceed the limit", "over the limit", "would put memory at", "consolidation failed")


def refusals(messages: Any) -> int:
    """How many writes of the last turn found no room. ``messages``: those of the session, in the form of OpenAI."""
    if not isinstance(messages, list):
        return 0
    calls, count = set[str](), 0
    for message in _last_turn(messages):
        calls.update(_calls(message.get("tool_calls")))
        if message.get("role") == "tool" and str(message.get("tool_call_id")) in calls:
            count += _is_refusal(message.get("content"))
    return count


def _calls(told: Any) -> list[str]:
    """The ids of those calls that are of the memory tool."""
    found = [call for call in told if isinstance(call, Mapping)] if isinstance(told, list) else []
    functions = [call.get("function") for call in found]
    return [
        str(call.get("id"))
        for call, function in zip(found, functions, strict=True)
        if isinstance(function, Mapping) and function.get("name") == TOOL
    ]


def _last_turn(messages: Sequence[Any]) -> list[Mapping[str, Any]]:
    found = [message for message in messages if isinstance(message, Mapping)]
    begins = max((place for place, message in enumerate(found) if message.get("role") == "user"), default=0)
    return found[begins:]


def _is_refusal(content: Any) -> bool:
    try:
        answer: Any = json.loads(str(content))
    except ValueError:
        return False
    if not isinstance(answer, Mapping) or answer.get("success") is not False:
        return False
    why = str(answer.get("error") or "").lower()
    return any(words in why for words in OF_SIZE)
