"""MCP over streamable HTTP, on this machine only."""

import signal
import socket
import sys
from ipaddress import ip_address
from types import FrameType

import uvicorn

from memorycore.errors import InvalidInput, NotAvailable
from memorycore.server.app import MemoryServer
from memorycore.server.life import END_WITHIN_S, end_hard_in

PATH = "/mcp"


class _Uvicorn(uvicorn.Server):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        end_hard_in(END_WITHIN_S)  # an open event stream would keep the orderly way waiting
        super().handle_exit(sig, frame)


def _nothing(_number: int, _frame: FrameType | None) -> None:
    pass


def refuse_other_hosts(host: str) -> None:
    """Everybody who reaches the port may read and write the memory, so it stays on the loopback interface.

    Raises:
        NotAvailable: The host is another one.
    """
    try:
        loopback = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise NotAvailable(what=f"--host {host}", why="loopback_only", instead="--host 127.0.0.1")


def serve_http(server: MemoryServer, *, host: str, port: int) -> None:
    """Serve until a signal comes; the address stands on stderr.

    A request with a foreign ``Host`` or ``Origin`` is refused (DNS rebinding), an unknown session is answered 404.

    Raises:
        NotAvailable: The host is not this machine's loopback.
        InvalidInput: The port is taken.
    """
    refuse_other_hosts(host)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise InvalidInput(field="port", why=error.strerror or str(error), value=port) from error
    shown = f"[{host}]" if ":" in host else host
    sys.stderr.write(f"memorycore: http://{shown}:{listener.getsockname()[1]}{PATH}\n")
    sys.stderr.flush()
    app = server.streamable_http_app(streamable_http_path=PATH, host=host)
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1, lifespan="on")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _nothing)  # uvicorn sends the signal again when it is done: then it ends quietly
    _Uvicorn(config).run(sockets=[listener])
