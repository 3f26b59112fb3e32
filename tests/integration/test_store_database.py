"""The connection to the database: transactions, several processes, files that cannot be used."""

import multiprocessing
import os
import threading
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import apsw
import pytest

from memorycore.errors import SchemaTooNew, StoreBusy, StoreDamaged, StoreError
from memorycore.store import Database, open_database
from memorycore.store.database import migrations


def count(db: Database) -> int:
    with db.read() as c:
        return int(c.execute("SELECT count(*) FROM counter").get)


def add(db: Database, name: str) -> None:
    with db.write() as c:
        c.execute("INSERT INTO counter VALUES (?, 1)", (name,))


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    db = open_database(tmp_path)
    before = count(db)
    with pytest.raises(RuntimeError), db.write() as c:
        c.execute("INSERT INTO counter VALUES ('x', 1)")
        raise RuntimeError
    assert count(db) == before
    db.close()


def test_a_nested_write_can_fail_alone(tmp_path: Path) -> None:
    db = open_database(tmp_path)
    before = count(db)
    with db.write() as outer:
        outer.execute("INSERT INTO counter VALUES ('kept', 1)")
        with pytest.raises(RuntimeError), db.write() as inner:
            inner.execute("INSERT INTO counter VALUES ('dropped', 1)")
            raise RuntimeError
        assert count(db) == before + 1  # a read inside a write sees it
    assert count(db) == before + 1
    db.close()


def test_files_are_private(tmp_path: Path) -> None:
    db = open_database(tmp_path / "new" / "data")
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("new", "new/data")] == [0o700] * 2
    assert db.path.stat().st_mode & 0o777 == 0o600
    db.close()


def test_a_commit_of_another_connection_changes_the_data_version(tmp_path: Path) -> None:
    db, other = open_database(tmp_path), open_database(tmp_path)
    before = db.data_version()
    assert db.data_version() == before
    add(other, "x")
    after = db.data_version()
    assert after != before
    add(db, "y")
    assert db.data_version() != after
    db.close()
    other.close()


def _hold(folder: Path, held: Event, seconds: float) -> None:
    db = open_database(folder)
    with db.write() as c:
        c.execute("INSERT INTO counter VALUES ('held', 1)")
        held.set()
        time.sleep(seconds)
    db.close()


def test_reads_go_on_while_another_process_writes(tmp_path: Path) -> None:  # IL-049
    db = open_database(tmp_path)
    context = multiprocessing.get_context("spawn")
    held = context.Event()
    child = context.Process(target=_hold, args=(tmp_path, held, 2.0))
    child.start()
    assert held.wait(20)
    started = time.monotonic()
    assert [count(db) for _ in range(20)] == [1] * 20
    assert time.monotonic() - started < 1.0
    with pytest.raises(StoreBusy), db.write(timeout_ms=50):
        pass
    child.join()
    assert count(db) == 2
    db.close()


def _open_and_add(folder: Path, name: str) -> None:
    db = open_database(folder)
    add(db, name)
    db.close()


def test_many_processes_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=_open_and_add, args=(tmp_path, f"p{number}")) for number in range(6)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * 6
    db = open_database(tmp_path)
    assert count(db) == 7
    db.close()


def test_many_short_lived_threads_leave_few_handles(tmp_path: Path) -> None:  # IL-228
    if not Path("/proc/self/fd").exists():
        pytest.skip("counts handles by /proc")
    db = open_database(tmp_path)
    count(db)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 a listing, not a walk
    for _ in range(40):
        threads = [threading.Thread(target=count, args=(db,)) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(os.listdir("/proc/self/fd")) - before < 30  # noqa: PTH208
    db.close()


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    open_database(tmp_path).close()
    raw = apsw.Connection(str(tmp_path / "memorycore.db"))
    raw.pragma("user_version", 999)
    raw.close()
    with pytest.raises(SchemaTooNew) as refused:
        open_database(tmp_path)
    assert refused.value.facts["found"] == 999
    raw = apsw.Connection(str(tmp_path / "memorycore.db"))
    assert raw.pragma("user_version") == 999
    raw.close()


@pytest.mark.parametrize("content", [b"this is no database at all" * 200, b"\x00" * 8192])
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "memorycore.db"
    path.write_bytes(content)
    with pytest.raises(StoreDamaged):
        open_database(tmp_path)
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    raw = apsw.Connection(str(tmp_path / "memorycore.db"))
    raw.execute("CREATE TABLE theirs (a)")
    raw.close()
    with pytest.raises(StoreDamaged):
        open_database(tmp_path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StoreError) as refused:
        open_database(tmp_path / "file" / "data")
    assert "file" in str(refused.value.facts["path"])


def test_a_backup_holds_what_was_committed(tmp_path: Path) -> None:  # IL-217
    db = open_database(tmp_path / "live")
    add(db, "x")
    copy = tmp_path / "copy"
    copy.mkdir()
    db.backup(copy / "memorycore.db")
    add(db, "y")
    restored = open_database(copy)
    assert count(restored) == 2
    assert restored.path.stat().st_mode & 0o777 == 0o600
    restored.close()
    db.close()


def test_migrations_are_numbered_without_gaps() -> None:
    numbers = [number for number, _ in migrations()]
    assert numbers == list(range(1, len(numbers) + 1))
