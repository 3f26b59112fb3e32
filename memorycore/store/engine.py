"""What the database engine of this installation can do, and how a database is, looked at without a change."""

import contextlib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import apsw

from memorycore.store import upkeep
from memorycore.store.database import BUSY_TIMEOUT_MS, driver_errors
from memorycore.store.memories import from_ms
from memorycore.store.statements import all_rows, only_row, sql
from memorycore.store.vectors import EMBED


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """``vec0`` is the version of sqlite-vec, empty when it does not load; ``vec0_error`` then says why."""

    sqlite: str
    driver: str
    full_text: bool
    vec0: str = ""
    vec0_error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Soundness:
    """How a database is.

    ``verdict``: "ok" or SQLite's first complaint. ``gaps``: texts without search tokens, tokens or vectors without
    text, a damaged index. ``waiting``: vectors still to be made. ``given_up``: how many jobs of each kind were.
    ``failed_steps``: steps of maintenance that failed when last run. ``held_back``: texts that are cold since their
    memory file had no place for them. ``tended_at``: when a step last ended, or else something first happened; None in
    an empty one. ``hot_folders``: whose memory files it keeps.
    """

    verdict: str
    gaps: int
    waiting: int
    given_up: Mapping[str, int]
    failed_steps: tuple[str, ...]
    held_back: int
    tended_at: datetime | None
    hot_folders: tuple[str, ...]


def examine() -> Engine:
    """Try a database in memory. Touches no file."""
    with contextlib.closing(apsw.Connection(":memory:")) as connection:
        try:
            connection.execute(sql["try_full_text"])
            full_text = True
        except apsw.SQLError:
            full_text = False
        try:
            path = vec0_path()
            connection.enable_load_extension(True)  # noqa: FBT003 the driver takes it by position only
            connection.load_extension(path)
            vec0, why = str(connection.execute(sql["vec_version"]).get), ""
        except (ImportError, OSError, apsw.Error, AttributeError) as error:
            vec0, why = "", str(error) or type(error).__name__
    return Engine(
        sqlite=apsw.sqlite_lib_version(), driver=apsw.apsw_version(), full_text=full_text, vec0=vec0, vec0_error=why
    )


def vec0_path() -> str:
    """Where the vector index lies, to be loaded as an extension.

    Its package takes in a part of numpy, and so numpy is loaded whole first: of two threads, one of which begins with
    the whole and the other with a part, each waits for the other, and both are left with half of it for good.

    Raises:
        ImportError: It is not installed.
    """
    with contextlib.suppress(ImportError):
        importlib.import_module("numpy")
    import sqlite_vec

    return sqlite_vec.loadable_path()


def look_at(path: Path) -> Soundness:
    """Check a database without writing a byte beside or into it.

    Raises:
        StoreError: It cannot be opened or read.
    """
    # With a write-ahead log somebody may be at work, and the log belongs to the content. Without one, the file alone is
    # all there is, and no log or shared memory is made for looking at it.
    in_use = path.with_name(path.name + "-wal").exists()
    found = _look_at(path, "" if in_use else "?immutable=1")
    return found if found.verdict == "ok" or in_use else _look_at(path, "")


def _look_at(path: Path, options: str) -> Soundness:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with driver_errors(path), contextlib.closing(apsw.Connection(path.absolute().as_uri() + options, flags=flags)) as c:
        c.set_busy_timeout(BUSY_TIMEOUT_MS)
        found = upkeep.look(c)
        jobs = {kind: (waiting, dead) for kind, waiting, dead in all_rows(c, "all_jobs")}
        failed = tuple(step for (step,) in all_rows(c, "failed_steps"))
        (held_back,) = only_row(c, "all_held_back")
        (tended_at,) = only_row(c, "last_tended")
        folders = tuple(folder for (folder,) in all_rows(c, "hot_folders"))
    return Soundness(
        verdict=found.database,
        gaps=len(found.missing) + len(found.orphans) + found.dead_vectors + (found.text_index != "ok"),
        waiting=jobs.get(EMBED, (0, 0))[0],
        given_up={kind: dead for kind, (_, dead) in jobs.items() if dead},
        failed_steps=failed,
        held_back=held_back,
        tended_at=from_ms(tended_at),
        hot_folders=folders,
    )


def schema_in_header(header: bytes) -> int | None:
    """The schema number in the first 100 bytes of a database file; None when they are no such header.

    Read without the driver, so that looking at a file of another version neither upgrades nor locks it. A fresh
    database may still be in its write-ahead log: then the number is 0.
    """
    return int.from_bytes(header[60:64], "big") if header.startswith(b"SQLite format 3\0") else None
