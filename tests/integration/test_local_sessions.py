"""The local connections of a daemon: who is let in, what passes, and that nobody keeps another one waiting."""

import json
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memorycore.relay import greeting
from memorycore.relay.link import DaemonLink, Refused
from tests.local_daemon import LocalDaemon, local_daemon
from tests.wire import server_env

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "Test", "version": "1"}}
Enter = Callable[[DaemonLink], DaemonLink]
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def daemon(tmp_path: Path) -> Generator[LocalDaemon]:
    with local_daemon(server_env(tmp_path, MEMORYCORE_EMBED_MODEL="none")) as running:
        yield running


@pytest.fixture
def enter() -> Generator["Enter"]:
    """Closes a connection when the test is over."""
    with ExitStack() as stack:
        yield lambda link: stack.enter_context(closing(link))


def ask(link: DaemonLink, number: int, method: str, **params: Any) -> dict[str, Any]:
    send(link, number, method, **params)
    return answer(link, number)


def send(link: DaemonLink, number: int, method: str, **params: Any) -> None:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    link.send(json.dumps(message).encode() + b"\n")


def answer(link: DaemonLink, number: int) -> dict[str, Any]:
    for line in link.lines:
        message = json.loads(line)
        if message.get("id") == number:
            return message
    raise EOFError


def call(link: DaemonLink, number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    said = ask(link, number, "tools/call", name=f"memorycore_{tool}", arguments=arguments)
    return json.loads(said["result"]["content"][0]["text"])


def test_a_client_that_shows_the_token_is_served_as_on_stdio(daemon: LocalDaemon, enter: Enter) -> None:
    link = enter(daemon.connect())
    assert ask(link, 1, "initialize", **HELLO)["result"]["serverInfo"]["name"] == "memorycore"
    assert len(ask(link, 2, "tools/list")["result"]["tools"]) == 10
    assert call(link, 3, "store_fact", content="The kiln in Ghent was bought in 2019.")["status"] == "cold_stored"


def test_a_client_without_handshake_is_served_too(daemon: LocalDaemon, enter: Enter) -> None:
    link = enter(daemon.connect())
    assert len(ask(link, 1, "tools/list", _meta=MODERN)["result"]["tools"]) == 10


def test_whoever_does_not_know_the_token_learns_nothing(daemon: LocalDaemon) -> None:
    with socket.create_connection(daemon.endpoint.relay) as other:
        other.sendall(greeting.hello(daemon.wanted(), "guessed", "n"))
        assert json.loads(other.makefile("rb").readline()) == {"ok": False, "code": "other_token"}


@pytest.mark.parametrize("word", greeting.WORDS)
def test_a_client_of_another_memory_is_turned_away(daemon: LocalDaemon, word: str) -> None:
    with pytest.raises(Refused) as refused:
        daemon.connect(**{word: "/elsewhere"})
    assert refused.value.code == f"other_{word}"


def test_a_port_that_somebody_else_has_taken_is_no_daemon(daemon: LocalDaemon) -> None:
    """It cannot show the token, whatever it says."""
    with socket.create_server(("127.0.0.1", 0)) as stranger:

        def lie() -> None:
            with stranger.accept()[0] as end:
                end.recv(4096)
                end.sendall(b'{"ok": true, "proof": "it is me"}\n')

        liar = threading.Thread(target=lie)
        liar.start()
        with pytest.raises(ConnectionRefusedError):
            DaemonLink(daemon.wanted(), replace(daemon.endpoint, relay=stranger.getsockname()))
        liar.join()


def test_two_clients_have_their_own_language_and_toolset(daemon: LocalDaemon, enter: Enter) -> None:
    english, chinese = enter(daemon.connect()), enter(daemon.connect(language="zh", toolset="full"))
    for link in (english, chinese):
        ask(link, 1, "initialize", **HELLO)
    assert "No memory" in call(english, 2, "inspect", id="none")["message"]
    assert "没有找到" in call(chinese, 2, "inspect", id="none")["message"]
    assert len(ask(english, 3, "tools/list")["result"]["tools"]) == 10
    assert len(ask(chinese, 3, "tools/list")["result"]["tools"]) == 12


def test_a_client_that_never_reads_keeps_nobody_waiting(daemon: LocalDaemon, enter: Enter) -> None:
    stuck, other = enter(daemon.connect()), enter(daemon.connect())
    for link in (stuck, other):
        ask(link, 1, "initialize", **HELLO)
    for number in range(2, 200):
        send(stuck, number, "tools/list")  # some megabytes of answers that nobody takes
    assert call(other, 2, "store_fact", content="The router in York belongs to team 4.")["status"] == "cold_stored"


def test_a_line_that_is_too_long_is_refused_and_the_session_goes_on(daemon: LocalDaemon, enter: Enter) -> None:
    link = enter(daemon.connect())
    ask(link, 1, "initialize", **HELLO)
    link.send(b'{"x":"' + b"a" * greeting.LINE_BYTES + b'"}\n')
    assert json.loads(next(link.lines))["error"]["code"] == -32600
    link.send(b"no json at all\n")
    assert ask(link, 2, "ping")["result"] == {}


def test_the_session_of_a_prompt_ends_with_its_connection(daemon: LocalDaemon) -> None:
    link = daemon.connect()
    ask(link, 1, "initialize", **HELLO)
    call(link, 2, "get_memory_usage")
    with daemon.desk.core() as core:
        wait_until(core.rooms.session_runs)  # it is noted beside the answer
        link.close()
        wait_until(lambda: not core.rooms.session_runs())
    wait_until(lambda: daemon.clients.all() == ())
    assert daemon.clients.idle_s() >= 0


def test_an_end_in_order_names_what_was_read_and_not_answered(daemon: LocalDaemon, enter: Enter) -> None:
    daemon.is_open.clear()
    link = enter(daemon.connect())
    ask(link, 1, "initialize", **HELLO)
    send(link, 2, "tools/call", name="memorycore_get_memory_usage", arguments={})  # waits for the core
    assert daemon.is_called.wait(5)
    daemon.stop()
    link.send(b'{"jsonrpc":"2.0","id":3,"method":"ping"}\n')
    assert [greeting.last_words(line) for line in link.lines] == [[2]]


def wait_until(is_so: Any, *, within_s: float = 5) -> None:
    deadline = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)
