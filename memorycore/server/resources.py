"""Three resources: the prompt files as the agent sees them, one memory, the state of everything."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from memorycore import messages
from memorycore.domain.memory import TARGETS
from memorycore.errors import InvalidInput, MemoryCoreError, NotFound
from memorycore.server.desk import Place
from memorycore.server.fit import fit, to_json

if TYPE_CHECKING:
    from memorycore.core import MemoryCore

ITEM_BYTES = 64 * 1024
DELIMITER = "\n§\n"


def add(server: MCPServer[Place], desk: Place) -> None:
    """Register the three with the server."""

    @server.resource(
        "memory://hot/{target}",
        name="hot",
        description="The entries of a prompt file; target is memory (MEMORY.md) or user (USER.md).",
        mime_type="text/plain",
    )
    def hot(target: str) -> str:
        with _core(desk) as core:
            if target not in TARGETS:
                raise InvalidInput(field="target", why="unknown value", value=target, allowed=", ".join(TARGETS))
            audited = core.audit(target)
        return DELIMITER.join(row["text"] for part in audited["targets"] for row in part["rows"])

    @server.resource(
        "memory://item/{id}",
        name="item",
        description="Everything about one memory, by its id.",
        mime_type="application/json",
    )
    def item(id: str) -> str:  # noqa: A002 - the name of the parameter in the address
        with _core(desk) as core:
            story = core.inspect(id)
        return to_json(fit(story, max_bytes=ITEM_BYTES, lists=("events", "revisions")))

    @server.resource(
        "memory://status",
        name="status",
        description="State of both tiers, the model and the store.",
        mime_type="application/json",
    )
    def status() -> str:
        with _core(desk) as core:
            return to_json(core.status())

    del hot, item, status  # registered by the decorator


@contextmanager
def _core(desk: Place) -> Generator["MemoryCore"]:
    try:
        with desk.core() as core:
            yield core
    except (NotFound, InvalidInput) as error:
        raise ResourceNotFoundError(messages.error_text(error, desk.language)) from None
    except MemoryCoreError as error:
        raise ResourceError(messages.error_text(error, desk.language)) from None
