"""Real daemons in a home of their own, none of which outlives its test."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memorycore import endpoint
from memorycore.daemon import control, leader, logs
from memorycore.endpoint import Endpoint

KEPT = ("PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "LD_LIBRARY_PATH")
ROOT = Path(__file__).parents[1]


@dataclass
class DaemonHome:
    """A user's home, and the daemon of its memory. ``env`` is all that its processes are told."""

    home: Path
    env: dict[str, str] = field(default_factory=dict[str, str])
    processes: list["subprocess.Popen[str]"] = field(default_factory=list["subprocess.Popen[str]"])

    @property
    def data(self) -> Path:
        return self.home / ".memorycore" / "data"

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        ours = {"HOME": str(self.home), "PYTHONPATH": str(ROOT), "MEMORYCORE_LANG": "en"}
        return {**kept, **ours, "MEMORYCORE_EMBED_MODEL": "none", **self.env}

    def run(self, *arguments: str, code: int | None = 0) -> dict[str, Any]:
        """``memorycore daemon …`` with ``--json``; what it answered."""
        done = subprocess.run(
            [sys.executable, "-m", "memorycore", "daemon", *arguments, "--json"],
            env=self.environment(), capture_output=True, text=True, encoding="utf-8", check=False, timeout=90,
        )  # fmt: skip
        assert code is None or done.returncode == code, f"{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout)

    def begin(self, *command: str) -> "subprocess.Popen[str]":
        """A process in the background: ``python …`` with the environment of this home."""
        begun = subprocess.Popen(
            [sys.executable, *command],
            env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8",
        )  # fmt: skip
        self.processes.append(begun)
        return begun

    def foreground(self, *arguments: str) -> "subprocess.Popen[str]":
        return self.begin("-m", "memorycore", "daemon", *arguments)

    def leader_of_now(self) -> Endpoint:
        """The daemon that answers, once one does."""
        return wait_for(self._answering)

    def _answering(self) -> Endpoint | None:
        found = control.find(self.data)
        return None if found is None else found.endpoint

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.data / logs.FILE).read_text(encoding="utf-8").splitlines()]

    def kill_leader(self) -> int:
        pid = self.leader_of_now().pid
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: leader.current(self.data) is None or None)
        return pid

    def living(self) -> list[int]:
        """Every process of the machine that was started for this home, by its number; none of those is a zombie."""
        mark = f"HOME={self.home}".encode()
        found: list[int] = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except OSError:
                continue
        return found


def wait_for(what: "Callable[[], Any]", seconds: float = 30.0) -> Any:
    """What ``what`` gives as soon as it is something."""
    until = time.monotonic() + seconds
    while (found := what()) is None or found is False:
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.05)
    return found


@contextmanager
def daemon_home(home: Path, **env: str) -> Generator[DaemonHome]:
    """A home whose daemons and other processes are gone at the end."""
    home.mkdir(parents=True, exist_ok=True)
    ours = DaemonHome(home, env)
    try:
        yield ours
    finally:
        for begun in ours.processes:
            begun.kill()
            begun.wait()
            if begun.stdout is not None:
                begun.stdout.close()
        control.stop(ours.data)
        for pid in ours.living():
            os.kill(pid, signal.SIGKILL)
        assert endpoint.read(ours.data) is None
