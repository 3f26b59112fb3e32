"""MemoryCore beside Hermes' own memory: a MemoryProvider that Hermes loads from its plugin folder.

Hermes looks for one of the words MemoryProvider and register_memory_provider near the start of this file. Only the
standard library is used, and nothing of the package memorycore, which lives in an environment of its own.
"""

from typing import Any

from .provider import MemoryCoreProvider


def register(ctx: Any) -> None:
    """Give Hermes the provider."""
    ctx.register_memory_provider(MemoryCoreProvider())
