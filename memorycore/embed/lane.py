"""Texts that wait for their vectors: bounded, without repeats, the urgent before the patient."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memorycore.embed.kept import Kept, key_of

if TYPE_CHECKING:
    from memorycore.embed.contract import Vectors
    from memorycore.errors import EmbeddingError

_QUICK_CHARS = 1000
_KEPT_BYTES = 16 * 1024 * 1024


@dataclass(slots=True, kw_only=True, eq=False)
class Job:
    """One text and, when it is done, its vectors or the reason why there are none."""

    text: str
    key: bytes
    result: Vectors | EmbeddingError | None = None


class Lane:
    """What one worker has to do. Every method is called with the service's lock held."""

    def __init__(self, *, most_waiting: int, most_kept: int) -> None:
        self._most_waiting = most_waiting
        self._most_kept = most_kept
        self._open: dict[bytes, Job] = {}  # waiting or being worked on
        self._urgent: deque[Job] = deque()
        self._patient: deque[Job] = deque()
        self._kept = Kept(most=most_kept, most_bytes=_KEPT_BYTES)

    def known(self, text: str) -> Job | None:
        """The job of an equal text that is done or under way."""
        key = key_of(text)
        vectors = self._kept.get(key)
        return self._open.get(key) if vectors is None else Job(text=text, key=key, result=vectors)

    def forget(self) -> None:
        """Drop what is kept; what is under way goes on."""
        self._kept = Kept(most=self._most_kept, most_bytes=_KEPT_BYTES)

    def has_room(self) -> bool:
        return len(self._open) < self._most_waiting

    def has_work(self) -> bool:
        return bool(self._urgent or self._patient)

    def add(self, text: str, *, patient: bool) -> Job:
        job = Job(text=text, key=key_of(text))
        self._open[job.key] = job
        (self._patient if patient else self._urgent).append(job)
        return job

    def hurry(self, job: Job) -> None:
        """Somebody waits for a text that stood in the patient queue."""
        if job in self._patient:
            self._patient.remove(job)
            self._urgent.append(job)

    def take(self, most: int, *, most_chars: int) -> list[Job]:
        """The next jobs for one call: at least one, then as many as stay short."""
        taken: list[Job] = []
        chars = 0
        while len(taken) < most and self.has_work():
            queue = self._urgent or self._patient
            chars += len(queue[0].text)
            if taken and chars > most_chars:
                break
            taken.append(queue.popleft())
        return taken

    def take_quick(self, most: int) -> list[Job]:
        """Urgent jobs that are done in no time, for between the parts of a long text."""
        taken: list[Job] = []
        while len(taken) < most and self._urgent and len(self._urgent[0].text) <= _QUICK_CHARS:
            taken.append(self._urgent.popleft())
        return taken

    def finish(self, job: Job, result: Vectors | EmbeddingError, *, keep: bool) -> None:
        job.result = result
        self._open.pop(job.key, None)
        if keep:
            self._kept.put(job.key, result)  # pyright: ignore[reportArgumentType] kept results are vectors

    def give_up(self, error: EmbeddingError) -> None:
        """Every job that waits gets this error. What is being worked on ends by itself."""
        for queue in (self._urgent, self._patient):
            while queue:
                self.finish(queue.popleft(), error, keep=False)
