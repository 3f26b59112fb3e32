"""What makes a cold store: five operations, and what they answer.

``remember``, ``recall``, ``update``, ``forget`` and ``stats`` are the five MCP tools of the published contract. Every
store of ours passes the same suite of tests; a store that can do more says so in its capabilities.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

Capability = Literal["get", "list", "restore", "transactional"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdHit:
    """One result. ``score`` is the store's own and compares within one answer.

    ``content`` is the whole text. Only a foreign service that cuts texts and shows them in no other way gives less:
    then ``cut`` is set, and the text is to be read, not written anywhere.
    """

    id: str
    content: str
    score: float
    cut: bool = False


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

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it can beyond the five tools."""
        ...

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


class FullColdStore(ColdStore, Protocol):
    """A store of ours: it can show, list and restore its memories, and knows a caller's own references."""

    def remember(self, content: str, *, importance: float = 0.5, scope: str = "global", ref: str = "") -> str:
        """As above. The same ``ref`` again means the same memory, which then has this text."""
        ...

    def get(self, memory_id: str) -> ColdHit: ...

    def page(self, *, limit: int = 500, offset: int = 0) -> Iterator[ColdHit]:
        """Memories in the order in which they came in."""
        ...

    def restore(self, memory_id: str) -> None:
        """Bring a forgotten memory back, as long as it is in the bin."""
        ...
