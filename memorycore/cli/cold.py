"""``memorycore cold-serve``: the cold tier of one namespace, for other programs and machines."""

import os
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from memorycore.cli.shell import Shell
from memorycore.cli.write import option

if TYPE_CHECKING:
    from memorycore.cold.contract import FullColdStore
    from memorycore.core import MemoryCore
    from memorycore.server.desk import Desk
    from memorycore.server.http import Guard
    from memorycore.settings import Settings

CLOSE_GRACE_S = 0.8


def cold_serve(
    *,
    transport: Annotated[str | None, option("--transport", "streamable-http|stdio")] = None,
    host: Annotated[str | None, option("--host", "ADDRESS")] = None,
    port: Annotated[int | None, option("--port", "PORT")] = None,
    log_level: Annotated[str, option("--log-level", "LEVEL")] = "WARNING",
) -> None:
    from memorycore.cold.service import service
    from memorycore.errors import InvalidInput, NotAvailable
    from memorycore.server.desk import Desk
    from memorycore.server.http import serve_http
    from memorycore.server.log import log_to_stderr

    if transport not in {None, "stdio", "streamable-http"}:
        raise InvalidInput(field="--transport", why="not_one_of", allowed="streamable-http, stdio", value=transport)
    parent, shell = os.getppid(), Shell()
    settings = shell.settings
    if settings.cold_backend != "local":
        raise NotAvailable(what="memorycore cold-serve", why="remote_behind", instead="MEMORYCORE_COLD_BACKEND=local")
    log_to_stderr(log_level.upper())
    desk = Desk(_opening(settings), language=shell.language)
    server = service(_lending(desk), language=shell.language, lifespan=_lifespan(desk))
    if transport == "stdio":
        _serve_stdio(server, parent)
        return
    address = host or "127.0.0.1"
    chosen = settings.cold_serve_port if port is None else port
    serve_http(server, host=address, port=chosen, guard=_guard(settings, address))


def _opening(settings: "Settings") -> "Callable[[], MemoryCore]":
    from memorycore.core import MemoryCore

    return lambda: MemoryCore.open(settings.core_options(), long_lived=True)


def _lending(desk: "Desk") -> "Callable[[], Any]":
    @contextmanager
    def opened() -> "Generator[FullColdStore]":
        with desk.core() as core:
            yield core.cold

    return opened


def _lifespan(desk: "Desk") -> Any:
    @asynccontextmanager
    async def lifespan(_: object) -> AsyncGenerator[None]:
        import anyio
        import anyio.to_thread

        desk.warm()
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(lambda: desk.close(grace_s=CLOSE_GRACE_S))

    return lifespan


def _guard(settings: "Settings", host: str) -> "Guard | None":
    """Nobody who is not on this machine comes in without a token of this namespace.

    Raises:
        NotAvailable: No names of this host are allowed, or nobody has a token.
    """
    from memorycore.errors import NotAvailable
    from memorycore.server.http import Guard
    from memorycore.web.binding import LOOPBACK_NAMES, allowed_hosts, is_loopback
    from memorycore.web.tokens import TokenFile

    if is_loopback(host):
        return None
    tokens, hosts = TokenFile(settings.data_dir), allowed_hosts(settings)
    if not hosts:
        raise NotAvailable(what=f"--host {host}", why="needs_hosts", instead="--host 127.0.0.1")
    if not any(token.namespace == settings.namespace for token in tokens.all()):
        raise NotAvailable(
            what=f"--host {host}", why="needs_tokens", namespace=settings.namespace, instead="--host 127.0.0.1"
        )

    def opens(given: str) -> bool:
        found = tokens.find(given)
        return found is not None and found.namespace == settings.namespace

    return Guard(hosts=[*hosts, *LOOPBACK_NAMES], opens=opens)


def _serve_stdio(server: Any, parent: int) -> None:
    import anyio

    from memorycore.server.life import leave, serve_until_told

    anyio.run(serve_until_told, server.run_stdio_async, parent)
    leave(0)
