"""Upkeep of the database file: consistency of its indexes, folding of uses, the write-ahead log, free pages.

Whatever may touch many rows does so in short transactions with pauses between them, so that nobody waits to store.
"""

import json
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import apsw

from memorycore.domain.text import index_tokens
from memorycore.store.database import Database, driver_errors
from memorycore.store.statements import all_rows, first_row, only_row, sql

USES_KEPT = 8
BATCH = 200
SPARE_PAGES = 64  # free pages that a file may keep: the next texts need them
LONGEST_PAUSE_S = 0.25
_FIRST_COMPLAINTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How database and indexes are.

    ``database`` and ``text_index`` are "ok" or SQLite's first complaint; ``missing`` are rows without search tokens,
    ``orphans`` tokens without an active row (both by seq); ``dead_vectors`` counts those that no active row has.
    """

    database: str
    text_index: str
    missing: Sequence[int]
    orphans: Sequence[int]
    dead_vectors: int


Turn: TypeAlias = Callable[[], AbstractContextManager[apsw.Connection]]
"""Opens one short write transaction, and lets others write after it."""


def turns(db: Database) -> Turn:
    """Turns of a process that needs nobody's leave."""

    @contextmanager
    def turn() -> Generator[apsw.Connection]:
        began = time.monotonic()
        with db.write() as c:
            yield c
        time.sleep(min(max(time.monotonic() - began, 0.001), LONGEST_PAUSE_S))

    return turn


def check(db: Database, turn: Turn, *, repair: bool) -> dict[str, object]:
    """Compare rows, text index and vectors; with ``repair`` mend what differs.

    Returns:
        ``database`` and ``text_index`` "ok" or SQLite's first complaint, and how many rows missed their search tokens,
        tokens their row, vectors their active row.
    """
    with db.read(fresh=True) as c:
        found = look(c)
    broken = found.text_index != "ok" or bool(found.missing or found.orphans or found.dead_vectors)
    if repair and broken:
        _mend(db, turn, found)
    return {
        "database": found.database,
        "text_index": found.text_index,
        "rows_without_text": len(found.missing),
        "texts_without_row": len(found.orphans),
        "dead_vectors": found.dead_vectors,
        "repaired": repair and broken,
    }


def look(c: apsw.Connection) -> Look:
    """Look at everything, on a connection that has read nothing yet. Takes no lock and writes nothing."""
    text_index = str(only_row(c, "check_text")[0])
    said = [str(row[0]) for row in all_rows(c, "check_all", {"most": _FIRST_COMPLAINTS})]
    about_the_rest = [complaint for complaint in said if complaint != text_index and "memory_text" not in complaint]
    return Look(
        database=about_the_rest[0] if about_the_rest else "ok",
        text_index=text_index,
        missing=[int(row[0]) for row in all_rows(c, "rows_without_text")],
        orphans=[int(row[0]) for row in all_rows(c, "texts_without_row")],
        dead_vectors=int(only_row(c, "count_dead_vectors")[0]),
    )


def _mend(db: Database, turn: Turn, found: Look) -> None:
    if found.text_index != "ok":
        with turn() as c:
            c.execute(sql["rebuild_text"])
        with db.read(fresh=True) as c:
            found = look(c)
    for batch in _batches(found.orphans):
        with turn() as c:
            for seq in batch:  # what belongs into the other index is put there below
                c.execute(sql["delete_text"], {"seq": seq})
                c.execute(sql["delete_archive_text"], {"seq": seq})
    for batch in _batches([*found.missing, *found.orphans]):
        with turn() as c:
            for seq in batch:  # somebody may have mended or removed it meanwhile
                if row := first_row(c, "content_without_text", {"seq": seq}):
                    index = "insert_text" if row[1] == "active" else "insert_archive_text"
                    c.execute(sql[index], {"seq": seq, "tokens": index_tokens(row[0])})
    left = found.dead_vectors
    while left > 0:
        with turn() as c:
            c.execute(sql["delete_dead_vectors"], {"limit": BATCH})
            left = 0 if c.changes() < BATCH else left - BATCH


def _batches(seqs: Sequence[int]) -> list[Sequence[int]]:
    return [seqs[start : start + BATCH] for start in range(0, len(seqs), BATCH)]


def fold_uses(db: Database, turn: Turn) -> int:
    """Add old uses to the memories' counts and keep the last ``USES_KEPT`` of each; returns how many were folded."""
    folded = 0
    with db.read() as c:
        often_used = [int(row[0]) for row in all_rows(c, "often_used", {"kept": USES_KEPT})]
    for batch in _batches(often_used):
        which = {"kept": USES_KEPT, "seqs": json.dumps(batch)}
        with turn() as c:
            c.execute(sql["fold_uses"], which)
            c.execute(sql["drop_folded_uses"], which)
            folded += c.changes()
    return folded


def compact(db: Database, turn: Turn) -> int:
    """Give free pages back to the disk when there are many; returns how many bytes."""
    with db.read() as c:
        page_bytes, free = (int(only_row(c, name)[0]) for name in ("page_size", "free_pages"))
        pages = int(only_row(c, "pages")[0])
    if free <= max(SPARE_PAGES, pages // 10):
        return 0
    given_back = 0
    while given_back < free:
        with turn() as c:
            before = int(only_row(c, "free_pages")[0])
            all_rows(c, "give_pages_back")
            step = before - int(only_row(c, "free_pages")[0])
        if step <= 0:  # none are left, or the file was made without this
            break
        given_back += step
    return given_back * page_bytes


def checkpoint(db: Database) -> dict[str, object]:
    """Bring the write-ahead log into the database and cut it; a reader that is busy leaves it for the next time."""
    with driver_errors(db.path):
        busy, pages, moved = db.checkpoint()
    return {"busy": bool(busy), "pages": pages, "moved": moved}


def size_bytes(db: Database) -> int:
    """Database and write-ahead log on disk."""
    files = [db.path, db.path.with_name(db.path.name + "-wal")]
    return sum(file.stat().st_size for file in files if file.exists())
