"""Who is connected to this process, and since when nobody was: a daemon that nobody needs may end."""

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from memorycore import metrics


class Clients:
    """The open connections and the last sign of life of one process. Usable from every thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0
        self._seen_at = time.monotonic()

    @contextmanager
    def joined(self, via: str) -> Generator[None]:
        """A client is there for as long as this lasts. ``via``: relay, mcp, api."""
        metrics.add("memorycore_clients_total", via=via)
        self._change(1)
        try:
            yield
        finally:
            self._change(-1)

    def seen(self) -> None:
        """Somebody asked something."""
        self._seen_at = time.monotonic()

    @property
    def count(self) -> int:
        """How many are connected now."""
        return self._open

    def idle_s(self) -> float:
        """How long nobody has been here; 0 while somebody is connected."""
        return 0.0 if self._open else time.monotonic() - self._seen_at

    def _change(self, by: int) -> None:
        with self._lock:
            self._open += by
            self._seen_at = time.monotonic()
            metrics.put("memorycore_clients_open", self._open)
