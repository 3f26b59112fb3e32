"""What a relay must know of the messages that it carries: which wait for an answer, and how a session began."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

REQUEST_ERROR = -32_000
INVALID_REQUEST = -32_600
MODERN_KEY = "io.modelcontextprotocol/protocolVersion"  # only requests of the protocol without a handshake carry it
STORES = "memorycore_store_fact"  # the tool that always answers a status
ONLY_ASK = ("memorycore_recall", "memorycore_memory_audit", "memorycore_get_memory_usage", "memorycore_inspect")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request that has no answer yet: its line, as it came, and what an answer needs."""

    line: bytes
    id: object
    method: str
    tool: str = ""
    modern: bool = False

    @property
    def acts(self) -> bool:
        """Whether asking once more could do something twice. Everything but a tool only reads, and so do some tools."""
        return self.method == "tools/call" and self.tool not in ONLY_ASK


@dataclass(slots=True)
class Mail:
    """The state of one session, as its lines show it.

    ``waiting``: what has no answer yet, by id, in the order of asking. ``opening`` and ``opened``: the lines with which
    a client of the protocol with a handshake began; a server that takes over must hear them first.
    """

    waiting: dict[str, Call] = field(default_factory=dict[str, Call])
    opening: Call | None = None
    opened: bytes = b""

    def sent(self, line: bytes) -> None:
        """A line of the client is on its way."""
        message = parsed(line)
        method = message.get("method")
        if method == "notifications/initialized":
            self.opened = line
        elif method == "notifications/cancelled":
            self.waiting.pop(key(_object(message.get("params")).get("requestId")), None)  # gets no answer
        elif isinstance(method, str) and "id" in message:
            call = _call(line, message, method)
            self.waiting[key(call.id)] = call
            if method == "initialize":
                self.opening, self.opened = call, b""

    def answered(self, line: bytes) -> Call | None:
        """The request that a line of the server answers."""
        message = parsed(line)
        if "method" in message or "id" not in message:
            return None
        return self.waiting.pop(key(message["id"]), None)

    def take_running(self, ids: Sequence[object] | None) -> list[Call]:
        """The calls that may have begun and are not asked again by themselves; they wait no longer.

        ``ids``: of which requests that is possible; None: of all.
        """
        among = self.waiting.keys() if ids is None else {key(one) for one in ids}
        running = [call for name, call in self.waiting.items() if call.acts and name in among]
        for call in running:
            del self.waiting[key(call.id)]
        return running

    def answers(self, line: bytes, call: Call) -> bool:
        message = parsed(line)
        return "method" not in message and key(message.get("id")) == key(call.id)


def call_of(line: bytes) -> Call | None:
    """The request in a line; None when it asks for no answer."""
    message = parsed(line)
    method = message.get("method")
    return _call(line, message, method) if isinstance(method, str) and "id" in message else None


def parsed(line: bytes) -> dict[str, Any]:
    """The message in a line; empty when it is none, which whoever serves says better than we could."""
    try:
        message: object = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return _object(message)


def refused(call: Call, problem: Mapping[str, object]) -> bytes:
    """The answer to a request that could not be served: a normal result of a tool, else a protocol error."""
    if call.method != "tools/call":
        error = {"code": REQUEST_ERROR, "message": problem.get("message"), "data": dict(problem)}
        return _line({"jsonrpc": "2.0", "id": call.id, "error": error})
    told = {**problem, "status": "error"} if call.tool == STORES else dict(problem)
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    result: dict[str, object] = {"content": [{"type": "text", "text": text}], "isError": False}
    if call.modern:
        result["resultType"] = "complete"
    return _line({"jsonrpc": "2.0", "id": call.id, "result": result})


def too_long(most: int) -> bytes:
    """The answer to a line that nobody reads to its end."""
    error = {"code": INVALID_REQUEST, "message": f"the message is longer than {most} bytes"}
    return _line({"jsonrpc": "2.0", "id": None, "error": error})


def _call(line: bytes, message: Mapping[str, Any], method: str) -> Call:
    params = _object(message.get("params"))
    return Call(
        line=line,
        id=message["id"],
        method=method,
        tool=str(params.get("name")) if method == "tools/call" else "",
        modern=MODERN_KEY in _object(params.get("_meta")),
    )


def key(request_id: object) -> str:
    return json.dumps(request_id)


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _line(message: Mapping[str, object]) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
