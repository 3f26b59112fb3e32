"""The real server as a child process, and the official client on its two pipes.

The SDK would start the child itself, but hides its process; the demo wants to kill it.
"""

import json
import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process
from mcp import Client, MCPError
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp.types import Implementation, TextContent, jsonrpc_message_adapter

from memorycore import __version__
from memorycore.options import Language

OURS = ("MEMORYCORE_", "MNEMOSYNE_", "MEMORY_DIR", "HERMES_HOME", "ACTIVITY_LOG_ENABLED")
END_WITHIN_S = 4.0
ANSWER_WITHIN_S = 30.0


class ServerGoneError(Exception):
    """The server ended or gave no answer; the text is what it wrote to stderr."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The object that a tool answered, and the round trip in milliseconds, client and pipe included."""

    said: dict[str, Any]
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running server with a client connected. ``ready_s``: from the start of the process to the list of tools."""

    client: Client
    process: Process
    ready_s: float

    async def call(self, tool: str, **arguments: Any) -> Answer:
        """Call one tool, named without ``memorycore_``.

        Raises:
            ServerGoneError: The connection ended, or the answer is none of ours.
        """
        started_at = time.perf_counter()
        try:
            result = await self.client.call_tool(f"memorycore_{tool}", arguments)
        except MCPError as error:
            raise ServerGoneError(str(error)) from error
        ms = (time.perf_counter() - started_at) * 1_000
        block = result.content[0] if result.content else None
        if result.is_error or not isinstance(block, TextContent):
            raise ServerGoneError(block.text if isinstance(block, TextContent) else tool)
        return Answer(said=json.loads(block.text), ms=ms)


@asynccontextmanager
async def running_server(folder: Path, language: Language, **settings: str) -> AsyncGenerator[Server]:
    """Start ``python -m memorycore.server`` on this folder and connect to it; it is gone afterwards, whatever happens.

    ``settings`` by the names of their environment variables.

    Raises:
        ServerGoneError: It does not come up.
    """
    started_at = time.perf_counter()
    log = folder / "server.log"
    with log.open("ab") as errors:
        process = await anyio.open_process(
            # -P: what lies in the current folder is not taken for an installed package.
            [sys.executable, "-P", "-m", "memorycore.server"],
            env=_environment(folder, language) | settings,
            stderr=errors,
            start_new_session=True,  # Ctrl-C is for the demo, which then ends the server
        )
    try:
        client = Client(
            _pipes(process),
            client_info=Implementation(name="demo", version=__version__),
            read_timeout_seconds=ANSWER_WITHIN_S,
        )
        try:
            async with client:
                await client.list_tools()
                yield Server(client=client, process=process, ready_s=time.perf_counter() - started_at)
        except MCPError as error:
            raise ServerGoneError(log.read_text(encoding="utf-8", errors="replace") or str(error)) from error
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)


def _environment(folder: Path, language: Language) -> dict[str, str]:
    """Everything under the folder; whatever the user has set for a memory of their own stays out."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    config = folder / "config.toml"
    config.touch()
    return own | {
        "MEMORY_DIR": str(folder / "memories"),
        "MEMORYCORE_DATA_DIR": str(folder / "data"),
        "MEMORYCORE_CONFIG": str(config),
        "MEMORYCORE_LANG": language,
        "MEMORYCORE_TOOLSET": "full",
    }


@asynccontextmanager
async def _both_ways(process: Process) -> AsyncGenerator[Any]:
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise ServerGoneError("no pipes")
    arrived, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)

    async def listen() -> None:
        rest = b""
        with suppress(anyio.BrokenResourceError):  # the session is closing and hears no more
            async with arrived:
                async for chunk in stdout:
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        await arrived.send(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))

    async def speak() -> None:
        # A server that is gone cannot be told anything; the end of its output tells the session.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with to_send:
                async for item in to_send:
                    line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await stdin.send(line.encode() + b"\n")

    async with received, outgoing, anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        tasks.start_soon(speak)
        try:
            yield received, outgoing
        finally:
            tasks.cancel_scope.cancel()


def _pipes(process: Process) -> Transport:
    return _both_ways(process)


async def _end(process: Process) -> None:
    """Close the server's input, which ends it; kill it if that takes too long."""
    if process.stdin is not None:
        with suppress(OSError):  # it was gone already
            await process.stdin.aclose()
    with anyio.move_on_after(END_WITHIN_S) as patience:
        await process.wait()
    if patience.cancelled_caught:
        process.kill()
        await process.wait()
    await process.aclose()
