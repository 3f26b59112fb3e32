"""Whether a text in a hot file is what became of a memory, as far as more than its words tells."""

from collections.abc import Callable
from functools import cache

import apsw

from memorycore.domain.memory import Memory
from memorycore.domain.text import entry_hash
from memorycore.hot.files import Contents, last_states
from memorycore.hot.tier import HotTier
from memorycore.store import memories


def by_wording(c: apsw.Connection, contents: Contents) -> Callable[[Memory, str], bool | None]:
    """Whose a text is, by the sidecar and by the earlier wordings of the rows: a copy of either may have come back."""

    @cache
    def earlier(memory: Memory) -> frozenset[object]:
        return frozenset(revision["content"] for revision in memories.revisions(c, memory))

    def is_of(memory: Memory, text: str) -> bool | None:
        meta = contents.sidecar.entries.get(entry_hash(text))
        if meta is not None and meta.id is not None:
            return meta.id == memory.id
        return True if text in earlier(memory) else None

    return is_of


def side_by_side(tier: HotTier) -> Callable[[Memory, str], bool]:
    """Whether the entry of a row and a text stood in the file at once not long ago: then neither became the other.

    Of thousands of entries that get their rows one part after the other, those that still wait are such texts.
    """

    @cache
    def states() -> list[frozenset[str]]:
        return last_states(tier.path, folder=tier.snapshots)

    @cache
    def states_with(key: str) -> list[frozenset[str]]:
        return [state for state in states() if key in state]

    def were_two(memory: Memory, text: str) -> bool:
        with_it = states_with(memory.entry_key)
        return bool(with_it) and any(entry_hash(text) in state for state in with_it)

    return were_two
