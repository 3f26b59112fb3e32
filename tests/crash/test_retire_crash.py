"""A process that dies while texts leave a hot file or come back loses none of them."""

import json
import os
import subprocess
import sys

import pytest

OPERATIONS = ["retire", "swap", "undo", "undo_restore", "renew"]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks children that are killed")


def states(rounds: int) -> dict[str, set[str]]:
    """What was left after each operation; one process does them all, since it takes long to start."""
    asked = "".join(f"{operation} {rounds}\n" for operation in OPERATIONS)
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.retire_rounds"],
        input=asked, capture_output=True, encoding="utf-8", timeout=1200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["failed"] for answer in answers if "failed" in answer] == []
    return {operation: set(answer["states"]) for operation, answer in zip(OPERATIONS, answers, strict=True)}


def test_a_killed_rearrangement_is_done_whole_or_not_at_all() -> None:
    for operation, left in states(15).items():
        assert {"old", "new"} <= left <= {"old", "new", "came"}, (operation, left)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_killed_rearrangements_are_done_whole_or_not_at_all() -> None:
    for operation, left in states(int(os.environ.get("MEMORYCORE_SOAK_ROUNDS", "200"))).items():
        assert {"old", "new"} <= left <= {"old", "new", "came"}, (operation, left)
