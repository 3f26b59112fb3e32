import re
from pathlib import Path

import pytest

from memorycore.store import sql
from tests.arch.source import PACKAGE, python_files

FOLDER = PACKAGE / "store" / "sql"
MARK = re.compile(r"^-- name: (\w+) \(all namespaces: \S.*\)$", re.MULTILINE)
TOUCHES_MEMORY = re.compile(r"\b(FROM|JOIN|INTO|UPDATE)\s+memory\b(?!_)", re.IGNORECASE)


def text_of_all(suffix: str, folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob(f"*{suffix}")))


SQL_TEXT = text_of_all(".sql", FOLDER)
ACROSS_NAMESPACES = set(MARK.findall(SQL_TEXT))


@pytest.mark.parametrize("name", sorted(sql))
def test_a_statement_on_memories_keeps_to_its_namespace_or_says_why_not(name: str) -> None:
    if TOUCHES_MEMORY.search(sql[name]) and name not in ACROSS_NAMESPACES:
        assert "namespace" in sql[name]


def test_no_name_is_given_twice() -> None:
    names = re.findall(r"^-- name: (\w+)", SQL_TEXT, re.MULTILINE)
    assert sorted(names) == sorted(set(names))


def test_every_statement_is_used() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in python_files(PACKAGE))
    assert [name for name in sql if f'"{name}"' not in code] == []


def test_sql_stands_in_sql_files_only() -> None:
    """A statement in Python has no name, escapes the check of namespaces, and invites formatting values into it."""
    statement = re.compile(r"""["'](SELECT\s.+\sFROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM)\s""")
    found = [
        f"{path.relative_to(PACKAGE)}:{number}"
        for path in python_files(PACKAGE)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if statement.search(line) and "sqlite_schema" not in line
    ]
    assert found == []
