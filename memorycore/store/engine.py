"""What the database engine of this installation can do; for the doctor."""

import contextlib
from dataclasses import dataclass

import apsw

from memorycore.store.statements import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """``vec0`` is the version of sqlite-vec, empty when it does not load; ``vec0_error`` then says why."""

    sqlite: str
    driver: str
    full_text: bool
    vec0: str = ""
    vec0_error: str = ""


def examine() -> Engine:
    """Try a database in memory. Touches no file."""
    with contextlib.closing(apsw.Connection(":memory:")) as connection:
        try:
            connection.execute(sql["try_full_text"])
            full_text = True
        except apsw.SQLError:
            full_text = False
        try:
            import sqlite_vec

            connection.enable_load_extension(True)  # noqa: FBT003 the driver takes it by position only
            connection.load_extension(sqlite_vec.loadable_path())
            vec0, why = str(connection.execute(sql["vec_version"]).get), ""
        except (ImportError, OSError, apsw.Error, AttributeError) as error:
            vec0, why = "", str(error) or type(error).__name__
    return Engine(
        sqlite=apsw.sqlite_lib_version(), driver=apsw.apsw_version(), full_text=full_text, vec0=vec0, vec0_error=why
    )


def schema_in_header(header: bytes) -> int | None:
    """The schema number in the first 100 bytes of a database file; None when they are no such header.

    Read without the driver, so that looking at a file of another version neither upgrades nor locks it. A fresh
    database may still be in its write-ahead log: then the number is 0.
    """
    return int.from_bytes(header[60:64], "big") if header.startswith(b"SQLite format 3\0") else None
