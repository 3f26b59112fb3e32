"""A second model: the Universal Sentence Encoder beside the model that finds, for the few texts that may answer.

It needs 150 MB and a second to load, so only a process that lives long has it, from its first question on, and nobody
waits for it. A text takes about a millisecond and is kept.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Protocol, TypeVar

from memorycore.embed.bundled import SentenceEncoder, load_use
from memorycore.embed.kept import Kept, key_of
from memorycore.embed.parts import gist
from memorycore.errors import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from memorycore.embed.contract import Vectors

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_loading = threading.Lock()
_loaded: list[SentenceEncoder] = []
_MOST_KEPT = 2_048  # vectors, two kilobytes each
_MOST_BYTES = 8_000_000
_MOST_TOKENS = 128  # of a text: its beginning and its end


class Guarded(Protocol):
    """How a job of the embedding service is run: its result, or its fault as an error."""

    def __call__(self, work: Callable[[], _T]) -> _T | EmbeddingError: ...


class SecondModel:
    """Vectors of the second model, once it is loaded. Thread-safe.

    ``guarded`` runs a job and gives its fault as an EmbeddingError: whoever asks goes on without this model.
    """

    def __init__(self, cache_dir: Path | None, guarded: Guarded) -> None:
        self._cache_dir = cache_dir
        self._guarded = guarded
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._encoder: SentenceEncoder | None = None
        self._kept = Kept(most=_MOST_KEPT, most_bytes=_MOST_BYTES)
        self._forgotten = 0

    @property
    def ready(self) -> bool:
        """Whether the model is there. The first time somebody wants to know it begins to load, in the background."""
        if self._encoder is None:
            self._start()
        return self._encoder is not None

    def wait_ready(self, timeout_s: float) -> bool:
        """Wait until the attempt to load is over; whether the model is there."""
        self._start()
        self.close(timeout_s)
        return self._encoder is not None

    def vectors(self, texts: Sequence[str]) -> Vectors | None:
        """``[n, width]``, of length 1; None as long as the model is not there, or where it fails."""
        import numpy as np

        encoder = self._encoder
        if encoder is None:
            return None
        keys = [key_of(text) for text in texts]
        with self._lock:
            forgotten = self._forgotten
            found = {key: vector for key in keys if (vector := self._kept.get(key)) is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            some = [gist(text, most=_MOST_TOKENS, count=encoder.count_tokens) or " " for text in missing.values()]
            made = self._guarded(lambda: encoder.embed_passages(some))
            if isinstance(made, EmbeddingError):
                return None
            found.update(zip(missing, map(np.copy, made), strict=True))
        with self._lock:
            if forgotten == self._forgotten:  # else one of them may be of a text that was erased meanwhile
                for key in missing:
                    self._kept.put(key, found[key])
        return np.stack([found[key] for key in keys])

    def forget_kept(self) -> None:
        """Drop the vectors that are kept: one of them may be of a text that is to be erased."""
        with self._lock:
            self._forgotten += 1
            self._kept = Kept(most=_MOST_KEPT, most_bytes=_MOST_BYTES)

    def close(self, timeout_s: float) -> None:
        """Wait so long for the thread that loads."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._load, name="memorycore-embed-second", daemon=True)
                self._thread.start()

    def _load(self) -> None:
        loaded = self._guarded(lambda: _of_this_process(self._cache_dir))
        if isinstance(loaded, EmbeddingError):
            _log.info("no second model says what answers a question: %s", loaded)
        else:
            self._encoder = loaded


def _of_this_process(cache_dir: Path | None) -> SentenceEncoder:
    """The one of this process, however many cores it has."""
    with _loading:
        if not _loaded:
            _loaded.append(load_use(cache_dir))
        return _loaded[0]
