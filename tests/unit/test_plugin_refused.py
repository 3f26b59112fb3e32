"""What Hermes refused for want of room is counted from the messages of a turn, whatever these look like."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parents[2] / "hermes-plugin" / "memorycore-prefetch" / "refused.py"
REFUSED = json.dumps({"success": False, "error": "This would exceed the limit of 2,200 characters."})


def refusals(messages: Any) -> int:
    return runpy.run_path(str(FILE))["refusals"](messages)


def turn(calls: Any, content: Any) -> list[Any]:
    return [
        {"role": "user", "content": "Remember this."},
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": content},
    ]


def test_a_refused_write_of_the_last_turn_counts_once() -> None:
    calls = [{"id": "c1", "function": {"name": "memory"}}]
    assert refusals(turn(calls, REFUSED)) == 1
    assert refusals(turn(calls, json.dumps({"success": True}))) == 0
    assert refusals([*turn(calls, REFUSED), {"role": "user", "content": "And now?"}]) == 0
    assert refusals(turn([{"id": "c1", "function": {"name": "todo"}}], REFUSED)) == 0


@pytest.mark.parametrize("calls", ["memory", {"id": "c1"}, ["c1"], [None], [{"id": "c1", "function": "memory"}], 3])
def test_calls_of_another_shape_count_for_nothing(calls: Any) -> None:
    assert refusals(turn(calls, REFUSED)) == 0
    assert refusals(turn([{"id": "c1", "function": {"name": "memory"}}], [{"type": "text"}])) == 0
