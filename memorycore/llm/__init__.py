"""A language model that may be asked about two texts. Importing this costs nothing: httpx is loaded when first needed.

Without a model nothing is missing: pairs that the rules leave open stay open.
"""

from memorycore.llm.endpoint import ChatEndpoint, open_endpoint
from memorycore.llm.relation import ask_relation

__all__ = ["ChatEndpoint", "ask_relation", "open_endpoint"]
