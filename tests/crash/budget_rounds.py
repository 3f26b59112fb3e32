"""Kills a process in the middle of a write, a run or a question, on a memory as somebody else left it.

Run as a program by ``test_hot_budget``: for each line on stdin, one JSON object, it forks a child that dies at the line
of MemoryCore with that number, and answers whether the child lived to the end.
"""

import json
import os
import signal
import sys
import traceback
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft, Target
from memorycore.options import CoreOptions, HotLimit, RemoteOptions, Thresholds
from tests.crash.rounds import die_at
from tests.homes import Clock, Home

# Reading and deciding change nothing: to die in there is to die before.
PURE = (
    "domain", "search", "govern/overflow", "intake/candidate", "embed", "messages", "hot/sidecar", "hot/document",
    "store/memories", "store/statements", "store/standing",
)  # fmt: skip
LIMITS: dict[Target, int] = {"memory": 700, "user": 500}


def tight(options: CoreOptions) -> CoreOptions:
    """With files that hold some six entries, of which half are too many."""
    return replace(
        options,
        hot_limits={target: HotLimit(chars=chars) for target, chars in LIMITS.items()},
        thresholds={target: marks(chars) for target, chars in LIMITS.items()},
    )


def marks(chars: int) -> Thresholds:
    return Thresholds(soft=chars * 4 // 10, hard=chars * 9 // 10, aim=chars * 3 // 10, rule_budget=chars * 3 // 10)


def act(core: MemoryCore, does: str, text: str) -> None:
    if does == "store":
        core.remember(Draft(content=text, target="memory"), actor="child")
    elif does == "recall":
        core.recall(text)
    else:
        core.overflow()


def die(order: dict[str, Any]) -> None:
    home = Home(Path(order["root"]))
    clock = Clock(datetime.fromisoformat(order["now"]))
    elsewhere = RemoteOptions(url=order["url"], timeout_s=0.5) if order["url"] else None
    core = MemoryCore(replace(tight(home.options), remote=elsewhere), long_lived=False, clock=clock)
    die_at(order["kill_at"], lambda: act(core, order["does"], order["text"]), pure=PURE)
    core.close()


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            try:
                die(order)
            except BaseException:  # noqa: BLE001 whatever it is, no child may go on as its parent
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        answer = "killed" if killed else "done" if status == 0 else "failed"
        print(json.dumps(answer), flush=True)  # noqa: T201 the answer of this program


if __name__ == "__main__":
    main()
