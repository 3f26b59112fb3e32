"""Taking one text out of what is kept beside the hot files: snapshots, and what a dead process left behind."""

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memorycore.errors import HotFileError, Undecodable
from memorycore.hot.atomic import TEMPORARY_FILES, read, replace, unwritable
from memorycore.hot.document import parse, render
from memorycore.store.intents import is_running

_SNAPSHOT = re.compile(r"(.+\.\d{6,}\.\d{8}T\d{9}Z\.)[0-9a-f]{16}")
_OWNER = re.compile(r"\.memorycore-(\d+)-")
WRITING_TAKES_S = 60.0  # a temporary file that is younger may be a write that is under way


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwanted:
    """A text that is to go.

    ``is_copy`` tells whether an entry is that text, ``spares`` whether an entry is a memory of its own that may hold
    it. ``passages``: wordings that go from within other entries too; the entry keeps ``mark`` in their place.
    """

    is_copy: Callable[[str], bool]
    spares: Callable[[str], bool]
    passages: Sequence[str]
    mark: str

    def without(self, entry: str) -> str:
        """What is left of an entry; empty for a copy."""
        if self.spares(entry):
            return entry
        if self.is_copy(entry):
            return ""
        for passage in self.passages:
            entry = entry.replace(passage, self.mark)
        return entry


def scrub_snapshots(folder: Path, unwanted: Unwanted) -> int:
    """Take a text out of every snapshot below ``folder``; the other entries stay. How many were changed.

    A snapshot is written anew under the name of its new bytes before the old one goes: who dies between leaves both,
    and the next run takes the old one.

    One that cannot be read or written stays as it is.
    """
    changed = 0
    for path in sorted(folder.rglob("*")):
        match = _SNAPSHOT.fullmatch(path.name)
        if match and path.is_file():
            with suppress(HotFileError):
                changed += _scrub(path, match[1], unwanted)
    return changed


def _scrub(path: Path, name: str, unwanted: Unwanted) -> bool:
    data = read(path)
    left = None if data is None else without(data, unwanted)
    if left is None:
        return False
    if left:
        replace(path.with_name(name + hashlib.sha256(left).hexdigest()[:16]), left)
    _unlink(path)
    return True


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)  # somebody else may just have dropped it for its age
    except OSError as error:
        raise unwritable(path, error) from error


def without(data: bytes, unwanted: Unwanted) -> bytes | None:
    """The bytes of a hot file without the text; None when it does not hold it."""
    try:
        document = parse(data, path="")
    except Undecodable:
        return _cut(data, unwanted)
    kept = [unwanted.without(entry) for entry in document.entries]
    if tuple(kept) == document.entries:
        return None
    return render(list(dict.fromkeys(entry for entry in kept if entry)))


def _cut(data: bytes, unwanted: Unwanted) -> bytes | None:
    """As ``without``, for a file that is no text: the passages go from its bytes, whatever their line ends."""
    left = data
    for passage in unwanted.passages:
        for text in (passage, passage.replace("\n", "\r\n")):
            left = left.replace(text.encode("utf-8"), b"")
    return left if left != data else None


def drop_leftovers(folders: Sequence[Path], holds: Callable[[bytes], bool]) -> int:
    """Delete half-written files of dead processes that hold the text; how many."""
    dropped = 0
    for path in _leftovers(folders):
        with suppress(HotFileError):  # what cannot be read or deleted is found by the search afterwards
            data = read(path)
            if data is not None and holds(data):
                _unlink(path)
                dropped += 1
    return dropped


def _leftovers(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        for path in folder.rglob(TEMPORARY_FILES) if folder.is_dir() else ():
            owner = _OWNER.match(path.name)
            with suppress(OSError):
                old = time.time() - path.stat().st_mtime > WRITING_TAKES_S
                if old or (owner and not is_running(int(owner[1]))):
                    yield path
