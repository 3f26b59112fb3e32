"""A foreign cold store as a process of its own, of one of two kinds, as good or as bad as a test wants it.

``literal`` keeps the documented contract and nothing more: objects as structured content, errors by ``isError``.
``predecessor`` is like the service that the predecessor spoke to: texts of Python literals, ``status: ok`` and
``dense_score``, 500 characters of each text, errors as ``status: error``, a session that must be known, ``list_all``,
and events that begin with a notification.

``POST /control`` with a JSON object changes ``Mood``; ``GET /records`` answers what is stored and how often was asked.
"""

import json
import re
import sys
import threading
import time
import uuid
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

SHOWN = 500
WORD = re.compile(r"\w+")


@dataclass
class Mood:
    """``loses``: of how many calls in turn one is done and not answered. ``says``: instead of every tool's answer."""

    slow_s: float = 0.0
    status: int = 200
    loses: int = 0
    says: str = ""
    refuses: bool = False
    key: str = ""


class Store:
    def __init__(self) -> None:
        self.records: dict[str, str] = {}
        self.calls = 0
        self.lock = threading.Lock()

    def ranked(self, query: str, top_k: int) -> list[tuple[str, str, float]]:
        asked = set(WORD.findall(query.lower()))
        scored = [
            (key, text, len(asked & set(WORD.findall(text.lower()))) / (len(asked) or 1))
            for key, text in self.records.items()
        ]
        return sorted((one for one in scored if one[2] > 0), key=lambda one: -one[2])[:top_k]


def literal(store: Store, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The five, by the letter."""
    if name == "remember":
        key = uuid.uuid4().hex
        store.records[key] = given["content"]
        answer: dict[str, Any] = {"status": "stored", "memory_id": key}
    elif name == "recall":
        found = store.ranked(given["query"], given.get("top_k", 5))
        answer = {"results": [{"id": key, "content": text, "score": score} for key, text, score in found]}
    elif name == "stats":
        answer = {"total": len(store.records), "embeddings": 0}
    elif given["memory_id"] not in store.records:
        return {"isError": True, "content": [{"type": "text", "text": "Memory not found"}]}
    elif name == "update":
        store.records[given["memory_id"]] = given["content"]
        answer = {"status": "updated"}
    else:
        del store.records[given["memory_id"]]
        answer = {"status": "forgotten"}
    return {"content": [], "structuredContent": answer}


def predecessor(store: Store, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """As the predecessor's service answers."""
    answer: object
    if name == "remember":
        key = uuid.uuid4().hex[:16]
        store.records[key] = given["content"]
        answer = {"status": "stored", "memory_id": key}
    elif name == "recall":
        found = store.ranked(given["query"], given.get("top_k", 5))
        results = [
            {"id": key, "content": text[:SHOWN], "dense_score": score, "fts_score": None} for key, text, score in found
        ]
        answer = {"status": "ok", "results": results}
    elif name == "list_all":
        start = given.get("offset", 0)
        rows = list(store.records.items())[start : start + given.get("limit", 500)]
        answer = [{"id": key, "content": text, "importance": 0.5} for key, text in rows]
    elif name == "stats":
        answer = {"total": len(store.records), "embeddings": 0, "mode": "beam"}
    elif given["memory_id"] not in store.records:
        answer = {"status": "error", "detail": "memory not found"}
    elif name == "update":
        store.records[given["memory_id"]] = given["content"]
        answer = {"status": "updated"}
    else:
        del store.records[given["memory_id"]]
        answer = {"status": "deleted"}
    return {"content": [{"type": "text", "text": repr(answer)}]}


KINDS = {"literal": literal, "predecessor": predecessor}
FIVE = {
    "remember": ("content", "importance", "scope"),
    "recall": ("query", "top_k"),
    "update": ("memory_id", "content"),
    "forget": ("memory_id",),
    "stats": (),
}
MORE: dict[str, dict[str, tuple[str, ...]]] = {"literal": {}, "predecessor": {"list_all": ("limit", "offset")}}


class Foreign(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, kind: str, port: int) -> None:
        super().__init__(("127.0.0.1", port), Request)
        self.kind, self.store, self.mood, self.sessions = kind, Store(), Mood(), set[str]()


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def foreign(self) -> Foreign:
        return cast("Foreign", self.server)

    def do_GET(self) -> None:
        self.reply(200, {"records": self.foreign.store.records, "calls": self.foreign.store.calls})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/control":
            for name, value in body.items():
                setattr(self.foreign.mood, name, value)
            if body.get("forget_sessions"):
                self.foreign.sessions.clear()
            self.reply(200, asdict(self.foreign.mood))
            return
        if self.foreign.mood.key and self.headers.get("Authorization") != f"Bearer {self.foreign.mood.key}":
            self.reply(401, {"error": "unauthorised"})
        elif self.foreign.mood.status != 200:
            self.reply(self.foreign.mood.status, {"error": "as asked"})
        else:
            self.speak(body)

    def speak(self, body: dict[str, Any]) -> None:
        method, number = body["method"], body.get("id")
        session = self.headers.get("Mcp-Session-Id", "")
        if method == "initialize":
            session = uuid.uuid4().hex
            self.foreign.sessions.add(session)
            about = {
                "protocolVersion": "2025-03-26",
                "capabilities": {},
                "serverInfo": {"name": self.foreign.kind, "version": "0"},
            }
            self.reply(200, {"jsonrpc": "2.0", "id": number, "result": about}, session)
        elif session not in self.foreign.sessions:
            self.reply(400, {"error": "no such session"})
        elif number is None:
            self.reply(202, None)
        elif method == "tools/list":
            tools: list[dict[str, Any]] = [
                {"name": name, "inputSchema": {"type": "object", "properties": {one: {} for one in names}}}
                for name, names in (FIVE | MORE[self.foreign.kind]).items()
            ]
            self.reply(200, {"jsonrpc": "2.0", "id": number, "result": {"tools": tools}})
        else:
            self.call(number, body["params"])

    def call(self, number: int, params: dict[str, Any]) -> None:
        store, mood, kind = self.foreign.store, self.foreign.mood, self.foreign.kind
        with store.lock:
            store.calls += 1
            lost = mood.loses and store.calls % mood.loses == 0
            said = self.refusal() if mood.refuses else KINDS[kind](store, params["name"], params["arguments"])
        time.sleep(mood.slow_s)
        if lost:
            self.close_connection = True
            self.connection.close()
            return
        if mood.says:
            said = {"content": [{"type": "text", "text": mood.says}]}
        self.reply(200, {"jsonrpc": "2.0", "id": number, "result": said}, events=kind == "predecessor")

    def refusal(self) -> dict[str, Any]:
        if self.foreign.kind == "literal":
            return {"isError": True, "content": [{"type": "text", "text": "quota"}]}
        return {"content": [{"type": "text", "text": "{'error': 'quota'}"}]}

    def reply(self, status: int, said: object, session: str = "", *, events: bool = False) -> None:
        content = b"" if said is None else json.dumps(said).encode()
        if events:
            note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}).encode()
            content = b"event: message\ndata: " + note + b"\n\nevent: message\ndata: " + content + b"\n\n"
        try:
            self.send_response(status)
            self.send_header("Content-Type", "text/event-stream" if events else "application/json")
            self.send_header("Content-Length", str(len(content)))
            if session:
                self.send_header("Mcp-Session-Id", session)
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            self.close_connection = True  # the client did not wait

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name is the base class's
        pass


if __name__ == "__main__":
    server = Foreign(sys.argv[1], int(sys.argv[2]))
    sys.stderr.write(f"{server.kind}: http://127.0.0.1:{server.server_port}/mcp\n")
    sys.stderr.flush()
    server.serve_forever()
