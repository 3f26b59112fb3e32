"""The core: one method per verb, used by every surface."""

from memorycore.core.memory_core import MemoryCore
from memorycore.search import RecallFilters

__all__ = ["MemoryCore", "RecallFilters"]
