"""A foreign chat service on the loopback, as good or as bad as a test wants it."""

import json
import re
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from memorycore.llm.answers import LABELS
from memorycore.options import LlmOptions

Texts = tuple[str, str]


@dataclass
class Answer:
    status: int = 200
    body: object = None
    headers: dict[str, str] = field(default_factory=dict[str, str])


Model = Callable[[dict[str, Any]], Answer]


@dataclass
class Stub:
    """``requests`` are the bodies received, ``headers`` those of each request; ``model`` may be replaced any time."""

    model: Model
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    paths: list[str] = field(default_factory=list[str])

    def options(self, **given: Any) -> LlmOptions:
        return replace(LlmOptions(url=self.url, model="judge-1", timeout_s=5.0), **given)

    def sent(self) -> str:
        return json.dumps(self.requests, ensure_ascii=False)


def says(words: object) -> Answer:
    """An answer in the OpenAI shape."""
    return Answer(body={"choices": [{"index": 0, "message": {"role": "assistant", "content": words}}]})


def label(word: str) -> Answer:
    return says(json.dumps({"relation": word}))


def always(word: str) -> Model:
    return lambda _: label(word)


def texts_of(body: dict[str, Any]) -> Texts:
    """(old, new) of a question, in whatever words it asks."""
    fields = json.loads(body["messages"][-1]["content"].split("\n")[1])
    return cast("Texts", (fields.get("old", fields.get("earlier")), fields.get("new", fields.get("later"))))


def knows(verdicts: dict[Texts, str]) -> Model:
    """An honest model: it looks at the two texts and calls everything else different."""
    return lambda body: label(verdicts.get(texts_of(body), "different"))


def obeys(body: dict[str, Any]) -> Answer:
    """A model that does what a text tells it: the last label named in the texts is its answer."""
    named = re.findall("|".join(LABELS), " ".join(texts_of(body)))
    return label(named[-1] if named else "different")


def in_turn(words: Iterable[str]) -> Model:
    left = iter(words)
    return lambda _: label(next(left))


@contextmanager
def stub(model: Model) -> Generator[Stub]:
    """Serve on a port of the loopback until the block ends."""
    served = Stub(model=model)

    class Request(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.requests.append(body)
            served.headers.append(dict(self.headers))
            served.paths.append(self.path)
            said = served.model(body)
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

    server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
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
