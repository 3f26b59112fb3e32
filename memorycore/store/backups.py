"""Backups: one file with the database, as it was at one moment, the hot files with their sidecars, and what is in it.

It is a zip without compression, so that a search of the raw files finds what is in it, and anybody can open it. It is
readable by its owner only. A backup is written under another name, checked, and renamed when it is whole.
"""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import zipfile
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from memorycore.domain.memory import format_time, parse_time
from memorycore.errors import InvalidInput, SchemaTooNew, StoreDamaged, StoreError
from memorycore.store.database import APPLICATION_ID, Database, driver_errors, migrations
from memorycore.store.folders import make_private
from memorycore.store.statements import all_rows, only_row, sql

FORMAT = 1
FOLDER = "backups"
SUFFIX = ".backup.zip"
OURS = "memorycore-"
ASIDE = "before-restore-"
DATABASE = "memorycore.db"
MANIFEST = "manifest.json"
_CHUNK = 1024 * 1024
_ROOM = 1.2  # times the database: the copy and what comes with it


@dataclass(frozen=True, slots=True, kw_only=True)
class HotCopy:
    """One hot file in a backup: whose it is, and the names of its bytes and sidecar inside; empty: it was absent."""

    namespace: str
    directory: str
    target: str
    file: str = ""
    sidecar: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup holds. ``sha256`` of each part by its name inside; ``memories`` counts what is not purged."""

    made_at: datetime
    version: str
    schema: int
    memories: int
    hot: Sequence[HotCopy] = ()
    sha256: Mapping[str, str] = field(default_factory=dict[str, str])
    format: int = FORMAT


def name_at(now: datetime, *, start: str = OURS) -> str:
    return f"{start}{now:%Y%m%dT%H%M%SZ}{SUFFIX}"


def make(
    db: Database, target: Path, hot: Sequence[tuple[HotCopy, bytes | None, bytes | None]], now: datetime
) -> Manifest:
    """Write a backup to ``target``: the database through SQLite's own copy, and hot files (bytes, sidecar) as given.

    Writers go on meanwhile. What is copied is opened and checked before the file gets its name.

    Raises:
        StoreError: There is no room, or the folder cannot be written.
        StoreDamaged: The database does not pass the check; nothing was written.
    """
    from memorycore import __version__

    make_private(target.parent)
    _check_room(target.parent, db.path)
    with scratch(target.parent) as folder:
        copy = folder / DATABASE
        db.backup(copy)
        schema, memories = _settle(copy)
        parts: dict[str, Path] = {DATABASE: copy}
        copies: list[HotCopy] = []
        for number, (one, data, sidecar) in enumerate(hot, 1):
            names = {"file": f"hot/{number}/{one.target}.md", "sidecar": f"hot/{number}/{one.target}.meta.json"}
            kept = {name: inside for name, inside in names.items() if (data if name == "file" else sidecar) is not None}
            for name, inside in kept.items():
                path = folder / f"{number}-{name}"
                path.write_bytes((data if name == "file" else sidecar) or b"")
                parts[inside] = path
            copies.append(HotCopy(namespace=one.namespace, directory=one.directory, target=one.target, **kept))
        manifest = Manifest(
            made_at=now, version=__version__, schema=schema, memories=memories, hot=tuple(copies),
            sha256={name: _sha256(path) for name, path in parts.items()},
        )  # fmt: skip
        _pack(target, manifest, parts)
    return manifest


def read(path: Path) -> Manifest:
    """What a backup says of itself.

    Raises:
        InvalidInput: There is no such file.
        StoreDamaged: It is no backup of ours, or cut short.
        SchemaTooNew: A newer version made it.
    """
    if not path.is_file():
        raise InvalidInput(field="FILE", why="no_such_file", value=str(path))
    with _damage(path), zipfile.ZipFile(path) as archive:
        raw: dict[str, Any] = json.loads(archive.read(MANIFEST))
        manifest = Manifest(
            made_at=parse_time(str(raw["made_at"])), version=str(raw["version"]), schema=int(raw["schema"]),
            memories=int(raw["memories"]), hot=tuple(HotCopy(**one) for one in raw["hot"]), sha256=dict(raw["sha256"]),
            format=int(raw["format"]),
        )  # fmt: skip
        names = set(archive.namelist())
    newest = migrations()[-1][0]
    if manifest.format > FORMAT or manifest.schema > newest:
        raise SchemaTooNew(path=str(path), found=manifest.schema, known=newest)
    if not {DATABASE, *manifest.sha256} <= names:
        raise StoreDamaged(path=str(path), why="part_missing")
    return manifest


@contextlib.contextmanager
def opened(path: Path, folder: Path) -> Generator[tuple[Manifest, Path]]:
    """A backup unpacked below ``folder``, each part compared with its hash and the database checked; gone afterwards.

    Raises:
        StoreDamaged: A part is not what was written; nothing was changed anywhere.
    """
    manifest = read(path)
    with scratch(folder) as inside:
        with _damage(path), zipfile.ZipFile(path) as archive:
            for name, wanted in manifest.sha256.items():
                part = inside / name
                part.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(name) as source, part.open("wb") as target:
                    shutil.copyfileobj(source, target, _CHUNK)
                part.chmod(0o600)
                if _sha256(part) != wanted:
                    raise StoreDamaged(path=str(path), why="part_changed")
        _settle(inside / DATABASE)
        yield manifest, inside


def pack_again(path: Path, manifest: Manifest, folder: Path) -> None:
    """Write a backup anew from its unpacked and changed parts, with new hashes."""
    from dataclasses import replace

    parts = {name: folder / name for name in manifest.sha256}
    fresh = replace(manifest, sha256={name: _sha256(part) for name, part in parts.items()})
    _pack(path, fresh, parts)


def listed(folder: Path) -> list[Path]:
    """The backups in a folder, the newest first."""
    found = [path for path in folder.glob(f"*{SUFFIX}") if path.is_file()]
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True)


def _day(path: Path) -> str:
    return path.name.removeprefix(OURS).partition("T")[0]


def prune(folder: Path, *, keep: int) -> list[Path]:
    """Delete the oldest backups that were made without a name, beyond ``keep``. What a restore set aside stays.

    The last one of each day goes after all others, so that a day with many costs none of the days before.
    """
    ours = [path for path in listed(folder) if path.name.startswith(OURS)]
    last_of_day = {_day(path): path for path in reversed(ours)}.values()
    others = [path for path in ours if path not in last_of_day]
    gone = [*reversed(last_of_day), *others][keep:]
    for path in gone:
        path.unlink(missing_ok=True)
    return gone


@contextlib.contextmanager
def scratch(folder: Path) -> Generator[Path]:
    """A private folder for the time of the work; what a process that was killed left of one goes first."""
    make_private(folder)
    for left in folder.glob(".scratch-*"):
        owner = left.name.split("-")[1]
        if not owner.isdigit() or not _is_running(int(owner)):
            shutil.rmtree(left, ignore_errors=True)
    path = folder / f".scratch-{os.getpid()}-{secrets.token_hex(4)}"
    path.mkdir(mode=0o700)
    try:
        yield path
    except OSError as error:
        raise StoreError(path=str(folder), why=error.strerror or str(error)) from error
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _is_running(pid: int) -> bool:
    from memorycore.store.intents import is_running

    return is_running(pid)


def _settle(copy: Path) -> tuple[int, int]:
    """Check a copy of the database and make it a single file; its schema, and how many memories it has."""
    with driver_errors(copy), contextlib.closing(apsw.Connection(str(copy))) as c:
        c.pragma("journal_mode", "delete")
        said = str(only_row(c, "check_all", {"most": 1})[0])
        if said != "ok" or int(c.pragma("application_id")) != APPLICATION_ID:
            raise StoreDamaged(path=str(copy), why=said if said != "ok" else "foreign_database")
        memories = int(only_row(c, "count_kept")[0])
        return int(c.pragma("user_version")), memories


def hot_tiers(db: Database) -> list[HotCopy]:
    """Every hot file that this store knows, of all namespaces."""
    with db.read() as c:
        rows = all_rows(c, "every_hot_tier")
    return [HotCopy(namespace=namespace, directory=directory, target=target) for namespace, directory, target in rows]


def put_in_place(source: Path, target: Path, *, timeout_ms: int, last_look: Callable[[], None]) -> None:
    """Write all of ``source`` into the living database ``target``, in one transaction of its own.

    Processes that have it open see the whole change at once, and open it anew. ``last_look`` is called when nobody else
    can write any more and nothing is changed yet; it may still change ``source``. What it raises leaves all as it is.

    Raises:
        StoreBusy: Somebody kept the write lock for all the time.
    """
    with (
        driver_errors(target),
        contextlib.closing(apsw.Connection(str(source))) as old,
        contextlib.closing(apsw.Connection(str(target))) as living,
    ):
        living.set_busy_timeout(timeout_ms)
        with living.backup("main", old, "main") as step:
            step.step(1)  # takes the lock of a writer
            last_look()
            while not step.done:
                step.step(-1)
        living.pragma("journal_mode", "wal")
        living.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def as_newer(copy: Path, db: Database | None, file_hashes: Mapping[tuple[str, str, str], str]) -> None:
    """Make a copy one that those who have the present database open will take for another one, and newer.

    ``file_hashes``: by namespace, directory and target, of the hot files as they are now: nobody who looks before they
    are restored shall take the difference for somebody's edit.
    """
    change = epoch = 0
    if db is not None:
        with db.read() as c:
            change, epoch = int(only_row(c, "newest_change")[0]), int(only_row(c, "epoch")[0])
    with driver_errors(copy), contextlib.closing(apsw.Connection(str(copy))) as c:
        c.execute("BEGIN IMMEDIATE")
        c.execute(sql["lift_changes"], {"by": change})
        c.execute(sql["lift_change_counter"], {"by": change})
        c.execute(sql["set_epoch"], {"epoch": max(epoch, int(only_row(c, "epoch")[0])) + 1})
        c.execute(sql["drop_leases"])
        for (namespace, directory, target), sha in file_hashes.items():
            where = {"namespace": namespace, "directory": directory, "target": target}
            c.execute(sql["set_file_sha_of"], {**where, "file_sha": sha})
        c.execute("COMMIT")


def _pack(target: Path, manifest: Manifest, parts: Mapping[str, Path]) -> None:
    told = {**asdict(manifest), "made_at": format_time(manifest.made_at)}
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr(MANIFEST, json.dumps(told, ensure_ascii=False, indent=2))
                for name, path in parts.items():
                    archive.write(path, name)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        raise StoreError(path=str(target), why=error.strerror or str(error)) from error
    finally:
        temporary.unlink(missing_ok=True)


def _check_room(folder: Path, database: Path) -> None:
    needed = int(database.stat().st_size * _ROOM * 2) if database.exists() else 0
    if shutil.disk_usage(folder).free < needed:
        raise StoreError(path=str(folder), why="no_disk_room", needed_mb=needed // 1024**2)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


@contextlib.contextmanager
def _damage(path: Path) -> Generator[None]:
    """What a file that is no whole backup makes of reading it."""
    try:
        yield
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError, EOFError) as error:
        raise StoreDamaged(path=str(path), why="no_backup") from error
    except OSError as error:
        raise StoreError(path=str(path), why=error.strerror or str(error)) from error
