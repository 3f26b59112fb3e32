"""A process that says, beside others, what they say, add to and contradict. Run as a program by ``test_rivals``."""

import json
import sys
import time
from pathlib import Path

from memorycore.domain.memory import Draft
from memorycore.errors import Conflict, MemoryCoreError, StoreBusy
from tests.homes import Home

# What each writer says of each thing: equal texts, a wording that says more, another value, a newer value.
HOT = (
    "Always write the report for room {0} in English.",
    "Always write the report for room {0} in English, with metric units.",
    "From now on always write the report for room {0} in German, not English.",
)
COLD = (
    "The café of house {0} was founded by 12 bakers.",
    "The café of house {0} was founded by 12 bakers from Ghent.",
    "The café of house {0} was founded by 17 bakers.",
    "Correction: the café of house {0} was founded by 14 bakers.",
)


def main(root: Path, turn: int, rounds: int) -> None:
    said: list[str] = []
    with Home(root).core() as core:
        for number in range(rounds):
            for texts, target in ((HOT, "memory"), (COLD, None)):
                text = texts[(number + turn) % len(texts)].format(number // 3)
                for _ in range(20):
                    try:
                        answer = core.remember(Draft(content=text, target=target), actor=str(turn))  # type: ignore[arg-type]
                    except (Conflict, StoreBusy):  # a clear answer, and it is said again
                        time.sleep(0.05)
                        continue
                    except MemoryCoreError as error:
                        raise SystemExit(f"{error.code}: {error.facts}") from error
                    assert answer["tier"] in {"hot", "cold"}, answer
                    said.append(text)
                    break
                else:
                    raise SystemExit(f"never got a turn: {text}")
    print(json.dumps(said))  # noqa: T201 the answer of this program


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
