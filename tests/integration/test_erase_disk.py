"""An erasure on the disk: readers in the way, processes that die, no room, and what SQLite leaves between its rows."""

import json
import random
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from memorycore.core import MemoryCore, RecallFilters
from memorycore.core.forget_many import Wanted
from memorycore.domain.memory import Draft
from memorycore.store import memories
from tests.homes import Home
from tests.raw import files_with
from tests.stock import in_stock, stock

WHOLE = "Zephyrine Quillfeather keeps the brass heron behind the seventh bookshelf."
WORDS = ("zephyrine", "quillfeather", "heron")
OTHERS = ["The printer in room 4 was bought in Leeds.", "Always run the linter before a release."]


def store(core: MemoryCore, text: str) -> str:
    return core.remember(Draft(content=text), actor="test").get("id", "")


def fill(core: MemoryCore, texts: list[str]) -> list[str]:
    return [row.id for row in stock(core.db, [in_stock(*row) for row in enumerate(texts)])]


def test_a_reader_in_another_process_makes_it_pending_until_it_is_gone(tmp_path: Path) -> None:  # IL-192
    home = Home(tmp_path)
    with home.core() as core:
        store(core, OTHERS[0])
        memory_id = store(core, WHOLE)
        with reader_of(home.options.data_dir / "memorycore.db"):
            receipt = core.erase(memory_id, actor="test")
            assert (receipt["status"], receipt["erased"]) == ("pending", False)
            assert receipt.get("finish") == f"memorycore forget {memory_id} --erase"
            assert {Path(one["file"]).name for one in receipt.get("remaining", [])} & {
                "memorycore.db",
                "memorycore.db-wal",
            }
            assert core.recall("brass heron")["results"] == []
        finished = core.erase(WHOLE, actor="test")
        assert (finished["status"], finished.get("remaining")) == ("erased", [])
    assert files_with(tmp_path, *(word.encode() for word in WORDS)) == []


def test_what_sqlite_left_behind_when_it_moved_rows_goes_too(tmp_path: Path) -> None:  # IL-191
    """Overwriting what is deleted does not reach earlier copies of a row that lie between the rows of a page."""
    home, chance = Home(tmp_path), random.Random(1)

    def word() -> str:
        return "".join(chance.choices("bcdfghjklmnpqrstvwxz", k=10))

    with home.core() as core:
        texts = [" ".join(word() for _ in range(chance.choice([3, 8, 20, 60, 300]))) for _ in range(500)]
        ids = fill(core, texts)
        with core.db.write() as c:
            for memory in memories.by_seq(c, range(1, 500, 3), ("default",)).values():
                tags = tuple(word() for _ in range(chance.choice([1, 5, 30])))
                memories.update_memory(c, memory, replace(memory, tags=tags))
        gone = [core.inspect(memory_id)["content"] for memory_id in ids[::4]]
        receipt = core.erase_many(Wanted(filters=RecallFilters(kind="fact"), only=frozenset(ids[::4])), actor="test")
        assert (receipt["status"], len(receipt.get("ids", []))) == ("erased", 125)
    raw = core.db.path.read_bytes()
    left = {word.encode() for text in gone for word in text.split()} & set(re.findall(rb"(?=([a-z]{10}))", raw))
    assert left == set()


def reader_of(database: Path) -> "subprocess.Popen[str]":
    """A process in the middle of a long look at the database; leaving the block ends it."""
    child = subprocess.Popen(
        [sys.executable, "-c", READ_ON, str(database), "BEGIN"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "reading\n"
    return child


READ_ON = """
import sys, apsw
c = apsw.Connection(sys.argv[1])
c.execute("; ".join(sys.argv[2:] + ["SELECT count(*) FROM memory"])).fetchall()
print("reading", flush=True)
sys.stdin.read()
"""


def test_a_process_that_lives_on_clears_the_disk_when_the_reader_is_gone(tmp_path: Path) -> None:  # IL-192
    home = Home(tmp_path)
    with home.core(long_lived=True) as core:
        core.rooms.start()
        memory_id = store(core, WHOLE)
        with reader_of(core.db.path):
            assert core.erase(memory_id, actor="test")["status"] == "pending"
        core.rooms.background.wake()  # type: ignore[union-attr] it lives long; else this takes up to a quarter minute
        ends_at = time.monotonic() + 10
        log = core.db.path.with_name("memorycore.db-wal")
        while log.stat().st_size > 100_000 and time.monotonic() < ends_at:
            time.sleep(0.05)
        script = (
            "import sys; from pathlib import Path; from tests.raw import files_with; "
            "print(files_with(Path(sys.argv[1]), *(word.encode() for word in sys.argv[2:])))"
        )
        seen = subprocess.run([sys.executable, "-c", script, str(tmp_path), *WORDS], capture_output=True, check=True)
        assert seen.stdout.strip() == b"[]", "looked at while this process goes on"


def test_whoever_comes_next_clears_the_disk_after_a_killed_erasure(tmp_path: Path) -> None:  # IL-191
    home = Home(tmp_path)
    with home.core() as core:
        memory_id = store(core, WHOLE)
    killed = subprocess.run([sys.executable, "-c", DIE_BEFORE_CLEARING, str(tmp_path), memory_id], check=False)
    assert killed.returncode == -9
    assert files_with(tmp_path, *(word.encode() for word in WORDS)) != []
    with home.core() as core:
        core.recall("anything")
    assert files_with(tmp_path, *(word.encode() for word in WORDS)) == []


DIE_BEFORE_CLEARING = """
import os, sys, pathlib
from tests.homes import Home
home = Home(pathlib.Path(sys.argv[1]))
def trace(frame, event, _):
    if frame.f_code.co_name == "clear_disk" and "erasure" in frame.f_code.co_filename:
        os.kill(os.getpid(), 9)
with home.core() as core:
    sys.settrace(trace)
    core.erase(sys.argv[2], actor="child")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files")
def test_without_room_for_a_second_copy_it_is_pending_and_done_when_there_is_room(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        fill(core, [f"Crate {number} holds " + f"jar {number} and " * 40 for number in range(800)])
        memory_id = store(core, WHOLE)
    room = core.db.path.stat().st_size + 4_096
    done = subprocess.run(
        [sys.executable, "-c", ERASE_ON_A_FULL_DISK, str(tmp_path), memory_id, str(room)],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    receipt = json.loads(done.stdout)
    assert (receipt["status"], receipt["reasons"][0].partition(":")[0]) == ("pending", "not_rebuilt")
    with home.core() as core:
        assert core.recall("brass heron")["results"] == []
        assert core.maintain(["integrity"])["steps"][0]["database"] == "ok"
    assert files_with(tmp_path, *(word.encode() for word in WORDS)) == []


ERASE_ON_A_FULL_DISK = """
import json, resource, signal, sys, pathlib
from tests.homes import Home
from tests.stock import in_stock, stock
with Home(pathlib.Path(sys.argv[1])).core() as core:
    core.touch()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
    print(json.dumps(core.erase(sys.argv[2], actor="full")), flush=True)
    import os
    os._exit(0)
"""


def test_the_search_leaves_the_locks_of_the_database_alone(tmp_path: Path) -> None:
    """Closing a handle of its own would drop them; whoever closes next would take the log away, and writes be lost."""
    home = Home(tmp_path)
    with home.core() as core:
        core.erase(store(core, WHOLE), actor="test")
        kept = store(core, OTHERS[0])
        # The SQLite of the standard library, as a curious person uses it, removes the log when it finds nobody else.
        look = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT 1 FROM counter'); c.close()"
        subprocess.run([sys.executable, "-c", look, str(core.db.path)], check=True)
        assert core.db.path.with_name("memorycore.db-wal").stat().st_size > 0
        late = store(core, OTHERS[1])
    with home.core() as core:
        assert {line["memory_id"] for line in core.export()} == {kept, late}
