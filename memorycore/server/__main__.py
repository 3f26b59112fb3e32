"""``python -m memorycore.server``: the MCP server over stdio, or over HTTP on this machine.

Over stdio it is a relay where a daemon with the same memory runs: then nothing but the standard library is imported.
"""

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NamedTuple

from memorycore.errors import MemoryCoreError
from memorycore.relay.ending import leave, leave_without
from memorycore.server.wire import Pipes, claim_pipes, is_wired, wire_of

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


class Asked(NamedTuple):
    """The arguments. ``session``: the word for this client, when it goes on with a server of its own."""

    transport: str = "stdio"
    host: str | None = None
    port: int | None = None
    log_level: str = "WARNING"
    session: str = ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until the client, a signal or the end of the parent process says stop. Does not return."""
    parent = os.getppid()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave_on_signal)
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = _read(given) if given else Asked()
    try:
        if asked.transport == "stdio":
            if is_wired():
                _serve_stdio(claim_pipes(), parent, asked, given)
        else:
            from memorycore.server.alone import serve_http
            from memorycore.server.log import log_to_stderr

            log_to_stderr(asked.log_level)
            serve_http(asked.host, asked.port)
    except MemoryCoreError as error:
        from memorycore import messages

        sys.stderr.write(messages.error_text(error, messages.language(os.environ)) + "\n")
        leave(error.exit_code)
    leave(0)


def _serve_stdio(pipes: Pipes, parent: int, asked: Asked, given: Sequence[str]) -> None:
    from memorycore.server.joining import relay_of

    pipe_in, pipe_out = pipes
    session = asked.session or os.urandom(16).hex()
    relay = relay_of(session, given, pipe_out)
    if relay is not None:
        leave_without(parent)
        relay.run(pipe_in)
    from memorycore.server.alone import serve_stdio
    from memorycore.server.log import log_to_stderr

    log_to_stderr(asked.log_level)
    serve_stdio(wire_of(pipes), parent, session)


def _read(given: Sequence[str]) -> Asked:
    """The arguments as they were given; ends the process for ``--help`` and for a mistake in them."""
    import argparse

    from memorycore import __version__

    parser = argparse.ArgumentParser(prog="python -m memorycore.server", description="The MCP server of MemoryCore.")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--transport", choices=("stdio", "streamable-http"), default="stdio")
    parser.add_argument("--host", help="with streamable-http; only this machine's own addresses")
    parser.add_argument("--port", type=int, help="with streamable-http; 0 takes a free one")
    parser.add_argument("--log-level", choices=LEVELS, default="WARNING", help="what goes to stderr")
    parser.add_argument("--session", default="", help="the word for this client, to go on with a session of it")
    return Asked(**vars(parser.parse_args(given)))


def _leave_on_signal(_number: int, _frame: FrameType | None) -> None:
    leave(0)


if __name__ == "__main__":
    main()
