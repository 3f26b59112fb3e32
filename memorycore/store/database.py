"""The connection to ``memorycore.db``: transactions, migrations, and the errors of the driver as ours.

apsw alone may open this file: two SQLite libraries on one file in one process drop each other's locks.
"""

import contextlib
import os
import queue
import re
import threading
import time
from collections.abc import Generator, Sequence
from importlib.resources import files
from pathlib import Path

import apsw

from memorycore.errors import SchemaTooNew, StoreBusy, StoreDamaged, StoreError
from memorycore.store.folders import make_private
from memorycore.store.statements import only_row

BUSY_TIMEOUT_MS = 5_000
GIVE_WAY_S = 0.11
# The write-ahead log is cut when it grows beyond this. Readers that take turns would else let it grow for ever.
LOG_BYTES = 16 * 1024 * 1024
CUT_WAIT_MS = 200  # how long a cut may wait for readers: a writer waits with it
MAX_IDLE_READERS = 4
APPLICATION_ID = 0x4D454D43  # "MEMC"
_MIGRATION = re.compile(r"(\d{4})_\w+\.sql")


class _Rehearsed(Exception):
    pass


class Database:
    """One open ``memorycore.db``: one writing connection, a few reading ones, usable from every thread.

    ``with db.write() as c`` runs in ``BEGIN IMMEDIATE`` and commits at the end; a thread's nested calls are savepoints.
    ``with db.read() as c`` is one short snapshot; inside a write of the same thread it sees that write.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._owner = 0
        self._idle: queue.LifoQueue[apsw.Connection] = queue.LifoQueue(MAX_IDLE_READERS)
        self._watch_lock = threading.Lock()
        self._watch: apsw.Connection | None = None
        self._closed = False
        self._log = path.with_name(path.name + "-wal")
        self._log_limit = LOG_BYTES
        self._file = _identity(path)
        with driver_errors(path):
            self._writer = _connect(path)
            migrate(self._writer, path, migrations())
            # Commits reach the disk before they are acknowledged; one costs about a tenth of a millisecond on an SSD.
            self._writer.execute("PRAGMA synchronous = FULL")
            self._epoch = self._newest_epoch = _epoch(self._writer)
        self._seen_version = -1

    @contextlib.contextmanager
    def write(self, *, timeout_ms: int = BUSY_TIMEOUT_MS) -> Generator[apsw.Connection]:
        """One write transaction.

        Raises:
            StoreBusy: Another process kept the write lock for longer than ``timeout_ms``.
            StoreError: The disk is full, the file is damaged or was closed.
        """
        with self._lock, driver_errors(self.path):
            if self._owner == threading.get_ident():
                with self._writer:
                    yield self._writer
                return
            self._writer.set_busy_timeout(timeout_ms)
            self._writer.execute("BEGIN IMMEDIATE")
            self._owner = threading.get_ident()
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise
            finally:
                self._owner = 0
            self._cut_log_if_long()

    @contextlib.contextmanager
    def rehearse(self) -> Generator[apsw.Connection]:
        """As ``write``, but nothing of it stays: what would happen, found out by doing it."""
        with contextlib.suppress(_Rehearsed), self.write() as c:
            yield c
            raise _Rehearsed

    @contextlib.contextmanager
    def read(self, *, fresh: bool = False) -> Generator[apsw.Connection]:
        """One consistent snapshot for reading. Never waits for a writer.

        ``fresh``: on a connection that has read nothing yet. A check of the text index needs that: FTS5 compares what
        its connection has kept in memory with what others wrote since, and sees damage where there is none.
        """
        if self._owner == threading.get_ident():
            yield self._writer
            return
        with driver_errors(self.path):
            connection = _connect(self.path, read_only=True) if fresh else self._reader()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                self._give_back(connection)

    def data_version(self) -> int:
        """A number that changes whenever any connection, of any process, has committed a change."""
        with self._watch_lock, driver_errors(self.path):
            if self._watch is None:
                self._watch = _connect(self.path, read_only=True)
            return int(self._watch.pragma("data_version"))

    def was_replaced(self) -> bool:
        """Whether another file, or none, stands where this database was opened, or a backup was put into it.

        What is written into another file is lost; after a backup was restored, what is known of before is wrong.
        """
        if _identity(self.path) != self._file:
            return True
        version = self.data_version()
        if version != self._seen_version:
            self._seen_version = version
            with self.read() as c:
                self._newest_epoch = _epoch(c)
        return self._newest_epoch != self._epoch

    def backup(self, target: Path) -> None:
        """Copy the whole database to ``target`` (mode 0600), safe beside writers."""
        with driver_errors(target), contextlib.closing(apsw.Connection(str(target))) as copy:
            target.chmod(0o600)
            with self.read() as source, copy.backup("main", source, "main") as step:
                while not step.done:
                    step.step(1_000)

    def checkpoint(self) -> tuple[int, int, int]:
        """Move the write-ahead log into the file and cut it: (busy, pages in the log, pages moved).

        Where a reader needs the log it stays as long as it is: waiting for readers would hold up every writer.
        """
        with self._lock:
            self._writer.set_busy_timeout(CUT_WAIT_MS)
            busy, pages, moved = next(iter(self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")))
        return int(str(busy)), int(str(pages)), int(str(moved))

    def cut_log(self, *, wait_s: float) -> bool:
        """As ``checkpoint``, again and again until the log is empty; False when readers kept it for ``wait_s``."""
        ends_at = time.monotonic() + wait_s
        while True:
            with driver_errors(self.path):
                busy, _, _ = self.checkpoint()
            if not busy or time.monotonic() >= ends_at:
                return not busy
            time.sleep(CUT_WAIT_MS / 1_000)

    def rebuild(self) -> None:
        """Write the whole file anew from what is in it, so that nothing of what was deleted is left between rows.

        Raises:
            StoreError: There is no room for a second copy, or others keep writing.
        """
        with self._lock, driver_errors(self.path):
            self._writer.set_busy_timeout(BUSY_TIMEOUT_MS)
            self._writer.execute("VACUUM")

    def log_bytes(self) -> int:
        """Size of the write-ahead log."""
        try:
            return self._log.stat().st_size
        except OSError:
            return 0

    def _cut_log_if_long(self) -> None:
        if self.log_bytes() <= self._log_limit:
            return
        self.checkpoint()
        # What a reader holds is tried again when the log has grown a good deal more, not with every commit.
        self._log_limit = LOG_BYTES + self.log_bytes()

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            while not self._idle.empty():
                self._idle.get_nowait().close()
            if self._watch is not None:
                self._watch.close()
            with contextlib.suppress(apsw.Error):
                self._writer.execute("PRAGMA optimize")
            self._writer.close()

    def _reader(self) -> apsw.Connection:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            return _connect(self.path, read_only=True)

    def _give_back(self, connection: apsw.Connection) -> None:
        if not self._closed:
            with contextlib.suppress(queue.Full):
                self._idle.put_nowait(connection)
                return
        connection.close()


def give_way() -> None:
    """Between two of many transactions: SQLite looks for a free lock every tenth of a second at least."""
    time.sleep(GIVE_WAY_S)


def open_database(data_dir: Path) -> Database:
    """Open ``memorycore.db`` in ``data_dir``, making folder (0700) and file (0600) when there is none.

    Raises:
        SchemaTooNew: A newer MemoryCore wrote the file.
        StoreDamaged: The file is no SQLite database, or another program's.
        StoreError: The folder or the file cannot be used.
    """
    path = data_dir / "memorycore.db"
    try:
        make_private(data_dir)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(path=str(path), why=error.strerror or str(error)) from error
    return Database(path)


def migrations() -> list[tuple[int, str]]:
    """All schema steps as (number, SQL), in order."""
    found = [
        (int(match.group(1)), file.read_text(encoding="utf-8"))
        for file in (files("memorycore.store") / "migrations").iterdir()
        if (match := _MIGRATION.fullmatch(file.name))
    ]
    return sorted(found)


def migrate(connection: apsw.Connection, path: Path, steps: Sequence[tuple[int, str]]) -> None:
    """Bring the schema up to date, all steps in one transaction.

    An existing older database is copied beside itself first, under the same lock. Many processes may start at once: the
    others find the work done when they get the lock.
    """
    newest = steps[-1][0]
    if _version(connection, path, newest) == newest:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection, path, newest)
        if version == newest:
            return
        if version:  # a new database has nothing to lose
            _backup_before_upgrade(path, version)
        for number, script in steps:
            if number > version:
                connection.execute(script)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", newest)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _version(connection: apsw.Connection, path: Path, newest: int) -> int:
    version = int(connection.pragma("user_version"))
    if version > newest:
        raise SchemaTooNew(path=str(path), found=version, known=newest)
    has_tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if has_tables and int(connection.pragma("application_id")) != APPLICATION_ID:
        raise StoreDamaged(path=str(path), why="the database belongs to another program")
    return version


def _backup_before_upgrade(path: Path, version: int) -> None:
    """Copy the database beside itself. Only who has the lock does, so that a copy cut short is nobody's any more.

    It is read through a connection of its own: one that may write does not copy what it may change.
    """
    kept = path.with_name(f"{path.stem}.before-upgrade-{version}.db")
    own = kept.with_name(f"{kept.stem}-part.db")
    try:
        for left in path.parent.glob(f"{path.stem}.before-upgrade-*-*.db*"):
            left.unlink()
        os.close(os.open(own, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with (
            contextlib.closing(_connect(path, read_only=True)) as source,
            contextlib.closing(apsw.Connection(str(own))) as copy,
            copy.backup("main", source, "main") as step,
        ):
            while not step.done:
                step.step(1_000)
        own.replace(kept)
    except OSError as error:
        raise StoreError(path=str(kept), why=error.strerror or str(error)) from error
    finally:
        own.unlink(missing_ok=True)


def _epoch(connection: apsw.Connection) -> int:
    """How often a backup was put into this database."""
    return int(only_row(connection, "epoch")[0])


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _connect(path: Path, *, read_only: bool = False) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    if not read_only:
        connection.pragma("auto_vacuum", 2)  # free pages can be given back in small steps; counts for a new file only
        connection.pragma("journal_mode", "wal")
        connection.pragma("secure_delete", 1)
        connection.pragma("journal_size_limit", LOG_BYTES)
    connection.pragma("foreign_keys", 1)
    # Plans that look at the values bound are made again with each new value, which takes longer than most statements.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    if read_only:
        connection.pragma("query_only", 1)
    return connection


@contextlib.contextmanager
def driver_errors(path: Path) -> Generator[None]:
    """Raise the driver's errors as ours, with the file's name."""
    try:
        yield
    except apsw.BusyError as error:
        raise StoreBusy(path=str(path), waited_s=BUSY_TIMEOUT_MS / 1_000) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreDamaged(path=str(path), why=str(error)) from error
    except (apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.ConnectionClosedError) as error:
        raise StoreError(path=str(path), why=str(error)) from error
