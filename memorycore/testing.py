"""Stand-ins for tests of programs that use MemoryCore. Nothing here is used by MemoryCore itself."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from memorycore.domain.text import index_tokens
from memorycore.embed.calibration import Calibration, neutral

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorycore.embed.contract import Vectors


class HashingEmbedder:
    """A model that knows words and nothing of their meaning: quick, deterministic, the same on every machine.

    Texts that share words are near each other. A service over it: ``EmbeddingService.serving(HashingEmbedder())``.
    """

    def __init__(self, width: int = 256) -> None:
        self.name = "hashing"
        self.width = width
        self.fingerprint = f"hashing|{width}"
        self.calibration: Calibration = neutral(width)
        self.part_tokens = self.question_tokens = 400
        self.batch_size = 64

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_passages(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        rows = np.zeros((len(texts), self.width), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[0] = 1e-3  # a text without words has a length too
            for token in index_tokens(text).split():
                digest = hashlib.blake2b(token.encode("utf-8"), digest_size=8).digest()
                row[int.from_bytes(digest[:4], "little") % self.width] += 1.0 if digest[4] % 2 else -1.0
            if not row.any():  # every word met its opposite
                row[0] = 1.0
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def count_tokens(self, text: str) -> int:
        return len(index_tokens(text).split())

    def close(self) -> None:
        """Nothing to give back."""
