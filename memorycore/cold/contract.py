"""What makes a cold store: five operations, and what they answer.

``remember``, ``recall``, ``update``, ``forget`` and ``stats`` are the five MCP tools of the published contract. Every
store of ours passes the same suite of tests; a store that can do more says so in its capabilities.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

Capability = Literal["get", "list", "restore", "transactional"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdHit:
    """One result. ``content`` is the whole text; ``score`` is the store's own and compares within one answer."""

    id: str
    content: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdStats:
    """``total`` memories that can be recalled; ``embeddings`` of them that can be found by meaning."""

    total: int
    embeddings: int


class ColdStore(Protocol):
    """A place that keeps texts durably and finds them again.

    Errors: ``NotFound`` for an id that the store does not hold; ``StoreError`` when it cannot be used now. An operation
    that returned is durable; one that raised changed nothing.
    """

    name: str
    capabilities: frozenset[Capability]

    def remember(self, content: str, *, importance: float = 0.5, scope: str = "global") -> str:
        """Keep a text, all of it, and return its id."""
        ...

    def recall(self, query: str, *, top_k: int = 5) -> list[ColdHit]:
        """The best ``top_k`` texts for a question, best first."""
        ...

    def update(self, memory_id: str, content: str) -> None:
        """Replace the whole text of a memory."""
        ...

    def forget(self, memory_id: str) -> None:
        """Take a memory out of every later recall."""
        ...

    def stats(self) -> ColdStats: ...
