"""MCP over streamable HTTP: on this machine only, or behind tokens and named hosts."""

import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from types import FrameType
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from memorycore.errors import InvalidInput, NotAvailable
from memorycore.server.life import END_WITHIN_S, end_hard_in

PATH = "/mcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Who may come from elsewhere: under which names of this host, and with which bearer tokens."""

    hosts: Sequence[str]
    opens: Callable[[str], bool]


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


def serve_http(server: MCPServer[Any], *, host: str, port: int, guard: Guard | None = None) -> None:
    """Serve until a signal comes; the address stands on stderr.

    A request with a foreign ``Host`` or ``Origin`` is refused (DNS rebinding), an unknown session is answered 404.
    With a ``guard`` every request needs one of its tokens.

    Raises:
        NotAvailable: The host is not this machine's loopback, and nobody guards it.
        InvalidInput: The port is taken.
    """
    if guard is None:
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
    config = uvicorn.Config(
        _app(server, host, guard), log_config=None, access_log=False, timeout_graceful_shutdown=1, lifespan="on"
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _nothing)  # uvicorn sends the signal again when it is done: then it ends quietly
    _Uvicorn(config).run(sockets=[listener])


def _app(server: MCPServer[Any], host: str, guard: Guard | None) -> ASGIApp:
    if guard is None:
        return server.streamable_http_app(streamable_http_path=PATH, host=host)
    names = [name for one in guard.hosts for name in (one, f"{one}:*")]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=names,
        allowed_origins=[f"{scheme}://{name}" for scheme in ("http", "https") for name in names],
    )
    app = server.streamable_http_app(streamable_http_path=PATH, host=host, transport_security=security)
    return _guarded(app, guard)


def _guarded(app: ASGIApp, guard: Guard) -> ASGIApp:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
            if kind.lower() != "bearer" or not guard.opens(token.strip()):
                refused = JSONResponse({"error": "unauthorised"}, 401, headers={"WWW-Authenticate": "Bearer"})
                await refused(scope, receive, send)
                return
        await app(scope, receive, send)

    return answer
