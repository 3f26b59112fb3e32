"""A Hermes home with the plugin in it as the installer leaves it, and a process of the real Hermes in that home."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.daemons import ROOT, DaemonHome, daemon_home

PYTHON = os.environ.get("MEMORYCORE_TEST_HERMES_PYTHON", "")
"""The interpreter of an environment with hermes-agent."""

PLUGIN = ROOT / "hermes-plugin" / "memorycore-prefetch"
HOST = Path(__file__).with_name("host.py")


@dataclass
class Hermes:
    """One process of Hermes. ``seconds``: how long the last call took there."""

    process: "subprocess.Popen[str]"
    seconds: float = 0.0

    def do(self, name: str, /, **arguments: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": name, **arguments}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        self.seconds = answer["seconds"]
        return answer["answer"]


@dataclass
class HermesHome:
    """``daemon``: the user's home with the daemon of its memory; the Hermes home lies in it."""

    daemon: DaemonHome
    env: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def path(self) -> Path:
        return self.daemon.home / ".hermes"

    @property
    def memory_file(self) -> Path:
        return self.path / "memories" / "MEMORY.md"

    @property
    def runtime_file(self) -> Path:
        return self.path / "plugins" / PLUGIN.name / "runtime.json"

    def install(self) -> None:
        shutil.copytree(PLUGIN, self.runtime_file.parent, ignore=shutil.ignore_patterns("__pycache__"))
        (self.path / "memories").mkdir()
        runtime = {"python": sys.executable, "env": self.daemon.environment()}
        self.runtime_file.write_text(json.dumps(runtime), encoding="utf-8")

    def profile(self, name: str) -> Path:
        """Another home below this one, with the plugin and the same data directory."""
        folder = self.path / "profiles" / name
        shutil.copytree(self.path / "plugins", folder / "plugins")
        runtime = {"python": sys.executable, "env": {**self.daemon.environment(), "HERMES_HOME": str(folder)}}
        (folder / "plugins" / PLUGIN.name / "runtime.json").write_text(json.dumps(runtime), encoding="utf-8")
        (folder / "memories").mkdir()
        return folder

    def ask(self, route: str, **arguments: Any) -> dict[str, Any]:
        """What the daemon answers."""
        here = self.daemon.leader_of_now()
        bearer = {"Authorization": f"Bearer {here.token}"}
        response = httpx.post(f"{here.url}/v1/{route}", json=arguments, headers=bearer, timeout=30)
        assert response.status_code == 200, response.text
        return response.json()

    def rows(self) -> list[dict[str, Any]]:
        """Every entry of both files as the daemon knows it."""
        return [row for target in self.ask("audit")["targets"] for row in target["rows"]]

    def calls(self) -> float:
        """How many calls of the API the daemon has had."""
        here = self.daemon.leader_of_now()
        page = httpx.get(f"{here.url}/metrics", headers={"Authorization": f"Bearer {here.token}"}, timeout=30).text
        lines = [line for line in page.splitlines() if line.startswith("memorycore_calls_total")]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    @contextmanager
    def hermes(self, **env: str) -> Generator[Hermes]:
        ours = {"HOME": str(self.daemon.home), "HERMES_HOME": str(self.path), "PATH": os.environ["PATH"], **env}
        with subprocess.Popen(
            [PYTHON, str(HOST)], env=ours, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        ) as process:
            try:
                yield Hermes(process)
            finally:
                process.kill()


@contextmanager
def hermes_home(folder: Path, **env: str) -> Generator[HermesHome]:
    with daemon_home(folder, HERMES_HOME=str(folder / ".hermes"), **env) as daemon:
        home = HermesHome(daemon)
        home.install()
        yield home
