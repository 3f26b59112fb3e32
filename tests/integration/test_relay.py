"""A stdio server that is a relay to a running daemon: it starts light, and its client's session outlives the daemon."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import StdioServerParameters

from tests.daemons import daemon_home
from tests.integration.test_mcp_clients import check, old_client, talk, with_old_client
from tests.integration.test_server_stdio import CLIENT_WITH_HELPER, gone, posix, wait_until
from tests.local_daemon import LocalDaemon, local_daemon
from tests.wire import PROTOCOL, Wire, read_answer, server_env

HEAVY = ("mcp", "mcp_types", "numpy", "pydantic", "anyio", "apsw", "httpx", "typer", "asyncio", "logging", "argparse")
USAGE: dict[str, Any] = {"name": "memorycore_get_memory_usage", "arguments": {}}


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return server_env(tmp_path, MEMORYCORE_EMBED_MODEL="none")


@pytest.fixture
def daemon(env: Mapping[str, str]) -> Generator[LocalDaemon]:
    with local_daemon(env) as running:
        yield running


def begun(env: Mapping[str, str]) -> Wire:
    wire = Wire(env)
    wire.initialize()
    return wire


def test_it_loads_no_sdk_no_model_and_no_numbers(daemon: LocalDaemon) -> None:
    with Wire(daemon.env, [sys.executable, "-X", "importtime", "-m", "memorycore.server"]) as wire:
        wire.initialize()
        assert len(wire.request("tools/list")["tools"]) == 10
        wire.close_input()
        assert wire.wait(5) == 0
    loaded = {line.rpartition("|")[2].strip() for line in wire.errors.splitlines()}
    assert "memorycore.relay.relay" in loaded
    assert loaded & set(HEAVY) == set()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_of_this_sdk_is_served_in_both_eras(daemon: LocalDaemon, mode: Any) -> None:
    server = StdioServerParameters(command=sys.executable, args=["-m", "memorycore.server"], env=dict(daemon.env))
    heard = anyio.run(talk, server, mode)
    assert heard["protocol"] == {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]
    check(heard)


@with_old_client
def test_a_client_of_the_older_sdk_is_served(daemon: LocalDaemon) -> None:
    args = ["-m", "memorycore.server"]
    check(old_client({"command": sys.executable, "args": args, "env": dict(daemon.env)}))


def test_lines_that_are_piped_in_at_once_are_all_answered(daemon: LocalDaemon) -> None:
    with daemon.desk.core():  # a daemon has it open
        pass
    hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "pipe", "version": "1"}}
    asked: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "two", "method": "tools/call", "params": USAGE},
        {"jsonrpc": "2.0", "id": 3, "method": "ping"},
    ]
    done = subprocess.run(
        [sys.executable, "-m", "memorycore.server"],
        input="".join(json.dumps(line) + "\n" for line in asked),
        capture_output=True,
        encoding="utf-8",
        env=daemon.env,
        timeout=30,
        check=True,
    )
    assert sorted(str(json.loads(line)["id"]) for line in done.stdout.splitlines()) == ["1", "3", "two"]
    assert done.stderr == ""


def test_a_daemon_that_ends_in_order_is_not_noticed(daemon: LocalDaemon) -> None:
    """Not even by what is asked between two daemons; and the client is the same one to the next."""
    with begun(daemon.env) as wire:
        wire.call("memorycore_store_fact", content="The kiln of this session is called Bertha.", scope="session")
        daemon.stop()
        number = wire.ask("tools/call", {"name": "memorycore_recall", "arguments": {"query": "kiln called Bertha"}})
        with local_daemon(daemon.env):
            assert read_answer(wire.wait_for(number))["results"][0]["content"].endswith("Bertha.")
            assert "code" not in wire.call("memorycore_get_memory_usage")
    assert [json.loads(line).get("id") for line in wire.lines] == [1, 2, 3, 4]  # the second greeting is not heard


def test_a_call_that_was_running_when_the_daemon_died_is_told_so(daemon: LocalDaemon) -> None:
    daemon.is_open.clear()
    with begun(daemon.env) as wire:
        call: dict[str, Any] = {
            "name": "memorycore_store_fact",
            "arguments": {"content": "The archive in York burnt down in 1984."},
        }
        number, listed = wire.ask("tools/call", call), wire.ask("tools/list")
        assert daemon.is_called.wait(10)
        daemon.cut()
        told = read_answer(wire.wait_for(number))
        assert (told["ok"], told["code"], told["retryable"], told["status"]) == (False, "daemon_gone", True, "error")
        daemon.is_open.set()
        with local_daemon(daemon.env):
            assert len(wire.wait_for(listed)["tools"]) == 10  # what only reads is asked again
            again = wire.call("memorycore_store_fact", **call["arguments"])
            assert again["status"] in {"cold_stored", "cold_duplicate"}
            assert len(wire.call("memorycore_recall", query="archive York")["results"]) == 1


def test_a_session_whose_daemon_does_not_return_goes_on_alone(daemon: LocalDaemon) -> None:
    with begun(daemon.env) as wire:
        kept = wire.call("memorycore_store_fact", content="The ledger in Porto has number 17.", scope="session")
        daemon.__exit__()
        found = wire.call("memorycore_recall", query="ledger Porto")["results"]
        assert [one["id"] for one in found] == [kept["id"]]
        wire.close_input()
        assert wire.wait(5) == 0
    assert "memorycore: the daemon went away and did not come back" in wire.errors


@pytest.mark.parametrize(
    ("claims", "language", "says"),
    [
        ({"version": "0.0.1"}, "en", "is MemoryCore 0.0.1, this program is"),
        ({"hot_dir": "/elsewhere"}, "zh", "管的是 /elsewhere 里的记忆文件"),
    ],
)
def test_beside_a_daemon_that_is_another_one_it_serves_alone(
    env: dict[str, str], claims: Mapping[str, str], language: str, says: str
) -> None:
    with local_daemon(env, **claims) as other, begun({**env, "MEMORYCORE_LANG": language}) as wire:
        assert len(wire.request("tools/list")["tools"]) == 10
        assert other.clients.all() == ()
        wire.close_input()
        assert wire.wait(5) == 0
    assert says in wire.errors
    assert wire.errors.count("\n") == 1


@posix
def test_beside_a_daemon_that_does_not_answer_it_serves_alone(env: dict[str, str]) -> None:
    lock = Path(env["MEMORYCORE_DATA_DIR"]) / "daemon.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text(json.dumps({"pid": os.getpid()}), encoding="utf-8")
    with begun(env) as wire:
        wire.close_input()
        assert wire.wait(5) == 0
    assert wire.errors == "memorycore: this server works alone: a daemon leads this memory and does not answer.\n"


@pytest.mark.parametrize(("claims", "says"), [(None, "none that answers"), ({"settings": "x"}, "other settings")])
def test_a_client_that_requires_a_daemon_hears_why_there_is_none(
    env: dict[str, str], claims: Mapping[str, str] | None, says: str, request: pytest.FixtureRequest
) -> None:
    if claims is not None:
        running = local_daemon(env, **claims)
        running.__enter__()
        request.addfinalizer(lambda: running.__exit__(None, None, None))
    with Wire({**env, "MEMORYCORE_DAEMON": "require"}) as wire:
        assert wire.wait(10) == 5
    assert says in wire.errors
    assert "memorycore daemon start" in wire.errors


def test_a_required_daemon_is_waited_for_and_calls_are_told_meanwhile(daemon: LocalDaemon) -> None:
    with begun({**daemon.env, "MEMORYCORE_DAEMON": "require"}) as wire:
        daemon.cut()
        assert wire.call("memorycore_get_memory_usage")["code"] == "daemon_gone"  # after five seconds
        with local_daemon(daemon.env):
            wait_until(lambda: "code" not in wire.call("memorycore_get_memory_usage"), 10)


IMPATIENT = """
import json, sys
from memorycore.endpoint import read
from memorycore.relay.greeting import Wanted
from memorycore.relay.link import DaemonLink
from memorycore.relay.relay import Relay, Ways
wanted = Wanted(**json.loads(sys.argv[1]))
nobody = Ways(find=lambda: None, is_coming=lambda: True, alone=None, problem=lambda: {"code": "gone"}, silent_s=0.2)
Relay(DaemonLink(wanted, read(wanted.data_dir)), nobody, 1).run(0)
"""


def test_a_daemon_that_hangs_holds_nobody_for_ever(daemon: LocalDaemon) -> None:
    with Wire(daemon.env, [sys.executable, "-c", IMPATIENT, json.dumps(asdict(daemon.wanted()))]) as wire:
        wire.initialize()
        with daemon.hanging():
            told = wire.call("memorycore_store_fact", content="The mill in Kent grinds rye.")
        assert told["code"] == "gone"


def test_three_clients_and_two_homes_stay_apart(daemon: LocalDaemon, tmp_path: Path) -> None:
    second = server_env(tmp_path / "second", MEMORYCORE_EMBED_MODEL="none")
    rule = "Always greet the {} before a meeting."
    with local_daemon(second) as other:
        wires = [begun(daemon.env), begun(daemon.env), begun(second)]
        assert (len(daemon.clients.all()), len(other.clients.all())) == (2, 1)
        for wire, whom in zip(wires, ("carpenter", "plumber", "gardener"), strict=True):
            assert wire.call("memorycore_store_fact", content=rule.format(whom))["status"] == "stored"
        for wire in wires:
            wire.close_input()
            assert wire.wait(5) == 0
    texts = [(Path(at["MEMORY_DIR"]) / "MEMORY.md").read_text(encoding="utf-8") for at in (daemon.env, second)]
    assert [sorted(who for who in ("carpenter", "plumber", "gardener") if who in text) for text in texts] == [
        ["carpenter", "plumber"],
        ["gardener"],
    ]


@posix
def test_a_killed_daemon_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    with daemon_home(tmp_path) as home:
        home.run("start")
        with begun(home.environment()) as wire:
            kept = [wire.call("memorycore_store_fact", content=f"The shelf {n} holds {n * 37} jars.") for n in (1, 2)]
            home.kill_leader()
            number = wire.ask("tools/call", {"name": "memorycore_recall", "arguments": {"query": "shelf jars"}})
            home.run("start")
            found = read_answer(wire.wait_for(number, timeout_s=60))
        assert {one["id"] for one in found["results"]} == {one["id"] for one in kept}
        assert len(home.living()) == 1


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_while_a_call_runs(daemon: LocalDaemon, number: signal.Signals) -> None:
    daemon.is_open.clear()
    with begun(daemon.env) as wire:
        wire.ask("tools/call", USAGE)
        assert daemon.is_called.wait(10)
        wire.process.send_signal(number)
        assert wire.wait(2) == 0


@posix
def test_closed_input_ends_it_while_a_call_runs(daemon: LocalDaemon) -> None:
    daemon.is_open.clear()
    with begun(daemon.env) as wire:
        wire.ask("tools/call", USAGE)
        assert daemon.is_called.wait(10)
        wire.close_input()
        assert wire.wait(2.5) == 0
    wait_until(lambda: daemon.clients.all() == (), 5)


@posix
def test_it_ends_with_its_client_even_when_a_helper_holds_the_pipe(daemon: LocalDaemon) -> None:
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT_WITH_HELPER], env=daemon.env, stdout=subprocess.PIPE, encoding="utf-8"
    )
    assert client.stdout is not None
    server, helper = (int(word) for word in client.stdout.readline().split())
    try:
        wait_until(lambda: len(daemon.clients.all()) == 1, 10)
        client.kill()
        client.wait()
        wait_until(lambda: gone(server), 10)
    finally:
        os.kill(helper, signal.SIGKILL)
        client.stdout.close()


def test_a_message_without_end_is_refused_and_the_session_goes_on(daemon: LocalDaemon) -> None:
    with begun(daemon.env) as wire:
        wire.send({"jsonrpc": "2.0", "id": 9, "method": "ping", "params": {"x": "a" * 5_000_000}})
        assert wire.request("ping") == {}
    assert any(json.loads(line).get("error", {}).get("code") == -32600 for line in wire.lines)
