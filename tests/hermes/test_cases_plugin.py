"""Reported faults of installing a memory provider, in the real Hermes: each row as a small input."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.daemons import ROOT
from tests.hermes.hermes_home import NEEDS_HERMES, PYTHON

pytestmark = NEEDS_HERMES
LOADS = (
    "import sys; from plugins.memory import load_memory_provider; p = load_memory_provider('memorycore-prefetch'); "
    "sys.stdout.write(f'{p.name} {p.is_available()}')"
)


def environment(home: Path, **env: str) -> dict[str, str]:
    path = os.pathsep.join((str(Path(PYTHON).parent), os.environ["PATH"]))
    return {"HOME": str(home), "PATH": path, "MEMORYCORE_LANG": "en", "MEMORYCORE_EMBED_MODEL": "none", **env}


def run(*command: str, env: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, env=env, cwd=env["HOME"], stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8",
        check=False, timeout=110,
    )  # fmt: skip


def test_whoever_follows_the_page_finds_the_provider_installed(tmp_path: Path) -> None:  # IL-183
    page = (ROOT / "docs" / "hermes.md").read_text(encoding="utf-8")
    typed = page.partition("```bash\n")[2].partition("```")[0].splitlines()
    env = environment(tmp_path, PYTHONPATH=str(ROOT))
    commands = [line.partition("#")[0].replace("memorycore", f"{sys.executable} -m memorycore", 1) for line in typed]
    ran = [run("/bin/sh", "-c", command, env=env) for command in commands]
    assert [one.returncode for one in ran] == [0] * len(ran), ran
    assert "Hermes says: " in ran[-1].stdout
    said = run("hermes", "memory", "status", env=environment(tmp_path)).stdout
    assert "Provider:  memorycore-prefetch" in said
    assert "Plugin:    installed" in said
    assert "Status:    available" in said


def test_the_wheel_carries_a_plugin_that_hermes_loads(tmp_path: Path) -> None:  # IL-184
    built = run(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT),
        env={**os.environ, "HOME": str(tmp_path)},
    )  # fmt: skip
    if built.returncode:
        pytest.skip("no wheel can be built here")
    package = tmp_path / "package"
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        wheel.extractall(package)
    home = tmp_path / ".hermes"
    home.mkdir()
    env = environment(tmp_path, PYTHONPATH=str(package))
    answer = json.loads(run(sys.executable, "-m", "memorycore", "hermes", "install", "--json", env=env).stdout)
    assert (answer["ok"], answer["checks"][-1]["level"]) == (True, "pass")
    assert run(PYTHON, "-c", LOADS, env=environment(tmp_path)).stdout == "memorycore-prefetch True"
    for file in (package / "memorycore" / "hosts" / "plugin" / "memorycore-prefetch").glob("*"):
        file.unlink()
    broken = run(sys.executable, "-m", "memorycore", "hermes", "install", "--json", env=env)
    assert (broken.returncode, json.loads(broken.stdout)["code"]) == (5, "not_available")
