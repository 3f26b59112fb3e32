"""A process that dies in the middle of an erasure leaves nothing that the next one cannot erase."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks children that are killed")


def rounds(number: int) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.erase_rounds", str(number)],
        capture_output=True, encoding="utf-8", timeout=1200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    states: dict[str, int] = json.loads(done.stdout)["states"]
    return states


def test_an_erasure_that_was_killed_is_finished_by_the_next_one() -> None:  # IL-191
    states = rounds(25)
    assert {"active", "trashed", "purged"} >= set(states) >= {"trashed", "purged"}, states


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_killed_erasures_are_finished_by_the_next_one() -> None:
    rounds(int(os.environ.get("MEMORYCORE_SOAK_ROUNDS", "200")))
