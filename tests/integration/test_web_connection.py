"""A connection of the HTTP service: whoever begins to ask and stops there is not waited for."""

import socket
import threading
from collections.abc import Generator, Mapping
from contextlib import suppress
from typing import Any, ClassVar

import h11
import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from memorycore.web.connection import Connection

POST = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\n\r\n"


class Hasty(Connection):
    within_s: ClassVar[Mapping[Any, float]] = {h11.IDLE: 0.3, h11.SEND_BODY: 0.3}


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse(await Request(scope, receive).body())(scope, receive, send)


@pytest.fixture
def address() -> Generator[tuple[str, int]]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(echo, http=Hasty, ws="none", lifespan="off", log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield listener.getsockname()
    server.should_exit = True
    thread.join(10)


@pytest.mark.parametrize(
    "begins", [b"", b"POST / HTT", POST, POST + b"abc"], ids=["nothing", "head", "no body", "half a body"]
)
def test_who_stops_in_the_middle_loses_the_connection(address: tuple[str, int], begins: bytes) -> None:
    with socket.create_connection(address, timeout=10) as client:
        client.sendall(begins)
        with suppress(ConnectionResetError):
            assert client.recv(100) == b""


def test_who_sends_slowly_but_in_time_is_answered(address: tuple[str, int]) -> None:
    with socket.create_connection(address, timeout=10) as client:
        for _ in range(2):  # also on a connection that was used before
            client.sendall(POST + b"ab")
            client.sendall(b"cd")
            answer = b""
            while not answer.endswith(b"\r\n\r\nabcd"):
                part = client.recv(1_000)
                assert part
                answer += part
