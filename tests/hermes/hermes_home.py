"""A Hermes home into which MemoryCore was installed by its own command, and processes of the real Hermes in it."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.daemons import daemon_home
from tests.hermes.model import CONTEXT, NAME, Model
from tests.plugin_home import HostHome

PYTHON = os.environ.get("MEMORYCORE_TEST_HERMES_PYTHON", "")
"""The interpreter of an environment with hermes-agent."""

NEEDS_HERMES = [pytest.mark.hermes, pytest.mark.skipif(not PYTHON, reason="make hermes installs Hermes")]
PLUGIN = "memorycore-prefetch"
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
class HermesHome(HostHome):
    @property
    def runtime_file(self) -> Path:
        return self.path / "plugins" / PLUGIN / "runtime.json"

    def memorycore(self, *arguments: str, **env: str) -> str:
        """What our command says."""
        return subprocess.run(
            [sys.executable, "-m", "memorycore", *arguments], env=self.daemon.environment() | env,
            capture_output=True, check=True, encoding="utf-8", timeout=90,
        ).stdout  # fmt: skip

    def command(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """``hermes …``, as somebody types it."""
        program = str(Path(PYTHON).with_name("hermes"))
        return subprocess.run(
            [program, *arguments], env=self.environment(), cwd=self.daemon.home, stdin=subprocess.DEVNULL,
            capture_output=True, check=False, encoding="utf-8", timeout=110,
        )  # fmt: skip

    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.daemon.home), "HERMES_HOME": str(self.path), "PATH": os.environ["PATH"]}

    def profile(self, name: str) -> Path:
        """Another home below this one, with the plugin and the same data directory."""
        folder = self.path / "profiles" / name
        (folder / "memories").mkdir(parents=True)
        self.memorycore("hermes", "install", "--profile", name, MEMORYCORE_DATA_DIR=str(self.daemon.data))
        return folder

    def rows(self) -> list[dict[str, Any]]:
        """Every entry of both files as the daemon knows it."""
        return [row for target in self.ask("audit")["targets"] for row in target["rows"]]

    def kept(self) -> dict[str, str]:
        """By text the state of everything in the store."""
        lines = [json.loads(line) for line in self.memorycore("export").splitlines()]
        return {line["content"]: line["state"] for line in lines}

    def calls(self) -> float:
        """How many calls of the API the daemon has had."""
        here = self.daemon.leader_of_now()
        page = httpx.get(f"{here.url}/metrics", headers={"Authorization": f"Bearer {here.token}"}, timeout=30).text
        lines = [line for line in page.splitlines() if line.startswith("memorycore_calls_total")]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    @contextmanager
    def hermes(self, kind: str = "manager", **env: str) -> Generator[Hermes]:
        """A process of Hermes: its ``manager`` of memory, or a whole ``agent``."""
        with subprocess.Popen(
            [PYTHON, str(HOST), kind], env=self.environment() | env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
        ) as process:  # fmt: skip
            try:
                yield Hermes(process)
            finally:
                process.kill()


@contextmanager
def hermes_home(folder: Path, model: Model | None = None, **env: str) -> Generator[HermesHome]:
    """``env``: of the daemon, and of who installs."""
    with daemon_home(folder, HERMES_HOME=str(folder / ".hermes"), **env) as daemon:
        home = HermesHome(daemon)
        home.memory_file.parent.mkdir(parents=True)
        text = yaml.safe_dump(_configuration(model), allow_unicode=True)
        (home.path / "config.yaml").write_text(text, encoding="utf-8")
        home.memorycore("hermes", "install")
        yield home


def _configuration(model: Model | None) -> dict[str, Any]:
    found: dict[str, Any] = {"agent": {"environment_probe": False}, "mcp_discovery_timeout": 20}
    if model is not None:
        found["model"] = {"default": NAME, "provider": "custom", "base_url": model.url, "api_key": "sk-fake"}
        found["model"] |= {"context_length": CONTEXT}
    return found
