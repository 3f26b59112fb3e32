"""What the doctor looks at. Every check only reads, and one that fails does not keep the next from running.

What is around the memory, the daemon and the clients, stands in ``checks_running``.
"""

import os
import platform
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorycore import messages
from memorycore.cli.checks_running import check_clients, check_daemon, check_remote
from memorycore.cli.finding import Finding, Level
from memorycore.domain.memory import TARGETS, Target
from memorycore.errors import LockTimeout, MemoryCoreError
from memorycore.options import CoreOptions, Language
from memorycore.outbound import read_address
from memorycore.overview_upkeep import UNTENDED_AFTER

if TYPE_CHECKING:
    from memorycore.cli.shell import Shell
    from memorycore.settings import Settings
    from memorycore.store.engine import Soundness

MODEL_WAIT_S = 30.0
LITTLE_SPACE_BYTES = 200 * 1024 * 1024
LOCK_WAIT_S = 0.5
LONG_LOG_BYTES = 64 * 1024 * 1024
# Shared folders and networks: their locks do not hold, and a database on them is damaged sooner or later.
UNSUITABLE = frozenset({
    "9p", "afs", "afpfs", "cifs", "davfs", "drvfs", "fakeowner", "fuse.grpcfuse", "fuse.osxfs", "fuse.rclone",
    "fuse.s3fs", "fuse.sshfs", "fuse.vmhgfs-fuse", "glusterfs", "nfs", "nfs4", "osxfs", "prl_fs", "smb2", "smb3",
    "smbfs", "vboxsf", "virtiofs", "vmhgfs",
})  # fmt: skip
# What SQLite makes beside a database; whatever else has such a name keeps it from being opened.
OWN_FILES = ("-wal", "-shm", "-journal")
# What lies beside the memory files and is not ours to read or sweep: copies of editors and hosts, leftovers of a crash.
SIDE_FILES = ("*.bak*", "*.orig", "*.tmp", "*~", ".mem_*", "*.before-*", ".*.sw?")


def examine(env: Mapping[str, str], language: Language) -> Iterator[Finding]:
    """All checks, in the order in which a person would look."""
    yield from _safely(check_python, language)
    yield from _safely(check_engine, language)
    settings, mistakes = settings_that_work(env)
    for mistake in mistakes:
        yield Finding(level="fail", code="error", facts={"what": messages.error_text(mistake, language)})
    options = settings.core_options()
    yield from _safely(lambda: check_settings(settings, in_order=not mistakes), language)
    for folder in dict.fromkeys((options.hot_dir, options.data_dir)):
        yield from _safely(lambda folder=folder: check_folder(folder), language)
    for target in TARGETS:
        yield from _safely(lambda target=target: check_hot_file(options, target), language)
    yield from _safely(lambda: check_hot_folder(settings, env), language)
    yield from _safely(lambda: check_database(options), language)
    yield from _safely(lambda: check_predecessor(options), language)
    yield from _safely(lambda: check_daemon(settings), language)
    yield from _safely(lambda: check_remote(options), language)
    yield from _safely(lambda: check_clients(env), language)
    yield from _safely(lambda: check_model(options), language)


def settings_that_work(env: Mapping[str, str]) -> tuple["Settings", list[MemoryCoreError]]:
    """The settings without those that cannot be used, and what is wrong with these; the rest is looked at as well."""
    from memorycore.settings import readable_settings

    settings, unreadable = readable_settings(env)
    mistakes: list[MemoryCoreError] = [*unreadable]
    try:
        settings.core_options()
    except MemoryCoreError as error:
        mistakes.append(error)
        marks = dict.fromkeys(("soft_threshold", "hard_threshold", "target_ratio", "rule_budget_chars"))
        settings = replace(settings, cold_backend="local", timezone="", **marks)
    return settings, mistakes


def _safely(check: Callable[[], Iterable[Finding]], language: Language) -> Iterator[Finding]:
    try:
        yield from check()
    except MemoryCoreError as error:
        yield Finding(level="fail", code="error", facts={"what": messages.error_text(error, language)})
    except (OSError, ValueError, ImportError) as error:
        yield Finding(level="fail", code="error", facts={"what": f"{type(error).__name__}: {error}"})


def check_python() -> Iterator[Finding]:
    facts = {"version": platform.python_version(), "path": sys.executable}
    good = sys.version_info >= (3, 11)
    yield Finding(level="pass" if good else "fail", code="python" if good else "python_old", facts=facts)


def check_engine() -> Iterator[Finding]:
    from memorycore.store.engine import examine as examine_engine

    engine = examine_engine()
    yield Finding(level="pass", code="sqlite", facts={"version": engine.sqlite, "driver": engine.driver})
    if not engine.full_text:
        yield Finding(level="fail", code="no_full_text")
    if engine.vec0:
        yield Finding(level="pass", code="vec0", facts={"version": engine.vec0.removeprefix("v")})
    else:
        yield Finding(level="warn", code="no_vec0", facts={"why": engine.vec0_error})


def check_settings(settings: "Settings", *, in_order: bool) -> Iterator[Finding]:
    where = str(settings.config_file) if settings.config_file else None
    if in_order:
        yield Finding(level="pass", code="settings" if where else "settings_default", facts={"path": where})
    if settings.without_effect:
        yield Finding(level="warn", code="without_effect", facts={"names": ", ".join(settings.without_effect)})
    if settings.llm_url.strip() and settings.llm_model.strip():
        yield from check_llm(settings)
    limits = {f"{name}": getattr(settings, f"char_limit_{name}") for name in TARGETS}
    origin = settings.limit_from("memory")
    level: Level = "warn" if origin == "hermes_unreadable" else "pass"
    yield Finding(level=level, code=f"limits_{origin}", facts={**limits, "home": settings.hermes_home})


def check_llm(settings: "Settings") -> Iterator[Finding]:
    """Says where texts may go; nothing is sent for it."""
    try:
        address = read_address(settings.llm_url)
    except ValueError:
        yield Finding(level="fail", code="llm_bad_url")
        return
    yield Finding(level="pass", code="llm", facts={"model": settings.llm_model.strip(), "host": address.host})


def check_folder(folder: Path) -> Iterator[Finding]:
    """A folder that will do: it exists or can be made, can be written, lies on a disk whose locks hold, has room."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir():
        yield Finding(level="fail", code="not_a_folder", facts={"path": existing})
        return
    if not os.access(existing, os.W_OK | os.X_OK):
        yield Finding(level="fail", code="folder_read_only", facts={"path": existing})
    elif existing == folder:
        yield Finding(level="pass", code="folder", facts={"path": folder})
    else:
        yield Finding(level="pass", code="folder_to_be_made", facts={"path": folder})
    kind = file_system_of(existing, mounts())
    if kind in UNSUITABLE:
        yield Finding(level="warn", code="unsuitable_file_system", facts={"path": existing, "kind": kind})
    free = shutil.disk_usage(existing).free
    if free < LITTLE_SPACE_BYTES:
        yield Finding(level="warn", code="little_space", facts={"path": existing, "mb": free // 1024**2})


def mounts() -> str:
    """The mount table of this system; empty where there is none to read."""
    table = Path("/proc/self/mounts")
    return table.read_text(encoding="utf-8", errors="replace") if table.exists() else ""


def file_system_of(path: Path, table: str) -> str:
    """The type of the file system that ``path`` lies on, by a table in the form of /proc/mounts; empty if unknown."""
    real = path.resolve()
    best, kind = Path(), ""
    for line in table.splitlines():
        parts = line.split(" ")
        if len(parts) > 2:  # noqa: PLR2004 device, folder, type
            folder = Path(parts[1].replace("\\040", " "))
            if (real == folder or folder in real.parents) and len(folder.parts) >= len(best.parts):
                best, kind = folder, parts[2]
    return kind


def check_hot_file(options: CoreOptions, target: Target) -> Iterator[Finding]:
    """One memory file: readable, canonical, within its limit, private; its sidecar and lock in order."""
    from memorycore.hot import files
    from memorycore.hot.atomic import why_not_writable
    from memorycore.hot.document import host_takes_edits, size
    from memorycore.hot.sidecar import sidecar_path
    from memorycore.hot.tier import FILE_NAMES

    path = options.hot_dir / FILE_NAMES[target]
    limit = options.hot_limits[target].chars
    contents = files.look(path)
    if not contents.exists:
        yield Finding(level="pass", code="file_to_be_made", facts={"path": path})
        return
    document = contents.document
    chars = size(document.entries)
    facts = {"path": path, "chars": chars, "limit": limit, "entries": len(document.entries)}
    if contents.looks_unmanaged:
        yield Finding(level="warn", code="file_headings", facts=facts)
    if document.entries and not host_takes_edits(document, limit=limit):
        yield Finding(level="warn", code="file_not_clean", facts={**facts, "flags": ", ".join(document.flags)})
    elif chars > limit:
        yield Finding(level="warn", code="file_over_limit", facts=facts)
    else:
        yield Finding(level="pass", code="file", facts=facts)
    mode = path.stat().st_mode
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield Finding(level="warn", code="file_open_to_others", facts={"path": path, "mode": f"{mode & 0o777:04o}"})
    if why_not_writable(path):
        yield Finding(level="fail", code="file_read_only", facts={"path": path})
    if contents.sidecar.damaged:
        yield Finding(level="warn", code="sidecar_damaged", facts={"path": sidecar_path(path)})
    yield from _check_lock(path)


def _check_lock(path: Path) -> Iterator[Finding]:
    from memorycore.hot.atomic import locked

    if not path.with_name(path.name + ".lock").exists():
        return
    try:
        with locked(path, timeout_s=LOCK_WAIT_S):
            pass
    except LockTimeout:
        yield Finding(level="warn", code="lock_held", facts={"path": f"{path}.lock"})


def check_hot_folder(settings: "Settings", env: Mapping[str, str]) -> Iterator[Finding]:
    """Copies and leftovers beside the files, and a second folder with memory files that somebody may be reading."""
    from memorycore.cli.hermes import in_use_instead

    folder = settings.hot_dir
    if beside := {found for pattern in SIDE_FILES for found in folder.glob(pattern)}:
        yield Finding(level="pass", code="side_files", facts={"path": folder, "count": len(beside)})
    if profile := in_use_instead(settings):
        yield Finding(level="warn", code="other_profile", facts={"path": folder, "name": profile})
    for other in other_homes(settings, env):
        yield Finding(level="warn", code="second_home", facts={"path": folder, "other": other})


def other_homes(settings: "Settings", env: Mapping[str, str]) -> list[Path]:
    """Folders other than ours that hold memory files with something in them, at the places where one looks."""
    from memorycore.hosts import hermes
    from memorycore.settings import user_home

    home = user_home(env)
    standard = hermes.standard_home(home, env)
    likely = [Path(env["HERMES_HOME"]) / "memories"] if env.get("HERMES_HOME") else []
    likely += [standard / "memories", home / ".memorycore" / "memories"]
    ours = settings.hot_dir.resolve()
    found = dict.fromkeys(folder.resolve() for folder in likely)
    return [
        folder for folder in found
        if folder != ours and holds_entries(folder)
    ]  # fmt: skip


def holds_entries(folder: Path) -> bool:
    return any(_has_entries(folder / name) for name in ("MEMORY.md", "USER.md"))


def _has_entries(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def check_database(options: CoreOptions) -> Iterator[Finding]:
    """Schema, soundness, gaps of the indexes. A file of another schema is not opened, since that would upgrade it."""
    from memorycore.store.database import migrations
    from memorycore.store.engine import look_at, schema_in_header

    path = options.data_dir / "memorycore.db"
    if not path.exists():
        yield Finding(level="pass", code="database_to_be_made", facts={"path": path})
        return
    with path.open("rb") as file:
        header = file.read(100)
    known = migrations()[-1][0]
    schema = schema_in_header(header) if header else 0
    facts: dict[str, object] = {"path": path, "schema": schema, "known": known}
    if schema is None:
        yield Finding(level="fail", code="database_foreign", facts=facts)
        return
    if schema and schema != known:
        older = schema < known
        yield Finding(
            level="warn" if older else "fail", code="database_older" if older else "database_newer", facts=facts
        )
        return
    if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield Finding(
            level="warn", code="file_open_to_others", facts={"path": path, "mode": f"{path.stat().st_mode & 0o777:04o}"}
        )
    for beside in (path.with_name(path.name + ending) for ending in OWN_FILES):
        if beside.exists() and not beside.is_file():
            yield Finding(level="fail", code="database_blocked", facts={**facts, "beside": beside})
            return
    log = path.with_name(path.name + "-wal")
    if log.exists() and (log_bytes := log.stat().st_size) > LONG_LOG_BYTES:
        yield Finding(level="warn", code="log_long", facts={"path": log, "mb": log_bytes // 1024**2})
    found = look_at(path)
    yield from _about_content(found, path, facts)
    yield from _kept_elsewhere(found.hot_folders, options.hot_dir)


def _kept_elsewhere(folders: Iterable[str], ours: Path) -> Iterator[Finding]:
    """Files of other homes that are in the same database, where ours are empty: as after a start in the wrong home.

    A profile begins empty beside its home and the other profiles of that.
    """
    if holds_entries(ours):
        return
    ours = ours.resolve()
    for folder in map(Path, folders):
        if folder != ours and _family(folder) != _family(ours) and holds_entries(folder):
            yield Finding(level="warn", code="kept_elsewhere", facts={"path": ours, "other": folder})


def _family(folder: Path) -> Path:
    """The home of Hermes with all its profiles, as far as the place of a memory folder tells; else that folder."""
    if folder.name != "memories":
        return folder
    home = folder.parent
    return home.parent.parent if home.parent.name == "profiles" else home


def _about_content(found: "Soundness", path: Path, facts: Mapping[str, object]) -> Iterator[Finding]:
    sound = found.verdict == "ok"
    yield Finding(
        level="pass" if sound else "fail",
        code="database" if sound else "database_damaged",
        facts={**facts, "why": found.verdict, "mb": f"{path.stat().st_size / 1024**2:.1f}"},
    )
    if found.gaps:
        yield Finding(level="warn", code="index_gaps", facts={**facts, "count": found.gaps})
    if found.held_back:
        yield Finding(level="warn", code="held_back", facts={**facts, "count": found.held_back})
    if found.waiting:
        yield Finding(level="pass", code="vectors_waiting", facts={**facts, "count": found.waiting})
    if given_up := sum(found.given_up.values()):
        kinds = ", ".join(f"{kind} {count}" for kind, count in found.given_up.items())
        yield Finding(level="warn", code="jobs_given_up", facts={**facts, "count": given_up, "kinds": kinds})
    if found.tended_at is not None and datetime.now(UTC) - found.tended_at > UNTENDED_AFTER:
        yield Finding(level="warn", code="untended", facts={**facts, "since": found.tended_at.date()})
    if found.failed_steps:
        yield Finding(level="warn", code="steps_failed", facts={**facts, "steps": ", ".join(found.failed_steps)})


def check_predecessor(options: CoreOptions) -> Iterator[Finding]:
    from memorycore.overview import foreign_files

    for path in foreign_files(options):
        is_store = path.suffix in {".db", ".sqlite"}
        yield Finding(
            level="warn" if is_store else "pass",
            code="predecessor_store" if is_store else "predecessor",
            facts={"path": path},
        )


def check_model(options: CoreOptions) -> Iterator[Finding]:
    from memorycore.embed import EmbeddingService
    from memorycore.opening import embed_choice

    if options.embed.model == "none":
        yield Finding(level="pass", code="model_off")
        return
    service = EmbeddingService(replace(embed_choice(options), cache_dir=None))  # it would keep what it finds out there
    service.start()
    try:
        ready = service.wait_ready(MODEL_WAIT_S)
        facts = service.failure.facts if service.failure else {}
        why = messages.text(f"model.{service.why}", options.language, **facts) if service.why else ""
        yield Finding(
            level="pass" if ready else "warn",
            code="model" if ready else "model_failed",
            facts={"name": service.describe(), "why": why},
        )
    finally:
        service.close()


def failed(findings: Sequence[Finding]) -> bool:
    return any(finding.level == "fail" for finding in findings)


def sentence(finding: Finding, language: Language) -> str:
    return messages.text(f"doctor.{finding.code}", language, **finding.facts)


def fix(finding: Finding, language: Language) -> str:
    code = f"doctor.{finding.code}_fix"
    return messages.text(code, language, **finding.facts) if messages.has(code, language) else ""


def as_answer(finding: Finding, shell: "Shell") -> dict[str, Any]:
    answer = {"level": finding.level, "code": finding.code, "message": sentence(finding, shell.language)}
    remedy = fix(finding, shell.language)
    facts = {name: value if isinstance(value, int) else str(value) for name, value in finding.facts.items() if value}
    return {**answer, **({"fix": remedy} if remedy else {}), "facts": facts}


def show(finding: Finding, shell: "Shell") -> None:
    from rich.table import Table
    from rich.text import Text

    from memorycore.cli.layout import wrapped

    style = {"pass": "green", "warn": "yellow", "fail": "bold red"}[finding.level]
    level = Text(shell.word(f"level.{finding.level}"), style=style)
    room = shell.out.width - level.cell_len - 2
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(level, Text("\n".join(wrapped(sentence(finding, shell.language), room))))
    if remedy := fix(finding, shell.language):
        table.add_row("", Text("\n".join(wrapped(f"→ {remedy}", room)), style="dim"))
    shell.out.print(table)


def show_counts(findings: Sequence[Finding], shell: "Shell") -> None:
    counts = {level: sum(finding.level == level for finding in findings) for level in ("pass", "warn", "fail")}
    shell.out.print()
    shell.out.print(shell.word("doctor.counts", passed=counts["pass"], warned=counts["warn"], failed=counts["fail"]))
