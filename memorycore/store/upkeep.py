"""Upkeep of the database file: consistency of its indexes, folding of uses, the write-ahead log."""

import apsw

from memorycore.domain.text import index_tokens
from memorycore.store.database import Database, driver_errors
from memorycore.store.statements import all_rows, only_row, sql

USES_KEPT = 8


def check(db: Database, *, repair: bool) -> dict[str, object]:
    """Compare rows, text index and vectors; with ``repair`` mend what differs.

    Returns:
        ``database`` "ok" or SQLite's first complaint, ``text_index`` "ok" or "damaged", and how many rows missed their
        search tokens, tokens their row, vectors their active row.
    """
    with db.read() as c:
        verdict, missing, orphans, dead_vectors = look(c)
    text_index = "ok"
    if repair:
        with db.write() as c:
            text_index = _text_index_state(c)
            if text_index != "ok":
                c.execute(sql["rebuild_text"])
            for seq in orphans:
                c.execute(sql["delete_text"], {"seq": seq})
            for seq in missing:
                (content,) = only_row(c, "content_by_seq", {"seq": seq})
                c.execute(sql["insert_text"], {"seq": seq, "tokens": index_tokens(content)})
            c.execute(sql["delete_dead_vectors"])
    return {
        "database": verdict,
        "text_index": text_index,
        "rows_without_text": len(missing),
        "texts_without_row": len(orphans),
        "dead_vectors": dead_vectors,
        "repaired": repair,
    }


def look(c: apsw.Connection) -> tuple[str, list[int], list[int], int]:
    """SQLite's verdict, rows without search tokens, tokens without a row, and how many vectors no active row has."""
    verdict = str(next(iter(c.execute("PRAGMA quick_check(1)")))[0])
    missing = [int(row[0]) for row in all_rows(c, "rows_without_text")]
    orphans = [int(row[0]) for row in all_rows(c, "texts_without_row")]
    (dead_vectors,) = only_row(c, "count_dead_vectors")
    return verdict, missing, orphans, int(dead_vectors)


def _text_index_state(c: apsw.Connection) -> str:
    try:
        c.execute(sql["check_text"])
    except apsw.CorruptError:
        return "damaged"
    return "ok"


def fold_uses(db: Database) -> int:
    """Add old uses to the memories' counts and keep the last ``USES_KEPT`` of each; returns how many were folded."""
    with db.write() as c:
        c.execute(sql["fold_uses"], {"kept": USES_KEPT})
        c.execute(sql["drop_folded_uses"], {"kept": USES_KEPT})
        return c.changes()


def checkpoint(db: Database) -> dict[str, object]:
    """Bring the write-ahead log into the database and cut it; a reader that is busy leaves it for the next time."""
    with driver_errors(db.path):
        busy, pages, moved = db.checkpoint()
    return {"busy": bool(busy), "pages": pages, "moved": moved}


def size_bytes(db: Database) -> int:
    """Database and write-ahead log on disk."""
    files = [db.path, db.path.with_name(db.path.name + "-wal")]
    return sum(file.stat().st_size for file in files if file.exists())
