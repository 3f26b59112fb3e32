"""A language model that may be asked about texts. Importing this costs nothing: httpx is loaded when first needed.

Without a model nothing is missing: pairs that the rules leave open stay open, long texts stay long.
"""

from memorycore.llm.endpoint import ChatEndpoint, open_endpoint
from memorycore.llm.needed import Needed, ask_needed
from memorycore.llm.relation import DESTRUCTIVE, ask_relation
from memorycore.llm.shorter import ask_shorter
from memorycore.llm.shown import shown_alone

__all__ = [
    "DESTRUCTIVE", "ChatEndpoint", "Needed", "ask_needed", "ask_relation", "ask_shorter", "open_endpoint", "shown_alone"
]  # fmt: skip
