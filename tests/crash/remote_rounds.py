"""Stores and forgets until it is killed, with copies at a service: arguments are the folder, its address, a number."""

import sys
from dataclasses import replace
from pathlib import Path

from memorycore.core import MemoryCore
from memorycore.options import RemoteOptions
from tests.homes import Home, fact


def main() -> None:
    root, url, start = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    options = replace(Home(root).options, remote=RemoteOptions(url=url, timeout_s=5))
    with MemoryCore.open(options, long_lived=True) as core:
        for number in range(start, start + 1_000):
            answer = core.remember(fact(number), actor="test")
            sys.stdout.write(f"{answer.get('id', '')} {fact(number).content}\n")
            if number % 4 == 0:
                core.forget(answer.get("id", ""), actor="test")
                sys.stdout.write(f"forgotten {fact(number).content}\n")
            sys.stdout.flush()


main()
