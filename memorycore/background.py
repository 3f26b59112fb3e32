"""The one thread of a long-lived process that works while nobody waits: vectors that are missing, uses to be folded."""

import logging
import threading
from collections.abc import Callable

from memorycore.errors import MemoryCoreError

_log = logging.getLogger(__name__)
PAUSE_S = 15.0


class Background:
    """Runs ``work`` until it says that nothing is left, then sleeps until woken or for ``PAUSE_S``.

    ``prepare`` runs once at the start, when waiting for the model is fine. The thread is a daemon: a process may end at
    any moment, since what is not done stays queued in the store.
    """

    def __init__(self, *, prepare: Callable[[], None], work: Callable[[], bool]) -> None:
        self._prepare = prepare
        self._work = work
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memorycore-background", daemon=True)

    @property
    def runs(self) -> bool:
        return self._thread.is_alive() and not self._stop.is_set()

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._wake.set()

    def stop(self, *, timeout_s: float = 2.0) -> None:
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        prepared = False
        while not self._stop.is_set():
            self._wake.clear()
            try:
                if not prepared:
                    self._prepare()
                    prepared = True
                while not self._stop.is_set() and self._work():
                    pass
            except MemoryCoreError as error:  # the store may be busy or full for a while; the queue keeps
                _log.warning("background work waits: %s", error.code)
            self._wake.wait(PAUSE_S)
