"""How soon a client has its tool list and what it weighs: as a relay to a daemon, and as a server of its own.

    python -m benchmarks.relay                 # five starts each, then twenty relays at once on one daemon
    python -m benchmarks.relay --starts 9 --relays 50 --json

Times are seconds of the wall and of the processor, the best of the starts; memory is resident memory, read from
``/proc`` (Linux). The import of the bare SDK is measured in the same run, to compare with.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, cast

from benchmarks.report import show

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}
MESSAGES = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)
LINES = "".join(json.dumps(message) + "\n" for message in MESSAGES).encode()
SDK = ("-c", "import mcp.server.mcpserver")
SERVER = ("-m", "memorycore.server")


def environment(folder: Path, **more: str) -> dict[str, str]:
    """What the processes are told: an empty home of their own, the default model."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
    own = {"HOME": str(folder), "MEMORY_DIR": str(folder / "m"), "MEMORYCORE_DATA_DIR": str(folder / "d")}
    return kept | own | more


def started(arguments: Sequence[str], env: Mapping[str, str], *, lists: bool) -> dict[str, float]:
    """One start. ``lists``: it is a server, and ready when its tool list is there; else it is ready when it ends."""
    began = time.perf_counter()
    process = begin(arguments, env)
    found: dict[str, float] = {}
    if lists:
        ask_tools(process)
        found = {"wall s": time.perf_counter() - began, "RSS MB": rss_mb(process.pid)}
    close(process)
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return {"wall s": time.perf_counter() - began, "CPU s": used.ru_utime + used.ru_stime, **found}


def begin(arguments: Sequence[str], env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, bufsize=0,
    )  # fmt: skip


def ask_tools(process: "subprocess.Popen[bytes]") -> None:
    cast("IO[bytes]", process.stdin).write(LINES)
    while json.loads(cast("IO[bytes]", process.stdout).readline()).get("id") != 2:
        pass


def close(process: "subprocess.Popen[bytes]") -> None:
    for pipe in (process.stdin, process.stdout):
        cast("IO[bytes]", pipe).close()


def best(arguments: Sequence[str], env: Mapping[str, str], *, lists: bool, starts: int) -> dict[str, float]:
    tried = [started(arguments, env, lists=lists) for _ in range(starts)]
    return {name: min(one[name] for one in tried) for name in tried[0]}


def rss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1_000


@contextmanager
def daemon(env: Mapping[str, str]) -> Generator[int]:
    """A daemon of its own; its number, once it answers and its model is loaded."""
    process = subprocess.Popen(
        [sys.executable, "-m", "memorycore", "daemon"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while not (Path(env["MEMORYCORE_DATA_DIR"]) / "daemon.json").exists():
            assert process.poll() is None, "the daemon did not start"
            time.sleep(0.05)
        time.sleep(3)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def at_once(env: Mapping[str, str], many: int, pid: int) -> dict[str, object]:
    """So many relays started together, and what everything weighs when all have their list."""
    with ExitStack() as stack:
        began = time.perf_counter()
        relays = [begin(SERVER, env) for _ in range(many)]
        for relay in relays:
            stack.callback(relay.wait)
            stack.callback(close, relay)
        for relay in relays:
            ask_tools(relay)
        took = time.perf_counter() - began
        weights = [rss_mb(relay.pid) for relay in relays]
        return {
            "relays": many,
            "all have their list after s": took,
            "RSS of the largest MB": max(weights),
            "RSS of all MB": sum(weights),
            "RSS of the daemon MB": rss_mb(pid),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--relays", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        env, starts = environment(Path(temporary)), arguments.starts
        alone = env | {"MEMORYCORE_DAEMON": "off"}
        rows: list[dict[str, object]] = [
            {"start": "an empty Python", **best(("-c", "pass"), env, lists=False, starts=starts)},
            {"start": "import of the bare SDK", **best(SDK, env, lists=False, starts=starts)},
            {"start": "embedded, to the tool list", **best(SERVER, alone, lists=True, starts=starts)},
        ]
        with daemon(env) as pid:
            required = env | {"MEMORYCORE_DAEMON": "require"}
            rows.append({"start": "relay, to the tool list", **best(SERVER, required, lists=True, starts=starts)})
            together = at_once(required, arguments.relays, pid)
    show("start", rows, as_json=arguments.json, together=together if arguments.json else "below")
    if not arguments.json:
        show("at once", [together], as_json=False)


if __name__ == "__main__":
    main()
