"""Kills a process at every step of an erasure and erases again. Run as a program by ``test_erase_crash``.

Each round forks a child that is killed with SIGKILL at the k-th executed line of MemoryCore; the parent then erases the
same id like any other process would, and nothing may be left of the text, nor of the others anything be missing.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import memorycore
from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from tests.homes import Home
from tests.raw import files_with, tables_with

PACKAGE = str(Path(memorycore.__file__).parent)
DOOMED = "Never tell anybody where the Quillfeather heron is kept."
WORD = "quillfeather"
KEPT = ["Always run the linter before a release.", "Never deploy on a Friday evening."]


def prepare(root: Path) -> str:
    home = Home(root)
    with home.core() as core:
        core.remember(Draft(content=KEPT[0], target="memory"), actor="setup")
        memory_id = core.remember(Draft(content=DOOMED, target="memory"), actor="setup").get("id", "")
        core.update(memory_id, content=f"{DOOMED} Never ever.", actor="setup")
        core.remember(Draft(content=KEPT[1], target="memory"), actor="setup")
        core.db.backup(home.options.data_dir / "memorycore.before-upgrade-2.db")
    return memory_id


def run_child(root: Path, memory_id: str, kill_at: int) -> None:
    """The child: never returns. Exit code 0: it came to its end before the ``kill_at``-th line."""
    seen = 0

    def local(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal seen
        if event == "line":
            seen += 1
            if seen == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
        return local

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(PACKAGE) else None

    core = MemoryCore(Home(root).options, long_lived=False)
    sys.settrace(trace)
    core.erase(memory_id, actor="child")
    sys.settrace(None)
    os._exit(0)


def look(root: Path, memory_id: str) -> str:
    """What the killed process left (the state of the row), after another one has erased for good."""
    home = Home(root)
    with home.core() as core:
        state = core.inspect(memory_id)["state"]
        receipt = core.erase(memory_id, actor="after")
        assert receipt["status"] == "erased", receipt
        assert core.inspect(memory_id)["state"] == "purged"
        check = core.maintain(["integrity"])["steps"][0]
        assert (check["database"], check["repaired"]) == ("ok", False), check
        assert home.entries() == KEPT, home.entries()
        assert [row["text"] for row in core.audit("memory")["targets"][0]["rows"]] == KEPT
    assert files_with(root, WORD.encode(), b"Quillfeather") == []
    assert tables_with(home.options.data_dir / "memorycore.db", WORD) == []
    return state


def main(rounds: int) -> None:
    base = Path(tempfile.mkdtemp())
    memory_id = prepare(base / "home")  # rows of a hot file know its folder
    (base / "home").rename(base / "before")
    lines = count_lines(base, memory_id)
    step = max(1, lines // rounds)
    states: dict[str, int] = {}
    for kill_at in range(1, lines + step, step):
        one_round(base, memory_id, kill_at)
        state = look(base / "home", memory_id)
        states[state] = states.get(state, 0) + 1
    shutil.rmtree(base)
    print(json.dumps({"lines": lines, "states": states}))  # noqa: T201 the answer of this program


def one_round(base: Path, memory_id: str, kill_at: int) -> bool:
    """Erase on a fresh copy of the memory as it was before; whether the child came to its end."""
    home = base / "home"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(base / "before", home)
    child = os.fork()
    if child == 0:
        run_child(home, memory_id, kill_at)
    _, status = os.waitpid(child, 0)
    ended = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
    assert ended or os.WIFSIGNALED(status), f"the child failed by itself: {status}"
    return ended


def count_lines(base: Path, memory_id: str) -> int:
    """How many lines of ours an erasure runs, within 32: found by halving, with children that die or finish."""
    low, high = 1, 1024
    while not one_round(base, memory_id, high):
        low, high = high, high * 2
    while high - low > 32:
        middle = (low + high) // 2
        low, high = (low, middle) if one_round(base, memory_id, middle) else (middle, high)
    return high


if __name__ == "__main__":
    main(int(sys.argv[1]))
