"""An import that is killed is run again: everything is there once, and nothing of it twice."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from tests.command_line import KEPT
from tests.predecessor import Predecessor, meta

ROWS = 1_200


def rows_in(database: Path) -> int:
    """How many memories are committed; 0 while there is no database yet."""
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as c:
            return int(c.execute("SELECT count(*) FROM memory").fetchone()[0])
    except sqlite3.Error:
        return 0


def environment(home: Path) -> Mapping[str, str]:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, "HOME": str(home), "MEMORYCORE_EMBED_MODEL": "none"}


def test_an_import_killed_at_any_time_is_completed_by_the_next_one(tmp_path: Path) -> None:
    old = Predecessor(tmp_path / "old")
    with closing(old.connect()) as c, c:
        values = [(f"r{number}", f"The crate {number} stands in hall {number % 7}.") for number in range(ROWS)]
        c.executemany("INSERT INTO working_memory (id, content, session_id) VALUES (?, ?, 'memorycore')", values)
    old.entries("MEMORY.md", {"Never ring the bell at night.": meta("rule", 9)})
    before = old.everything()
    command = [sys.executable, "-m", "memorycore", "import", str(old.root), str(old.root / "home")]
    database = tmp_path / "home" / ".memorycore" / "data" / "memorycore.db"
    for at_least in (100, 700):
        with subprocess.Popen(command, env=environment(tmp_path / "home"), stdout=subprocess.DEVNULL) as process:
            while rows_in(database) < at_least and process.poll() is None:
                time.sleep(0.01)
            process.kill()
    assert 700 <= rows_in(database) < ROWS
    subprocess.run(command, env=environment(tmp_path / "home"), check=True, stdout=subprocess.DEVNULL, timeout=120)
    with closing(sqlite3.connect(database)) as c:
        texts = [text for (text,) in c.execute("SELECT content FROM memory")]
    assert sorted(texts) == sorted([*(text for _, text in values), "Never ring the bell at night."])
    assert old.everything() == before
