"""A small HTTP service on the loopback that answers JSON to JSON, for tests of what we ask foreign services."""

import json
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """``body`` is sent as JSON, bytes as they are."""

    status: int = 200
    body: object = None
    headers: dict[str, str] = field(default_factory=dict[str, str])


Answerer = Callable[[dict[str, Any]], Answer]


@dataclass
class Served:
    """``requests`` are the bodies received, ``headers`` those of each request; ``answer`` may be replaced any time."""

    answer: Answerer
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    paths: list[str] = field(default_factory=list[str])


@contextmanager
def serving(served: Served, *, port: int = 0) -> Generator[None]:
    """Serve on a port of the loopback until the block ends."""

    class Request(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.requests.append(body)
            served.headers.append(dict(self.headers))
            served.paths.append(self.path)
            said = served.answer(body)
            content = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode("utf-8")
            try:
                self.send_response(said.status)
                for name, value in {**said.headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)
            except OSError:
                self.close_connection = True  # the client did not wait

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name is the base class's
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Request)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def dripping(begin: bytes, drop: bytes) -> Generator[str]:
    """A service that takes any request, answers ``begin``, and then ``drop`` after ``drop`` without end; its address.

    With ``HEAD_ONLY`` not even the head of its answer comes to its end.
    """
    over = threading.Event()

    def serve(client: socket.socket) -> None:
        with suppress(OSError), client:
            client.recv(65_536)
            client.sendall(begin)
            while not over.wait(0.05):
                client.sendall(drop)

    def listen(at: socket.socket) -> None:
        with suppress(OSError):
            while not over.is_set():
                threading.Thread(target=serve, args=(at.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as at:
        threading.Thread(target=listen, args=(at,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{at.getsockname()[1]}"
        finally:
            over.set()


HEAD_ONLY = (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a")
BODY_TOO = (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n", b" ")
