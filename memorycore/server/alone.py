"""A server that opens the memory itself: for one client on two pipes, or over HTTP on this machine."""

import logging
import os
from typing import TYPE_CHECKING

from memorycore import messages
from memorycore.errors import SettingsError
from memorycore.server.wire import Wire

if TYPE_CHECKING:
    from memorycore.core import MemoryCore


def serve_stdio(wire: Wire, parent: int, session: str) -> None:
    """Serve the client at the other end of ``wire`` until it closes its end.

    ``session`` is the word for this client, which it may have had at another server.
    """
    import anyio

    from memorycore.server import spare_time
    from memorycore.server.desk import Desk
    from memorycore.server.life import serve_until_told
    from memorycore.server.stdio import StdioServer
    from memorycore.server.tending import TOOLSETS

    desk = Desk(_open_core, language=_language(), session=session)
    spare_time.begin(desk)
    server = StdioServer(desk, wire, TOOLSETS[_toolset()])
    try:
        anyio.run(serve_until_told, server.run_stdio_async, parent)
    except* (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        logging.getLogger(__name__).info("the client closed its end while an answer was on its way")


def serve_http(host: str | None, port: int | None) -> None:
    """Serve over HTTP until a signal comes; what is None stands in the settings."""
    from memorycore.server import http, spare_time
    from memorycore.server.app import MemoryServer
    from memorycore.server.desk import Desk
    from memorycore.server.tending import TOOLSETS
    from memorycore.settings import load_settings

    settings = load_settings(os.environ)
    desk = Desk(_open_core, language=_language())
    spare_time.begin(desk)
    http.serve_http(
        MemoryServer(desk, TOOLSETS[settings.toolset]),
        host=host or settings.http_host,
        port=settings.http_port if port is None else port,
    )


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
