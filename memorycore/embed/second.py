"""A second opinion: the Universal Sentence Encoder beside the model that finds, for the few texts that may answer.

It needs 120 MB and a second to load, so only a process that lives long has it, from its first question on, and nobody
waits for it. A text takes about a millisecond and is kept.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from functools import cache
from typing import TYPE_CHECKING

from memorycore.embed.bundled import SentenceEncoder, load_use
from memorycore.embed.parts import gist
from memorycore.errors import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from memorycore.embed.contract import Vectors

_log = logging.getLogger(__name__)
_MOST_KEPT = 2_048  # vectors, two kilobytes each
_MOST_TOKENS = 128  # of a text: its beginning and its end


class SecondOpinion:
    """Vectors of the second model, once it is loaded. Thread-safe."""

    def __init__(self, cache_dir: Path | None) -> None:
        self._cache_dir = cache_dir
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._encoder: SentenceEncoder | None = None
        self._kept: OrderedDict[str, Vectors] = OrderedDict()

    @property
    def ready(self) -> bool:
        """Whether the model is there. The first time somebody wants to know it begins to load, in the background."""
        if self._encoder is None:
            self._start()
        return self._encoder is not None

    def wait_ready(self, timeout_s: float) -> bool:
        """Wait until the attempt to load is over; whether the model is there."""
        self._start()
        if self._thread is not None:
            self._thread.join(timeout_s)
        return self._encoder is not None

    def vectors(self, texts: Sequence[str]) -> Vectors | None:
        """``[n, width]``, of length 1; None as long as the model is not there, or where it fails."""
        import numpy as np

        encoder = self._encoder
        if encoder is None:
            return None
        with self._lock:
            missing = [text for text in dict.fromkeys(texts) if text not in self._kept]
            if missing:
                try:
                    some = [gist(text, most=_MOST_TOKENS, count=encoder.count_tokens) or " " for text in missing]
                    self._kept.update(zip(missing, encoder.embed_passages(some), strict=True))
                except Exception:  # noqa: BLE001 an opinion beside another: whoever asks goes on without it
                    _log.exception("the second model: a fault")
                    return None
            for text in texts:
                self._kept.move_to_end(text)
            found = np.stack([self._kept[text] for text in texts])
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
            return found

    def forget_kept(self) -> None:
        """Drop the vectors that are kept: one of them may be of a text that is to be erased."""
        with self._lock:
            self._kept.clear()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._load, name="memorycore-embed-second", daemon=True)
                self._thread.start()

    def _load(self) -> None:
        try:
            self._encoder = _shared(self._cache_dir)
        except EmbeddingError as error:
            _log.info("no second opinion of what answers a question: %s", error)


@cache
def _shared(cache_dir: Path | None) -> SentenceEncoder:
    return load_use(cache_dir)
