"""A process that dies in the middle of a change leaves the old state or the new one."""

import json
import os
import subprocess
import sys
from collections.abc import Generator

import pytest

OPERATIONS = [
    "exchange_hot", "refine_hot", "refine_cold", "supersede_cold", "dispute_cold", "quarantine",
    "store_hot", "store_cold", "update_hot", "forget_hot", "restore_hot", "undo_refined_hot", "undo_superseded_hot",
]  # fmt: skip
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks children that are killed")


class Killer:
    """One process that kills others, for all operations: it takes longer to start than an operation lasts."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def states(self, operation: str, rounds: int) -> dict[str, int]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{operation} {rounds}\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "states" in answer, answer["failed"]
        return answer["states"]


@pytest.fixture(scope="module")
def killer() -> Generator[Killer]:
    command = [sys.executable, "-m", "tests.crash.core_rounds"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as process:
        yield Killer(process)
        process.communicate()
    assert process.returncode == 0


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_killed_change_leaves_the_old_or_the_new_state(killer: Killer, operation: str) -> None:  # IL-026
    states = killer.states(operation, 25)
    assert set(states) <= {"old", "new"}, states


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_two_hundred_killed_changes_leave_the_old_or_the_new_state(killer: Killer, operation: str) -> None:
    states = killer.states(operation, int(os.environ.get("MEMORYCORE_SOAK_ROUNDS", "200")))
    assert set(states) <= {"old", "new"}, states
