"""MCP over streamable HTTP: this machine only, honest about sessions, gone when told."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.wire import PROTOCOL, server_env

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "http-test", "version": "1"}},
}
BOTH = {"accept": "application/json, text/event-stream"}


@dataclass(frozen=True)
class Running:
    process: "subprocess.Popen[str]"
    url: str


@contextmanager
def serving(home: Path, **more: str) -> Generator[Running]:
    """A server on a free port, ended by a signal if the test has not done it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "memorycore.server", "--transport", "streamable-http", "--port", "0"],
        stderr=subprocess.PIPE,
        env=server_env(home, **more),
        encoding="utf-8",
    )
    assert process.stderr is not None
    try:
        url = process.stderr.readline().split()[-1]
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                httpx.get(url, timeout=5)
                break
            except httpx.ConnectError:
                time.sleep(0.05)
        yield Running(process, url)
    finally:
        if process.poll() is None:
            process.terminate()
        _, errors = process.communicate(timeout=10)
        sys.stderr.write(errors)  # shown when the test fails


def post(url: str, message: Mapping[str, Any], **headers: str) -> httpx.Response:
    sent = {**BOTH, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return httpx.post(url, json=message, headers=sent, timeout=20)


def answer(response: httpx.Response) -> dict[str, Any]:
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
    return json.loads(lines[-1])["result"]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with serving(tmp_path_factory.mktemp("http")) as server:
        yield server


def test_a_client_lists_ten_tools_and_stores(running: Running) -> None:
    session = post(running.url, HELLO).headers["mcp-session-id"]
    post(running.url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, mcp_session_id=session)
    tools = answer(post(running.url, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, mcp_session_id=session))
    assert len(tools["tools"]) == 10
    call = {"name": "memorycore_store_fact", "arguments": {"content": "The lift in the east wing is out of order"}}
    result = answer(
        post(
            running.url,
            {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call},
            mcp_session_id=session,
        )
    )
    stored = json.loads(result["content"][0]["text"])
    look = {"name": "memorycore_inspect", "arguments": {"id": stored["id"]}}
    result = answer(
        post(
            running.url,
            {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": look},
            mcp_session_id=session,
        )
    )
    fields = json.loads(result["content"][0]["text"])["fields"]
    assert fields["author"] == "http-test"
    assert session not in fields["session_id"]


def test_an_unknown_session_is_answered_404(running: Running) -> None:  # IL-154
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert post(running.url, listing, mcp_session_id="0123456789abcdef").status_code == 404


def test_a_foreign_host_or_origin_is_refused(running: Running) -> None:
    assert post(running.url, HELLO, host="memory.example").status_code == 421
    assert post(running.url, HELLO, origin="https://evil.example").status_code == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.7", "memory.example", "::"])  # noqa: S104 - what must be refused
def test_another_host_than_this_machine_is_refused_with_a_reason(tmp_path: Path, host: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "memorycore.server", "--transport", "streamable-http", "--host", host],
        capture_output=True,
        encoding="utf-8",
        env=server_env(tmp_path),
        timeout=30,
        check=False,
    )
    assert done.returncode == 5
    assert "127.0.0.1" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_port_that_is_taken_is_a_sentence(running: Running, tmp_path: Path) -> None:
    port = httpx.URL(running.url).port
    done = subprocess.run(
        [sys.executable, "-m", "memorycore.server", "--transport", "streamable-http", "--port", str(port)],
        capture_output=True,
        encoding="utf-8",
        env=server_env(tmp_path),
        timeout=30,
        check=False,
    )
    assert done.returncode == 2
    assert str(port) in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal on Windows")
def test_a_signal_ends_it_in_two_seconds_with_code_0_even_with_an_open_stream(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        session = post(server.url, HELLO).headers["mcp-session-id"]
        with httpx.stream("GET", server.url, headers={**BOTH, "mcp-session-id": session}, timeout=20) as stream:
            assert stream.status_code == 200
            started = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(timeout=5) == 0
            assert time.monotonic() - started <= 2.2
