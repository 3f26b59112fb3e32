"""A model on loopback that answers as its script says and keeps what it was asked, in the form of OpenAI."""

import json
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NAME = "fake-model"
REPLY = "That is done."
CONTEXT = 131_072

Call = tuple[str, dict[str, Any]]


@dataclass
class Model:
    """``script``: the tools to call, one after the other, for a message of the user that begins with these words."""

    url: str = ""
    script: dict[str, list[Call]] = field(default_factory=dict[str, list[Call]])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def about(self, words: str) -> list[dict[str, Any]]:
        """The requests whose last message of the user begins with these words."""
        return [body for body in self.requests if _text(_last_of_user(body)).startswith(words)]

    def next(self, body: dict[str, Any]) -> Call | None:
        """The tool to call now; None: it is time to answer."""
        messages, last = body["messages"], _last_of_user(body)
        steps = next((steps for words, steps in self.script.items() if _text(last).startswith(words)), list[Call]())
        done = sum(message["role"] == "tool" for message in messages[messages.index(last) :])
        offered = {tool["function"]["name"] for tool in body.get("tools") or ()}
        return steps[done] if done < len(steps) and steps[done][0] in offered else None


@contextmanager
def fake_model() -> Generator[Model]:
    model = Model()

    class Handler(_Handler):
        asked = model

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        model.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        try:
            yield model
        finally:
            server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    asked: Model

    def do_GET(self) -> None:
        listed = {"id": NAME, "object": "model", "context_length": CONTEXT}
        self._send(200 if self.path.endswith("/models") else 404, {"object": "list", "data": [listed]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/chat/completions"):
            return self._send(404, {})
        self.asked.requests.append(body)
        message, reason = _message(self.asked.next(body), len(body["messages"]))
        if not body.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
            return self._send(200, {"object": "chat.completion", **_frame(), "choices": [choice]})
        return self._stream(
            [
                {"choices": [{"index": 0, "delta": {"role": "assistant", **message}, "finish_reason": None}]},
                {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
                {"choices": []},
            ]
        )

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        self._begin(status, "application/json")
        self.wfile.write(json.dumps(answer).encode())

    def _stream(self, chunks: Iterable[dict[str, Any]]) -> None:
        self._begin(200, "text/event-stream")
        for chunk in chunks:
            line = json.dumps({"object": "chat.completion.chunk", **_frame(), **chunk})
            self.wfile.write(f"data: {line}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def _begin(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the name that it has there
        """Say nothing of it."""


def _frame() -> dict[str, Any]:
    used = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    return {"id": "answer", "created": 0, "model": NAME, "usage": used}


def _message(call: Call | None, number: int) -> tuple[dict[str, Any], str]:
    """``number`` makes the id of the call one of its own: Hermes drops a result whose id it has seen."""
    if call is None:
        return {"content": REPLY}, "stop"
    function = {"name": call[0], "arguments": json.dumps(call[1], ensure_ascii=False)}
    made = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
    return {"content": None, "tool_calls": [made]}, "tool_calls"


def _last_of_user(body: dict[str, Any]) -> dict[str, Any]:
    return [message for message in body["messages"] if message["role"] == "user"][-1]


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())
