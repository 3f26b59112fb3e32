"""MCP over stdin and stdout. stdout carries protocol and nothing else; whatever is printed goes to stderr."""

from collections.abc import Sequence

import anyio
from mcp.server.stdio import stdio_server

from memorycore.server.app import MemoryServer
from memorycore.server.desk import Desk
from memorycore.server.exchange import LAST_ANSWERS_S, exchange
from memorycore.server.life import END_WITHIN_S, end_hard_in, leave
from memorycore.server.tools import TOOLS, ToolSpec
from memorycore.server.wire import Wire


class _End:
    def begin(self) -> float:
        """The process ends with its one client."""
        end_hard_in(END_WITHIN_S)
        return LAST_ANSWERS_S

    async def farewell(self, unanswered: Sequence[object]) -> None:
        """A client that has closed its end asks for no more."""


class StdioServer(MemoryServer):
    """The server for one client at the other end of two pipes, which ``claim_pipes`` has taken."""

    def __init__(self, desk: Desk, wire: Wire, tools: Sequence[ToolSpec] = TOOLS) -> None:
        super().__init__(desk, tools)
        self._wire = wire

    async def run_stdio_async(self) -> None:
        """Serve until stdin ends.

        Cancelled from outside (a signal, the parent gone), the core is closed and the process left at once: the thread
        that waits for stdin cannot be woken.
        """
        stdin, stdout = (anyio.wrap_file(pipe) for pipe in self._wire)
        async with stdio_server(stdin, stdout) as (lines_in, lines_out):
            try:
                await exchange(self, lines_in, lines_out, _End())
            except anyio.get_cancelled_exc_class():
                leave(0)
                raise
