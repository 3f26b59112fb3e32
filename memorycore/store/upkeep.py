"""Upkeep of the database file: consistency of its indexes, folding of uses, the write-ahead log, free pages.

Whatever may touch many rows does so in short transactions with pauses between them, so that nobody waits to store.
"""

import hashlib
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

    ``database``, ``text_index`` and ``archive_index`` are "ok" or SQLite's first complaint; ``missing`` are rows
    without search tokens, ``orphans`` tokens without a row, ``stale_vectors`` rows whose vector is of another text (all
    by seq); ``dead_vectors`` counts those that no row has, ``dead_edges`` those that lead nowhere, ``not_indexed``
    vectors that count as indexed and are not.
    """

    database: str
    text_index: str
    archive_index: str
    missing: Sequence[int]
    orphans: Sequence[int]
    stale_vectors: Sequence[int]
    dead_vectors: int
    dead_edges: int
    not_indexed: int

    @property
    def is_whole(self) -> bool:
        gaps = self.missing or self.orphans or self.stale_vectors
        counted = self.dead_vectors or self.dead_edges or self.not_indexed
        return self.text_index == "ok" and self.archive_index == "ok" and not gaps and not counted


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
    if repair and not found.is_whole:
        _mend(db, turn, found)
    return {
        "database": found.database,
        "text_index": found.text_index,
        "rows_without_text": len(found.missing),
        "texts_without_row": len(found.orphans),
        "dead_vectors": found.dead_vectors,
        "stale_vectors": len(found.stale_vectors),
        "dead_edges": found.dead_edges,
        "not_indexed": found.not_indexed,
        "repaired": repair and not found.is_whole,
    }


def look(c: apsw.Connection) -> Look:
    """Look at everything, on a connection that has read nothing yet. Takes no lock and writes nothing."""
    text_index = str(only_row(c, "check_text")[0])
    said = [str(row[0]) for row in all_rows(c, "check_all", {"most": _FIRST_COMPLAINTS})]
    archive = [complaint for complaint in said if "archive_text" in complaint]
    about_the_rest = [
        complaint for complaint in said if complaint not in {text_index, *archive} and "memory_text" not in complaint
    ]
    return Look(
        database=about_the_rest[0] if about_the_rest else "ok",
        text_index=text_index,
        archive_index=archive[0] if archive else "ok",
        stale_vectors=_stale_vectors(c),
        dead_edges=int(only_row(c, "count_dead_edges")[0]),
        not_indexed=_not_indexed(c),
        missing=[int(row[0]) for row in all_rows(c, "rows_without_text")],
        orphans=[int(row[0]) for row in all_rows(c, "texts_without_row")],
        dead_vectors=int(only_row(c, "count_dead_vectors")[0]),
    )


def _mend(db: Database, turn: Turn, found: Look) -> None:
    if found.text_index != "ok" or found.archive_index != "ok":
        for statement in ("rebuild_text", "rebuild_archive_text"):
            with turn() as c:
                c.execute(sql[statement])
        with db.read(fresh=True) as c:
            found = look(c)
    _mend_words(turn, found)
    for batch in _batches(found.stale_vectors):
        with turn() as c:
            for seq in batch:  # the next run of the embedding makes it anew
                c.execute(sql["delete_embeddings"], {"seq": seq})
    with turn() as c:
        if found.dead_edges:
            c.execute(sql["delete_dead_edges"])
        if found.not_indexed:
            c.execute(sql["unmark_not_indexed"])
    left = found.dead_vectors
    while left > 0:
        with turn() as c:
            c.execute(sql["delete_dead_vectors"], {"limit": BATCH})
            left = 0 if c.changes() < BATCH else left - BATCH


def _mend_words(turn: Turn, found: Look) -> None:
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


def _stale_vectors(c: apsw.Connection) -> list[int]:
    """Rows (seq) with a vector that was made of another text."""
    return [
        int(seq)
        for seq, known, content in c.execute(sql["texts_of_vectors"])
        if hashlib.sha256(content.encode("utf-8")).hexdigest() != known
    ]


def _not_indexed(c: apsw.Connection) -> int:
    """Vectors that sqlite-vec should have; its own tables can be read without it."""
    _, exists = only_row(c, "vector_index_recipe")
    return int(only_row(c, "count_not_indexed")[0]) if exists else 0


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


def optimise(turn: Turn) -> None:
    """Let SQLite look anew at what its tables hold, where that changed much; it reads some rows of each."""
    with turn() as c:
        all_rows(c, "optimise")


def checkpoint(db: Database) -> dict[str, object]:
    """Bring the write-ahead log into the database and cut it; a reader that is busy leaves it for the next time."""
    with driver_errors(db.path):
        busy, pages, moved = db.checkpoint()
    return {"busy": bool(busy), "pages": pages, "moved": moved}


def size_bytes(db: Database) -> int:
    """Database and write-ahead log on disk."""
    files = [db.path, db.path.with_name(db.path.name + "-wal")]
    return sum(file.stat().st_size for file in files if file.exists())
