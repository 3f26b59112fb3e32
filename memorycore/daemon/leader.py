"""One daemon for each data directory: whoever holds the lock on ``daemon.lock`` leads.

The lock is the system's: it is free as soon as its holder has ended, in whatever way. The file itself is never deleted,
since two processes could then hold locks on two files of one name. What stands inside says who leads.
"""

import errno
import json
import os
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from memorycore import __version__
from memorycore.daemon import process
from memorycore.endpoint import LOCK
from memorycore.errors import NotAvailable, StoreError

START_LOCK = "daemon.start.lock"
POLL_S = 0.2
# Windows lets nobody else read the first byte of a file whose lock is held, so what is written begins after it.
_AFTER_THE_LOCKED_BYTE = 1
_MOST_BYTES = 4096
_CANNOT_BE_WRITTEN = frozenset({errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC})


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """The process that leads. ``started`` is a moment in ISO 8601, UTC; ``birth`` is what ``process.birth`` says."""

    pid: int
    host: str
    started: str
    birth: str
    version: str


def current(data_dir: Path) -> Leader | None:
    """Who leads now: the process that the lock file names, if it lives.

    One on another machine, which shares the directory, lives while it holds the lock. Only then is the lock itself
    asked: who tries it could for a moment keep out a daemon that begins.
    """
    try:
        leader = _named(data_dir)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    if is_here(leader):
        return leader
    if leader.host == socket.gethostname():
        return None
    with held(data_dir / LOCK, wait_s=0) as is_free:  # or this machine has another name since then
        return None if is_free else leader


def is_here(leader: Leader) -> bool:
    """Whether it is a living process of this machine."""
    return process.birth(leader.pid) == leader.birth


def still_leads(data_dir: Path, me: Leader) -> bool:
    """Whether the file that we hold still has its name: whoever deletes it makes room for a second leader.

    That it cannot be read now, as when no further file can be opened, says nothing.
    """
    try:
        return _named(data_dir) == me
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, KeyError):
        return False
    except OSError:
        return True


def _named(data_dir: Path) -> Leader:
    """Who stands in the lock file.

    Raises:
        OSError: It cannot be read.
        ValueError, TypeError, KeyError: Nobody does.
    """
    with (data_dir / LOCK).open("rb") as file:
        file.seek(_AFTER_THE_LOCKED_BYTE)
        found = json.loads(file.read(_MOST_BYTES))
    return Leader(**{declared.name: found[declared.name] for declared in fields(Leader)})


@contextmanager
def leadership(data_dir: Path, *, wait_s: float = 0) -> Generator[Leader]:
    """Lead while this lasts. ``wait_s``: how long to wait for one who leads now to end; below 0 without end.

    Raises:
        NotAvailable: Another process leads, or the directory is of a kind that knows no locks.
    """
    leader = Leader(
        pid=os.getpid(),
        host=socket.gethostname(),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        birth=process.birth(os.getpid()) or "",
        version=__version__,
    )
    written: list[int] = []

    def write(number: int) -> None:
        _put(number, json.dumps(asdict(leader)))
        written.append(number)

    with held(data_dir / LOCK, wait_s=wait_s, on_acquired=write) as got:
        if not got:
            other = current(data_dir)
            raise NotAvailable(what="memorycore daemon", why="daemon_leads", pid=None if other is None else other.pid)
        try:
            yield leader
        finally:
            _put(written[0], "")


@contextmanager
def held(path: Path, *, wait_s: float, on_acquired: Callable[[int], None] | None = None) -> Generator[bool]:
    """Hold the lock on a file of our own while this lasts; yields False when others did not let go of it in time.

    ``on_acquired`` gets the open file. A file that was deleted or replaced meanwhile is no lock: then it is taken anew.

    Raises:
        NotAvailable: The directory knows no locks, as some network folders.
        StoreError: Nothing can be written there.
    """
    import filelock

    lock = filelock.FileLock(
        path, mode=0o600, thread_local=False, fallback_to_soft=False, preserve_lock_file=True,
        on_acquired=lambda number: _acquired(path, number, on_acquired),
    )  # fmt: skip
    got: bool | None = None
    while got is None:
        try:
            lock.acquire(timeout=wait_s, poll_interval=POLL_S)
            got = True
        except filelock.Timeout:
            got = False
        except _Replaced:
            continue
        except (OSError, NotImplementedError) as error:
            if isinstance(error, OSError) and error.errno in _CANNOT_BE_WRITTEN:
                raise StoreError(path=str(path), why=error.strerror) from error
            raise NotAvailable(what=str(path), why="no_locks_here", detail=str(error)) from error
    try:
        yield got
    finally:
        lock.release()


class _Replaced(Exception):
    """The lock is one on a file that has no name any more."""


def _acquired(path: Path, number: int, then: Callable[[int], None] | None) -> None:
    found, named = os.fstat(number), None
    with suppress(OSError):
        named = path.stat()
    if named is None or (found.st_ino, found.st_dev) != (named.st_ino, named.st_dev):
        raise _Replaced
    if then is not None:
        then(number)


def _put(number: int, text: str) -> None:
    os.lseek(number, 0, os.SEEK_SET)
    os.truncate(number, 0)
    os.write(number, b" " * _AFTER_THE_LOCKED_BYTE + text.encode())
