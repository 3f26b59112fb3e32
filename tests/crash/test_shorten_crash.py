"""A process that dies while it puts a shorter text in the place of a longer one leaves one of the two, whole."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks children that are killed")


def states(rounds: int) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.shorten_rounds", str(rounds)],
        capture_output=True, encoding="utf-8", timeout=1200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return set(json.loads(done.stdout))


def test_a_killed_shortening_leaves_the_longer_or_the_shorter_text() -> None:
    assert states(25) == {"old", "new"}


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_two_hundred_killed_shortenings_leave_the_longer_or_the_shorter_text() -> None:
    assert states(int(os.environ.get("MEMORYCORE_SOAK_ROUNDS", "200"))) == {"old", "new"}
