"""The tools for looking after the memory, which ``MEMORYCORE_TOOLSET=full`` adds to the core ones.

A tool of its kind is a function here, arguments in ``asks``, and a line in ``TENDING``.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from memorycore import messages
from memorycore.domain.spans import moment_before
from memorycore.errors import InvalidInput
from memorycore.server import asks
from memorycore.server.caller import Caller
from memorycore.server.tools import TOOLS, Answer, ToolSpec

if TYPE_CHECKING:
    from memorycore.answers import ReviewItem
    from memorycore.core import MemoryCore
    from memorycore.core.review import Choice


def undo(core: "MemoryCore", ask: asks.Undo, caller: Caller) -> Answer:
    since = ask.since.strip()
    now, zone = core.rooms.clock(), core.options.timezone
    return core.undo(
        actor=caller.actor,
        event=None if ask.event == asks.NO_EVENT else ask.event,
        last=ask.last,
        run=ask.run.strip(),
        since=moment_before(since, now, zone=zone) if since else None,
        dry_run=ask.dry_run,
    )


def review(core: "MemoryCore", ask: asks.Review, caller: Caller) -> Answer:
    """List what waits, or carry out what the user decided. A text in quarantine is not shown: it speaks to assistants.

    Taking one as the user's own words is left to the command line.
    """
    if not (ask.keep or ask.accept):
        answer = core.review()
        wanted = ask.number.strip().lower()
        items = [_unread(item, core) for item in answer["items"] if wanted in {"", item["number"]}]
        if wanted and not items:
            raise InvalidInput(field="number", why="nothing_waits", value=ask.number)
        return {**answer, "items": items}
    if ask.keep and ask.accept:
        raise InvalidInput(field="keep, accept", why="one_way")
    if not ask.number.strip():
        raise InvalidInput(field="number", why="needs_a_number")
    choice = cast("Choice", ask.keep or {"yes": "accept", "no": "reject"}[ask.accept])
    decided = core.decide(ask.number, choice, actor=caller.actor, dry_run=ask.dry_run)
    hidden = {"after"} if decided["status"] in {"accepted", "rejected"} else set[str]()
    return {name: value for name, value in decided.items() if name not in hidden}


def _unread(item: "ReviewItem", core: "MemoryCore") -> Mapping[str, object]:
    if item["kind"] != "quarantined":
        return dict(item)
    withheld = messages.text("server.withheld", core.options.language, number=item["number"])
    return {**item, "new": {**item["new"], "content": "", "withheld": withheld}}


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
    ToolSpec(
        name="memorycore_review",
        description=(
            "What waits for the user to decide: contradictions, changes to protected memories, texts in quarantine. "
            "Show the texts, ask, and pass on what the user decided; it can be undone."
        ),
        ask=asks.Review,
        run=review,
        destructive=True,
        lists=("items",),
        more="server.more_report",
    ),
)
TOOLSETS: Mapping[str, Sequence[ToolSpec]] = {"core": TOOLS, "full": (*TOOLS, *TENDING)}
