"""What a step is given to work with: short writes under its lease, a limit of time, and somebody who watches."""

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

import apsw

from memorycore.store import Database, step_runs
from memorycore.store.step_runs import Lease
from memorycore.store.upkeep import LONGEST_PAUSE_S, Turn

LEAST_PAUSE_S = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a step is: ``done`` of ``total`` things (0: nobody knows). It is ``number`` of ``steps``."""

    step: str
    done: int
    total: int
    number: int = 1
    steps: int = 1


Report: TypeAlias = Callable[[Progress], None]


@dataclass(slots=True, kw_only=True)
class Work:
    """One run of one step.

    ``cursor`` is where the last run stopped, or empty. A step that runs out of time sets ``partial`` and leaves the
    cursor of its last batch; everything before that is done for good. In a dry run there is no lease and no write.
    """

    db: Database
    step: str
    clock: Callable[[], datetime]
    dry_run: bool = False
    lease: Lease | None = None
    cursor: str = ""
    ends_at_s: float | None = None
    by_itself: bool = False
    report: Callable[[int, int], None] = field(default=lambda _done, _total: None)
    partial: bool = False

    @contextmanager
    def batch(self, *, cursor: str | None = None) -> Generator[apsw.Connection]:
        """One short write transaction, and after it a pause as long, in which others write.

        Raises:
            Conflict: Another process has this step by now. Nothing of the batch stays.
        """
        began = time.monotonic()
        with self.db.write() as c:
            if self.lease is not None:
                step_runs.hold(c, self.lease, self.clock(), cursor=cursor)
            yield c
        if cursor is not None:
            self.cursor = cursor
        time.sleep(min(max(time.monotonic() - began, LEAST_PAUSE_S), LONGEST_PAUSE_S))

    @contextmanager
    def reading(self) -> Generator[apsw.Connection]:
        """One read, and after it a pause as long as it took: whoever asks in the same process gets a turn."""
        began = time.monotonic()
        with self.db.read() as c:
            yield c
        time.sleep(min(time.monotonic() - began, LONGEST_PAUSE_S))

    @property
    def turn(self) -> Turn:
        """``batch``, for functions of the store."""
        return self.batch

    def check(self) -> None:
        """Before something that has transactions of its own: whether the step is still ours.

        Raises:
            Conflict: It is not.
        """
        if self.lease is not None:
            with self.db.write() as c:
                step_runs.hold(c, self.lease, self.clock())

    def out_of_time(self) -> bool:
        """Whether to stop here; then the run is partial, and goes on from its cursor."""
        if self.ends_at_s is not None and time.monotonic() >= self.ends_at_s:
            self.partial = True
        return self.partial


Step: TypeAlias = Callable[[Work], Mapping[str, object]]
"""Does its work and answers counts."""
