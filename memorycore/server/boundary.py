"""The tool boundary: arguments in, one JSON object as text out, whatever happens.

An expected refusal is a normal result. Only a fault is a protocol error, because some clients shut a server off after
three of those in a row. No text of a memory gets into the log.
"""

import logging
import time
import traceback
import uuid
from collections.abc import Mapping
from typing import Any, cast

from pydantic import ValidationError

from memorycore import messages, metrics
from memorycore.errors import InvalidInput, MemoryCoreError
from memorycore.options import Language
from memorycore.server import asks
from memorycore.server.caller import Caller
from memorycore.server.desk import Place
from memorycore.server.fit import fit, to_json
from memorycore.server.tools import STORE_BYTES, ToolSpec

_log = logging.getLogger(__name__)
NAMED_EXTRAS = 5
WHY = {
    "missing": "missing",
    "string_type": "not_text",
    "float_type": "not_a_number",
    "float_parsing": "not_a_number",
    "int_type": "not_whole",
    "int_parsing": "not_whole",
    "int_from_float": "not_whole",
    "bool_type": "not_yes_or_no",
    "bool_parsing": "not_yes_or_no",
    "list_type": "not_words",
    "dict_type": "not_an_object",
    "string_unicode": "not_text",
    "finite_number": "not_a_number",
    "string_pattern_mismatch": "not_in_form",
    "greater_than_equal": "not_above_nought",
    "too_long": "too_many_items",
    "too_short": "empty",
}


class ToolFaultError(Exception):
    """Something broke. The text names the reference under which the log has the rest."""


def answer_tool(desk: Place, tool: ToolSpec, arguments: Mapping[str, Any], caller: Caller) -> str:
    """Run one tool and give its answer as JSON text within the tool's byte budget.

    Raises:
        ToolFaultError: A fault that nobody expected.
    """
    try:
        answer, max_bytes = run_tool(desk, tool, arguments, caller)
    except MemoryCoreError as error:
        answer, max_bytes = refusal(tool, error, desk.language), STORE_BYTES
    more = messages.text(tool.more, desk.language) if tool.more else ""
    return to_json(fit(answer, max_bytes=max_bytes, lists=tool.lists, more=more))


def run_tool(
    desk: Place, tool: ToolSpec, arguments: Mapping[str, Any], caller: Caller
) -> tuple[Mapping[str, Any], int]:
    """Run one tool; its whole answer, and the bytes that the caller wishes it to have at most. It is counted.

    Raises:
        MemoryCoreError: An expected refusal.
        ToolFaultError: A fault that nobody expected.
    """
    outcome, started = "fault", time.perf_counter()
    try:
        answer, max_bytes = _run(desk, tool, arguments, caller)
        outcome = "ok"
    except MemoryCoreError as error:
        outcome = "refused"
        _log.info("%s refused: %s", tool.name, error.code)
        raise
    except Exception as error:  # noqa: BLE001 - the tool boundary: a fault becomes one short sentence, never a traceback
        raise _fault(tool, error, desk.language) from None
    finally:
        metrics.add("memorycore_calls_total", call=tool.name, via=caller.via, outcome=outcome)
        metrics.observe("memorycore_call_duration_seconds", time.perf_counter() - started, call=tool.name)
    if tool.ask is asks.StoreFact:
        metrics.add("memorycore_stores_total", status=str(answer.get("status")))
    return answer, max_bytes


def refusal(tool: ToolSpec, error: MemoryCoreError, language: Language) -> Mapping[str, Any]:
    """What happened, whether the text is safe, what to do. ``store_fact`` always answers a ``status``."""
    problem = messages.problem(error, language)
    return {**problem, "status": "refused"} if tool.ask is asks.StoreFact else dict(problem)


def _run(desk: Place, tool: ToolSpec, arguments: Mapping[str, Any], caller: Caller) -> tuple[Mapping[str, Any], int]:
    ask = _checked(tool, arguments)
    with desk.core() as core:
        if caller.session_id:  # a program that names no session has no prompt that would hold the files
            desk.seen(caller.session_id)
        answer = dict(tool.run(core, ask, caller))
    if extras := [name for name in arguments if name not in tool.ask.model_fields]:
        answer["unknown_arguments"] = [name[:40] for name in extras[:NAMED_EXTRAS]]
    wished = cast("int", getattr(ask, "max_bytes", tool.max_bytes))
    return answer, min(max(wished, asks.LEAST_BYTES), asks.MOST_BYTES)


def _checked(tool: ToolSpec, arguments: Mapping[str, Any]) -> asks.Ask:
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        return tool.ask.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "arguments"
        if first["type"] == asks.UNKNOWN_WORD:
            raise InvalidInput(field=field, why="unknown value", allowed=first.get("ctx", {}).get("allowed")) from None
        raise InvalidInput(field=field, why=WHY.get(first["type"], first["msg"])) from None


def _fault(tool: ToolSpec, error: Exception, language: Language) -> ToolFaultError:
    """Log where it broke, without the error's own text: that may hold what somebody wanted to remember."""
    reference = uuid.uuid4().hex[:8]
    frames = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s broke [%s] with %s\n%s", tool.name, reference, type(error).__name__, frames)
    return ToolFaultError(messages.text("server.fault", language, kind=type(error).__name__, reference=reference))
