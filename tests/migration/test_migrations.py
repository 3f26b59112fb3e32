"""Steps of the schema: whole or not at all, with a copy kept before the first one."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memorycore.store import open_database
from memorycore.store.database import migrate, migrations
from tests.homes import Home, rule

NEXT = (len(migrations()) + 1, "CREATE TABLE later (a INTEGER) STRICT; INSERT INTO counter VALUES ('later', 1);")
BROKEN = (len(migrations()) + 1, "CREATE TABLE half (a INTEGER) STRICT; INSERT INTO nowhere VALUES (1);")


def raw(folder: Path) -> apsw.Connection:
    return apsw.Connection(str(folder / "memorycore.db"))


def tables(connection: apsw.Connection) -> set[str]:
    return {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def test_a_step_that_fails_leaves_the_old_schema_and_a_copy(tmp_path: Path) -> None:  # IL-056, IL-218
    home = Home(tmp_path)
    with home.core() as core:
        core.remember(rule(1), actor="test")
    folder = home.options.data_dir
    connection = raw(folder)
    with pytest.raises(apsw.Error):
        migrate(connection, folder / "memorycore.db", [*migrations(), BROKEN])
    assert connection.pragma("user_version") == len(migrations())
    assert "half" not in tables(connection)
    connection.close()
    copies = list(folder.glob("memorycore.before-upgrade-*.db"))
    assert len(copies) == 1
    assert copies[0].stat().st_mode & 0o777 == 0o600
    with home.core() as core:
        assert core.usage()["hot"][0]["entries"] == 1


def test_a_step_runs_once_and_keeps_what_is_stored(tmp_path: Path) -> None:  # IL-055
    home = Home(tmp_path)
    with home.core() as core:
        core.remember(rule(1), actor="test")
    connection = raw(home.options.data_dir)
    for _ in range(2):
        migrate(connection, home.options.data_dir / "memorycore.db", [*migrations(), NEXT])
    assert connection.pragma("user_version") == NEXT[0]
    assert next(iter(connection.execute("SELECT count(*) FROM memory")))[0] == 1
    connection.close()


def test_a_new_store_has_the_newest_schema_and_no_copy(tmp_path: Path) -> None:
    open_database(tmp_path).close()
    connection = raw(tmp_path)
    assert connection.pragma("user_version") == len(migrations())
    connection.close()
    assert list(tmp_path.glob("*before-upgrade*")) == []


def test_many_that_upgrade_at_once_all_come_up_and_keep_the_older_copy(tmp_path: Path) -> None:
    path = tmp_path / "memorycore.db"
    with closing(apsw.Connection(str(path))) as connection:
        migrate(connection, path, migrations()[:6])
        connection.pragma("journal_mode", "wal")
    with ThreadPoolExecutor(8) as pool:
        for opened in [pool.submit(open_database, tmp_path) for _ in range(8)]:
            opened.result().close()
    (copy,) = tmp_path.glob("memorycore.before-upgrade-*.db")
    with closing(apsw.Connection(str(copy))) as connection:
        assert connection.pragma("user_version") == 6


def test_what_a_kill_left_of_a_copy_goes_with_the_next_upgrade(tmp_path: Path) -> None:
    path = tmp_path / "memorycore.db"
    with closing(apsw.Connection(str(path))) as connection:
        migrate(connection, path, migrations()[:6])
    left = [
        tmp_path / f"memorycore.before-upgrade-{name}" for name in ("6-part.db", "6-part.db-journal", "5-0a1b2c3d.db")
    ]
    for one in left:
        one.write_bytes(b"half a copy")
    open_database(tmp_path).close()
    assert [copy.name for copy in tmp_path.glob("*before-upgrade*")] == ["memorycore.before-upgrade-6.db"]
