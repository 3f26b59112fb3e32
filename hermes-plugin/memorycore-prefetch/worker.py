"""Calls that nobody waits for: a bounded queue, and one thread that works it off in order."""

import queue
import threading
from collections.abc import Callable
from contextlib import suppress

MOST_WAITING = 128


class Worker:
    """Runs what it is given, one after the other. What it is given raises nothing."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Callable[[], object]] = queue.Queue(MOST_WAITING)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_ending = self._over = False

    @property
    def is_over(self) -> bool:
        """Whether it takes nothing more."""
        return self._is_ending

    def put(self, work: Callable[[], object]) -> bool:
        """Whether there was room for it."""
        with self._lock:
            if self._is_ending:
                return False
            try:
                self._queue.put_nowait(work)
            except queue.Full:
                return False
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="memorycore-queue", daemon=True)
                self._thread.start()
            return True

    def end(self, within_s: float) -> int:
        """Take nothing more, and work off what waits. How many pieces were left when the time was over."""
        with self._lock:
            self._is_ending = True
        with self._queue.all_tasks_done:
            self._queue.all_tasks_done.wait_for(lambda: not self._queue.unfinished_tasks, within_s)
            left = self._queue.unfinished_tasks
        with self._lock:
            self._over = True
            waits = self._thread is not None
        if waits:
            with suppress(queue.Full):
                self._queue.put_nowait(_nothing)  # wakes the thread, which then sees that it is over
        return left

    def _run(self) -> None:
        while not self._over:
            work = self._queue.get()
            if not self._over:
                work()
            self._queue.task_done()


def _nothing() -> None:
    pass
