"""A child that is killed at a line of ours: what the crash rounds share."""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import memorycore
from memorycore.core import MemoryCore
from tests.homes import Home

PACKAGE = str(Path(memorycore.__file__).parent)
Act = Callable[[MemoryCore], object]


def one_round(base: Path, act: Act, kill_at: int, *, pure: tuple[str, ...] = ()) -> bool:
    """Act on a fresh copy of ``base/before`` in ``base/home``, in a child that may be killed; whether it ended.

    SIGKILL comes at the ``kill_at``-th executed line of MemoryCore. Lines of the rooms in ``pure`` are not counted: to
    die in there is to die before or after.
    """
    home = base / "home"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(base / "before", home)
    child = os.fork()
    if child == 0:
        _run_child(home, act, kill_at, tuple(str(Path(PACKAGE, name)) for name in pure))
    _, status = os.waitpid(child, 0)
    ended = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
    assert ended or os.WIFSIGNALED(status), f"the child failed by itself: {status}"
    return ended


def _run_child(root: Path, act: Act, kill_at: int, pure: tuple[str, ...]) -> None:
    """Never returns."""
    seen = 0

    def local(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal seen
        if event == "line":
            seen += 1
            if seen == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
        return local

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        file = frame.f_code.co_filename
        return local if file.startswith(PACKAGE) and not file.startswith(pure or ("\0",)) else None

    core = MemoryCore(Home(root).options, long_lived=False)
    sys.settrace(trace)
    act(core)
    sys.settrace(None)
    os._exit(0)


def count_lines(comes_to_its_end: Callable[[int], bool], *, within: int) -> int:
    """How many lines of ours an act runs, about: found by halving, with children that die or finish."""
    low, high = 1, 256
    while not comes_to_its_end(high):
        low, high = high, high * 2
    while high - low > within:
        middle = (low + high) // 2
        low, high = (low, middle) if comes_to_its_end(middle) else (middle, high)
    return high
