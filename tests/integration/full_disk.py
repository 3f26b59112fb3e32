"""A process whose files cannot grow, as on a full disk. Run as a program by ``test_full_disk``."""

import json
import resource
import signal
import sys
from pathlib import Path

from memorycore.domain.memory import Draft
from memorycore.errors import MemoryCoreError
from tests.homes import Home


def main(root: Path, most_bytes: int) -> None:
    answers: list[str] = []
    with Home(root).core() as core:
        core.touch()
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))
        for number in range(40):
            text = f"The crate {number} in Leeds holds " + f"jar {number} and " * 300
            try:
                answers.append(core.remember(Draft(content=text), actor="full")["status"])
            except MemoryCoreError as error:
                answers.append(error.code)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(json.dumps(answers))  # noqa: T201 the answer of this program


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
