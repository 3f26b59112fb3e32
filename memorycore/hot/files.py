"""The only module that writes hot files: look, change, snapshots.

A hot file is shared with programs that we do not control. So every change re-reads it under the lock that Hermes uses
too, touches nothing but the entries it names, and keeps the bytes that stood there before.
"""

import hashlib
import re
import stat
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from dataclasses import replace as with_changes
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

from memorycore.domain.text import entry_hash
from memorycore.errors import HotFileError, MemoryCoreError, Unreadable, Unwritable
from memorycore.hot.atomic import (
    LOCK_TIMEOUT_S,
    PRIVATE_FILE,
    Copy,
    copied,
    flush_folder,
    locked,
    put,
    read,
    replace,
    unwritable,
    wait_while_cut,
)
from memorycore.hot.document import Document, parse, render
from memorycore.hot.sidecar import EntryMeta, Sidecar, parse_sidecar, render_sidecar, sidecar_path
from memorycore.store.folders import make_private

KEEP_SNAPSHOTS = 20
KEEP_DAILY_SNAPSHOTS_DAYS = 30
STATES_LOOKED_AT = 3
_ATTEMPTS = 3
_LONG_FOR_ONE_ENTRY = 500  # code points; a host may well write one entry that is a short list


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What stands in a hot file and beside it. ``exists`` tells an empty file from none.

    Neither says that somebody removed the entries: an editor may be in the middle of saving.
    """

    data: bytes
    exists: bool
    document: Document
    sidecar: Sidecar

    @property
    def entries(self) -> tuple[str, ...]:
        return self.document.entries

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def unstamped(self) -> bool:
        """Whether the sidecar lacks an entry, or could not be read whole."""
        return self.sidecar.damaged or not self.sidecar.entries.keys() >= _keys(self.entries)

    @property
    def looks_unmanaged(self) -> bool:
        """Whether its one entry is a note of headings and lists that somebody wrote, who may think it is many."""
        if "headings_without_delimiter" not in self.document.flags or len(self.entries[0]) < _LONG_FOR_ONE_ENTRY:
            return False
        meta = self.sidecar.entries.get(entry_hash(self.entries[0]))
        return meta is None or meta.origin in {"legacy", "hermes"}


@lru_cache(maxsize=4)
def _keys(entries: tuple[str, ...]) -> frozenset[str]:
    """The keys of entries in their sidecar."""
    return frozenset(map(entry_hash, entries))


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """What shall stand in the file. ``metas`` by entry hash: those to set; an entry that is not named keeps its own."""

    entries: tuple[str, ...]
    metas: Mapping[str, EntryMeta] = field(default_factory=dict[str, EntryMeta])


Edit = Callable[[Contents], Edited | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a change did.

    ``before`` is what the edit saw, ``after`` what we left. ``changed``: we wrote the hot file. ``overtaken``: once
    the lock was released something else stood there, so somebody wrote over it or after us, and a new look is due.
    ``sidecar_error``: the entries stand, their meta could not be written.
    """

    before: Contents
    after: Contents
    changed: bool = False
    overtaken: bool = False
    snapshot: Path | None = None
    sidecar_error: HotFileError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """``number`` gives the order, since clocks go backwards at times; ``digest`` starts the SHA-256 of the bytes."""

    path: Path
    number: int
    taken_at: datetime
    digest: str


def look(path: Path) -> Contents:
    """Read a hot file and its sidecar, without the lock: both are only ever replaced whole.

    The file is read first: the sidecar is written before it, with the keys of both states, so it covers what was read.

    Raises:
        Unreadable: The hot file cannot be read.
        Undecodable: It holds a byte that is not UTF-8.
    """
    found = read(path)
    data = found or b""
    document = parse(data, path=str(path))
    try:
        sidecar = parse_sidecar(read(sidecar_path(path)) or b"")
    except Unreadable:
        sidecar = Sidecar(damaged=True)
    return Contents(data=data, exists=found is not None, document=document, sidecar=sidecar)


def change(  # noqa: PLR0913 a file, an edit, and how it is done
    path: Path,
    edit: Edit,
    *,
    snapshots: Path | None,
    now: datetime,
    timeout_s: float = LOCK_TIMEOUT_S,
    normalise: bool = False,
    ahead: bool = False,
) -> Written:
    """Change a hot file, under the lock, on what stands in it now.

    ``edit`` gets the fresh contents and answers with what shall stand there, or None for no change; it may raise
    (``Conflict``), may be asked again, and must be quick. Order: lock, read, edit, snapshot of the old bytes to the
    folder ``snapshots``, sidecar with the keys of the old and the new entries, file, read back, unlock, read again.
    When the entries stay the same their bytes do, however odd, unless ``normalise`` asks for the canonical form.

    ``ahead``: the edit is made before the lock is taken, snapshot and new bytes go to the disk, and under the lock
    the file only gets them, if it is as it was: nobody waits for a disk meanwhile. Else the edit is asked again.

    Raises:
        LockTimeout, Unreadable, Undecodable, Unwritable: The file is as it was, or as somebody leaves it who keeps
            writing without the lock.
        Conflict: From the edit; the file is as it was.
        InvalidInput: An entry would not read back as itself; the file is as it was.
    """
    with ExitStack() as copies:
        planned = _plan_ahead(path, edit, snapshots, now, copies) if ahead else None
        with locked(path, timeout_s=timeout_s):
            for _ in range(_ATTEMPTS):
                written = _change_once(path, edit, planned, snapshots=snapshots, now=now, normalise=normalise)
                if written:
                    break
                planned = None
            else:
                raise Unwritable(path=str(path), why="written_without_lock", mode="-")
    if written.changed:
        flush_folder(path)
    if snapshots and written.changed:
        prune_snapshots(path, folder=snapshots, now=now)
    if written.overtaken or _holds(path, written.after.data):
        return written
    return with_changes(written, overtaken=True)


def snapshot(path: Path, data: bytes, *, folder: Path, now: datetime) -> Path | None:
    """Keep bytes of a hot file in ``folder`` (one folder per hot tier: files are told apart by name only).

    Returns:
        The new file, or None when there is nothing to keep or the newest snapshot holds the same bytes.

    Raises:
        Unwritable: The snapshot cannot be written.
    """
    digest = hashlib.sha256(data).hexdigest()[:16]
    known = list_snapshots(path, folder=folder)
    if not data or (known and known[-1].digest == digest):
        return None
    number = known[-1].number + 1 if known else 1
    taken_at = now.astimezone(UTC).strftime("%Y%m%dT%H%M%S%f")[:-3] + "Z"
    target = folder / f"{path.name}.{number:06d}.{taken_at}.{digest}"
    try:
        make_private(folder)
    except OSError as error:
        raise unwritable(target, error) from error
    replace(target, data)
    return target


def list_snapshots(path: Path, *, folder: Path) -> list[Snapshot]:
    """The snapshots of a hot file, oldest first."""
    name = re.compile(re.escape(path.name) + r"\.(\d{6,})\.(\d{8}T\d{6})(\d{3})Z\.([0-9a-f]{16})")
    found: list[Snapshot] = []
    for candidate in folder.glob("*"):
        match = name.fullmatch(candidate.name)
        if match:
            taken_at = datetime.fromisoformat(f"{match[2]}.{match[3]}+00:00")
            found.append(Snapshot(path=candidate, number=int(match[1]), taken_at=taken_at, digest=match[4]))
    return sorted(found, key=lambda item: (item.number, item.taken_at, item.digest))


def last_states(path: Path, *, folder: Path) -> list[frozenset[str]]:
    """Hashes of the entries in each of the last snapshots; one that cannot be read is left out."""
    found: list[frozenset[str]] = []
    for item in list_snapshots(path, folder=folder)[-STATES_LOOKED_AT:]:
        with suppress(HotFileError):
            found.append(_keys(parse(read(item.path) or b"", path=str(item.path)).entries))
    return found


def prune_snapshots(
    path: Path,
    *,
    folder: Path,
    now: datetime,
    keep: int = KEEP_SNAPSHOTS,
    keep_daily_days: int = KEEP_DAILY_SNAPSHOTS_DAYS,
) -> int:
    """Delete snapshots but the last ``keep``, the last of each UTC day of ``keep_daily_days``, and the very first.

    Returns:
        How many were deleted. One that cannot be deleted stays for the next time.
    """
    known = list_snapshots(path, folder=folder)
    last_of_day = {
        item.taken_at.date(): item for item in known if item.taken_at >= now - timedelta(days=keep_daily_days)
    }
    kept = {item.path for item in (*known[:1], *known[len(known) - keep :], *last_of_day.values())}
    deleted = 0
    for item in known:
        if item.path not in kept:
            with suppress(OSError):
                item.path.unlink()
                deleted += 1
    return deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """What becomes of a file. ``copy``: its new bytes are on the disk already, and so is a snapshot of the old ones."""

    before: Contents
    data: bytes
    sidecar: Sidecar
    sidecar_data: bytes
    copy: Copy | None = None

    @property
    def changed(self) -> bool:
        return self.data != self.before.data


def _plan(before: Contents, edit: Edit, *, normalise: bool) -> _Planned | None:
    edited = edit(before)
    if edited is None:
        return None
    data = render(edited.entries) if normalise or edited.entries != before.entries else before.data
    sidecar = _merged(before, edited)
    return _Planned(before=before, data=data, sidecar=sidecar, sidecar_data=render_sidecar(sidecar))


def _plan_ahead(path: Path, edit: Edit, snapshots: Path | None, now: datetime, copies: ExitStack) -> _Planned | None:
    """What is wrong is told under the lock."""
    with suppress(MemoryCoreError):
        planned = _plan(look(path), edit, normalise=False)
        if planned is None or not planned.changed:
            return planned
        if snapshots:
            snapshot(path, planned.before.data, folder=snapshots, now=now)
        return with_changes(planned, copy=copies.enter_context(copied(path, planned.data)))
    return None


def _change_once(
    path: Path, edit: Edit, planned: _Planned | None, *, snapshots: Path | None, now: datetime, normalise: bool
) -> Written | None:
    """One try, under the lock; None when somebody without it wrote between our look and our write."""
    wait_while_cut(path)
    before = look(path)
    if planned is None or planned.before != before:
        planned = _plan(before, edit, normalise=normalise)
    if planned is None:
        return Written(before=before, after=before)
    kept = None
    if snapshots and planned.changed and planned.copy is None:
        kept = snapshot(path, before.data, folder=snapshots, now=now)
    sidecar_error = _write_sidecar(path, planned, snapshots=snapshots, now=now)
    if planned.copy is not None:
        done = put(planned.copy, expected=before.data)
    else:
        done = not planned.changed or replace(path, planned.data, expected=before.data, flush="bytes")
    if not done:
        return None
    return Written(
        before=before,
        after=Contents(
            data=planned.data,
            exists=before.exists or planned.changed,
            document=parse(planned.data, path=str(path)),
            sidecar=planned.sidecar,
        ),
        changed=planned.changed,
        overtaken=not _holds(path, planned.data),
        snapshot=kept,
        sidecar_error=sidecar_error,
    )


def _merged(before: Contents, edited: Edited) -> Sidecar:
    """Keys of the old and the new entries, so that whoever dies before the file is written has the meta of both."""
    standing = dict.fromkeys(entry_hash(entry) for entry in (*edited.entries, *before.entries))
    known = {**before.sidecar.entries, **edited.metas}
    entries = {key: known[key] for key in standing if key in known}
    return Sidecar(entries=entries, extra=before.sidecar.extra)


def _write_sidecar(path: Path, planned: _Planned, *, snapshots: Path | None, now: datetime) -> HotFileError | None:
    """Write it if it changed. It never blocks the entries: an error is handed back."""
    known = planned.before.sidecar
    if planned.sidecar == known:
        return None
    target = sidecar_path(path)
    try:
        if known.damaged and snapshots:
            snapshot(target, read(target) or b"", folder=snapshots, now=now)
        # Without a flush: it can be made again from the rows, and whoever waits for the lock waits for the disk.
        replace(target, planned.sidecar_data, new_mode=_file_mode(path), flush="nothing")
    except HotFileError as error:
        return error
    return None


def _file_mode(path: Path) -> int:
    """The sidecar is as open as its file: who may edit one needs the other."""
    try:
        return stat.S_IMODE(path.stat().st_mode) & 0o666
    except OSError:
        return PRIVATE_FILE


def _holds(path: Path, data: bytes) -> bool:
    try:
        return (read(path) or b"") == data
    except Unreadable:
        return False
