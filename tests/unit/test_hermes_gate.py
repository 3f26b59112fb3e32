"""The gate before Hermes' memory tool, without Hermes: what it looks at, what it says, and that it never waits."""

import json
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.plugin_host import module_of

FOLDER = Path(__file__).parents[2] / "hermes-plugin" / "memorycore-gate"
KEY = "ghp_" + "a1B2c3D4" * 5
MARKERS = ("MemoryProvider", "register_memory_provider")
SOON_S = 1.0
"""The promise is 0.3 s on a machine that has time; this tells it from waiting for a daemon that does not answer."""


@pytest.fixture(scope="module")
def plugin() -> Any:
    return module_of(FOLDER / "__init__.py")


@pytest.fixture
def gate(plugin: Any, tmp_path: Path) -> Any:
    """A gate in a Hermes home whose data directory is ``tmp_path``."""
    runtime = tmp_path / "plugins" / "memorycore-prefetch" / "runtime.json"
    runtime.parent.mkdir(parents=True)
    runtime.write_text(json.dumps({"env": {"MEMORYCORE_DATA_DIR": str(tmp_path)}}), encoding="utf-8")
    return plugin.Gate(folder=tmp_path / "plugins" / "memorycore-gate")


@pytest.mark.parametrize(
    "args",
    [
        {"action": "add", "target": "memory", "content": f"The token is {KEY}"},
        {"action": "replace", "target": "user", "old_text": "token", "content": f"The token is {KEY}"},
        {"operations": [{"action": "add", "content": "Fine."}, {"action": "add", "content": f"Token: {KEY}"}]},
        {"content": f"mysql://root:hunter22@db {KEY}"},
    ],
)
def test_a_key_is_stopped_by_whatever_way_it_would_be_written(gate: Any, args: dict[str, Any]) -> None:
    answer = gate.check(tool_name="memory", args=args, session_id="s")
    assert answer["action"] == "block"
    assert "GitHub token" in answer["message"]
    assert KEY not in answer["message"]
    assert gate.passed == {"no_daemon": 1}


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("memory", {"action": "remove", "old_text": f"The token is {KEY}"}),
        ("memory", {"action": "replace", "old_text": f"The token is {KEY}", "content": "The token is in the vault."}),
        ("memory", {"action": "add", "content": "Tokens begin with ghp_ and are 40 signs long."}),
        ("memory", {"operations": ["nonsense", None]}),
        ("memory", None),
        ("terminal", {"content": KEY}),
    ],
)
def test_what_writes_no_key_passes(gate: Any, tool: str, args: Any) -> None:
    assert gate.check(tool_name=tool, args=args) is None


def test_a_daemon_that_hangs_costs_a_moment_and_is_left_alone_for_a_while(gate: Any, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        here = tmp_path / "daemon.json"
        here.write_text(json.dumps({"url": f"http://127.0.0.1:{silent.getsockname()[1]}", "token": "t"}), "utf-8")
        here.chmod(0o600)
        began = time.monotonic()
        assert gate.check(tool_name="memory", args={"action": "add", "content": "Fine."}) is None
        assert gate.check(tool_name="memory", args={"action": "add", "content": KEY})["action"] == "block"
        assert time.monotonic() - began < SOON_S
    assert gate.passed == {"timeout": 1, "breaker": 1}


def test_nothing_is_sent_where_others_could_have_said_to(gate: Any, tmp_path: Path) -> None:
    here = tmp_path / "daemon.json"
    here.write_text(json.dumps({"url": "http://127.0.0.1:1", "token": "t"}), "utf-8")
    here.chmod(0o666)
    gate.check(tool_name="memory", args={"action": "add", "content": "Fine."})
    here.write_text(json.dumps({"url": "http://evil.example", "token": "t"}), "utf-8")
    here.chmod(0o600)
    gate.check(tool_name="memory", args={"action": "add", "content": "Fine."})
    assert gate.passed == {"no_daemon": 1, "unreachable": 1}


def test_hermes_takes_it_for_no_provider_and_needs_nothing_of_ours() -> None:
    text = (FOLDER / "__init__.py").read_text(encoding="utf-8")
    assert not [word for word in MARKERS if word in text]
    assert "kind: standalone" in (FOLDER / "plugin.yaml").read_text(encoding="utf-8")
    imported = {
        line.split()[1].partition(".")[0] for line in text.splitlines() if line.startswith(("import ", "from "))
    }
    assert imported <= sys.stdlib_module_names
