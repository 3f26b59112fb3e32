"""A process that stores rules into a full hot file and lets overflow run, in a loop. Run by ``test_retire_rivals``.

A day passes between rounds, so that nothing is new in the file for long.
"""

import json
import sys
from pathlib import Path

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.errors import HotFileError
from tests.homes import Home, rule


def one_round(core: MemoryCore, number: int) -> None:
    text = rule(number).content.removesuffix(".") + ", and tell everybody who is in the office on that day" * 5 + "."
    answer = core.remember(Draft(content=text, target="memory"), actor="overflowing")
    assert answer["status"] in {"stored", "cold_stored_fallback"}, answer
    core.overflow("memory")


def main(root: Path, first: int, rounds: int) -> None:
    home = Home(root)
    with home.core() as core:
        for number in range(first, first + rounds):
            home.clock.forward(days=1)
            try:
                one_round(core, number)
            except HotFileError:  # a clear answer: somebody who takes no lock is at it
                continue
        events = core.history(limit=1000, automatic_only=True)["events"]
    print(json.dumps(sum(line["action"] == "moved" for line in events)))  # noqa: T201 the answer of this program


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
