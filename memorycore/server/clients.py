"""Who is connected to this process now, and since when nobody is: a daemon that nobody uses may end."""

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True, eq=False)
class Client:
    """One connection. ``way``: how it came; ``since``: a moment of ``time.time``."""

    way: str
    language: str = ""
    toolset: str = ""
    since: float = field(default_factory=time.time)


class Clients:
    """The open connections of a process. Usable from every thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._here: list[Client] = []
        self._idle_since = time.monotonic()

    @contextmanager
    def here(self, client: Client) -> Generator[Client]:
        """The client counts as connected until the block ends."""
        with self._lock:
            self._here.append(client)
        try:
            yield client
        finally:
            with self._lock:
                self._here.remove(client)
                self._idle_since = time.monotonic()

    def touch(self) -> None:
        """Somebody asked something without being connected."""
        self._idle_since = time.monotonic()

    def all(self) -> tuple[Client, ...]:
        with self._lock:
            return tuple(self._here)

    def idle_s(self) -> float:
        """For how many seconds nobody has been here; 0 while somebody is."""
        with self._lock:
            return 0.0 if self._here else time.monotonic() - self._idle_since
