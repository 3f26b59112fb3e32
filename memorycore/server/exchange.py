"""One client's messages on their way to the server and the answers on their way back, whatever carries them."""

import json
from collections.abc import AsyncIterable, Sequence
from typing import Protocol

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)

from memorycore.server.app import MemoryServer

LAST_ANSWERS_S = 0.6
MOST_UNDER_WAY = 64  # more of one client wait outside: so a client that asks and never reads fills no memory

Incoming = SessionMessage | Exception


class Lines(Protocol):
    """Where answers go."""

    async def send(self, item: SessionMessage, /) -> None: ...
    async def aclose(self) -> None: ...


class End(Protocol):
    """What happens when the input of a client has ended."""

    def begin(self) -> float:
        """The input has ended; how many seconds the answers that are owed may take."""
        ...

    async def farewell(self, unanswered: Sequence[RequestId]) -> None:
        """The last answer is out; these requests were read and get none."""
        ...


async def exchange(
    server: MemoryServer,
    lines_in: AsyncIterable[Incoming],
    lines_out: Lines,
    end: End,
) -> None:
    """Serve one client until its messages end, then let the answers to what came before it out.

    The SDK cancels what is under way as soon as it sees the end of input. It sees it here only when the last answer is
    out, or after a moment: so lines that are piped in at once are answered, and a client that has gone is not waited
    for.
    """
    under_way = _UnderWay()
    to_server, incoming = anyio.create_memory_object_stream[Incoming](0)
    answers, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    async with to_server, incoming, answers, from_server, anyio.create_task_group() as tasks:
        tasks.start_soon(_pass_on, lines_in, to_server, under_way, end)
        tasks.start_soon(_give_back, from_server, lines_out, under_way, end)
        await server.run_on(incoming, answers)
        # What is left may wait for a client that reads no more.
        tasks.cancel_scope.deadline = anyio.current_time() + LAST_ANSWERS_S


def message_of(line: bytes | str) -> Incoming:
    """A line as the SDK takes it; what is no message becomes the error that it was, and ends nothing."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


def line_of(item: SessionMessage) -> bytes:
    return item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


class _UnderWay:
    """Requests that have no answer yet. ``over``: none is waited for any longer."""

    def __init__(self) -> None:
        self.over = False
        self._ids: dict[str, RequestId] = {}
        self._fewer = anyio.Event()

    async def note(self, item: SessionMessage) -> None:
        """See what comes in; waits while too much is under way."""
        match item.message:
            case JSONRPCRequest(id=request_id):
                while len(self._ids) >= MOST_UNDER_WAY:
                    await self._fewer.wait()
                self._ids[json.dumps(request_id)] = request_id
            case JSONRPCNotification(method="notifications/cancelled", params=params) if params:
                self._ended(params.get("requestId"))  # gets no answer
            case _:
                pass

    def answered(self, item: SessionMessage) -> None:
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._ended(item.message.id)

    def left(self) -> list[RequestId]:
        return list(self._ids.values())

    async def none_left(self) -> None:
        while self._ids:
            await self._fewer.wait()

    def _ended(self, request_id: object) -> None:
        self._ids.pop(json.dumps(request_id), None)
        self._fewer.set()
        self._fewer = anyio.Event()


async def _pass_on(
    lines: AsyncIterable[Incoming],
    to_server: MemoryObjectSendStream[Incoming],
    under_way: _UnderWay,
    end: End,
) -> None:
    async with to_server:
        async for item in lines:
            if isinstance(item, SessionMessage):
                await under_way.note(item)
            await to_server.send(item)
        with anyio.move_on_after(end.begin()):
            await under_way.none_left()
        under_way.over = True


async def _give_back(
    answers: MemoryObjectReceiveStream[SessionMessage], lines: Lines, under_way: _UnderWay, end: End
) -> None:
    async for item in answers:
        if under_way.over:
            continue  # the SDK refuses what it drops; to a client that has closed its end, or before the farewell
        await lines.send(item)
        under_way.answered(item)
    await end.farewell(under_way.left())
    await lines.aclose()
