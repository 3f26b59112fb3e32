"""Changes to the files of a host: planned as bytes, then carried out all together or not at all."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from memorycore.errors import Conflict, MemoryCoreError, Unwritable
from memorycore.hot import atomic


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file: its bytes before and after; None where there is none. ``new_mode``: for a file that is new."""

    path: Path
    before: bytes | None
    after: bytes | None
    new_mode: int = atomic.PRIVATE_FILE

    @property
    def is_none(self) -> bool:
        return self.before == self.after


def write(one: Change) -> None:
    """Carry out one change.

    Raises:
        Conflict: The file is not as it was before any more.
    """
    if one.after is None:
        one.path.unlink(missing_ok=True)
        return
    one.path.parent.mkdir(parents=True, exist_ok=True)
    expected = one.before if one.before is not None else b""
    if not atomic.replace(one.path, one.after, expected=expected, new_mode=one.new_mode):
        raise Conflict(path=str(one.path))


@contextmanager
def refusals(home: Path) -> Generator[None]:
    """What the system refuses, in our own words."""
    try:
        yield
    except OSError as error:
        path = error.filename or home
        raise Unwritable(path=str(path), why=error.strerror or str(error), mode="-") from error


@contextmanager
def all_or_nothing(home: Path, changes: Sequence[Change]) -> Generator[None]:
    """What was carried out of these changes below ``home`` is taken back, the last first, when the rest cannot be.

    What somebody else wrote meanwhile stays.
    """
    made = {folder for one in changes for folder in one.path.parents if home in folder.parents and not folder.exists()}
    is_done = False
    try:
        yield
        is_done = True
    finally:
        if not is_done:
            for one in reversed(changes):
                with suppress(OSError, MemoryCoreError):
                    _take_back(one)
            for folder in sorted(made, reverse=True):
                with suppress(OSError):
                    folder.rmdir()


def _take_back(one: Change) -> None:
    if not one.is_none and atomic.read(one.path) == one.after:
        write(replace(one, before=one.after, after=one.before))
