"""Vectors that will probably be asked for again soon."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memorycore.embed.contract import Vectors


def key_of(text: str) -> bytes:
    """A short key for a text, so that a cache does not hold the text itself."""
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()


class Kept:
    """The vectors used last, bounded in number and in bytes. Not thread-safe: its owner holds a lock."""

    def __init__(self, *, most: int, most_bytes: int) -> None:
        self._vectors: OrderedDict[bytes, Vectors] = OrderedDict()
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0

    def get(self, key: bytes) -> Vectors | None:
        found = self._vectors.get(key)
        if found is not None:
            self._vectors.move_to_end(key)
        return found

    def put(self, key: bytes, vectors: Vectors) -> None:
        before = self._vectors.pop(key, None)
        self._bytes -= 0 if before is None else before.nbytes
        self._vectors[key] = vectors
        self._bytes += vectors.nbytes
        while self._vectors and (len(self._vectors) > self._most or self._bytes > self._most_bytes):
            self._bytes -= self._vectors.popitem(last=False)[1].nbytes
