"""``python -m memorycore.server``: the MCP server over stdio, or over HTTP on this machine.

Nothing heavy is imported before the process can be ended politely; the model and numpy only after the first tool list.
"""

import argparse
import logging
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from memorycore import __version__, messages
from memorycore.errors import MemoryCoreError, SettingsError
from memorycore.server.life import leave
from memorycore.server.wire import Wire, claim_wire, is_wired

if TYPE_CHECKING:
    from memorycore.core import MemoryCore

ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
TALKATIVE = ("mcp", "httpx", "httpx2", "httpcore", "asyncio", "uvicorn", "sse_starlette", "starlette")


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until the client, a signal or the end of the parent process says stop. Does not return."""
    parent = os.getppid()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave_on_signal)
    asked = _parser().parse_args(arguments)
    log_to_stderr(asked.log_level)
    try:
        _serve(asked, parent)
    except MemoryCoreError as error:
        sys.stderr.write(messages.error_text(error, messages.language(os.environ)) + "\n")
        leave(error.exit_code)
    leave(0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m memorycore.server", description="The MCP server of MemoryCore.")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--transport", choices=("stdio", "streamable-http"), default="stdio")
    parser.add_argument("--host", help="with streamable-http; only this machine's own addresses")
    parser.add_argument("--port", type=int, help="with streamable-http; 0 takes a free one")
    parser.add_argument("--log-level", choices=LEVELS, default="WARNING", help="what goes to stderr")
    return parser


def _serve(asked: argparse.Namespace, parent: int) -> None:
    if asked.transport == "stdio":
        if is_wired():
            _serve_stdio(claim_wire(), parent)
        return
    from memorycore.server.app import MemoryServer
    from memorycore.server.desk import Desk
    from memorycore.server.http import serve_http
    from memorycore.server.tending import TOOLSETS
    from memorycore.settings import load_settings

    settings = load_settings(os.environ)
    host = asked.host or settings.http_host
    port = settings.http_port if asked.port is None else asked.port
    desk = Desk(_open_core, language=_language())
    serve_http(MemoryServer(desk, TOOLSETS[settings.toolset]), host=host, port=port)


def _serve_stdio(wire: Wire, parent: int) -> None:
    import anyio

    from memorycore.server.desk import Desk
    from memorycore.server.life import serve_until_told
    from memorycore.server.stdio import StdioServer
    from memorycore.server.tending import TOOLSETS

    server = StdioServer(Desk(_open_core, language=_language()), wire, TOOLSETS[_toolset()])
    try:
        anyio.run(serve_until_told, server.run_stdio_async, parent)
    except* (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        logging.getLogger(__name__).info("the client closed its end while an answer was on its way")


def _open_core() -> "MemoryCore":
    """Settings are read when the core is opened, so that a mistake in them is a sentence in the first answer."""
    from memorycore.core import MemoryCore
    from memorycore.settings import load_settings

    return MemoryCore.open(load_settings(os.environ).core_options(), long_lived=True)


def _language() -> messages.Language:
    from memorycore.settings import load_settings

    try:
        return load_settings(os.environ).language
    except SettingsError:
        return messages.language(os.environ)


def _toolset() -> str:
    """The tools are listed before the settings are looked at closely; a mistake in them is said by the first answer."""
    from memorycore.settings import load_settings

    try:
        return load_settings(os.environ).toolset
    except SettingsError:
        return "core"


class _WithoutValues(logging.Formatter):
    """Tracebacks without the error's own text, which may hold what somebody wanted to remember."""

    def formatException(self, ei: ExceptionInfo) -> str:  # noqa: N802 - the name is logging's
        kind, _, frames = ei
        return "".join(traceback.format_tb(frames)) + (kind.__name__ if kind else "")


def _leave_on_signal(_number: int, _frame: FrameType | None) -> None:
    leave(0)


def log_to_stderr(level: str) -> None:
    pipe = logging.StreamHandler(sys.stderr)
    pipe.setFormatter(_WithoutValues("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[pipe], force=True)
    for name in TALKATIVE:  # at debug level these print whole messages
        logging.getLogger(name).setLevel(logging.WARNING)


if __name__ == "__main__":
    main()
