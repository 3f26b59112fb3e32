"""The cold store behind an address: whatever MCP service keeps the five tools of the contract.

What it answers is read by ``remote_answers``. A text that it cut is completed by ``get`` or ``list`` where it has one
of them, and is marked as cut otherwise; nothing that was read here is ever written back.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from memorycore.cold import remote_answers
from memorycore.cold.contract import Capability, ColdHit, ColdStats
from memorycore.cold.mcp_session import McpSession
from memorycore.cold.remote_answers import Failed, Garbled
from memorycore.domain.memory import Draft
from memorycore.domain.text import sanitise
from memorycore.errors import NotFound, RemoteRefused, RemoteUnreachable

T = TypeVar("T")
PAGE = 500
MOST_LISTED = 200_000
LISTED_WITHIN_S = 60.0
LOOK_AMONG = 10
LONGEST_QUESTION = 1_000
_LISTS = ("list", "list_all")
_OF_TOOL: Mapping[str, Capability] = {"get": "get", "list": "list", "list_all": "list", "restore": "restore"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A text to remember. ``ref`` is ours: a service that knows it gives the same text no second place."""

    content: str
    importance: float = 0.5
    scope: str = "global"
    ref: str = ""


class RemoteColdStore:
    """A client of one service. Nothing is contacted before the first call; usable from several threads."""

    def __init__(self, url: str, *, key: str = "", timeout_s: float = 10.0) -> None:
        self.name = "remote"
        self._session = McpSession(url, key=key, timeout_s=timeout_s)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the service can beyond the five.

        Raises:
            RemoteUnreachable: It cannot be asked now.
        """
        return frozenset(_OF_TOOL[tool] for tool in self._session.tools() if tool in _OF_TOOL)

    def knows_refs(self, *, timeout_s: float | None = None) -> bool:
        """Whether the same text under the same reference of ours gets no second place there."""
        return "ref" in self._session.tools(timeout_s=timeout_s).get("remember", ())

    def takes_many(self, *, timeout_s: float | None = None) -> bool:
        """Whether several texts can be given at once."""
        return "remember_batch" in self._session.tools(timeout_s=timeout_s)

    @property
    def host(self) -> str:
        return self._session.host

    def close(self) -> None:
        self._session.close()

    def remember(
        self,
        content: str,
        *,
        importance: float = 0.5,
        scope: str = "global",
        ref: str = "",
        timeout_s: float | None = None,
    ) -> str:
        text = Draft(content=sanitise(content).strip()).content
        arguments = {"content": text, "importance": importance, "scope": scope, "ref": ref}
        if not self.knows_refs(timeout_s=timeout_s):
            del arguments["ref"]
        return self._said(remote_answers.stored_id, "remember", arguments, timeout_s=timeout_s)

    def recall(self, query: str, *, top_k: int = 5, timeout_s: float | None = None) -> list[ColdHit]:
        """The best for a question, best first as the service says; texts that it cut are completed where it can."""
        asked = sanitise(query).strip()[:LONGEST_QUESTION]
        if not asked:
            return []
        found = self._said(remote_answers.hits, "recall", {"query": asked, "top_k": top_k}, timeout_s=timeout_s)
        ranked = sorted(found, key=lambda hit: -hit.score)[:top_k]
        return [self._whole(hit, timeout_s) for hit in ranked]

    def update(self, memory_id: str, content: str, *, timeout_s: float | None = None) -> None:
        text = Draft(content=sanitise(content).strip()).content
        self._on(memory_id, "update", {"content": text}, timeout_s)

    def forget(self, memory_id: str, *, timeout_s: float | None = None) -> None:
        self._on(memory_id, "forget", {}, timeout_s)

    def stats(self) -> ColdStats:
        return self._said(remote_answers.stats, "stats", {})

    def get(self, memory_id: str, *, timeout_s: float | None = None) -> ColdHit | None:
        """One memory with its whole text; None where the service cannot show it, or has it only cut.

        Raises:
            NotFound: The service says that it has no such memory.
        """
        if "get" in self._session.tools(timeout_s=timeout_s):
            found = self._said(remote_answers.hit, "get", {"memory_id": memory_id}, memory_id, timeout_s=timeout_s)
            return replace(found, cut=False)  # one text alone is given whole
        if self._list_tool() is None:
            return None
        for hit in self.everything(timeout_s=timeout_s):
            if hit.id == memory_id:
                return hit
        raise NotFound(id=memory_id)

    def everything(self, *, timeout_s: float | None = None) -> Iterator[ColdHit]:
        """Every memory of the service, each once, where it can list them; nothing otherwise.

        ``timeout_s``: for one page.

        Raises:
            RemoteUnreachable: It cannot be used now, or is too slow to be listed.
        """
        tool = self._list_tool()
        offset, seen = 0, set[str]()
        ends_at = time.monotonic() + LISTED_WITHIN_S
        while tool is not None and offset < MOST_LISTED:
            page = self._said(remote_answers.hits, tool, {"limit": PAGE, "offset": offset}, timeout_s=timeout_s)
            fresh = {hit.id: hit for hit in page if hit.id not in seen}
            yield from (replace(hit, cut=False) for hit in fresh.values())
            seen |= fresh.keys()
            offset += len(page)
            if len(page) < PAGE or not fresh:  # nothing new: a service that does not know what an offset is
                return
            if time.monotonic() > ends_at:
                raise RemoteUnreachable(host=self.host, why="timeout", sent=True)

    def find(self, content: str, *, thorough: bool = False, timeout_s: float | None = None) -> list[str]:
        """Ids under which the service has exactly this text. One that was cut counts where no more can be seen.

        ``thorough``: where a search does not find it, everything is looked through, if the service can list it.
        """
        text = sanitise(content).strip()
        seen = self.recall(text[:LONGEST_QUESTION], top_k=LOOK_AMONG, timeout_s=timeout_s)
        likely = [hit for hit in seen if _is(hit, text)]
        whole = [hit.id for hit in likely if not hit.cut or hit.content.strip() == text]
        if whole or not (likely or thorough) or self._list_tool() is None:
            return whole or [hit.id for hit in likely]
        return [hit.id for hit in self.everything(timeout_s=timeout_s) if hit.content.strip() == text]

    def holds(self, memory_id: str, content: str, *, timeout_s: float | None = None) -> bool:
        """Read back: whether the service gives this text, or what it shows of it, for this id."""
        text = sanitise(content).strip()
        if "get" in self._session.tools(timeout_s=timeout_s):
            shown = self.get(memory_id, timeout_s=timeout_s)
            return shown is not None and _is(shown, text)
        seen = self.recall(text, top_k=LOOK_AMONG, timeout_s=timeout_s)
        if any(hit.id == memory_id and _is(hit, text) for hit in seen):
            return True
        return any(hit.id == memory_id and _is(hit, text) for hit in self.everything(timeout_s=timeout_s))

    def remember_many(self, items: Sequence[Item], *, timeout_s: float | None = None) -> list[str]:
        """Give several texts at once: the id of each, empty for one that was refused.

        Raises:
            RemoteUnreachable: The service cannot be used now. Some of the texts may be stored.
        """
        arguments = {
            "contents": [sanitise(item.content).strip() for item in items],
            "importances": [item.importance for item in items],
            "refs": [item.ref for item in items],
        }
        result = self._session.call("remember_batch", arguments, timeout_s=timeout_s)
        if (found := remote_answers.stored_ids(result, len(items))) is None:
            raise RemoteUnreachable(host=self.host, why="bad_answer", sent=True)
        return found

    def _whole(self, hit: ColdHit, timeout_s: float | None) -> ColdHit:
        if not hit.cut or "get" not in self._session.tools(timeout_s=timeout_s):
            return hit
        try:
            return replace(self.get(hit.id, timeout_s=timeout_s) or hit, score=hit.score)
        except NotFound:
            return hit

    def _list_tool(self) -> str | None:
        return next((tool for tool in _LISTS if tool in self._session.tools()), None)

    def _on(self, memory_id: str, tool: str, arguments: Mapping[str, object], timeout_s: float | None) -> None:
        if not memory_id:
            raise NotFound(id=memory_id)
        self._said(remote_answers.done, tool, {"memory_id": memory_id, **arguments}, memory_id, timeout_s=timeout_s)

    def _said(
        self,
        read: Callable[[Mapping[str, Any]], T | Failed | Garbled],
        tool: str,
        arguments: Mapping[str, object],
        memory_id: str = "",
        *,
        timeout_s: float | None = None,
    ) -> T:
        """Call a tool and read its answer.

        Raises:
            NotFound: The service has no such memory.
            RemoteRefused: It says no.
            RemoteUnreachable: It cannot be used now, or nobody can tell what it answers.
        """
        said = read(self._session.call(tool, arguments, timeout_s=timeout_s))
        if isinstance(said, Garbled):
            raise RemoteUnreachable(host=self.host, why="bad_answer", sent=True)
        if isinstance(said, Failed):
            if said.unknown_id and memory_id:
                raise NotFound(id=memory_id)
            raise RemoteRefused(host=self.host, why="refused_there")
        return said


def _is(hit: ColdHit, text: str) -> bool:
    shown = hit.content.strip()
    if shown == text:
        return True
    beginning = shown.removesuffix("…").removesuffix("...")
    return hit.cut and len(beginning) < len(text) and text.startswith(beginning)
