"""Overflow on a copy: what would become of the memory files in any folder, before anything is installed for them."""

import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from memorycore import answers_overflow, messages, reply_overflow
from memorycore.core.memory_core import MemoryCore
from memorycore.core.overflow import ground_of, overflow
from memorycore.core.rooms import Rooms, utc_now
from memorycore.domain.memory import Target, format_time
from memorycore.errors import HotFileError, InvalidInput, Unreadable, Unwritable
from memorycore.govern.overflow.forecast import forecast
from memorycore.govern.overflow.gather import entries_of
from memorycore.govern.overflow.ladder import Entry
from memorycore.govern.overflow.plan import plan
from memorycore.govern.overflow.sheet import Ground
from memorycore.hot.document import DELIMITER, parse
from memorycore.hot.sidecar import sidecar_path
from memorycore.hot.tier import FILE_NAMES, HotTier
from memorycore.options import CoreOptions, EmbedOptions, LlmOptions

NEXT_WRITE_CHARS = 120  # a rule of ordinary length
MOST_BYTES = 16 * 1024 * 1024  # of what is a memory file at all
_NEW_NAMESPACE = "preview"


@dataclass(slots=True)
class _Time:
    """A clock that stands still until it is set."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


def folder_of(path: Path) -> Path:
    """The folder with the memory files: this one, or ``memories`` in it, as in a home of Hermes.

    Raises:
        InvalidInput: Neither has any.
    """
    for folder in (path, path / "memories"):
        if any((folder / name).exists() for name in FILE_NAMES.values()):
            return folder
    raise InvalidInput(field="--dir", why="no_memory_files", value=str(path))


def preview(
    folder: Path, options: CoreOptions, target: Target | None = None, *, clock: Callable[[], datetime] = utc_now
) -> answers_overflow.Overflown:
    """What overflow would do to the memory files in ``folder``. Nothing is written there, or in our own folders.

    It happens on a copy with a database of its own, without a model, so that no text goes anywhere. First contact moves
    nothing while everything found counts as new, so the plan is one for the day after; ``next_write`` says what a text
    would push out at once where a file is full already, ``later`` what leaves after that day.

    Args:
        folder: Where ``MEMORY.md`` or ``USER.md`` lies.
        options: Limits, marks and budget; the folders in them are not used.
        target: One of the two files; both where it is None.
        clock: The day of first contact.

    Raises:
        Unwritable: There is no room for the copy, or no temporary folder.
    """
    time = _Time(clock())
    with _workshop() as copy:
        trial = replace(
            options, hot_dir=Path(copy, "memories"), data_dir=Path(copy, "data"), namespace=_NEW_NAMESPACE,
            embed=EmbedOptions(model="none"), llm=LlmOptions(),
        )  # fmt: skip
        problems = _copied(folder, trial.hot_dir)
        with MemoryCore(trial, long_lived=False, clock=time) as core:
            rooms = core.rooms
            rooms.touch()
            there = {name: tier for name, tier in rooms.tiers.items() if tier.path.exists() and target in {None, name}}
            pushed = {name: found for name, tier in there.items() if (found := _next_write(rooms, tier)) is not None}
            time.now += timedelta(days=options.resident_days, seconds=1)
            answer = overflow(rooms, target, dry_run=True)
            runs = {run["target"]: run for run in answer["runs"]}
            for name, tier in there.items():
                if name in pushed:
                    runs[name]["next_write"] = pushed[name]
                if later := _later(rooms, tier, time.now):
                    runs[name]["later"] = later
                if tier.look().looks_unmanaged:
                    where = str(folder / tier.path.name)
                    runs[name]["note"] = messages.text("note.headings", options.language, path=where)
            unusable = [
                reply_overflow.run_over(
                    reply_overflow.Run(tier=rooms.tiers[name], problem=problem), options.language, dry_run=True
                )
                for name, problem in problems.items()
                if target in {None, name}
            ]
    answer["runs"] = [runs[name] for name in there] + unusable
    answer["dir"] = str(folder)
    answer["stays_days"] = options.resident_days
    answer["planned_for"] = format_time(time.now) or ""
    return answer


@contextmanager
def _workshop() -> Generator[str]:
    """A temporary folder. What is wrong with the files that are meant has a name of its own by now."""
    try:
        with tempfile.TemporaryDirectory(prefix="memorycore-") as folder:
            yield folder
    except OSError as error:
        path = error.filename or tempfile.tempdir or "/tmp"  # noqa: S108 only named
        raise Unwritable(path=str(path), why=error.strerror or str(error), mode="-") from error


def _copied(folder: Path, to: Path) -> dict[Target, HotFileError]:
    """Copy what belongs to memory files; why some cannot be used."""
    to.mkdir(mode=0o700, parents=True)
    problems: dict[Target, HotFileError] = {}
    for target, name in FILE_NAMES.items():
        try:
            for source in _files_of(folder / name):
                content = _content(source)
                if source.name == name:
                    parse(content, path=str(source))
                (to / source.name).write_bytes(content)
        except HotFileError as error:
            problems[target] = error
    return problems


def _files_of(path: Path) -> Iterator[Path]:
    """A memory file and what is known of its entries, where there is any of it. The text comes first."""
    if path.exists():
        yield path
        if (beside := sidecar_path(path)).exists():
            yield beside


def _content(path: Path) -> bytes:
    """The bytes of a file, which is only read.

    Raises:
        Unreadable: It is none, too large to be one of ours, or the system refuses.
    """
    if not path.is_file():
        raise Unreadable(path=str(path), why="not a regular file")
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise Unreadable(path=str(path), why=error.strerror or str(error)) from error
    if len(content) > MOST_BYTES:
        raise Unreadable(path=str(path), why="too_large")
    return content


def _entries(rooms: Rooms, tier: HotTier) -> tuple[list[Entry], Ground]:
    with rooms.db.read() as c:
        entries = entries_of(c, tier, tier.document().entries, rooms.options, rooms.clock())
    return entries, ground_of(rooms, tier)


def _next_write(rooms: Rooms, tier: HotTier) -> answers_overflow.NextWrite | None:
    """What a text of ordinary length would push out now; None where it has room."""
    entries, ground = _entries(rooms, tier)
    needed = NEXT_WRITE_CHARS + len(DELIMITER)
    pressed = plan(entries, replace(ground, needed=needed, needed_rules=needed))
    if pressed.before + needed <= ground.ceiling:
        return None
    return reply_overflow.next_write(pressed, NEXT_WRITE_CHARS, rooms.options.language)


def _later(rooms: Rooms, tier: HotTier, day: datetime) -> list[answers_overflow.Later]:
    """What leaves after that day, if nobody uses or writes anything."""
    entries, ground = _entries(rooms, tier)
    coming = {text: what for text, what in forecast(entries, ground).items() if what.at > day}
    return reply_overflow.later(entries, coming, rooms.options)
