"""What each route below ``/v1`` does: the tools under the names of their commands, and what a host says around a turn.

A route takes the arguments of its tool and answers the same object.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import Field

from memorycore import metrics
from memorycore.server import asks
from memorycore.server.caller import Caller
from memorycore.server.tending import TENDING
from memorycore.server.tools import BY_NAME, Answer, ToolSpec
from memorycore.web.given import Given

if TYPE_CHECKING:
    from memorycore.core import MemoryCore
    from memorycore.settings import Settings

COMMANDS: Mapping[str, str] = {
    "store": "memorycore_store_fact",
    "recall": "memorycore_recall",
    "audit": "memorycore_memory_audit",
    "usage": "memorycore_get_memory_usage",
    "overflow": "memorycore_trigger_overflow",
    "maintain": "memorycore_run_cold_storage_maintenance",
    "update": "memorycore_update",
    "forget": "memorycore_forget",
    "restore": "memorycore_restore",
    "inspect": "memorycore_inspect",
    "undo": "memorycore_undo",
    "review": "memorycore_review",
}


class Prefetch(asks.Ask):
    query: str = Field(description="What the user said; its first 1000 characters count")
    session_id: str = Field("", description="The host's session, which gets nothing twice")
    given: asks.Words = Field(
        default_factory=list[str],
        description="Ids that reached the session. Where it is sent, what is answered counts only once it is in it",
    )
    given_chars: int = Field(0, ge=0, description="Characters of what reached the session; goes with `given`")


class MemoryWrite(asks.Ask):
    session_id: str = Field("", description="The host's session")


class PluginReport(asks.Ask):
    host: Annotated[str, Field(pattern=r"^[a-z]{1,20}$", description="The host, as in `hermes`")]
    missed: dict[Annotated[str, Field(pattern=r"^[a-z-]{1,20}:[a-z_]{1,20}$")], Annotated[int, Field(ge=1)]] = Field(
        max_length=100, description='How often a call got no answer in time, as in `{"prefetch:timeout": 2}`'
    )


class Gate(asks.Ask):
    texts: Annotated[list[str], Field(min_length=1, max_length=100)] = Field(
        description="What a host is about to write; it is looked at and not kept"
    )


class SyncTurn(asks.Ask):
    session_id: str = Field(description="The host's session")
    user_content: str = Field("", description="May be sent; it is not kept")
    assistant_content: str = Field("", description="May be sent; it is not kept")


class SessionEnd(asks.Ask):
    session_id: str = Field(description="The host's session")
    reason: asks.ReasonWord = Field(
        "end", description="compression: the session goes on, but what it was given is out of its prompt"
    )


def table(settings: "Settings", given: Given) -> Mapping[str, ToolSpec]:
    """Every route by its name below ``/v1``."""
    tools = {**BY_NAME, **{tool.name: tool for tool in TENDING}}
    own = (
        ToolSpec(name="status", description="State of both tiers and the store.", ask=asks.Usage, run=_status,
                 read_only=True),
        ToolSpec(name="prefetch", description="What is remembered about a question.", ask=Prefetch,
                 run=_prefetch_with(settings, given), read_only=True),
        ToolSpec(name="memory-write", description="A host wrote a hot file.", ask=MemoryWrite, run=_memory_write),
        # By POST only: what stands behind a question mark may end in somebody's log.
        ToolSpec(name="gate", description="What of texts may not be kept.", ask=Gate, run=_gate),
        ToolSpec(name="sync-turn", description="A turn of a session is over.", ask=SyncTurn, run=_sync_turn),
        ToolSpec(name="session-end", description="A session is over, or was compressed.", ask=SessionEnd,
                 run=_session_end_with(given)),
        ToolSpec(name="plugin-report", description="What a host went without.", ask=PluginReport, run=_plugin_report),
    )  # fmt: skip
    return {name: tools[tool] for name, tool in COMMANDS.items()} | {tool.name: tool for tool in own}


def _status(core: "MemoryCore", _ask: asks.Usage, _caller: Caller) -> Answer:
    return core.status()


def _memory_write(core: "MemoryCore", ask: MemoryWrite, _caller: Caller) -> Answer:
    return cast("Answer", core.host_wrote(ask.session_id))


def _gate(core: "MemoryCore", ask: Gate, _caller: Caller) -> Answer:
    return cast("Answer", core.held_back(ask.texts))


def _sync_turn(core: "MemoryCore", ask: SyncTurn, _caller: Caller) -> Answer:
    return cast("Answer", core.turn_done(ask.session_id))


def _plugin_report(core: "MemoryCore", ask: PluginReport, _caller: Caller) -> Answer:
    return cast("Answer", core.host_missed(ask.host, ask.missed))


def _prefetch_with(settings: "Settings", given: Given) -> Any:
    def run(core: "MemoryCore", ask: Prefetch, _caller: Caller) -> Answer:
        if not settings.prefetch_enabled:
            return {"text": "", "items": [], "left_out": {}, "took_ms": 0.0}
        namespace = core.options.namespace
        given.claimed(namespace, ask.session_id, ask.given, ask.given_chars)
        left = settings.prefetch_session_chars - given.chars(namespace, ask.session_id)
        answer = core.prefetch(
            ask.query,
            session_id=ask.session_id,
            given=given.to(namespace, ask.session_id),
            most=settings.prefetch_results,
            most_chars=max(0, min(settings.prefetch_chars, left)),
        )
        # What a host says of itself counts: an answer that comes too late would else count as given.
        ids = () if "given" in ask.model_fields_set else [item["id"] for item in answer["items"]]
        chars = 0 if "given_chars" in ask.model_fields_set else len(answer["text"])
        given.add(namespace, ask.session_id, ids, chars)
        for outcome, count in {"offered": len(answer["items"]), **answer["left_out"]}.items():
            metrics.add("memorycore_prefetch_memories_total", count, outcome=outcome)
        return cast("Answer", answer)

    return run


def _session_end_with(given: Given) -> Any:
    def run(core: "MemoryCore", ask: SessionEnd, _caller: Caller) -> Answer:
        given.forget(core.options.namespace, ask.session_id)
        if ask.reason == "compression":
            return {"session_id": ask.session_id, "stored": 0}
        return cast("Answer", core.session_done(ask.session_id))

    return run
