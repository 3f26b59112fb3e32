"""A child that is killed at a line of ours: what the crash rounds share."""

import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import memorycore
from memorycore.core import MemoryCore
from tests.homes import Home

PACKAGE = str(Path(memorycore.__file__).parent)
Act = Callable[[MemoryCore], object]


@dataclass(frozen=True)
class Rounds:
    """Acts on fresh copies of ``base/before`` in ``base/home``, each in a child of its own that may be killed.

    What counts is each executed line of MemoryCore, but for the rooms in ``pure``: to die in there is to die before or
    after.
    """

    base: Path
    act: Act
    pure: tuple[str, ...] = ()

    @property
    def home(self) -> Path:
        return self.base / "home"

    def count_lines(self) -> int:
        """How many lines a child executes that nobody kills. Another one may need a few more or less."""
        heard, said = os.pipe()
        child = self._child(0, said)
        os.close(said)
        with os.fdopen(heard, "rb") as answer:
            lines = int(answer.read() or b"0")
        assert self._ended(child)
        assert lines
        return lines

    def one_round(self, kill_at: int) -> bool:
        """SIGKILL comes at the line of this number; whether the child ended before it came."""
        return self._ended(self._child(kill_at))

    def _child(self, kill_at: int, said: int | None = None) -> int:
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self.base / "before", self.home)
        child = os.fork()
        if child == 0:
            try:
                self._run_child(kill_at, said)
            except Exception:  # noqa: BLE001 whatever it is, no child may go on as its parent
                traceback.print_exc()
            os._exit(1)
        return child

    def _ended(self, child: int) -> bool:
        _, status = os.waitpid(child, 0)
        ended = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
        assert ended or os.WIFSIGNALED(status), f"the child failed by itself: {status}"
        return ended

    def _run_child(self, kill_at: int, said: int | None) -> None:
        core = MemoryCore(Home(self.home).options, long_lived=False)
        seen = die_at(kill_at, partial(self.act, core), pure=self.pure)
        if said is not None:
            os.write(said, str(seen).encode())
        os._exit(0)


def die_at(kill_at: int, act: Callable[[], object], *, pure: tuple[str, ...] = ()) -> int:
    """Do something in this process and kill it at the line of MemoryCore with this number; the lines, if it lives on.

    Lines of the rooms in ``pure`` are not counted.
    """
    seen = 0
    left_out = tuple(str(Path(PACKAGE, name)) for name in pure)

    def local(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal seen
        if event == "line":
            seen += 1
            if seen == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
        return local

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        file = frame.f_code.co_filename
        return local if file.startswith(PACKAGE) and not file.startswith(left_out or ("\0",)) else None

    sys.settrace(trace)
    act()
    sys.settrace(None)
    return seen
