"""The application of the HTTP service: the door, then the routes."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from memorycore.web.api import Api
from memorycore.web.guard import Door
from memorycore.web.mount import CONTRACT_PATH, PATH, Mount, contract_server, memory_server
from memorycore.web.state import State

CLOSE_GRACE_S = 0.5


def build(state: State) -> Starlette:
    """The application over ``state``. Its lifespan ends MCP sessions and the desks of other namespaces."""
    api = Api(state)
    mcp = Mount(state, PATH, memory_server)
    contract = Mount(state, CONTRACT_PATH, contract_server, refuse=api.refuse)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        try:
            async with mcp.running(), contract.running():
                yield
        finally:
            state.gate.close()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(partial(state.desks.close, grace_s=CLOSE_GRACE_S))

    door: Any = Door
    return Starlette(
        routes=[*api.routes(), Route(PATH, mcp), Route(CONTRACT_PATH, contract)],
        middleware=[Middleware(door, token=state.token, tokens=state.tokens, names=state.names, refuse=api.refuse)],
        exception_handlers={404: api.stray, 405: api.wrong_way},
        lifespan=lifespan,
    )
