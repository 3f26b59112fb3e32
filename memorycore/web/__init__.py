"""The HTTP service of a daemon: ``/v1/*``, ``/mcp``, ``/healthz``, ``/metrics``, behind tokens and fair to all clients.

``app`` makes it; importing this package imports no web framework.
"""

from typing import TYPE_CHECKING

from memorycore.web.state import State

if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["State", "app"]


def app(state: State) -> "Starlette":
    """The application, to be served on the addresses that ``binding.check`` allows. Its lifespan must be run."""
    from memorycore.web.site import build

    return build(state)
