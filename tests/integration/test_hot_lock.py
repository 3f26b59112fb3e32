"""The lock of a hot file against other processes that know nothing of us but ``flock``."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memorycore.errors import LockTimeout, Unwritable
from memorycore.hot.atomic import locked
from memorycore.hot.files import Contents, Edited, change, look

pytestmark = pytest.mark.skipif(os.name != "posix", reason="flock is POSIX; Windows locks are portalocker's business")

NOW = datetime(2026, 3, 1, tzinfo=UTC)

HOLD = """
import fcntl, sys
handle = open(sys.argv[1], "a+", encoding="utf-8")
fcntl.flock(handle, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.readline()
"""

TRY_THEN_WAIT = """
import fcntl, sys
handle = open(sys.argv[1], "a+", encoding="utf-8")
try:
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("refused", flush=True)
fcntl.flock(handle, fcntl.LOCK_EX)
print("got", flush=True)
"""

FORK_UNDER_THE_LOCK = """
import os, signal, sys, time
from pathlib import Path
from memorycore.hot.atomic import locked
with locked(Path(sys.argv[1])):
    child = os.fork()
    if not child:
        time.sleep(10)
        os._exit(0)
print("released", flush=True)
sys.stdin.readline()
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
"""

ADD_TWENTY = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from memorycore.hot.files import Edited, change
path, name = Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    change(path, lambda found: Edited(entries=(*found.entries, f"{name} {number}")),
           snapshots=path.parent / "snapshots", now=datetime(2026, 3, 1, tzinfo=UTC), timeout_s=20)
"""


@contextmanager
def process(script: str, *arguments: object) -> Generator[subprocess.Popen[str], None, None]:
    """A Python process; it has said its first word when the block starts, and is gone when it ends."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def say(running: subprocess.Popen[str]) -> None:
    assert running.stdin
    running.stdin.write("\n")
    running.stdin.flush()


def hear(running: subprocess.Popen[str]) -> str:
    assert running.stdout
    return running.stdout.readline().strip()


def add_a_rule(found: Contents) -> Edited:
    return Edited(entries=(*found.entries, "A rule."))


def test_a_change_waits_for_a_program_that_holds_flock(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    with process(HOLD, f"{path}.lock") as other:
        assert hear(other) == "held"
        threading.Timer(0.3, say, [other]).start()
        started = time.monotonic()
        change(path, add_a_rule, snapshots=None, now=NOW, timeout_s=20)
        assert time.monotonic() - started >= 0.25
    assert look(path).entries == ("A rule.",)


def test_a_program_that_asks_for_flock_waits_for_our_change(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    with locked(path), process(TRY_THEN_WAIT, f"{path}.lock") as other:
        assert hear(other) == "refused"
        assert other.poll() is None
    with process(TRY_THEN_WAIT, f"{path}.lock") as other:
        assert hear(other) == "got"


def test_waiting_ends_at_the_deadline_and_nothing_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_bytes(b"Old rule.")
    with process(HOLD, f"{path}.lock") as other:
        assert hear(other) == "held"
        started = time.monotonic()
        with pytest.raises(LockTimeout) as caught:
            change(path, add_a_rule, snapshots=None, now=NOW, timeout_s=0.1)
        assert time.monotonic() - started < 2
    assert caught.value.facts["path"] == f"{path}.lock"
    assert path.read_bytes() == b"Old rule."


def test_the_lock_of_a_killed_holder_is_free_at_once(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    with process(HOLD, f"{path}.lock") as other:
        assert hear(other) == "held"
        other.kill()
        other.wait()
        with locked(path, timeout_s=1):
            pass


def test_two_threads_exclude_each_other_too(tmp_path: Path) -> None:
    with locked(tmp_path / "MEMORY.md"), pytest.raises(LockTimeout), locked(tmp_path / "MEMORY.md", timeout_s=0.05):
        pass


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    with process(FORK_UNDER_THE_LOCK, path) as other:
        assert hear(other) == "released"
        with locked(path, timeout_s=1):
            say(other)
        other.wait()


def test_a_lock_file_that_was_deleted_meanwhile_is_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    lock = tmp_path / "MEMORY.md.lock"
    with process(HOLD, lock) as other:
        assert hear(other) == "held"
        threading.Timer(0.1, lambda: (lock.unlink(), say(other))).start()
        with locked(path, timeout_s=20), process(TRY_THEN_WAIT, lock) as third:
            assert hear(third) == "refused"


def test_the_lock_file_stays_and_lies_beside_the_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "notes.md").write_bytes(b"Old rule.")
    path = tmp_path / "MEMORY.md"
    path.symlink_to(tmp_path / "real" / "notes.md")
    change(path, add_a_rule, snapshots=None, now=NOW)
    assert (tmp_path / "MEMORY.md.lock").stat().st_mode & 0o777 == 0o600
    assert [file.name for file in (tmp_path / "real").iterdir()] == ["notes.md"]


def test_a_lock_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md.lock").symlink_to(tmp_path / "precious")
    with pytest.raises(Unwritable), locked(tmp_path / "MEMORY.md"):
        pass
    assert not (tmp_path / "precious").exists()


def test_a_missing_folder_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "home" / "memories" / "USER.md"
    change(path, add_a_rule, snapshots=None, now=NOW)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600


def test_two_processes_adding_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    with process(ADD_TWENTY, path, "left") as left, process(ADD_TWENTY, path, "right") as right:
        assert (hear(left), hear(right)) == ("ready", "ready")
        say(left)
        say(right)
        assert (left.wait(60), right.wait(60)) == (0, 0)
    entries = look(path).entries
    assert sorted(entries) == sorted(f"{name} {number}" for name in ("left", "right") for number in range(20))
