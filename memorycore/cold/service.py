"""A cold store as a service: the five tools of the contract, and what else the store can, over MCP.

It answers one JSON object as text. Beside what the contract asks for, a recall says ``status`` and ``dense_score``:
clients of the predecessor read nothing else.
"""

import inspect
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from memorycore import messages
from memorycore.cold.contract import ColdHit, FullColdStore
from memorycore.errors import InvalidInput, MemoryCoreError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from memorycore.options import Language

NAME = "memorycore-cold"
INSTRUCTIONS = (
    "A cold store for memories: remember, recall, update, forget, stats. Texts are kept whole and come back whole; "
    "secrets in them are masked or refused."
)
MOST_AT_ONCE = 100
MOST_RESULTS = 100
MOST_LISTED = 500

Opened = Callable[[], AbstractContextManager[FullColdStore]]
Answer = Mapping[str, Any]
_log = logging.getLogger(__name__)

Content = Annotated[str, Field(description="The whole text, at most 64 KiB.")]
MemoryId = Annotated[str, Field(description="As `remember` or `recall` gave it.")]
Importance = Annotated[float, Field(description="0 to 1.")]
Query = Annotated[str, Field(description="A question, or a few words.")]
TopK = Annotated[int, Field(description="How many results at most, 1 to 100.")]
Scope = Annotated[str, Field(description="`global`.")]
Ref = Annotated[str, Field(description="A name of your own for it: the same again gives no second memory.")]


def remember(
    cold: FullColdStore, content: Content, importance: Importance = 0.5, scope: Scope = "global", ref: Ref = ""
) -> Answer:
    """Keep a text durably, all of it, and answer its id. Secrets in it are masked or refused."""
    return {"status": "stored", "memory_id": cold.remember(content, importance=importance, scope=scope, ref=ref)}


def recall(cold: FullColdStore, query: Query, top_k: TopK = 5) -> Answer:
    """The texts that answer a question best, whole, best first."""
    return {"status": "ok", "results": _shown(cold.recall(query, top_k=_within(top_k, MOST_RESULTS, "top_k")))}


def update(cold: FullColdStore, memory_id: MemoryId, content: Content) -> Answer:
    """Replace the whole text of a memory."""
    cold.update(memory_id, content)
    return {"status": "updated", "memory_id": memory_id}


def forget(cold: FullColdStore, memory_id: MemoryId) -> Answer:
    """Take a memory out of every later recall. It stays in the bin for a while: see `restore`."""
    cold.forget(memory_id)
    return {"status": "forgotten", "memory_id": memory_id}


def stats(cold: FullColdStore) -> Answer:
    """How many memories can be recalled, and how many of them by meaning."""
    found = cold.stats()
    return {"status": "ok", "total": found.total, "embeddings": found.embeddings}


def get(cold: FullColdStore, memory_id: MemoryId) -> Answer:
    """One memory with its whole text."""
    found = cold.get(memory_id)
    return {"status": "ok", "id": found.id, "content": found.content}


def list_memories(cold: FullColdStore, limit: int = MOST_LISTED, offset: int = 0) -> Answer:
    """All memories, in the order in which they came in; up to 500 at once."""
    page = cold.page(limit=_within(limit, MOST_LISTED, "limit"), offset=max(0, offset))
    return {"status": "ok", "results": [{"id": one.id, "content": one.content} for one in page]}


def restore(cold: FullColdStore, memory_id: MemoryId) -> Answer:
    """Bring a forgotten memory back, as long as it is in the bin."""
    cold.restore(memory_id)
    return {"status": "restored", "memory_id": memory_id}


def recall_batch(cold: FullColdStore, queries: list[str], top_k: TopK = 5) -> Answer:
    """As `recall`, for up to 100 questions; one answer for each, in order."""
    _within(len(queries), MOST_AT_ONCE, "queries")
    return {"status": "ok", "results": [recall(cold, query, top_k) for query in queries]}


def remember_batch(
    cold: FullColdStore, contents: list[str], importances: Sequence[float] = (), refs: Sequence[str] = ()
) -> Answer:
    """As `remember`, for up to 100 texts; one answer for each, in order."""
    _within(len(contents), MOST_AT_ONCE, "contents")
    for field, given in (("importances", importances), ("refs", refs)):
        if len(given) not in {0, len(contents)}:
            raise InvalidInput(field=field, why="not_as_many", value=len(given))
    told = list[Answer]()
    for number, content in enumerate(contents):
        importance, ref = importances[number] if importances else 0.5, refs[number] if refs else ""
        try:
            told.append(remember(cold, content, importance, "global", ref))
        except MemoryCoreError as error:  # one text that may not be kept costs the others nothing
            told.append(_refusal(error, "en"))
    return {"status": "ok", "results": told}


TOOLS: Mapping[str, Callable[..., Answer]] = {
    "remember": remember,
    "recall": recall,
    "update": update,
    "forget": forget,
    "stats": stats,
    "get": get,
    "list": list_memories,
    "restore": restore,
    "recall_batch": recall_batch,
    "remember_batch": remember_batch,
}
_READ = frozenset({"recall", "recall_batch", "stats", "get", "list"})


def service(opened: Opened, *, language: "Language" = "en", lifespan: Any = None) -> "MCPServer[Any]":
    """An MCP server over the store that ``opened`` lends for each call."""
    from mcp.server.mcpserver import MCPServer
    from mcp.types import ToolAnnotations

    server: MCPServer[Any] = MCPServer(
        NAME, title="MemoryCore cold store", instructions=INSTRUCTIONS, log_level="WARNING", lifespan=lifespan
    )
    for name, tool in TOOLS.items():
        hints = ToolAnnotations(
            read_only_hint=name in _READ,
            destructive_hint=name in {"update", "forget"},
            idempotent_hint=name not in {"remember", "remember_batch"},
            open_world_hint=False,
        )
        server.add_tool(
            _answering(opened, tool, language),
            name=name, description=tool.__doc__, annotations=hints, structured_output=False,
        )  # fmt: skip
    return server


def _answering(opened: Opened, tool: Callable[..., Answer], language: "Language") -> Callable[..., str]:
    """A tool whose refusals are answers: a client that looks at ``error`` or ``status`` sees that it was no yes."""

    def answer(**arguments: Any) -> str:
        try:
            with opened() as cold:
                found = tool(cold, **arguments)
        except MemoryCoreError as error:
            _log.info("%s refused: %s", tool.__name__, error.code)
            found = _refusal(error, language)
        return json.dumps(found, ensure_ascii=False)

    asked = inspect.signature(tool)
    parameters = list(asked.parameters.values())[1:]  # the store is ours
    answer.__signature__ = asked.replace(parameters=parameters, return_annotation=str)  # pyright: ignore[reportFunctionMemberAccess] the SDK reads it
    answer.__annotations__ = {**{one.name: one.annotation for one in parameters}, "return": str}
    return answer


def _refusal(error: MemoryCoreError, language: "Language") -> Answer:
    problem = messages.problem(error, language)
    told = {"code": problem["code"], "error": problem["message"], "retryable": problem["retryable"]}
    return {"status": "error", **told}


def _shown(hits: Sequence[ColdHit]) -> Sequence[Answer]:
    return [
        {"id": hit.id, "content": hit.content, "score": round(hit.score, 4), "dense_score": round(hit.score, 4)}
        for hit in hits
    ]


def _within(value: int, most: int, field: str) -> int:
    if not 1 <= value <= most:
        raise InvalidInput(field=field, why="not_between", least=1, most=most, value=value)
    return value
