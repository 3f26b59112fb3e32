"""One server process on its two pipes, spoken to line by line: what a client does, without an SDK in between."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, cast

ROOT = Path(__file__).resolve().parents[1]
PROTOCOL = "2025-06-18"


def server_env(home: Path, **more: str) -> dict[str, str]:
    """The environment of a server that keeps everything under ``home``: as bare as clients make it.

    ``PYTHONUNBUFFERED`` is left out on purpose: it would hide output that lingers in a buffer until exit.
    """
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    own = {
        "HOME": str(home),
        "MEMORY_DIR": str(home / "memories"),
        "MEMORYCORE_DATA_DIR": str(home / "data"),
        "MEMORYCORE_LANG": "en",
        "PYTHONPATH": str(ROOT),
    }
    return kept | own | more


class GoneError(Exception):
    """The server ended before it answered."""


class Wire:
    """A running ``python -m memorycore.server``. ``lines`` holds every line that came out of it, in order."""

    def __init__(self, env: Mapping[str, str], command: Sequence[str] = (), *, name: str = "test-client") -> None:
        self.started_at = time.monotonic()
        self.lines: list[str] = []
        self.name = name
        self.process = subprocess.Popen(
            command or [sys.executable, "-m", "memorycore.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(env),
            text=True,
            encoding="utf-8",
        )
        self._errors: list[str] = []
        self._answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._next = 0
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.wait(5)
        sys.stderr.write(self.errors)  # shown when the test fails

    def initialize(self) -> dict[str, Any]:
        asked = {
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": self.name, "version": "1"},
        }
        result = self.request("initialize", asked)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def request(self, method: str, params: Mapping[str, Any] | None = None, *, timeout_s: float = 30) -> dict[str, Any]:
        return self.wait_for(self.ask(method, params), timeout_s=timeout_s)

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a request and give its number, to be waited for later."""
        self._next += 1
        self._answers[self._next] = queue.SimpleQueue()
        if not self._readers[0].is_alive():
            raise GoneError(self.errors)
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": dict(params or {})})
        return self._next

    def wait_for(self, number: int, *, timeout_s: float = 30) -> dict[str, Any]:
        message = self._answers[number].get(timeout=timeout_s)
        if not message:
            raise GoneError(self.errors)
        assert "error" not in message, message
        return cast("dict[str, Any]", message["result"])

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and read its answer, which must be one JSON object as text and no error."""
        return read_answer(self.request("tools/call", {"name": tool, "arguments": arguments}))

    def send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait(self, seconds: float) -> int:
        """The exit code, once the process is gone and everything it wrote is read."""
        code = self.process.wait(timeout=seconds)
        for reader in self._readers:
            reader.join(timeout=5)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None and not pipe.closed:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        return code

    @property
    def errors(self) -> str:
        return "".join(self._errors)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            try:
                message = json.loads(line)
            except ValueError:
                continue  # the test that looks at ``lines`` finds it
            if isinstance(message, dict) and (box := self._answers.get(cast("int", message.get("id")))) is not None:
                box.put(cast("dict[str, Any]", message))
        for box in self._answers.values():
            box.put({})

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self._errors.extend(self.process.stderr)


def read_answer(result: Mapping[str, Any]) -> dict[str, Any]:
    """The object in a tool's result; fails on a protocol error, on a second copy, on anything but one text."""
    assert not result.get("isError"), result
    assert "structuredContent" not in result
    (block,) = result["content"]
    return cast("dict[str, Any]", json.loads(block["text"]))
