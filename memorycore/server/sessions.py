"""The local connections of a daemon: each is one MCP session, line by line as on stdio, at the one desk.

On the loopback, and opened only to who shows the token of the endpoint file. A client that is slow, stuck or gone
keeps nobody waiting but itself.
"""

import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc
from anyio.streams.stapled import MultiListener
from mcp.shared.message import SessionMessage

from memorycore import metrics
from memorycore.endpoint import Endpoint
from memorycore.messages import language_of
from memorycore.relay import greeting
from memorycore.server.app import MemoryServer
from memorycore.server.clients import Client, Clients
from memorycore.server.desk import Desk, Place, Seat
from memorycore.server.exchange import Incoming, exchange, line_of, message_of
from memorycore.server.gate import Gate
from memorycore.server.room import most_connections
from memorycore.server.tending import TOOLSETS
from memorycore.server.tools import ToolSpec

_log = logging.getLogger(__name__)

Listener = MultiListener[anyio.abc.SocketStream]
HOST = "127.0.0.1"
ACCEPT_PAUSE_S = 0.1
CLOSING_ANSWERS_S = 0.3
GONE_ANSWERS_S = 1.2  # a relay ends after somewhat more
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Hall:
    """Where clients are let in: the desk they sit down at, what they must agree with, and the list of who is here.

    ``gate``: whose call is worked on next, of all clients of the process. ``closing``: nothing more is read, so that
    what comes too late is for the next daemon; ``empty``: everybody has had what could still be answered.
    ``doors``: every connection, also of who has not shown the token yet.
    """

    desk: Desk
    endpoint: Endpoint
    clients: Clients
    gate: Gate | None = None
    closing: anyio.Event = field(default_factory=anyio.Event)
    inside: set[object] = field(default_factory=set[object])
    doors: set[object] = field(default_factory=set[object])


async def bind(*, port: int = 0) -> Listener:
    """A listening socket on the loopback; ``port`` 0 takes a free one, which ``port_of`` tells."""
    return await anyio.create_tcp_listener(local_host=HOST, local_port=port)


def port_of(listener: Listener) -> int:
    return listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 - of anyio, not of Django


async def listen(listener: Listener, hall: Hall) -> None:
    """Serve every client that comes in, until cancelled. Who comes when there is no room finds the door closed."""

    async def serve(stream: anyio.abc.SocketStream) -> None:
        try:
            async with stream:
                await _welcome(stream, hall)
        except* (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            _log.info("a client closed its end while an answer was on its way")
        except* Exception as faults:  # noqa: BLE001 - the boundary of a connection: a fault ends it, and no other one
            _log.error("a connection broke: %s", ", ".join(type(fault).__name__ for fault in faults.exceptions))
        finally:
            hall.doors.discard(stream)

    async with listener, anyio.create_task_group() as tasks:
        for one in listener.listeners:
            assert isinstance(one, anyio.abc.SocketListener)  # noqa: S101 - `bind` makes no others
            tasks.start_soon(_let_in, one, hall, tasks, serve)


async def _let_in(
    listener: anyio.abc.SocketListener,
    hall: Hall,
    tasks: anyio.abc.TaskGroup,
    serve: Callable[[anyio.abc.SocketStream], Coroutine[Any, Any, None]],
) -> None:
    while True:
        try:
            stream = await listener.accept()
        except OSError as error:  # no file is left to open, or the client was gone before it was let in
            _log.debug("a client could not be let in: %s", error.strerror)
            await anyio.sleep(ACCEPT_PAUSE_S)
            continue
        if len(hall.doors) >= most_connections():
            await stream.aclose()
            continue
        hall.doors.add(stream)
        tasks.start_soon(serve, stream)


async def close(hall: Hall, *, within_s: float) -> None:
    """Let nobody in and nothing more, and wait until what was read is answered, at most so long."""
    hall.closing.set()
    with anyio.move_on_after(within_s):
        while hall.inside:  # noqa: ASYNC110 - once in the life of a process
            await anyio.sleep(0.01)


async def serve_connection(place: Place, stream: anyio.abc.ByteStream, tools: Sequence[ToolSpec]) -> None:
    """One MCP session of newline JSON over ``stream``, until the client closes its end."""
    await _serve(place, _Lines(stream), tools)


async def _welcome(stream: anyio.abc.SocketStream, hall: Hall) -> None:
    lines = _Lines(stream)
    said: Mapping[str, Any] = {}
    with anyio.move_on_after(greeting.WITHIN_S):
        said = greeting.read(await lines.first())
    code = _why_not(said, hall.endpoint)
    if code:
        _log.info("a client was turned away: %s", code)
        metrics.add("memorycore_requests_refused_total", reason="relay")
        await stream.send(greeting.refusal(code))
        return
    if hall.closing.is_set():
        return
    await stream.send(greeting.welcome(hall.endpoint.token, said["nonce"]))
    toolset = str(said.get("toolset"))
    language = language_of(str(said.get("language"))) or hall.desk.language
    seat = Seat(hall.desk, language=language, session=str(said.get("session") or "")[:64])
    hall.inside.add(seat)
    try:
        with hall.clients.here(Client(way="relay", language=language, toolset=toolset)):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_stop_when, hall.closing, lines)
                await _serve(seat, lines, TOOLSETS.get(toolset, TOOLSETS["core"]), hall.gate)
                tasks.cancel_scope.cancel()
    finally:
        hall.inside.discard(seat)


async def _stop_when(closing: anyio.Event, lines: "_Lines") -> None:
    await closing.wait()
    lines.stop()


def _why_not(said: Mapping[str, Any], endpoint: Endpoint) -> str:
    """Why a client is turned away, a code; who does not show the token learns nothing else."""
    if not greeting.is_shown(said, endpoint.token, said.get("nonce"), "client"):
        return greeting.UNKNOWN
    if said.get("memorycore") != greeting.PROTOCOL:
        return "other_version"
    return greeting.difference(said, endpoint)


async def _serve(place: Place, lines: "_Lines", tools: Sequence[ToolSpec], gate: Gate | None = None) -> None:
    server = MemoryServer(place, tools, gate=gate)
    await exchange(server, lines.messages(), lines, lines)


class _Lines:
    """A stream of bytes as lines, and back. A line that is too long is skipped whole and refused."""

    def __init__(self, stream: anyio.abc.ByteStream) -> None:
        self._stream = stream
        self._rest = bytearray()
        self._sending = anyio.Lock()
        self._receiving = anyio.CancelScope()
        self._stopped = False

    def stop(self) -> None:
        """Read nothing more. The other end is told which of its requests were read and have no answer."""
        self._stopped = True
        self._receiving.cancel()

    async def first(self) -> bytes:
        """The greeting, or as much of it as came."""
        while b"\n" not in self._rest and len(self._rest) <= greeting.MOST_BYTES:
            if not await self._more():
                break
        line, _, self._rest = self._rest.partition(b"\n")
        return bytes(line)

    async def messages(self) -> AsyncGenerator[Incoming]:
        start, skipping = 0, False
        while True:
            while (end := self._rest.find(b"\n", start)) >= 0:
                line = bytes(self._rest[:end])
                del self._rest[: end + 1]
                start = 0
                if not skipping and len(line) > greeting.LINE_BYTES:
                    await self._write(TOO_LONG)
                elif not skipping and line.strip():
                    yield message_of(line.decode("utf-8", "replace"))
                skipping = False
            start = len(self._rest)
            if start > greeting.LINE_BYTES:
                self._rest.clear()
                if not skipping:
                    await self._write(TOO_LONG)
                start, skipping = 0, True
            if not await self._more():
                return

    async def send(self, item: SessionMessage) -> None:
        await self._write(line_of(item))

    async def aclose(self) -> None:
        """No more answers. The connection itself is closed by who opened it."""

    def begin(self) -> float:
        """Nothing more is read. A relay whose client has gone waits a moment, a daemon that is to end a shorter one."""
        return CLOSING_ANSWERS_S if self._stopped else GONE_ANSWERS_S

    async def farewell(self, unanswered: Sequence[object]) -> None:
        """Say what was read and has no answer, unless the client itself has ended it."""
        if self._stopped:
            await self._write(greeting.farewell(unanswered))

    async def _write(self, line: bytes) -> None:
        async with self._sending:
            await self._stream.send(line)

    async def _more(self) -> bool:
        with anyio.CancelScope() as self._receiving:
            if self._stopped:
                return False
            try:
                self._rest += await self._stream.receive(_CHUNK)
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return False
            return True
        return False


TOO_LONG = (
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the message is longer than %d bytes"}}\n'
    % greeting.LINE_BYTES
)
