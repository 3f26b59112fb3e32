"""A copy of the database to look into, where the one that is meant cannot be opened: a full disk, a fault of it."""

import os
import re
import shutil
import signal
import socket
import stat
import sys
import tempfile
import threading
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from memorycore.errors import StoreError
from memorycore.options import CoreOptions

IN_MEMORY = "/dev/shm"  # noqa: S108 where Linux has a file system that needs no disk; the folder made there is private
BESIDE_BYTES = 4 * 1024 * 1024  # what SQLite and a look write beside the copy
TRIES = 3  # somebody may write while we copy
PREFIX = "memorycore-copy-"
_MADE_BY = re.compile(rf"{PREFIX}(?P<process>\d{{1,9}})@(?P<host>.+)-\w+")
ENDINGS = ("SIGTERM", "SIGHUP")


@contextmanager
def copied(options: CoreOptions, failure: StoreError) -> Generator[CoreOptions]:
    """The options with a copy in the place of the database. The memory files are those that are meant, and stay.

    Raises:
        StoreError: The ``failure`` that made a copy necessary, where none can be made.
    """
    with ExitStack() as stack:
        try:
            made = stack.enter_context(whole_copy(options.data_dir))
        except OSError:
            raise failure from None
        yield replace(options, data_dir=made, looks_only=True, remote=None, limits_source=None)


@contextmanager
def whole_copy(data_dir: Path) -> Generator[Path]:
    """A private folder with the database and its log as they were at one moment; gone however we end, but for a kill.

    What a kill leaves goes with the next copy, or the next ``sweep``.

    Raises:
        OSError: There are none, they cannot be read or did not rest long enough, or nowhere is room.
    """
    from memorycore.store import intents

    sweep()
    files = [one for name in ("memorycore.db", "memorycore.db-wal") if (one := data_dir / name).is_file()]
    needed = BESIDE_BYTES + 2 * sum(one.stat().st_size for one in files)
    folder = next((path for path in _places() if _free(path) > needed), None)
    if not files or folder is None:
        raise OSError
    with _ending_in_order(), tempfile.TemporaryDirectory(prefix=f"{PREFIX}{intents.me()}-", dir=folder) as made:
        for _ in range(TRIES):
            before = _stamps(files)
            for one in files:
                shutil.copyfile(one, Path(made) / one.name)
                (Path(made) / one.name).chmod(0o600)
            if _stamps(files) == before:
                break
        else:
            raise OSError
        yield Path(made)


def sweep() -> None:
    """Remove the copies of processes that were killed. On Windows nobody can tell, and they stay."""
    for place in _places():
        for one in Path(place).glob(f"{PREFIX}*"):
            if _is_left(one):
                shutil.rmtree(one, ignore_errors=True)


def _places() -> list[str]:
    """Where a copy may lie. There may be no temporary folder: a full disk that holds it, a file system to read only."""
    places = [IN_MEMORY]
    with suppress(OSError):
        places.insert(0, tempfile.gettempdir())
    return places


def _is_left(folder: Path) -> bool:
    """Whether it is a folder of this user that a process of this machine made, which is gone."""
    from memorycore.store import intents

    made = _MADE_BY.fullmatch(folder.name)
    if made is None or made["host"] != socket.gethostname() or intents.is_running(int(made["process"])):
        return False
    with suppress(OSError):
        found = folder.lstat()
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return False


def _stamps(files: Sequence[Path]) -> list[tuple[int, int]]:
    return [(found.st_size, found.st_mtime_ns) for found in map(os.stat, files)]


@contextmanager
def _ending_in_order() -> Generator[None]:
    """Let what would end this process at once end it as an error does, so that no copy stays behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _frame: object) -> None:
        sys.exit(128 + number)

    numbers = [number for name in ENDINGS if (number := getattr(signal, name, None)) is not None]
    # One that is ignored, as nohup does, or that somebody else handles, stays.
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _free(folder: str) -> int:
    with suppress(OSError):
        return shutil.disk_usage(folder).free
    return 0
