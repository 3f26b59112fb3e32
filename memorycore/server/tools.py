"""The ten core tools: one function per tool, and the table that names, describes and bounds them.

A function gets the open core, the checked arguments and the caller, and gives back the object that the command of the
same name answers. ``predecessor`` adds the keys that older set-ups read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from memorycore.domain.memory import TARGETS, Draft, Kind, Policy, Scope, Source, Target, parse_time
from memorycore.errors import InvalidInput
from memorycore.server import asks, predecessor
from memorycore.server.caller import Caller

if TYPE_CHECKING:
    from memorycore.core import MemoryCore
    from memorycore.search import Past

Answer = Mapping[str, Any]
STORE_BYTES = 600
PINNED = {"yes": True, "no": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """One tool. ``lists`` may lose items when the answer is too long; ``more`` is the code of the note that says so."""

    name: str
    description: str
    ask: type[asks.Ask]
    run: Callable[["MemoryCore", Any, Caller], Answer]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = True
    lists: tuple[str, ...] = ()
    more: str = ""
    max_bytes: int = asks.DEFAULT_REPORT_BYTES


def store_fact(core: "MemoryCore", ask: asks.StoreFact, caller: Caller) -> Answer:
    draft = Draft(
        content=ask.content,
        importance=_importance(ask.importance),
        scope=cast("Scope", ask.scope),  # here and below: asks has checked the word
        target=cast("Target", ask.target),
        kind=cast("Kind | None", ask.kind or None),
        policy=cast("Policy | None", ask.policy or None),
        tags=tuple(ask.tags),
        valid_from=_time(ask.valid_from, "valid_from", core),
        valid_until=_time(ask.valid_until, "valid_until", core, end_of_day=True),
        occurred_at=_time(ask.occurred_at, "occurred_at", core),
        session_id=ask.session_id or caller.session_id,
        author=caller.name if caller.bound else ask.author or caller.name,
        source=Source(uri=ask.source) if ask.source else None,
    )
    return predecessor.stored(core.remember(draft, actor=caller.actor, dry_run=ask.dry_run))


def recall(core: "MemoryCore", ask: asks.Recall, caller: Caller) -> Answer:
    from memorycore.search import RecallFilters

    filters = RecallFilters(
        kind=cast("Kind | None", ask.kind or None),
        policy=cast("Policy | None", ask.policy or None),
        tags=tuple(ask.tags),
        since=_time(ask.since, "since", core),
        until=_time(ask.until, "until", core, end_of_day=True),
        tier=cast("Literal['hot', 'cold'] | None", ask.tier or None),
        target=_target(ask.target),
        session_id=ask.session_id,
        author=ask.author,
        as_of=_time(ask.as_of, "as_of", core, end_of_day=True),
        include=cast("tuple[Past, ...]", tuple(ask.include)),
    )
    top_k = min(max(ask.top_k, 1), asks.MOST_RESULTS)
    found = core.recall(
        ask.query,
        top_k=top_k,
        filters=filters,
        viewer_session=ask.session_id or caller.session_id,
        explain=ask.explain,
        actor=caller.actor,
        source="tool",
    )
    answer = predecessor.recalled(found)
    return {**answer, "results": [_without_own_name(item, caller) for item in answer["results"]]}


def _without_own_name(item: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
    """Author and session are left out where they only say: stored by you, in this session. They cost context."""
    own = {"author": caller.name, "session_id": caller.session_id}
    return {key: value for key, value in item.items() if key not in own or own[key] != value}


def memory_audit(core: "MemoryCore", ask: asks.Audit, _caller: Caller) -> Answer:
    return predecessor.audited(core.audit(_target(ask.target)))


def get_memory_usage(core: "MemoryCore", _ask: asks.Usage, _caller: Caller) -> Answer:
    return predecessor.usage(core.usage())


def trigger_overflow(core: "MemoryCore", ask: asks.Overflow, _caller: Caller) -> Answer:
    return predecessor.overflown(core.overflow(_target(ask.target), dry_run=ask.dry_run))


def run_cold_storage_maintenance(core: "MemoryCore", ask: asks.Maintain, caller: Caller) -> Answer:
    answer = core.maintain(tuple(ask.steps), dry_run=ask.dry_run, report=caller.report, owner=caller.actor)
    return predecessor.maintained(answer, core.usage())


def update(core: "MemoryCore", ask: asks.Update, caller: Caller) -> Answer:
    return core.update(
        ask.id,
        content=ask.content or None,
        importance=_importance(ask.importance),
        kind=cast("Kind | None", ask.kind or None),
        tags=tuple(ask.tags) or None,
        policy=cast("Policy | None", ask.policy or None),
        pinned=PINNED.get(ask.pinned),
        valid_until=_time(ask.valid_until, "valid_until", core, end_of_day=True),
        actor=caller.actor,
        dry_run=ask.dry_run,
    )


def forget(core: "MemoryCore", ask: asks.Forget, caller: Caller) -> Answer:
    if bool(ask.id) == bool(ask.query):
        raise InvalidInput(field="id", why="give either id or query")
    if ask.erase:
        return core.erase(ask.id or ask.query, actor=caller.actor, dry_run=ask.dry_run)
    return core.forget(ask.id or ask.query, actor=caller.actor, dry_run=ask.dry_run)


def restore(core: "MemoryCore", ask: asks.Restore, caller: Caller) -> Answer:
    return core.restore(ask.id, actor=caller.actor)


def inspect(core: "MemoryCore", ask: asks.Inspect, _caller: Caller) -> Answer:
    return core.inspect(ask.id)


def _importance(given: float) -> float | None:
    return None if given == asks.NOT_GIVEN else given


def _target(word: str) -> Target | None:
    return word if word in TARGETS else None


def _time(text: str, name: str, core: "MemoryCore", *, end_of_day: bool = False) -> datetime | None:
    return parse_time(text, zone=core.options.timezone, end_of_day=end_of_day, name=name) if text.strip() else None


TOOLS: tuple[ToolSpec, ...] = (
    ToolSpec(
        name="memorycore_store_fact",
        description=(
            "Remember one thing for good: a preference, rule, correction, decision, fact or event. It finds the right "
            "place itself and knows duplicates. The answer says where it went and why."
        ),
        ask=asks.StoreFact,
        run=store_fact,
        lists=("reasons", "why"),
        max_bytes=STORE_BYTES,
    ),
    ToolSpec(
        name="memorycore_recall",
        description=(
            "Search everything remembered, by meaning and by words. Results are notes with dates and ids, best first; "
            "weak marks doubtful ones. Long texts are shortened: cut_chars says by how much."
        ),
        ask=asks.Recall,
        run=recall,
        read_only=True,
        lists=("results", "in_bin"),
        more="server.more_found",
        max_bytes=asks.DEFAULT_RECALL_BYTES,
    ),
    ToolSpec(
        name="memorycore_memory_audit",
        description="Health of every entry in both prompt files: type, age, weight, why it is there, what comes next.",
        ask=asks.Audit,
        run=memory_audit,
        read_only=True,
        lists=("rows",),
        more="server.more_report",
    ),
    ToolSpec(
        name="memorycore_get_memory_usage",
        description="How full both prompt files are, how much is stored, what is waiting, what is degraded.",
        ask=asks.Usage,
        run=get_memory_usage,
        read_only=True,
    ),
    ToolSpec(
        name="memorycore_trigger_overflow",
        description="Make room in the prompt files now. What leaves them stays stored and findable.",
        ask=asks.Overflow,
        run=trigger_overflow,
        lists=("entries", "deferred"),
        more="server.more_left",
        max_bytes=asks.DEFAULT_RECALL_BYTES,
    ),
    ToolSpec(
        name="memorycore_run_cold_storage_maintenance",
        description="Tidy the store now: repair, merge equals, purge what is due.",
        ask=asks.Maintain,
        run=run_cold_storage_maintenance,
        lists=("steps",),
    ),
    ToolSpec(
        name="memorycore_update",
        description=(
            "Change a memory: its fields, or its wording, which is replaced as a whole. Only what is given changes. "
            "The answer shows before and after."
        ),
        ask=asks.Update,
        run=update,
        destructive=True,
        lists=("candidates", "reasons"),
        max_bytes=asks.DEFAULT_RECALL_BYTES,
    ),
    ToolSpec(
        name="memorycore_forget",
        description="Move a memory to the bin for 30 days, or erase it. Give its id, or its whole text.",
        ask=asks.Forget,
        run=forget,
        destructive=True,
        lists=("candidates", "remaining"),
        max_bytes=asks.DEFAULT_RECALL_BYTES,
    ),
    ToolSpec(
        name="memorycore_restore",
        description="Take a forgotten memory back from the bin.",
        ask=asks.Restore,
        run=restore,
    ),
    ToolSpec(
        name="memorycore_inspect",
        description="Everything about one memory: text, fields, earlier wordings, events.",
        ask=asks.Inspect,
        run=inspect,
        read_only=True,
        lists=("events", "revisions"),
        more="server.more_report",
    ),
)
BY_NAME: Mapping[str, ToolSpec] = {tool.name: tool for tool in TOOLS}
