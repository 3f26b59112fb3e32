"""Two versions side by side, as after an upgrade of one program of several: they share no process and lose no file."""

import json
import subprocess
import sys
from pathlib import Path

import memorycore
from tests.daemons import DaemonHome, daemon_home
from tests.local_daemon import local_daemon
from tests.wire import Wire, server_env

NEWER = "9.0.0"
WHO = ("carpenter", "plumber", "gardener")


def another_version(folder: Path) -> dict[str, str]:
    """What a process must be told to run this code under another version number."""
    ours = Path(memorycore.__file__)
    package = folder / "memorycore"
    package.mkdir(parents=True)
    source = ours.read_text(encoding="utf-8").replace(memorycore.__version__, NEWER)
    (package / "__init__.py").write_text(f"{source}\n__path__.append({str(ours.parent)!r})\n", encoding="utf-8")
    return {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}


def served(env: dict[str, str], who: str) -> Wire:
    wire = Wire(env)
    wire.initialize()
    assert wire.call("memorycore_store_fact", content=f"Always greet the {who} before a meeting.")["status"] == "stored"
    return wire


def test_three_clients_two_homes_and_two_versions_stay_apart_and_say_why(tmp_path: Path) -> None:
    first = server_env(tmp_path / "first", MEMORYCORE_EMBED_MODEL="none")
    newer = another_version(tmp_path / "newer")
    with local_daemon(first) as daemon, daemon_home(tmp_path / "second", **newer) as second:
        assert second.run("start")["version"] == NEWER
        wires = [served(first, WHO[0]), served(first | newer, WHO[1]), served(second.environment(), WHO[2])]
        assert len(daemon.clients.all()) == 1, "the client of another version is not let in"
        found = wires[1].call("memorycore_recall", query="greet the carpenter before a meeting")["results"]
        assert any(WHO[0] in one["content"] for one in found), "it works on the same memory, by itself"
        for wire in wires:
            wire.close_input()
            assert wire.wait(5) == 0
        assert [wire.errors.count("\n") for wire in wires] == [0, 1, 0]
        assert f"is MemoryCore {memorycore.__version__}, this program is {NEWER}" in wires[1].errors
    assert greeted(tmp_path / "first" / "memories") == [*WHO[:2]]
    assert greeted(tmp_path / "second" / ".memorycore" / "memories") == [WHO[2]]


def greeted(folder: Path) -> list[str]:
    return [who for who in WHO if who in (folder / "MEMORY.md").read_text(encoding="utf-8")]


def doctor(home: DaemonHome) -> list[dict[str, object]]:
    done = subprocess.run(
        [sys.executable, "-m", "memorycore", "doctor", "--json"],
        env=home.environment(), capture_output=True, encoding="utf-8", check=False, timeout=90,
    )  # fmt: skip
    return json.loads(done.stdout)["checks"]


def test_a_start_of_a_newer_version_takes_over_and_one_of_an_older_does_not(tmp_path: Path) -> None:
    with daemon_home(tmp_path / "home") as home:
        newer = DaemonHome(home.home, another_version(tmp_path / "newer"))
        home.run("start")
        assert (newer.run("start")["status"], newer.leader_of_now().version) == ("replaced", NEWER)
        again = home.run("start")
        assert (again["status"], again["version"], again["differs"]) == ("already_runs", NEWER, ["version"])
        assert "daemon_newer" in [check["code"] for check in doctor(home)]
        assert json.loads((home.data / "daemon.lock").read_bytes()[1:])["version"] == NEWER
