"""The tools for looking after the memory, which ``MEMORYCORE_TOOLSET=full`` adds to the core ones.

A tool of its kind is a function here, arguments in ``asks``, and a line in ``TENDING``.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from memorycore.domain.spans import moment_before
from memorycore.server import asks
from memorycore.server.caller import Caller
from memorycore.server.tools import TOOLS, Answer, ToolSpec

if TYPE_CHECKING:
    from memorycore.core import MemoryCore


def undo(core: "MemoryCore", ask: asks.Undo, caller: Caller) -> Answer:
    since = ask.since.strip()
    now, zone = core.rooms.clock(), core.options.timezone
    return core.undo(
        actor=caller.actor,
        event=None if ask.event == asks.NO_EVENT else ask.event,
        last=ask.last,
        since=moment_before(since, now, zone=zone) if since else None,
        dry_run=ask.dry_run,
    )


TENDING: tuple[ToolSpec, ...] = (
    ToolSpec(
        name="memorycore_undo",
        description=(
            "Take back a change: one event, the last change, or all that was automatic since a time. No text is lost; "
            "what was edited since is shown and left alone. Numbers of events stand in answers as undo."
        ),
        ask=asks.Undo,
        run=undo,
        destructive=True,
        lists=("events",),
        more="server.more_report",
    ),
)
TOOLSETS: Mapping[str, Sequence[ToolSpec]] = {"core": TOOLS, "full": (*TOOLS, *TENDING)}
