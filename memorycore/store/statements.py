"""SQL by name: the only place where statements are read from ``sql/*.sql``."""

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

import apsw

_NAME = re.compile(r"^-- name: (\w+)[^\n]*\n", re.MULTILINE)


class Statements(Mapping[str, str]):
    """All named statements, read once when the first one is asked for."""

    def __init__(self) -> None:
        self._by_name: dict[str, str] = {}

    def _load(self) -> dict[str, str]:
        if not self._by_name:
            found: dict[str, str] = {}
            for file in sorted((files("memorycore.store") / "sql").iterdir(), key=lambda item: item.name):
                if file.name.endswith(".sql"):
                    found.update(_blocks(file.read_text(encoding="utf-8")))
            self._by_name = found
        return self._by_name

    def __getitem__(self, name: str) -> str:
        return self._load()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())


def _blocks(text: str) -> dict[str, str]:
    pieces = _NAME.split(text)
    return {name: body.strip() for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}


sql = Statements()


def first_row(c: apsw.Connection, name: str, parameters: Mapping[str, Any] | None = None) -> tuple[Any, ...] | None:
    """The first row of a named statement, or None."""
    found: tuple[Any, ...] | None = c.execute(sql[name], parameters).fetchone()
    return found


def all_rows(c: apsw.Connection, name: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """All rows of a named statement, read to the end, so that no cursor stays open."""
    return [tuple(row) for row in c.execute(sql[name], parameters)]


def only_row(c: apsw.Connection, name: str, parameters: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
    """The row of a named statement that always has one, such as a count."""
    found = first_row(c, name, parameters)
    if found is None:
        raise LookupError(name)
    return found
