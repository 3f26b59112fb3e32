"""The life of a stdio server: clean wire, quick start, and an end under every way a client can go."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.wire import PROTOCOL, Wire, server_env

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and parent processes work differently on Windows")

NOISE = """
import os, subprocess, sys, threading, time
print("printed before anything else")
def noise():
    while "memorycore.server.desk" not in sys.modules:  # the wire is taken before anything but the standard library
        time.sleep(0.001)
    subprocess.run([sys.executable, "-c", "import sys; print('a child read', len(sys.stdin.read()))"])
    while True:
        print("a library prints")
        os.write(1, b"a C library writes\\n")
        time.sleep(0.005)
threading.Thread(target=noise, daemon=True).start()
from memorycore.server.__main__ import main
main(["--log-level", "DEBUG"])
"""

# Starts a server and a helper that keeps the server's input open; writes the server's number and waits to be killed.
CLIENT_WITH_HELPER = """
import subprocess, sys, time
server = subprocess.Popen([sys.executable, "-m", "memorycore.server"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
helper = subprocess.Popen(["sleep", "30"], pass_fds=[server.stdin.fileno()])
print(server.pid, helper.pid, flush=True)
time.sleep(30)
"""


@contextmanager
def slow_endpoint(seconds: float) -> Generator[str]:
    """An embedding endpoint that answers late; gives its address."""

    class Slow(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            time.sleep(seconds)
            texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
            rows = [{"index": i, "embedding": [1.0, float(len(text)), 0.5, 0.25]} for i, text in enumerate(texts)]
            body = json.dumps({"data": rows, "model": "slow"}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            with suppress(BrokenPipeError):  # the server may be gone by then
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


def slow_env(home: Path, url: str) -> dict[str, str]:
    """A server whose store waits four seconds for a vector."""
    return server_env(home, MEMORYCORE_EMBED_URL=url, MEMORYCORE_EMBED_MODEL="slow", MEMORYCORE_STORE_WAIT_MS="4000")


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return (
        Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split()[2] == "Z"
    )


def wait_until(check: Callable[[], bool], seconds: float) -> float:
    started = time.monotonic()
    while not check():
        assert time.monotonic() - started < seconds, f"not within {seconds} s"
        time.sleep(0.02)
    return time.monotonic() - started


def test_lines_that_are_piped_in_at_once_are_all_answered(tmp_path: Path) -> None:
    hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "pipe", "version": "1"}}
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "ping"},
    ]
    done = subprocess.run(
        [sys.executable, "-m", "memorycore.server"],
        input="".join(json.dumps(line) + "\n" for line in asked),
        capture_output=True,
        encoding="utf-8",
        env=server_env(tmp_path),
        timeout=30,
        check=True,
    )
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert len(answers[2]["result"]["tools"]) == 10
    assert answers[3]["result"] == {}
    assert done.stderr == ""


def test_every_line_on_stdout_is_protocol_even_when_libraries_print(tmp_path: Path) -> None:  # IL-146, IL-152
    with Wire(server_env(tmp_path), [sys.executable, "-c", NOISE]) as wire:
        wire.initialize()
        assert wire.call("memorycore_store_fact", content="The gate code of the depot is 4711")["id"]
        assert wire.call("memorycore_recall", query="gate code")["results"]
        wire.close_input()
        assert wire.wait(5) == 0
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in wire.lines)
    assert "a library prints" in wire.errors
    assert "a C library writes" in wire.errors
    assert "a child read 0" in wire.errors


def test_the_log_holds_no_text_of_a_memory(tmp_path: Path) -> None:
    with Wire(server_env(tmp_path), [sys.executable, "-m", "memorycore.server", "--log-level", "DEBUG"]) as wire:
        wire.initialize()
        wire.call("memorycore_store_fact", content="Zanzibar is the word for the cellar")
        wire.call("memorycore_recall", query="Zanzibar")
        wire.call("memorycore_store_fact", content="Zanzibar", importance=7)
        wire.call("memorycore_inspect", id="Zanzibar")
        wire.close_input()
        assert wire.wait(5) == 0
    assert wire.errors
    assert "Zanzibar" not in wire.errors


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks into /proc for what is loaded")
def test_no_model_no_numpy_and_no_database_before_the_tool_list_is_out_and_all_soon_after(tmp_path: Path) -> None:
    with Wire(server_env(tmp_path)) as wire:
        loaded = Path(f"/proc/{wire.process.pid}/maps")
        wire.initialize()
        assert len(wire.request("tools/list")["tools"]) == 10
        assert not [name for name in ("numpy", "apsw") if name in loaded.read_text(encoding="utf-8")]
        wait_until(lambda: all(name in loaded.read_text(encoding="utf-8") for name in ("numpy", "apsw")), 20)


def test_closed_input_ends_the_server_in_two_seconds_with_code_0(tmp_path: Path) -> None:  # IL-148
    with Wire(server_env(tmp_path)) as wire:
        wire.initialize()
        wire.call("memorycore_store_fact", content="The harbour office closes at five")
        started = time.monotonic()
        wire.close_input()
        assert wire.wait(5) == 0
        assert time.monotonic() - started <= 2.0


@pytest.mark.parametrize("before", ["", "<&-", "</dev/null"])
def test_a_server_without_any_client_ends_at_once(tmp_path: Path, before: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"exec '{sys.executable}' -m memorycore.server {before or '</dev/null'}"],
        capture_output=True,
        env=server_env(tmp_path),
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_in_two_seconds_with_code_0(tmp_path: Path, number: signal.Signals) -> None:
    with Wire(server_env(tmp_path)) as wire:
        wire.initialize()
        kept = wire.call("memorycore_store_fact", content="The spare key hangs behind the boiler")["id"]
        started = time.monotonic()
        wire.process.send_signal(number)
        assert wire.wait(5) == 0
        assert time.monotonic() - started <= 2.0
    with Wire(server_env(tmp_path)) as again:
        again.initialize()
        assert again.call("memorycore_inspect", id=kept)["content"] == "The spare key hangs behind the boiler"


@posix
def test_a_signal_during_the_start_ends_the_server_with_code_0(tmp_path: Path) -> None:
    with Wire(server_env(tmp_path)) as wire:
        time.sleep(0.4)
        wire.process.send_signal(signal.SIGTERM)
        assert wire.wait(3) == 0


@posix
@pytest.mark.parametrize("how", ["signal", "end of input"])
def test_a_stuck_call_does_not_keep_the_server_alive(tmp_path: Path, how: str) -> None:
    with slow_endpoint(8) as url, Wire(slow_env(tmp_path, url)) as wire:
        wire.initialize()
        wire.ask("tools/call", {"name": "memorycore_store_fact", "arguments": {"content": "The tram stops at ten"}})
        time.sleep(1.0)
        started = time.monotonic()
        if how == "signal":
            wire.process.send_signal(signal.SIGTERM)
        else:
            wire.close_input()
        assert wire.wait(5) == 0
        assert time.monotonic() - started <= 2.2


@posix
def test_the_end_of_the_parent_ends_the_server_even_when_a_helper_keeps_the_pipe(tmp_path: Path) -> None:  # IL-149
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT_WITH_HELPER], stdout=subprocess.PIPE, env=server_env(tmp_path), encoding="utf-8"
    )
    assert client.stdout is not None
    server, helper = map(int, client.stdout.readline().split())
    try:
        time.sleep(1.5)
        assert not gone(server)
        client.kill()
        client.wait()
        client.stdout.close()
        wait_until(lambda: gone(server), 30)
    finally:
        os.kill(helper, signal.SIGKILL)


@posix
def test_clients_that_are_killed_leave_no_server_behind(tmp_path: Path) -> None:  # IL-150
    code = CLIENT_WITH_HELPER.replace('["sleep", "30"], pass_fds=[server.stdin.fileno()]', '["true"]')
    clients = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, env=server_env(tmp_path), encoding="utf-8"
        )
        for _ in range(5)
    ]
    servers: list[int] = []
    for client in clients:
        assert client.stdout is not None
        servers.append(int(client.stdout.readline().split()[0]))
    time.sleep(1)
    for client in clients:
        client.kill()
        client.communicate()
    for server in servers:
        wait_until(lambda server=server: gone(server), 30)


@posix
def test_a_client_that_stops_reading_is_no_fault(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    server = subprocess.Popen(
        [sys.executable, "-m", "memorycore.server"],
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.PIPE,
        env=server_env(tmp_path),
    )
    os.close(writing)
    os.close(reading)
    hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "deaf", "version": "1"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    _, errors = server.communicate((json.dumps(request) + "\n").encode(), timeout=20)
    assert (server.returncode, errors) == (0, b"")


def test_ping_is_answered_at_once_while_a_slow_store_runs(tmp_path: Path) -> None:  # IL-152
    with slow_endpoint(5) as url, Wire(slow_env(tmp_path, url)) as wire:
        wire.initialize()
        slow = wire.ask("tools/call", {"name": "memorycore_store_fact", "arguments": {"content": "Slow and steady"}})
        time.sleep(1.2)
        waits: list[float] = []
        for _ in range(5):
            started = time.monotonic()
            wire.request("ping")
            waits.append(time.monotonic() - started)
        assert sorted(waits)[2] < 0.2, waits
        assert not wire.wait_for(slow).get("isError")


def test_a_mistake_in_the_settings_is_a_sentence_in_the_answer(tmp_path: Path) -> None:
    with Wire(server_env(tmp_path, MEMORYCORE_LOCK_TIMEOUT="5")) as wire:
        wire.initialize()
        assert len(wire.request("tools/list")["tools"]) == 10
        answer = wire.call("memorycore_recall", query="anything")
    assert (answer["ok"], answer["code"]) == (False, "settings_error")
    assert "MEMORYCORE_LOCK_TIMEOUT_S" in answer["message"]
