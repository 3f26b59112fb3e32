"""Run by test_hot_crash: forks children that change a hot file and are killed at a chosen line of our code.

A child counts the lines it executes in the modules that write, and kills itself, unblockably, before the one whose turn
it is. So it dies once before and after every single step: open, write, flush, rename, and all that lies between.
"""

import importlib
import os
import random
import shutil
import signal
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from memorycore.domain.text import entry_hash
from memorycore.hot import atomic, files
from memorycore.hot.files import Contents, Edited, change, look
from memorycore.hot.sidecar import EntryMeta

NOW = datetime(2026, 3, 1, tzinfo=UTC)
META = EntryMeta(type="rule", written_at=NOW)
OLD = ("Stays.", "Goes.", "Old wording.")
NEW = ("Stays.", "New wording.", "Comes.")
importlib.import_module("portalocker")  # here, so that no child has to load it line by line
WATCHED = {atomic.__file__, files.__file__}


def die_at(step: int) -> None:
    """Kill this process when it reaches its ``step``-th line in the watched modules."""
    left = step

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in WATCHED:
            return None
        if event == "line":
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def set_to(entries: tuple[str, ...], path: Path) -> None:
    metas = {entry_hash(entry): META for entry in entries}
    change(path, lambda _: Edited(entries=entries, metas=metas), snapshots=path.parent / "kept", now=NOW)


def add(path: Path, text: str) -> None:
    def edit(found: Contents) -> Edited:
        return Edited(entries=(*found.entries, text), metas={entry_hash(text): META})

    change(path, edit, snapshots=path.parent / "kept", now=NOW, timeout_s=20)


def in_a_child(step: int, action: Any, *arguments: Any) -> int:
    """Start a child that does something until it dies; its process id."""
    child = os.fork()
    if child:
        return child
    die_at(step)
    action(*arguments)
    os._exit(0)


def was_killed(child: int) -> bool:
    _, status = os.waitpid(child, 0)
    if status and not os.WIFSIGNALED(status):
        raise AssertionError(f"a child failed with {status}")
    return bool(status)


def die_once_at_each_step(root: Path) -> None:
    """One folder per step, left as the child left it, until a child gets through."""
    template = root / "0000"
    set_to(OLD, template / "MEMORY.md")
    for step in range(1, 2000):
        folder = root / f"{step:04d}"
        shutil.copytree(template, folder)
        if not was_killed(in_a_child(step, set_to, NEW, folder / "MEMORY.md")):
            return
    raise AssertionError("no child ever got through")


def two_at_a_time(path: Path, rounds: int, seed: int) -> None:
    """Two writers a round on one file, killed anywhere or not at all: what they acknowledged is there, once."""
    dice = random.Random(seed)
    acknowledged: set[str] = set()
    begun: set[str] = set()
    for number in range(rounds):
        texts = [f"{number} {side}" for side in ("left", "right")]
        children = [in_a_child(dice.randint(1, 400), add, path, text) for text in texts]
        begun.update(texts)
        acknowledged.update([text for child, text in zip(children, texts, strict=True) if not was_killed(child)])
        found = look(path)
        count = Counter(found.entries)
        assert acknowledged <= set(count) <= begun, acknowledged - set(count)
        assert {entry_hash(entry) for entry in found.entries} <= set(found.sidecar.entries)
        assert not found.entries or found.document.clean
        assert max(count.values(), default=1) == 1
    sys.stdout.write(f"{len(acknowledged)} {len(look(path).entries)}")


if __name__ == "__main__":
    if sys.argv[1] == "steps":
        die_once_at_each_step(Path(sys.argv[2]))
    else:
        two_at_a_time(Path(sys.argv[2]) / "MEMORY.md", rounds=int(sys.argv[3]), seed=int(sys.argv[4]))
