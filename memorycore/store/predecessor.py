"""Reading the database of the predecessor, of whatever version, without touching a byte of it or beside it.

Where all that was written stands in the file itself, the file is read as one that nobody changes: no lock, no shared
memory. Where a log lies beside it, somebody may be at work or died at it; then file and log are copied to a folder of
ours first, and SQLite puts the copy in order.
"""

import contextlib
import shutil
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import apsw

from memorycore.errors import StoreBusy, Unreadable
from memorycore.store.database import driver_errors
from memorycore.store.statements import all_rows, sql

Table = Literal["working", "episodic", "memories"]
LOGS = ("-wal", "-journal")
COPY_PREFIX = "import-"
LEFT_OVER_S = 3_600.0
_TRIES = 10
_PAUSE_S = 0.2
# By table: its name there, the statement that lists its rows, and the one that reads a row.
_STATEMENTS: Mapping[Table, tuple[str, str, str]] = {
    "working": ("working_memory", "predecessor_working", "predecessor_working_row"),
    "episodic": ("episodic_memory", "predecessor_episodic", "predecessor_episodic_row"),
    "memories": ("memories", "predecessor_memories", "predecessor_memories_row"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row by its number in its table, with its columns by name.

    ``broken``: a code, why it could not be read; then there are no columns.
    """

    table: Table
    number: int
    columns: Mapping[str, Any]
    broken: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """All that could be read. ``damaged``: the driver's words on a table that ended before its end."""

    tables: frozenset[Table]
    rows: tuple[Row, ...]
    damaged: str = ""


def read(path: Path, workshop: Path) -> Read:
    """Every row of the tables with memories, whatever their columns are. ``workshop``: where a copy may stand.

    Raises:
        StoreBusy: Another program keeps writing to the file, so that no copy of it was whole.
        StoreDamaged: It is no SQLite database.
        Unreadable: The system refuses to read it.
    """
    sweep(workshop)
    if not _logs(path):
        before = _stamp(path)
        found = _read(path, path.absolute().as_uri() + "?immutable=1")
        if _stamp(path) == before and not _logs(path):
            return found
    with _copied(path, workshop) as copy:
        return _read(path, copy.absolute().as_uri())


def sweep(workshop: Path) -> None:
    """Take away copies that an import left behind that was killed."""
    for folder in workshop.glob(f"{COPY_PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.is_dir() and time.time() - folder.stat().st_mtime > LEFT_OVER_S:
                shutil.rmtree(folder)


def _read(path: Path, uri: str) -> Read:
    flags = apsw.SQLITE_OPEN_READWRITE if "?" not in uri else apsw.SQLITE_OPEN_READONLY
    with driver_errors(path), contextlib.closing(apsw.Connection(uri, flags=flags | apsw.SQLITE_OPEN_URI)) as c:
        names = {str(name) for (name,) in all_rows(c, "predecessor_tables")}
        tables: list[Table] = [table for table, (name, _, _) in _STATEMENTS.items() if name in names]
        rows: list[Row] = []
        damaged = ""
        for table in tables:
            try:
                rows += _rows(c, table)
            except (apsw.CorruptError, apsw.SQLError) as error:
                damaged = str(error)
    return Read(tables=frozenset(tables), rows=tuple(rows), damaged=damaged)


def _rows(c: apsw.Connection, table: Table) -> Iterator[Row]:
    """One row after the other: one that cannot be read keeps no other from it."""
    _, listing, single = _STATEMENTS[table]
    for (number,) in all_rows(c, listing):
        try:
            cursor = c.execute(sql[single], {"number": number})
            values = cast("tuple[Any, ...]", cursor.fetchone() or ())
            names = [column[0] for column in cursor.get_description()] if values else []
        except UnicodeDecodeError:
            yield Row(table=table, number=int(number), columns={}, broken="not_utf8")
        except apsw.CorruptError:
            yield Row(table=table, number=int(number), columns={}, broken="damaged")
        else:
            found = zip(names, values, strict=True)
            kept = {name: value for name, value in found if name == "content" or not isinstance(value, bytes)}
            yield Row(table=table, number=int(number), columns=kept)  # vectors are of no use here


def _logs(path: Path) -> list[Path]:
    """The logs beside the file that hold something which may not be in it."""
    found = (path.with_name(path.name + suffix) for suffix in LOGS)
    return [log for log in found if log.exists() and log.stat().st_size]


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise Unreadable(path=str(path), why=error.strerror or str(error)) from error
    return found.st_mtime_ns, found.st_size, found.st_ino


@contextlib.contextmanager
def _copied(path: Path, workshop: Path) -> Generator[Path]:
    """A copy of file and logs that belong together: nobody changed the file while both were read."""
    with tempfile.TemporaryDirectory(prefix=COPY_PREFIX, dir=workshop) as folder:
        copy = Path(folder) / path.name
        for _ in range(_TRIES):
            before = _stamp(path)
            try:
                shutil.copyfile(path, copy)
                for suffix in LOGS:
                    copy.with_name(copy.name + suffix).unlink(missing_ok=True)
                for log in _logs(path):
                    shutil.copyfile(log, copy.with_name(log.name))
            except FileNotFoundError:  # a log that was there a moment ago: its last reader left
                continue
            except OSError as error:
                raise Unreadable(path=str(path), why=error.strerror or str(error)) from error
            if _stamp(path) == before:
                yield copy
                return
            time.sleep(_PAUSE_S)
        raise StoreBusy(path=str(path), waited_s=_TRIES * _PAUSE_S)


def is_database(head: bytes) -> bool:
    """Whether a file begins like a database of SQLite."""
    return head.startswith(b"SQLite format 3\0")
