"""A home of Hermes with the plugin in it, and providers of that plugin at work in this process. No Hermes is needed."""

import json
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from memorycore.hot.atomic import locked
from tests.daemons import ROOT, DaemonHome, daemon_home
from tests.plugin_host import load

PLUGIN = ROOT / "hermes-plugin" / "memorycore-prefetch"
PATIENT_S = 20.0


@dataclass
class HostHome:
    """``daemon``: the user's home with the daemon of its memory; the home of Hermes lies in it."""

    daemon: DaemonHome

    @property
    def path(self) -> Path:
        return self.daemon.home / ".hermes"

    @property
    def memory_file(self) -> Path:
        return self.path / "memories" / "MEMORY.md"

    def ask(self, route: str, **arguments: Any) -> dict[str, Any]:
        """What the daemon answers."""
        here = self.daemon.leader_of_now()
        bearer = {"Authorization": f"Bearer {here.token}"}
        response = httpx.post(f"{here.url}/v1/{route}", json=arguments, headers=bearer, timeout=30)
        assert response.status_code == 200, response.text
        return response.json()


@dataclass
class PluginHome(HostHome):
    @property
    def folder(self) -> Path:
        return self.path / "plugins" / PLUGIN.name

    def install(self, python: str = sys.executable) -> None:
        """As the installer leaves it. ``python`` of nothing that has MemoryCore: no daemon can be started."""
        shutil.copytree(PLUGIN, self.folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        runtime = {"python": python, "env": self.daemon.environment()}
        (self.folder / "runtime.json").write_text(json.dumps(runtime), encoding="utf-8")
        self.memory_file.parent.mkdir(exist_ok=True)

    def rows(self, target: str = "memory") -> list[dict[str, Any]]:
        """Every entry of a file as the daemon knows it."""
        return [row for one in self.ask("audit", target=target)["targets"] for row in one["rows"]]

    def calls(self) -> float:
        """How many calls of the API the daemon has had."""
        here = self.daemon.leader_of_now()
        page = httpx.get(f"{here.url}/metrics", headers={"Authorization": f"Bearer {here.token}"}, timeout=30).text
        lines = [line for line in page.splitlines() if line.startswith("memorycore_calls_total")]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    def memorycore(self, *arguments: str) -> str:
        """What our command says, whatever its exit code."""
        return subprocess.run(
            [sys.executable, "-m", "memorycore", *arguments],
            env=self.daemon.environment(), capture_output=True, encoding="utf-8", check=False, timeout=60,
        ).stdout  # fmt: skip

    def status(self) -> dict[str, Any]:
        """``memorycore status``, which needs no daemon."""
        return json.loads(self.memorycore("status", "--json"))

    def totals(self) -> dict[str, Any]:
        """What is hot, how much is cold, and how much is in the bin."""
        usage = self.ask("usage")
        hot = [row["text"] for target in ("memory", "user") for row in self.rows(target)]
        return {"hot": hot, "cold": usage["cold"]["total"], "binned": usage["binned"]}

    def kept(self) -> dict[str, str]:
        """By text the state of everything in the store."""
        lines = [json.loads(line) for line in self.memorycore("export").splitlines()]
        return {line["content"]: line["state"] for line in lines}

    def edit(self, *, add: str = "", old: str = "") -> None:
        """What the memory tool does: one entry more, another, or one less, under the lock."""
        with locked(self.memory_file):
            whole = self.memory_file.read_text(encoding="utf-8") if self.memory_file.exists() else ""
            entries = [entry for entry in whole.split("\n§\n") if entry not in {"", old}]
            self.memory_file.write_bytes("\n§\n".join([*entries, *([add] if add else [])]).encode())

    @contextmanager
    def session(self, name: str, **facts: Any) -> Generator[Any]:
        """A provider at work, which waits as long for answers as a busy machine takes."""
        provider = load(self.folder)
        provider.prefetch_s = provider.memory_write_s = PATIENT_S
        provider.initialize(name, **{"hermes_home": str(self.path), "platform": "cli", **facts})
        try:
            yield provider
        finally:
            provider.shutdown()


@contextmanager
def plugin_home(folder: Path, **env: str) -> Generator[PluginHome]:
    told = {"HERMES_HOME": str(folder / ".hermes"), "MEMORYCORE_DATA_DIR": str(folder / ".memorycore" / "data"), **env}
    with daemon_home(folder, **told) as daemon:
        home = PluginHome(daemon)
        home.path.mkdir()
        home.install()
        yield home
