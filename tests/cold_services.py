"""Cold stores as processes on the loopback: ours, and two foreign ones that the tests bring along."""

import contextlib
import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parents[1]
KEPT = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "TMPDIR", "TEMP")


@dataclass
class Service:
    """A running service and where it answers."""

    process: "subprocess.Popen[str]"
    url: str
    printed: list[str]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)


@contextmanager
def running(command: Sequence[str], env: Mapping[str, str]) -> Generator[Service]:
    """Start a service that prints one line with its address, and end it."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    process = subprocess.Popen(
        command, env=kept | {"PYTHONPATH": str(ROOT)} | dict(env), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    printed, addresses = list[str](), queue.SimpleQueue[str]()
    reader = threading.Thread(target=_read, args=(process, printed, addresses), daemon=True)
    reader.start()
    try:
        url = addresses.get(timeout=60)
        assert url, "".join(printed)
        _wait_until_it_listens(url)
        yield Service(process, url, printed)
    finally:
        process.kill()
        process.wait(10)
        reader.join(5)
        if process.stderr:
            process.stderr.close()


def _wait_until_it_listens(url: str) -> None:
    host, _, port = url.removeprefix("http://").partition("/")[0].partition(":")
    ends_at = time.monotonic() + 60
    while time.monotonic() < ends_at:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
            return
        time.sleep(0.05)


def _read(process: "subprocess.Popen[str]", printed: list[str], addresses: "queue.SimpleQueue[str]") -> None:
    assert process.stderr
    for line in process.stderr:
        printed.append(line)
        if "http://" in line:
            addresses.put("http://" + line.split("http://", 1)[1].strip())
    addresses.put("")


def cold_serve(home: Path, *, port: int = 0, **env: str) -> AbstractContextManager[Service]:
    """``memorycore cold-serve`` of a user whose home is ``home``, without a model."""
    own = {"HOME": str(home), "MEMORYCORE_EMBED_MODEL": "none", "MEMORYCORE_LANG": "en"}
    return running([sys.executable, "-m", "memorycore", "cold-serve", "--port", str(port)], own | env)


def reference_service(file: Path) -> AbstractContextManager[Service]:
    """``examples/cold_store_reference.py``."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = ROOT / "examples" / "cold_store_reference.py"
    return running([sys.executable, str(script), "--port", str(port), "--file", str(file)], {})


@dataclass
class Foreign:
    """A running foreign store, and the way to look into it and to change its mood."""

    service: Service

    @property
    def url(self) -> str:
        return self.service.url

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1].split("/")[0])

    def set(self, **mood: object) -> None:
        self._ask("/control", json.dumps(mood).encode())

    def texts(self) -> list[str]:
        """What it has, sorted; a text that it has twice stands there twice."""
        return sorted(self._ask("/records")["records"].values())

    def calls(self) -> int:
        return int(self._ask("/records")["calls"])

    def _ask(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        request = urllib.request.Request(self.url.removesuffix("/mcp") + path, data=body)  # noqa: S310 our own loopback
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 our own loopback
            return cast("dict[str, Any]", json.loads(answer.read()))


@contextmanager
def foreign(kind: str, *, port: int = 0) -> Generator[Foreign]:
    with running([sys.executable, str(ROOT / "tests" / "foreign_cold.py"), kind, str(port)], {}) as service:
        yield Foreign(service)
