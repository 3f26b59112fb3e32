"""Cold stores as processes on the loopback: ours, and two foreign ones that the tests bring along."""

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

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
        yield Service(process, url, printed)
    finally:
        process.kill()
        process.wait(10)
        reader.join(5)
        if process.stderr:
            process.stderr.close()


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
