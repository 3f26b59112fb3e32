"""Search over both tiers. Importing this costs nothing: numpy is loaded with the first question."""

from memorycore.search.living import LivingIndex
from memorycore.search.pipeline import search
from memorycore.search.request import Hit, RecallFilters, SearchRequest, SearchResult

__all__ = ["Hit", "LivingIndex", "RecallFilters", "SearchRequest", "SearchResult", "search"]
