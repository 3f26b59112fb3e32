"""A leader that is killed in the middle of maintenance: the next one goes on, and every effect is there once."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

from memorycore.domain.memory import Draft
from tests.homes import START, Home, fact

ROOT = Path(__file__).resolve().parents[2]
COUNT = 30
KILLS = 3


def filled(home: Home) -> None:
    """Of each kind so many: equals that came in beside admission, what is over soon, what is in the bin."""
    until = START + timedelta(days=5)
    with home.core() as core:
        for number in range(COUNT):
            core.remember(fact(number), actor="test")
            core.cold.remember(fact(number).content.upper())
            core.remember(Draft(content=f"Ticket {number} is open until Friday.", valid_until=until), actor="test")
            gone = core.remember(Draft(content=f"The parcel for desk {number} came at noon."), actor="test")
            core.forget(str(gone.get("id")), actor="test")


def test_a_leader_killed_again_and_again_applies_each_effect_once(tmp_path: Path) -> None:
    home = Home(tmp_path)
    filled(home)
    dice = random.Random(5)
    for _ in range(KILLS):
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.maintenance_rounds", str(tmp_path)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(dice.uniform(0.02, 0.25))
        child.kill()
        child.wait()
        child.stdout.close()
    home.clock.now = START + timedelta(days=42)
    with home.core() as core:
        assert {step["outcome"] for step in core.maintain()["steps"]} == {"done"}
        assert core.maintain(["integrity"])["steps"][0]["repaired"] is False
        with core.db.read() as c:
            told = Counter(
                (str(action), str(about)) for action, about in c.execute("SELECT action, memory_id FROM event")
            )
        kinds = Counter(action for action, _ in told)
        # What is purged leaves one line in the ledger, and none of when it was binned.
        assert (kinds["trashed"], kinds["expired"], kinds["purged"]) == (COUNT, COUNT, COUNT)
        effects = {"trashed", "expired", "purged"}
        assert max(times for (action, _), times in told.items() if action in effects) == 1
        assert core.usage()["cold"]["total"] == COUNT
