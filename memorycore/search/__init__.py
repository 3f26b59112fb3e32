"""Search over both tiers. Importing this costs nothing: numpy is loaded with the first question."""

from memorycore.search.living import LivingIndex
from memorycore.search.pipeline import search
from memorycore.search.request import Hit, Past, RecallFilters, SearchRequest, SearchResult, Wording

__all__ = ["Hit", "LivingIndex", "Past", "RecallFilters", "SearchRequest", "SearchResult", "Wording", "search"]
