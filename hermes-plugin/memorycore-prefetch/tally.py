"""What the hooks went without: numbers only, kept in a small file until a daemon was told.

A process of Hermes may end before any daemon has answered; its numbers then wait in the file for the next one. Several
processes may do so at once: nobody waits for a lock, and nobody's numbers are written over.
"""

import hashlib
import itertools
import json
import os
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_BYTES = 65_536
MOST_NAMES = 100  # as many as one report may hold
TRIES = 1_000  # a try takes a tenth of a millisecond
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Numbers:
    """``missed`` by hook and reason, and how many questions in a row got no answer."""

    missed: Counter[str] = field(default_factory=Counter[str])
    in_vain: int = 0

    def __bool__(self) -> bool:
        return bool(self.missed or self.in_vain)

    def __add__(self, other: "Numbers") -> "Numbers":
        return Numbers(self.missed + other.missed, self.in_vain + other.in_vain)

    def __sub__(self, other: "Numbers") -> "Numbers":
        return Numbers(self.missed - other.missed, max(0, self.in_vain - other.in_vain))


def file_of(data_dir: Path, hot_dir: Path) -> Path:
    """Where the numbers of one Hermes home wait; the status of MemoryCore looks there as well."""
    mark = hashlib.sha256(os.path.realpath(hot_dir).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return data_dir / f"hermes-missed-{mark}.json"


def read(file: Path) -> Numbers:
    """What waits there; nothing where the file is missing or means nothing."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError), file.open("rb") as opened:
        found: Any = json.loads(opened.read(MOST_BYTES))
        missed = sorted((str(name), int(count)) for name, count in found["missed"].items() if int(count) > 0)
        return Numbers(Counter(dict(missed[:MOST_NAMES])), max(0, int(found.get("in_vain", 0))))
    return Numbers()


class Tally:
    """The numbers of one provider. Usable from every thread.

    ``may_make_folder``: whether the folder of the file is made where it is missing.
    """

    def __init__(self, file: Path, *, may_make_folder: bool) -> None:
        self._file = file
        self._may_make_folder = may_make_folder
        self._lock = threading.Lock()
        self._filing = threading.Lock()
        self._own = Numbers()  # not told yet
        self._filed = Numbers()  # how much of that waits in the file
        self._covered = Numbers()  # how much of that is being told
        self._waits = file.exists()

    def miss(self, hook: str, why: str, by: int = 1, *, question: bool = False) -> None:
        with self._lock:
            self._own += Numbers(Counter({f"{hook}:{why}": by}), int(question))

    def answered(self) -> bool:
        """A daemon answered. Whether there is something that none has been told."""
        with self._lock:
            self._own = Numbers(self._own.missed)
            return bool(self._own.missed) or self._waits

    def missed(self) -> dict[str, int]:
        """What this provider went without since a daemon was last told."""
        with self._lock:
            return dict(self._own.missed)

    def keep(self) -> None:
        """Add to the file what is not in it yet."""
        with self._filing:
            with self._lock:
                own, new = self._own, self._own - self._filed
            if new and self._add(new):
                with self._lock:
                    self._filed, self._waits = own, True

    def to_tell(self) -> Numbers:
        """All that waits, in the file and here. Give it to ``told`` when that is done."""
        self.keep()
        waiting = read(self._file)
        with self._lock:
            self._covered = self._own
            return waiting + (self._own - self._filed)

    def told(self, what: Numbers) -> None:
        """A daemon was told; what came in since then waits on."""
        with self._filing:
            if rest := Numbers((_take(self._file) - what).missed):
                self._add(rest)
            with self._lock:
                self._own = Numbers(self._own.missed - self._covered.missed, self._own.in_vain)
                self._filed = Numbers(self._filed.missed - self._covered.missed)
                self._waits = bool(rest)

    def in_vain(self) -> int:
        """How many questions in a row got no answer, of earlier processes."""
        return read(self._file).in_vain

    def _add(self, new: Numbers) -> bool:
        """Whether the file holds ``new`` as well now."""
        with suppress(OSError):
            if self._may_make_folder:
                _make_private(self._file.parent)
            _put(self._file, new)
            return True
        return False


def _put(file: Path, new: Numbers) -> None:
    """Take what is there, and put the sum in its place; who finds another's there by then takes that as well.

    Raises:
        OSError: The folder cannot be written.
    """
    draft = _beside(file)
    for tried in range(1, TRIES + 1):
        new += _take(file)
        number = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(number, "w", encoding="utf-8") as opened:
                json.dump({"missed": dict(new.missed), "in_vain": new.in_vain}, opened)
        except OSError:  # the disk is full, and shall not fill with these as well
            draft.unlink()
            raise
        try:
            os.link(draft, file)  # unlike a rename it writes over nothing
        except FileExistsError:
            if tried < TRIES:
                continue
            draft.replace(file)
        except OSError:  # a file system without links
            draft.replace(file)
        else:
            draft.unlink()
        return


def _take(file: Path) -> Numbers:
    """What waits in the file, which is gone then: only one of several who try at once gets it."""
    own = _beside(file)
    try:
        file.rename(own)
    except OSError:
        return Numbers()
    found = read(own)
    with suppress(OSError):
        own.unlink()
    return found


def _make_private(folder: Path) -> None:
    """Make what is missing of a folder, for its owner alone.

    Raises:
        OSError: It cannot be made.
    """
    if not folder.is_dir():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _beside(file: Path) -> Path:
    return file.with_name(f".{file.name}.{os.getpid()}-{next(_numbers)}")
