"""Which memories were answers, and when: kept apart, since reading must not rewrite what it reads."""

import json
import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from memorycore.errors import StoreError
from memorycore.store.database import Database
from memorycore.store.memories import to_ms
from memorycore.store.statements import sql

MOST_KEPT = 1_000


class Uses:
    """Notes uses; with ``later`` it keeps them until ``flush``, so that a question writes nothing.

    A use that is lost with its process is lost: it only ranks.
    """

    def __init__(self, db: Database, clock: Callable[[], datetime], *, later: bool) -> None:
        self._db = db
        self._clock = clock
        self._later = later
        self._lock = threading.Lock()
        self._kept: list[tuple[int, int]] = []

    def note(self, seqs: Sequence[int]) -> None:
        """These rows were answers just now."""
        now = to_ms(self._clock()) or 0
        with self._lock:
            self._kept += [(int(seq), now) for seq in seqs]
            full = len(self._kept) > MOST_KEPT
        if full or not self._later:
            self.flush()

    def flush(self) -> None:
        """Write down what was kept. Never waits for another writer; what cannot be written now is kept on."""
        with self._lock:
            kept, self._kept = self._kept, []
        if not kept:
            return
        try:
            with self._db.write(timeout_ms=0) as c:
                c.execute(sql["insert_uses"], {"uses": json.dumps(kept)})
        except StoreError:
            with self._lock:
                self._kept = kept[-MOST_KEPT:] + self._kept
