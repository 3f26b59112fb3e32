"""A process that stores, updates and forgets on a shared memory. Run as a program by ``test_many_processes``."""

import json
import sys
from pathlib import Path

from memorycore.domain.memory import Draft
from tests.homes import Home


def main(root: Path, name: str, rounds: int) -> None:
    kept: list[str] = []
    with Home(root).core() as core:
        for number in range(rounds):
            hot = core.remember(Draft(content=f"Always check {name} gate {number}.", target="memory"), actor=name)
            cold = core.remember(Draft(content=f"The {name} crate {number} stands in Leeds."), actor=name)
            shared = core.remember(Draft(content=f"The shared crate {number} stands in York."), actor=name)
            kept += [str(answer.get("id")) for answer in (hot, cold, shared)]
            if number % 3 == 0:
                core.update(str(hot.get("id")), content=f"Always check {name} gate {number} twice.", actor=name)
                core.forget(str(cold.get("id")), actor=name)
                kept.remove(str(cold.get("id")))
    print(json.dumps(kept))  # noqa: T201 the answer of this program


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
