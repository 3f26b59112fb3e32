"""MCP over stdin and stdout. stdout carries protocol and nothing else; whatever is printed goes to stderr."""

from collections.abc import AsyncIterable, Sequence
from typing import Protocol

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from memorycore.server.app import MemoryServer
from memorycore.server.desk import Desk
from memorycore.server.life import END_WITHIN_S, end_hard_in, leave
from memorycore.server.tools import TOOLS, ToolSpec
from memorycore.server.wire import Wire

LAST_ANSWERS_S = 0.6

Incoming = SessionMessage | Exception


class Lines(Protocol):
    """Where answers go."""

    async def send(self, item: SessionMessage, /) -> None: ...
    async def aclose(self) -> None: ...


class StdioServer(MemoryServer):
    """The server for one client at the other end of two pipes, which ``claim_wire`` has taken."""

    def __init__(self, desk: Desk, wire: Wire, tools: Sequence[ToolSpec] = TOOLS) -> None:
        super().__init__(desk, tools)
        self._wire = wire

    async def run_stdio_async(self) -> None:
        """Serve until stdin ends, then let the answers to what came before it out.

        The SDK cancels what is under way as soon as it sees the end of input. It sees it here only when the last
        answer is out, or after a moment: so lines that are piped in at once are answered, and a client that has gone
        is not waited for. Cancelled from outside (a signal, the parent gone), the core is closed and the process left
        at once: the thread that waits for stdin cannot be woken.
        """
        waiting: set[str] = set()
        to_server, incoming = anyio.create_memory_object_stream[Incoming](0)
        answers, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        server = self._lowlevel_server
        stdin, stdout = (anyio.wrap_file(pipe) for pipe in self._wire)
        async with stdio_server(stdin, stdout) as (lines_in, lines_out), anyio.create_task_group() as tasks:
            tasks.start_soon(_pass_on, lines_in, to_server, waiting)
            tasks.start_soon(_give_back, from_server, lines_out, waiting)
            try:
                await server.run(incoming, answers, server.create_initialization_options())
            except anyio.get_cancelled_exc_class():
                leave(0)
                raise


async def _pass_on(
    lines: AsyncIterable[Incoming], to_server: MemoryObjectSendStream[Incoming], waiting: set[str]
) -> None:
    async with to_server:
        async for item in lines:
            if isinstance(item, SessionMessage):
                _note_request(item, waiting)
            await to_server.send(item)
        end_hard_in(END_WITHIN_S)
        with anyio.move_on_after(LAST_ANSWERS_S):
            while waiting:  # noqa: ASYNC110 - at most a moment, once in the life of a process
                await anyio.sleep(0.01)


def _note_request(item: SessionMessage, waiting: set[str]) -> None:
    match item.message:
        case JSONRPCRequest(id=request_id):
            waiting.add(str(request_id))
        case JSONRPCNotification(method="notifications/cancelled", params=params) if params:
            waiting.discard(str(params.get("requestId")))  # gets no answer
        case _:
            pass


async def _give_back(answers: MemoryObjectReceiveStream[SessionMessage], lines: Lines, waiting: set[str]) -> None:
    async for item in answers:
        await lines.send(item)
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            waiting.discard(str(item.message.id))
    await lines.aclose()
