"""One file that other programs share: read it, lock it, put new bytes in its place.

A replacement is a finished copy renamed over the file, so whoever looks or dies at any moment has the old bytes or the
new ones. Nothing here knows what is in the file.
"""

import os
import secrets
import stat
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, Literal, TypeVar

from memorycore.errors import LockTimeout, Unreadable, Unwritable
from memorycore.store.folders import make_private

LOCK_TIMEOUT_S = 2.0
TEMPORARY_FILES = ".memorycore-*.tmp"  # left by a process that died; never read, doctor lists them
PRIVATE_FILE = 0o600

_CHECK_INTERVAL_S = 0.005
_MOST_LOOKS = 40
_JUST_NOW_S = 0.2
# Windows refuses a file that another program holds open (5 access denied, 32 and 33 sharing and lock violation).
# Editors, indexers and virus scanners do that for a moment; after these 1.2 s it is a denial that is meant.
_HELD_OPEN = frozenset({5, 32, 33})
_HELD_OPEN_PAUSES_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.4)

T = TypeVar("T")
Flush = Literal["all", "bytes", "nothing"]


def read(path: Path) -> bytes | None:
    """The bytes of a file, or None if it does not exist.

    Raises:
        Unreadable: Anything else, a link to nowhere included. A read error is never "empty".
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise Unreadable(path=str(path), why="not a regular file")
        return _patiently(path.read_bytes)
    except FileNotFoundError as error:
        if path.is_symlink():
            raise Unreadable(path=str(path), why="a link to a file that does not exist") from error
        return None
    except OSError as error:
        raise Unreadable(path=str(path), why=error.strerror or str(error)) from error


@contextmanager
def locked(path: Path, *, timeout_s: float = LOCK_TIMEOUT_S) -> Generator[None, None, None]:
    """Hold the lock that Hermes holds for its own edits: ``flock`` on ``<path>.lock``, links not followed.

    The lock file is created when missing, its folder too, and never deleted. A second lock in the same process waits
    as well. Hold it for milliseconds.

    Raises:
        LockTimeout: Somebody else holds it for longer than ``timeout_s``.
        Unwritable: The lock file cannot be opened, or locks do not work there.
    """
    handle = _take_lock(path.with_name(path.name + ".lock"), timeout_s=timeout_s)
    with handle:
        try:
            yield
        finally:
            _portalocker().unlock(handle)  # closing is not enough: a child forked meanwhile would keep the lock


def replace(
    path: Path,
    data: bytes,
    *,
    expected: bytes | None = None,
    new_mode: int = PRIVATE_FILE,
    flush: Flush = "all",
) -> bool:
    """Put ``data`` in the place of a file, whole or not at all, and flush it to the disk: ``copied`` and ``put``.

    ``flush``: with ``bytes`` a power loss leaves the old file or the new one, and ``flush_folder`` decides which; with
    ``nothing`` it may leave none, which is for what can be made again.

    Raises:
        Unwritable: With path, reason and mode; the old file stands.
    """
    with copied(path, data, new_mode=new_mode, flush=flush != "nothing") as copy:
        done = put(copy, expected=expected)
    if flush == "all":
        flush_folder(path)
    return done


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """New bytes beside the file whose name they will get. ``like``: that file, if there was one when they were written.

    ``new_mode``: for a file that is new.
    """

    target: Path
    temporary: Path
    data: bytes
    like: os.stat_result | None
    new_mode: int


@contextmanager
def copied(path: Path, data: bytes, *, new_mode: int = PRIVATE_FILE, flush: bool = True) -> Generator[Copy, None, None]:
    """Write a copy for ``put``, with mode and, where allowed, owner and group of the file. It goes if it is not put.

    A link stays a link: the copy is for its target. A file without write permission is refused, though a rename would
    succeed.

    Raises:
        Unwritable: With path, reason and mode. A file that is a mount point of its own cannot be replaced whole, so it
            is refused too, by ``put``.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".memorycore-{os.getpid()}-{secrets.token_hex(6)}.tmp")
    try:
        try:
            found = _status(target)
            if found:
                _refuse_unless_writable(target, found)
            _write_new(temporary, data, like=found, new_mode=new_mode, flush=flush)
        except OSError as error:
            raise unwritable(target, error) from error
        yield Copy(target=target, temporary=temporary, data=data, like=found, new_mode=new_mode)
    finally:
        with suppress(OSError):
            temporary.unlink()


def put(copy: Copy, *, expected: bytes | None = None) -> bool:
    """Give a copy the name of its file. ``flush_folder`` makes that last.

    Returns:
        False, with nothing replaced, when at the last moment the file does not hold ``expected``: somebody wrote
        without the lock. So it is when somebody writes in place at that very moment: what they wrote is put back.

    Raises:
        Unwritable: With path, reason and mode; the old file stands.
    """
    target, temporary, data = copy.target, copy.temporary, copy.data
    try:
        found = _status(target)
        if found:
            _refuse_unless_writable(target, found)
        if _access(found) != _access(copy.like):  # somebody changed that meanwhile
            temporary.unlink()
            _write_new(temporary, data, like=found, new_mode=copy.new_mode)
        with _kept_open(target if expected is not None else None) as old:
            if expected is not None and (read(target) or b"") != expected:
                return False
            _patiently(lambda: temporary.replace(target))
            late = expected if old is None else _settled(old, expected)
        if late is not None and late != expected and read(target) == data:
            _write_new(temporary, late, like=found, new_mode=copy.new_mode)
            _patiently(lambda: temporary.replace(target))
    except OSError as error:
        raise unwritable(target, error) from error
    return late == expected


def _access(found: os.stat_result | None) -> tuple[int, int, int] | None:
    return found and (found.st_mode, found.st_uid, found.st_gid)


@contextmanager
def _kept_open(target: Path | None) -> Generator[BinaryIO | None, None, None]:
    """The file as it stands, also after another took its name. Not on Windows, which replaces no file that is open."""
    if target is None or os.name != "posix" or not target.exists():
        yield None
        return
    with target.open("rb") as handle:
        yield handle


def _settled(handle: BinaryIO, expected: bytes | None) -> bytes:
    """What a file holds that lost its name; where somebody is writing it, what they leave when they pause."""
    found = handle.read()
    for _ in range(_MOST_LOOKS):
        if found == expected and found:
            break
        if not found and not _is_cut(os.fstat(handle.fileno())):
            break
        time.sleep(_CHECK_INTERVAL_S)
        handle.seek(0)
        before, found = found, handle.read()
        if found and found == before:
            break
    return found


def wait_while_cut(path: Path) -> None:
    """Let somebody go on who has just emptied the file: a program that writes in place does so before it writes."""
    with suppress(OSError):  # whatever it is, reading says it
        for _ in range(_MOST_LOOKS):
            if not _is_cut(path.stat()):
                return
            time.sleep(_CHECK_INTERVAL_S)


def _is_cut(found: os.stat_result) -> bool:
    return found.st_size == 0 and 0 <= time.time() - found.st_mtime < _JUST_NOW_S


def why_not_writable(path: Path) -> Unwritable | None:
    """Why ``replace`` would refuse this file as it is now; None for one that it would take, or make."""
    target = Path(os.path.realpath(path))
    try:
        if found := _status(target):
            _refuse_unless_writable(path, found)
        if (folder := _status(target.parent)) and not os.access(target.parent, os.W_OK):
            return Unwritable(path=str(target.parent), why="read-only", mode=_mode(folder))
    except Unwritable as error:
        return error
    except OSError as error:
        return unwritable(path, error)
    return None


def unwritable(path: Path, error: OSError) -> Unwritable:
    """The system's refusal as ours. Blame the folder when it is the folder that forbids."""
    blamed = path.parent if path.parent.is_dir() and not os.access(path.parent, os.W_OK) else path
    with suppress(OSError):
        return Unwritable(path=str(blamed), why=error.strerror or str(error), mode=_mode(blamed.stat()))
    return Unwritable(path=str(blamed), why=error.strerror or str(error), mode="-")


def _portalocker() -> ModuleType:
    """It is 60 ms of import that reading does not need, and asks for a temporary folder, of which there may be none."""
    try:
        import portalocker
    except FileNotFoundError:
        tempfile.tempdir = os.curdir  # taken for the default of a class that is not used here
        try:
            import portalocker
        finally:
            tempfile.tempdir = None
    return portalocker


def _take_lock(lock_path: Path, *, timeout_s: float) -> BinaryIO:
    """Poll with a deadline: a blocking ``flock`` could wait for ever, and no thread could end it."""
    locks = _portalocker()
    once = locks.LockFlags.EXCLUSIVE | locks.LockFlags.NON_BLOCKING
    started = time.monotonic()
    handle = _open_lock_file(lock_path)
    while True:
        try:
            locks.lock(handle, once)
            if _is_at(handle, lock_path):
                return handle
            handle.close()  # somebody deleted the lock file: others would lock another one beside us
            handle = _open_lock_file(lock_path)
        except locks.exceptions.AlreadyLocked:
            time.sleep(_CHECK_INTERVAL_S)
        except locks.exceptions.LockException as error:
            handle.close()
            raise Unwritable(path=str(lock_path), why=f"locking does not work here: {error}", mode="-") from error
        waited_s = time.monotonic() - started
        if waited_s >= timeout_s:
            handle.close()
            raise LockTimeout(path=str(lock_path), waited_s=round(waited_s, 3))


def _open_lock_file(lock_path: Path) -> BinaryIO:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        make_private(lock_path.parent)
        return os.fdopen(os.open(lock_path, flags, PRIVATE_FILE), "r+b", buffering=0)
    except OSError as error:
        raise unwritable(lock_path, error) from error


def _is_at(handle: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except OSError:
        return False


def _status(path: Path) -> os.stat_result | None:
    """None only when there is no such file."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _refuse_unless_writable(target: Path, found: os.stat_result) -> None:
    """A rename asks the folder only, so the file's own permission has to be asked for; root is refused by the mode."""
    if not stat.S_ISREG(found.st_mode):
        raise Unwritable(path=str(target), why="not a regular file", mode=_mode(found))
    if not found.st_mode & 0o222 or not os.access(target, os.W_OK):
        raise Unwritable(path=str(target), why="read-only", mode=_mode(found))


def _write_new(path: Path, data: bytes, *, like: os.stat_result | None, new_mode: int, flush: bool = True) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, PRIVATE_FILE), "wb") as handle:
        handle.write(data)
        handle.flush()
        if os.name == "posix":
            _set_access(handle.fileno(), like, new_mode)
        if flush:  # before the rename, else a power loss can leave the new name with no bytes
            os.fsync(handle.fileno())


def _set_access(fd: int, like: os.stat_result | None, new_mode: int) -> None:
    mode = stat.S_IMODE(like.st_mode) & 0o777 if like else new_mode
    mine = os.fstat(fd)
    if like and (like.st_uid, like.st_gid) != (mine.st_uid, mine.st_gid):
        try:
            os.fchown(fd, like.st_uid if os.geteuid() == 0 else -1, like.st_gid)
        except OSError:
            # The group could not be kept; its rights must not go to another group.
            mode = mode & 0o707 | (mode & 0o007) << 3
    os.fchmod(fd, mode)


def flush_folder(path: Path) -> None:
    """Make the last ``replace`` of a file durable. Where that cannot be done, it stands all the same."""
    if os.name != "posix":
        return
    with suppress(OSError):
        fd = os.open(Path(os.path.realpath(path)).parent, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _patiently(action: Callable[[], T]) -> T:
    for pause_s in _HELD_OPEN_PAUSES_S:
        try:
            return action()
        except PermissionError as error:
            if getattr(error, "winerror", None) not in _HELD_OPEN:
                raise
        time.sleep(pause_s)
    return action()


def _mode(found: os.stat_result) -> str:
    return f"{stat.S_IMODE(found.st_mode):04o}"
