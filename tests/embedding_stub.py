"""A foreign embedding service on the loopback, as good or as bad as a test wants it."""

import json
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memorycore.testing import HashingEmbedder

_MODEL = HashingEmbedder(width=32)


@dataclass
class Answer:
    status: int = 200
    body: object = None
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass
class Stub:
    """``requests`` are the bodies received, ``headers`` those of each request; ``answer`` may be replaced any time."""

    answer: Callable[[dict[str, Any]], Answer]
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    paths: list[str] = field(default_factory=list[str])

    def texts(self) -> list[str]:
        return [text for body in self.requests for text in body["input"]]


def vectors(texts: Sequence[str], width: int = 32) -> list[list[float]]:
    model = _MODEL if width == _MODEL.width else HashingEmbedder(width)
    return model.embed_passages(texts).tolist()


def rows(embeddings: Sequence[object]) -> Answer:
    """An answer in the OpenAI shape."""
    return Answer(body={"data": [{"index": number, "embedding": row} for number, row in enumerate(embeddings)]})


def good(body: dict[str, Any]) -> Answer:
    return rows(vectors(body["input"]))


def refuses_when(wrong: Callable[[str], bool], answer: Answer) -> Callable[[dict[str, Any]], Answer]:
    """Good, but for requests with a text that is wrong."""
    return lambda body: answer if any(map(wrong, body["input"])) else good(body)


@contextmanager
def stub(answer: Callable[[dict[str, Any]], Answer] = good, *, port: int = 0) -> Generator[Stub]:
    """Serve on a port of the loopback until the block ends."""
    served = Stub(answer=answer)

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
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def wait_until(condition: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
