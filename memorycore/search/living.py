"""What a process that lives long keeps of the store, so that a question costs no reading."""

from __future__ import annotations

import importlib
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import apsw

from memorycore.embed.processor import settle_threads
from memorycore.search.rows import Rows
from memorycore.search.vectors import Matrix
from memorycore.store.vectors import known_fingerprint

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from memorycore.embed import Calibration, EmbeddingService
    from memorycore.store import Database


class LivingIndex:
    """Columns and vectors of all live memories, in memory, following the store's changes, whoever makes them.

    Usable from every thread, one question at a time.
    """

    def __init__(self, db: Database, embedding: EmbeddingService | None, *, namespaces: Sequence[str]) -> None:
        # Loaded by whoever opens the index, before threads share it: the first questions would all load it at once.
        settle_threads()
        for name in ("numpy", "numpy.ma"):  # the second is loaded by numpy itself with the first np.unique
            importlib.import_module(name)
        self._db = db
        self._embedding = embedding
        self._lock = threading.Lock()
        self._rows = Rows(namespaces)
        self._past: Rows | None = None
        self._matrix: Matrix | None = None
        self._version = -1

    @contextmanager
    def current(self, c: apsw.Connection, *, past: bool = False) -> Generator[Rows]:
        """The columns as they stand in the snapshot of ``c``, for one question; ``past``: of what is superseded too.

        Inside a write transaction they stay as they are: what is rolled back would else be kept.
        """
        with self._lock:
            if not past and self._version >= 0 and c.txn_state() == apsw.SQLITE_TXN_WRITE:
                yield self._rows
                return
            # The version is taken before the look at the store: what is committed in between is read now or next time.
            version = self._db.data_version()
            if version != self._version:
                self._rows.follow(c)
                if self._matrix is not None:
                    self._matrix.follow(c)
                self._version = version
            if not past:
                yield self._rows
                return
            if self._past is None:
                self._past = Rows(self._rows.namespaces, past=True)
            self._past.follow(c)
            yield self._past

    @contextmanager
    def vectors(self, c: apsw.Connection, fingerprint_id: int, calibration: Calibration) -> Generator[Matrix]:
        """The vectors as they stand in the snapshot of ``c``; columns that nobody asks for do not follow."""
        with self._lock:
            matrix = self.matrix(c, fingerprint_id, calibration)
            matrix.follow(c)
            yield matrix

    def matrix(self, c: apsw.Connection, fingerprint_id: int, calibration: Calibration) -> Matrix:
        """The vectors of this fingerprint, inside ``current``; all are read when the model has changed."""
        if self._matrix is None or self._matrix.fingerprint_id != fingerprint_id:
            matrix = Matrix(fingerprint_id, calibration)
            matrix.follow(c)
            self._matrix = matrix
        return self._matrix

    def warm(self) -> None:
        """Read everything now, waiting for the model, so that the first question does not have to."""
        fingerprint = self._embedding.fingerprint() if self._embedding else None
        calibration = self._embedding.calibration if self._embedding else None
        with self._db.read() as c, self.current(c):
            known = known_fingerprint(c, fingerprint) if fingerprint else None
            if known is not None and calibration is not None:
                self.matrix(c, known, calibration)
