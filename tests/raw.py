"""Looking for a text where it must not be any more: in the bytes of every file, and in every row of every table."""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

import apsw

from memorycore.domain.text import index_tokens
from memorycore.search import vector_index


def forms(text: str) -> set[bytes]:
    """A text as it may stand in a file of ours."""
    written = {
        text,
        text.lower(),
        index_tokens(text),
        json.dumps(text)[1:-1],
        json.dumps(text, ensure_ascii=False)[1:-1],
    }
    return {one.encode("utf-8") for one in written} | {text.encode("utf-16-le")}


def files_with(root: Path, *needles: bytes) -> list[str]:
    """Files below ``root`` that hold one of these. Not while this process has a database open there."""
    return [
        str(path.relative_to(root))
        for path in sorted(root.rglob("*"))
        if path.is_file() and any(needle in path.read_bytes() for needle in needles)
    ]


def tables_with(database: Path, *words: str) -> list[str]:
    """Tables with a row that holds one of these words, in capitals or not; tokens of the text indexes included."""
    return sorted({name for name, value in values_of(database) if any(word.lower() in value for word in words)})


def values_of(database: Path) -> Iterator[tuple[str, str]]:
    with closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)) as c:
        assert vector_index.load(c)
        for index in ("memory_text", "archive_text"):
            c.execute(f"CREATE VIRTUAL TABLE temp.{index}_terms USING fts5vocab (main, {index}, row)")
        names = [str(name) for (name,) in rows(c, "SELECT name FROM sqlite_schema WHERE type = 'table'")]
        for name in (*names, "memory_text_terms", "archive_text_terms"):
            for value in (value for row in rows(c, f'SELECT * FROM "{name}"') for value in row):  # noqa: S608 a table
                yield name, (value.decode("utf-8", "ignore") if isinstance(value, bytes) else str(value)).lower()


def rows(c: apsw.Connection, statement: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in cast("Iterable[tuple[object, ...]]", c.execute(statement))]
