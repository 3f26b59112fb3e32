"""``/mcp`` and ``/contract``: MCP servers, one of each for a namespace, started when the first request for it comes."""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

import anyio
import anyio.abc
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from memorycore.cold.contract import FullColdStore
from memorycore.cold.service import service
from memorycore.errors import NotAvailable, TooManyCalls
from memorycore.server.app import MemoryServer
from memorycore.server.caller import PRINCIPAL, Principal
from memorycore.server.clients import Client
from memorycore.server.desk import Desk, Seat
from memorycore.server.tending import TOOLSETS
from memorycore.web.api import client_of
from memorycore.web.guard import Refuse
from memorycore.web.state import State

PATH, CONTRACT_PATH = "/mcp", "/contract"
OWN = "own"  # the principal of the user's own programs, as sessions are bound to one


class Mount:
    """An ASGI application; usable inside ``running``.

    Where ``refuse`` is given, each message waits for its turn among the calls of all clients, and a client that has too
    many is refused: for servers whose tools do not see to that themselves.
    """

    def __init__(
        self, state: State, path: str, make: Callable[[State, Desk], MCPServer[Any]], *, refuse: Refuse | None = None
    ) -> None:
        self._state = state
        self._path, self._make, self._refuse = path, make, refuse
        self._tasks: anyio.abc.TaskGroup | None = None
        self._starting = anyio.Lock()
        self._managers: dict[str, StreamableHTTPSessionManager] = {}

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as self._tasks:
            try:
                yield
            finally:
                self._tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._refuse is None or scope["method"] != "POST":  # a stream that stays open is no call
            await self._serve(scope, receive, send)
            return
        session = Headers(scope=scope).get("mcp-session-id", OWN)
        try:
            async with self._state.gate.turn(client_of(scope[PRINCIPAL], session)):
                await self._serve(scope, receive, send)
        except TooManyCalls as error:
            await self._refuse(error, None, scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal = cast("Principal", scope[PRINCIPAL])
        manager = await self._manager(principal.namespace)
        # The SDK keeps a session to the credential that opened it.
        name = principal.token or OWN
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[]))
        with self._state.clients.here(Client(way="mcp")):
            await manager.handle_request(scope, receive, send)

    async def _manager(self, namespace: str) -> StreamableHTTPSessionManager:
        async with self._starting:
            if namespace not in self._managers:
                assert self._tasks is not None  # noqa: S101 - requests are served inside running() only
                self._managers[namespace] = await self._tasks.start(self._keep, namespace)
            return self._managers[namespace]

    async def _keep(self, namespace: str, *, task_status: anyio.abc.TaskStatus[StreamableHTTPSessionManager]) -> None:
        server = self._make(self._state, self._state.desks.of(namespace))
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the door has looked
        server.streamable_http_app(streamable_http_path=self._path, transport_security=security)
        manager: Any = server.session_manager
        async with manager.run():
            task_status.started(manager)
            await anyio.sleep_forever()


def memory_server(state: State, desk: Desk) -> MCPServer[Any]:
    """The tools for agents."""
    seat = Seat(desk, language=desk.language)
    return MemoryServer(seat, TOOLSETS[state.settings.toolset], gate=state.gate)


def contract_server(_state: State, desk: Desk) -> MCPServer[Any]:
    """The cold tier, for other machines."""

    @contextmanager
    def opened() -> Generator[FullColdStore]:
        with desk.core() as core:
            if core.options.remote is not None:  # two that keep copies at each other would never come to an end
                raise NotAvailable(what=CONTRACT_PATH, why="remote_behind", instead="MEMORYCORE_COLD_BACKEND=local")
            yield core.cold

    return service(opened, language=desk.language)
