"""What the predecessor leaves in files, made by hand in its formats: database, bin, log of questions, hot files."""

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.homes import START

DELIMITER = "\n§\n"
# The columns that every version of the engine has, some that only later ones have, and one that none has yet.
TABLES = """
CREATE TABLE working_memory (
    id TEXT PRIMARY KEY, content TEXT NOT NULL, source TEXT, timestamp TEXT, session_id TEXT DEFAULT 'default',
    importance REAL DEFAULT 0.5, metadata_json TEXT, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    recall_count INTEGER DEFAULT 0, last_recalled TIMESTAMP, pinned INTEGER DEFAULT 0, valid_until TIMESTAMP,
    superseded_by TEXT, scope TEXT DEFAULT 'global', author_id TEXT, column_of_tomorrow BLOB);
CREATE TABLE episodic_memory (
    rowid INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, content TEXT NOT NULL, timestamp TEXT,
    session_id TEXT DEFAULT 'default', importance REAL, summary_of TEXT DEFAULT '', scope TEXT DEFAULT 'global');
CREATE TABLE memories (
    id TEXT PRIMARY KEY, content TEXT NOT NULL, timestamp TEXT, session_id TEXT DEFAULT 'default',
    importance REAL DEFAULT 0.5, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
"""


def ago(days: float) -> datetime:
    return START - timedelta(days=days)


@dataclass
class Predecessor:
    """Its files below ``root``: ``data/mnemosyne.db``, ``trash.json``, ``home/memories``."""

    root: Path

    def __post_init__(self) -> None:
        self.hot.mkdir(parents=True)
        self.store.parent.mkdir()
        with closing(self.connect()) as c:
            c.execute("PRAGMA journal_mode=WAL")
            c.executescript(TABLES)

    @property
    def store(self) -> Path:
        return self.root / "data" / "mnemosyne.db"

    @property
    def hot(self) -> Path:
        return self.root / "home" / "memories"

    @property
    def trash(self) -> Path:
        return self.root / "trash.json"

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.store)

    def row(self, name: str, text: str | bytes, days: float = 1, /, *, table: str = "both", **columns: Any) -> None:
        """A text that was said so many days ago; in the engine's first table, its second one, or as it does in both."""
        both = {"id": name, "content": text, "timestamp": ago(days).replace(tzinfo=None).isoformat()}
        both |= {"session_id": "memorycore", "importance": 0.6, "created_at": f"{ago(days):%Y-%m-%d %H:%M:%S}"}
        both |= {key: columns.pop(key) for key in ("session_id", "importance") if key in columns}
        with closing(self.connect()) as c, c:
            if table != "second":
                self._insert(c, "working_memory", both | columns)
            if table != "first":
                self._insert(c, "memories", both)

    @staticmethod
    def _insert(c: sqlite3.Connection, table: str, values: Mapping[str, Any]) -> None:
        marks = ", ".join(f"CAST(:{name} AS TEXT)" if name == "content" else f":{name}" for name in values)
        c.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", values)  # noqa: S608 a test's own names

    def bin(self, *entries: tuple[str, str, float, str]) -> None:
        """Id, text, days since it was binned, reason."""
        listed = [
            {"memory_id": name, "content": text[:300], "trashed_at": ago(days).isoformat(), "reason": reason,
             "source_decision": "rule"} for name, text, days, reason in entries
        ]  # fmt: skip
        self.trash.write_text(json.dumps({"entries": listed}, indent=2, ensure_ascii=False), encoding="utf-8")

    def asked(self, *questions: tuple[str, float]) -> Path:
        file = self.hot / "activity.jsonl"
        lines = [
            json.dumps({"ts": ago(days).isoformat(), "query": text}, ensure_ascii=False) for text, days in questions
        ]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return file

    def entries(self, name: str, metas: Mapping[str, Mapping[str, Any]]) -> Path:
        """A hot file with its sidecar, as the predecessor writes them."""
        (self.hot / name).write_text(DELIMITER.join(metas) + "\n", encoding="utf-8")
        known = {hashlib.sha256(text.encode()).hexdigest(): meta for text, meta in metas.items() if meta}
        sidecar = (self.hot / name).with_suffix(".meta.json")
        sidecar.write_text(json.dumps(known, indent=1, ensure_ascii=False), encoding="utf-8")
        return self.hot / name

    def everything(self) -> dict[str, bytes | None]:
        """Every file with its bytes, every folder."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes() if path.is_file() else None
            for path in self.root.rglob("*")
        }  # fmt: skip


def meta(kind: str, days: float, **others: Any) -> dict[str, Any]:
    """What its sidecar says of an entry."""
    return {"type": kind, "written_at": ago(days).isoformat(), "updated_at": ago(days).isoformat(), **others}
