"""A process that dies in the middle of a change leaves the old state or the new one."""

import json
import os
import subprocess
import sys

import pytest

OPERATIONS = [
    "exchange_hot", "refine_hot", "refine_cold", "supersede_cold", "dispute_cold", "quarantine",
    "store_hot", "store_cold", "update_hot", "forget_hot", "restore_hot", "undo_refined_hot", "undo_superseded_hot",
]  # fmt: skip
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks children that are killed")


def rounds(operation: str, number: int) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.core_rounds", operation, str(number)],
        capture_output=True, encoding="utf-8", timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    states: dict[str, int] = json.loads(done.stdout)["states"]
    return states


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_killed_change_leaves_the_old_or_the_new_state(operation: str) -> None:  # IL-026
    states = rounds(operation, 25)
    assert set(states) <= {"old", "new"}, states


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_two_hundred_killed_changes_leave_the_old_or_the_new_state(operation: str) -> None:
    states = rounds(operation, int(os.environ.get("MEMORYCORE_SOAK_ROUNDS", "200")))
    assert set(states) <= {"old", "new"}, states
