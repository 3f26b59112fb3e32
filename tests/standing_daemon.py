"""What stands where a daemon should answer: one that never does, and one that takes its time."""

import json
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


def _announce(data_dir: Path, hot_dir: Path, port: int) -> None:
    data_dir.mkdir(parents=True, exist_ok=True)
    file = data_dir / "daemon.json"
    here = {"url": f"http://127.0.0.1:{port}", "token": "t", "hot_dir": str(hot_dir), "pid": 1, "started": "now"}
    file.write_text(json.dumps(here), encoding="utf-8")
    file.chmod(0o600)


@contextmanager
def deaf(data_dir: Path, hot_dir: Path) -> Generator[None]:
    """It accepts every connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        _announce(data_dir, hot_dir, listener.getsockname()[1])
        try:
            yield
        finally:
            (data_dir / "daemon.json").unlink()


@contextmanager
def dripping(data_dir: Path, hot_dir: Path) -> Generator[None]:
    """It answers every connection letter by letter, without end."""
    over = threading.Event()

    def drip(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while not over.wait(0.02):
                connection.sendall(b"x-more: y\r\n")

    def accept() -> None:
        with suppress(OSError):
            while not over.is_set():
                threading.Thread(target=drip, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        _announce(data_dir, hot_dir, listener.getsockname()[1])
        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield
        finally:
            over.set()
            (data_dir / "daemon.json").unlink()
            socket.create_connection(listener.getsockname()).close()
            thread.join()


@dataclass
class Slow:
    """``calls``: route and arguments, as they came. Nothing is answered before ``may_answer``."""

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    is_asked: threading.Event = field(default_factory=threading.Event)
    may_answer: threading.Event = field(default_factory=threading.Event)


@contextmanager
def slow(data_dir: Path, hot_dir: Path) -> Generator[Slow]:
    seen = Slow()

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.calls.append((self.path.removeprefix("/v1/"), body))
            seen.is_asked.set()
            seen.may_answer.wait(60)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the name is the base class's
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        _announce(data_dir, hot_dir, server.server_address[1])
        try:
            yield seen
        finally:
            seen.may_answer.set()
            (data_dir / "daemon.json").unlink()
            server.shutdown()
            thread.join()
