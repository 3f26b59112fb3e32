"""Backups of everything that is remembered, and the way back from one."""

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path

from memorycore import answers_upkeep
from memorycore.core.rooms import Rooms, utc_now
from memorycore.domain.memory import TARGETS, format_time
from memorycore.errors import HotFileError, MemoryCoreError, SchemaTooNew, StoreDamaged, StoreError
from memorycore.govern.steps.work import Work
from memorycore.hot import atomic, files
from memorycore.hot.sidecar import sidecar_path
from memorycore.hot.tier import FILE_NAMES
from memorycore.options import CoreOptions
from memorycore.store import Database, backups, open_database
from memorycore.store.backups import HotCopy, Manifest

BUSY_MS = 15_000
MOST_LOOKS = 3


def folder_of(options: CoreOptions) -> Path:
    return options.data_dir / backups.FOLDER


def backup(db: Database, options: CoreOptions, now: datetime, target: Path | None = None) -> answers_upkeep.BackedUp:
    """Make a backup, in our own folder where no file is named; then only the last few of those are kept.

    Raises:
        StoreError: There is no room, or it cannot be written there.
    """
    folder = folder_of(options)
    path = _free(target or folder / backups.name_at(now))
    manifest = backups.make(db, path, _hot_copies(db), now)
    gone = backups.prune(folder, keep=options.maintenance.backups_kept) if target is None else []
    return {**_told(path, manifest), "dropped": [old.name for old in gone]}


def step(rooms: Rooms, work: Work) -> dict[str, object]:
    """The step of maintenance: a backup of this day, in our own folder."""
    if work.dry_run:
        return {
            "would_drop": max(
                0, len(backups.listed(folder_of(rooms.options))) + 1 - rooms.options.maintenance.backups_kept
            )
        }
    work.check()
    made = backup(rooms.db, rooms.options, work.clock())
    work.check()
    return {"path": made["path"], "backup_bytes": made["bytes"]}


def list_backups(options: CoreOptions) -> answers_upkeep.Backups:
    """The backups in our own folder, the newest first; one that cannot be read says why."""
    found: list[answers_upkeep.BackedUp] = []
    for path in backups.listed(folder_of(options)):
        try:
            found.append(_told(path, backups.read(path)))
        except MemoryCoreError as error:
            found.append({"path": str(path), "bytes": path.stat().st_size, "problem": error.code})
    return {"folder": str(folder_of(options)), "backups": found}


def restore(
    options: CoreOptions,
    path: Path,
    *,
    dry_run: bool = False,
    verify: bool = False,
    clock: Callable[[], datetime] = utc_now,
) -> answers_upkeep.Restored:
    """Put everything back as it is in a backup. What there was before is a backup of its own afterwards.

    The backup is checked as a whole before anything is touched. Processes that have the memory open may go on: they see
    the old state or the new one, and open the new one with their next call. ``verify`` reads everything back.

    Raises:
        InvalidInput: There is no such file.
        StoreDamaged: It is no whole backup; nothing was changed.
        StoreBusy: Another process is writing all the time; nothing was changed.
        HotFileError: The database is restored and a hot file cannot be written now; run it again.
    """
    options.data_dir.mkdir(parents=True, exist_ok=True)
    with backups.opened(path, folder_of(options)) as (manifest, inside):
        answer: answers_upkeep.Restored = {
            "status": "would_restore" if dry_run else "restored", "path": str(path), "memories": manifest.memories,
            "made_at": format_time(manifest.made_at) or "", "files": [],
        }  # fmt: skip
        wanted = {hot: _place(hot, manifest, options) for hot in manifest.hot}
        answer["files"] = [str(place) for hot, place in wanted.items() if place is not None and hot.file]
        if dry_run:
            return answer
        Database(inside / backups.DATABASE).close()  # brings an older schema up to date
        if aside := _put_back(options, wanted, inside, clock()):
            answer["aside"] = aside
    if verify:
        answer["verified"] = _verify(options, manifest)
    return answer


def _put_back(options: CoreOptions, wanted: Mapping[HotCopy, Path | None], inside: Path, now: datetime) -> str:
    """Put the unpacked backup in the place of what there is; where that was kept.

    Others may write until the very moment at which nobody else can any more. What they were told is kept is found in
    the new state or in what was set aside, which is made once more if anything came meanwhile.
    """
    places = [(hot, place) for hot, place in wanted.items() if place is not None]
    copy, target = inside / backups.DATABASE, options.data_dir / backups.DATABASE
    present = _present(options)
    seen = None if present is None else (present.data_version(), _hot_copies(present))
    aside, present = _set_aside(present, options, now)
    with _held([place for _, place in places]):
        if present is None:
            backups.as_newer(copy, None, _hashes(wanted))
            copy.replace(target)
        else:
            living = present

            def last_look() -> None:
                if (living.data_version(), _hot_copies(living)) != seen:
                    backups.make(living, Path(aside), _hot_copies(living), now)
                backups.as_newer(copy, living, _hashes(wanted))

            try:
                backups.put_in_place(copy, target, timeout_ms=BUSY_MS, last_look=last_look)
            finally:
                living.close()
        for hot, place in places:
            _put_file(hot, inside, place)
    return aside


@contextmanager
def _held(places: Sequence[Path]) -> Generator[None]:
    """Nobody else writes these hot files meanwhile.

    Raises:
        HotFileError: Somebody else keeps one for long; nothing was changed.
    """
    with ExitStack() as stack:
        for place in sorted(places):
            stack.enter_context(atomic.locked(place))
        yield


def _present(options: CoreOptions) -> Database | None:
    """The database as it is; None where there is none, or none that can be used.

    Raises:
        SchemaTooNew: A newer version works here; that one has to restore.
    """
    path = options.data_dir / backups.DATABASE
    if not path.exists():
        return None
    try:
        return open_database(options.data_dir)
    except SchemaTooNew:
        raise
    except StoreDamaged:
        return None


def _set_aside(db: Database | None, options: CoreOptions, now: datetime) -> tuple[str, Database | None]:
    """Keep what there is: as a backup, or where it is damaged the files themselves; where, and what is in use still."""
    folder = folder_of(options)
    if db is not None:
        path = _free(folder / backups.name_at(now, start=backups.ASIDE))
        try:
            backups.make(db, path, _hot_copies(db), now)
        except StoreDamaged:
            db.close()
        else:
            return str(path), db
    source = options.data_dir / backups.DATABASE
    kept = ""
    for suffix in ("-shm", "-wal", ""):
        old = source.with_name(source.name + suffix)
        if old.exists():
            new = folder / f"damaged-{now:%Y%m%dT%H%M%SZ}.db{suffix}"
            with _moving(old):
                old.replace(new)
            kept = str(new)
    return kept, None


@contextmanager
def _moving(path: Path) -> Generator[None]:
    """Raises what the system says as ours: on Windows, that another process has the file open."""
    try:
        yield
    except OSError as error:
        raise StoreError(path=str(path), why=error.strerror or str(error)) from error


def _hot_copies(db: Database) -> list[tuple[HotCopy, bytes | None, bytes | None]]:
    """The bytes of every hot file that the store knows, with its sidecar. One that cannot be read is left out."""
    found: list[tuple[HotCopy, bytes | None, bytes | None]] = []
    for hot in backups.hot_tiers(db):
        path = _path(hot.directory, hot.target)
        with suppress(HotFileError):
            data, sidecar = atomic.read(path), atomic.read(sidecar_path(path))
            for _ in range(MOST_LOOKS):
                if (again := atomic.read(path)) == data:
                    break
                data, sidecar = again, atomic.read(sidecar_path(path))
            found.append((hot, data, sidecar))
    return found


def _path(directory: str, target: str) -> Path:
    name = next(FILE_NAMES[one] for one in TARGETS if one == target)
    return Path(directory) / name


def _place(hot: HotCopy, manifest: Manifest, options: CoreOptions) -> Path | None:
    """Where a hot file goes: back to its folder; on another machine, where it was the only one, into ours."""
    own = options.hot_dir.resolve() if options.hot_dir.exists() else options.hot_dir
    if Path(hot.directory) in {own, options.hot_dir} or Path(hot.directory).is_dir():
        return _path(hot.directory, hot.target)
    folders = {one.directory for one in manifest.hot}
    return _path(str(options.hot_dir), hot.target) if len(folders) == 1 else None


def _hashes(wanted: Mapping[HotCopy, Path | None]) -> dict[tuple[str, str, str], str]:
    found: dict[tuple[str, str, str], str] = {}
    for hot, place in wanted.items():
        if place is not None:
            with suppress(HotFileError):
                found[hot.namespace, hot.directory, hot.target] = files.look(place).sha256
    return found


def _put_file(hot: HotCopy, inside: Path, place: Path) -> None:
    """Write one hot file and its sidecar as they were; one that was not there is emptied. The caller holds its lock."""
    data = (inside / hot.file).read_bytes() if hot.file else b""
    if not hot.file and not place.exists():
        return
    if hot.sidecar:
        atomic.replace(sidecar_path(place), (inside / hot.sidecar).read_bytes())
    atomic.replace(place, data)


def _verify(options: CoreOptions, manifest: Manifest) -> bool:
    """Whether what stands there now is sound, and as much as the backup had; others may have written since.

    Raises:
        StoreDamaged: It is not.
    """
    from memorycore.store import only_row, upkeep

    db = open_database(options.data_dir)
    try:
        with db.read(fresh=True) as c:
            found, memories = upkeep.look(c), int(only_row(c, "count_kept")[0])
    finally:
        db.close()
    if found.database != "ok" or memories < manifest.memories:
        raise StoreDamaged(path=str(db.path), why=found.database if found.database != "ok" else "other_count")
    return True


def _free(path: Path) -> Path:
    """The path, or one beside it: two backups of one second do not overwrite each other."""
    path = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 a link shall stay one
    if path.is_dir():
        path /= backups.name_at(utc_now())
    name, number = path.name.removesuffix(backups.SUFFIX), 1
    while path.exists() and path.name.startswith((backups.OURS, backups.ASIDE)):
        number += 1
        path = path.with_name(f"{name}-{number}{backups.SUFFIX}")
    return path


def _told(path: Path, manifest: Manifest) -> answers_upkeep.BackedUp:
    return {
        "path": str(path), "bytes": path.stat().st_size, "made_at": format_time(manifest.made_at) or "",
        "memories": manifest.memories, "files": sum(bool(hot.file) for hot in manifest.hot),
        "version": manifest.version,
    }  # fmt: skip
