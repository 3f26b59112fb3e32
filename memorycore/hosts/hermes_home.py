"""Moving into a Hermes home, and out again: the plugin, ``config.yaml``, and a record of how it was before.

Everything is planned first, as bytes, so that it can be shown; carrying it out only writes what was shown.
"""

import base64
import hashlib
import json
import shutil
from collections.abc import Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from memorycore.errors import InvalidInput, NotAvailable
from memorycore.hosts import hermes_config, hermes_enabled
from memorycore.hosts.changes import Change, all_or_nothing, refusals, write
from memorycore.hosts.clients import Entry
from memorycore.hosts.hermes_config import KEY, SECTION, SERVER, SERVERS, Place
from memorycore.hot import atomic

PLUGIN = "memorycore-prefetch"
GATE = "memorycore-gate"
CONFIG = "config.yaml"
RUNTIME, RECORD = "runtime.json", "installed.json"
SIDECARS = ("MEMORY.meta.json", "USER.meta.json")
WAYS_IN = frozenset({"command", "args", "env", "url", "headers", "transport"})  # how Hermes reaches the server
CARRIED = frozenset({".py", ".yaml", ".md", ".toml"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done to a home. ``record`` None: nothing tells how it was before.

    ``exact``: ``config.yaml`` gets the very bytes it had. ``backup``: its copy from before.
    """

    home: Path
    config: Change
    plugin: tuple[Change, ...]
    record: Mapping[str, Any] | None = None
    exact: bool = False
    backup: Path | None = None

    @property
    def changes(self) -> list[Change]:
        return [one for one in (self.config, *self.plugin) if not one.is_none]


def find_home(root: Path, named: Path | None, profile: str | None) -> Path:
    """The home that Hermes would take: the profile named, else ``HERMES_HOME``, else the one that is set as active.

    Raises:
        InvalidInput: A profile with this name cannot be.
        NotAvailable: There is no such home.
    """
    own = named.parent.parent if named and named.parent.name == "profiles" else named or root
    if profile is not None:
        if not profile or Path(profile).name != profile or profile in {".", ".."}:
            raise InvalidInput(field="--profile", why="no_profile_name", value=profile)
        home = own if profile == "default" else own / "profiles" / profile
    elif named is not None and own != named:
        home = named
    else:
        active = active_profile(own)
        home = own / "profiles" / active if active else own
    if not home.is_dir():
        raise NotAvailable(what="Hermes", why="no_hermes_home", path=str(home))
    return home


def active_profile(root: Path) -> str:
    """The profile that Hermes takes when nobody names one; empty for the home itself."""
    try:
        name = (root / "active_profile").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    is_one = Path(name).name == name != "default" and (root / "profiles" / name).is_dir()
    return name if is_one else ""


def source(name: str = PLUGIN) -> Path:
    """The folder of a plugin: in the installed package, or beside the package in a source tree.

    Raises:
        NotAvailable: This installation carries none.
    """
    package = Path(str(files("memorycore")))
    for folder in (package / "hosts" / "plugin" / name, package.parent / "hermes-plugin" / name):
        if (folder / "__init__.py").is_file():
            return folder
    raise NotAvailable(what=name, why="no_plugin_carried")


def server_block(entry: Entry) -> dict[str, Any]:
    """The entry under ``mcp_servers``."""
    return {
        "command": entry.command,
        "args": list(entry.args),
        "env": dict(entry.env),
        "timeout": 30,
        "connect_timeout": 20,
        "tools": {"resources": False, "prompts": False},
    }


def _beside_theirs(block: Mapping[str, Any], stands: object) -> dict[str, Any]:
    """Our entry with what somebody has set in it beside: which tools are offered, how long a call may take."""
    if not isinstance(stands, dict):
        return dict(block)
    kept = {key: value for key, value in cast("dict[str, Any]", stands).items() if key not in WAYS_IN}
    tools = kept.get("tools")
    offered = cast("dict[str, Any]", tools) if isinstance(tools, dict) else {}
    return {**block, **kept, "tools": {**block["tools"], **offered}}


def plan_install(
    home: Path, carried: Path, entry: Entry, *, version: str, now: datetime, gate: bool | None = None
) -> Plan:
    """What installing changes; nothing when all of it is there already. ``gate`` None: it stays in, or out, as it is.

    Raises:
        InvalidInput: ``config.yaml`` cannot be understood or not be changed safely, or the plugin's folder is a link.
        Unreadable: A file cannot be read.
    """
    target = home / "plugins" / PLUGIN
    path = home / CONFIG
    if target.is_symlink():
        raise InvalidInput(field=str(target), why="plugin_is_link")
    before = atomic.read(path)
    provider = Place(section=SECTION, key=KEY, value=PLUGIN)
    stands = hermes_config.place(hermes_config.read(before, path=str(path)), SERVERS, SERVER, path=str(path)).value
    server = Place(section=SERVERS, key=SERVER, value=_beside_theirs(server_block(entry), stands))
    after = hermes_config.changed(before, provider, path=str(path))
    after = hermes_config.changed(after, server, path=str(path))
    known = read_record(home)
    has_gate = has_its_gate(known) if gate is None else gate
    if has_gate and not has_its_gate(known):
        after = hermes_enabled.put(after, GATE, path=str(path))
    elif not has_gate and has_its_gate(known):
        after = _without_gate(after, known, str(path))
    wanted = {one.name: one.read_bytes() for one in _carried(carried)}
    wanted[RUNTIME] = _json({"python": entry.command, "env": dict(entry.env)})
    mark = f"changed-{now:%Y%m%d-%H%M%S}"
    changes = _plugin_changes(target, wanted, _files_of(known), mark=mark)
    changes += _gate_files(home) if has_gate else _gate_files_gone(home, known)
    config = Change(path=path, before=before, after=after)
    if known is not None and config.is_none and all(one.is_none for one in changes):
        return Plan(home=home, config=config, plugin=tuple(changes), record=known)
    is_first = known is None
    backup = path.with_name(f"{CONFIG}.before-memorycore-{now:%Y%m%d-%H%M%S}") if before and is_first else None
    record = _record(home, config, backup, known, version=version, now=now)
    record["files"] = {name: _sha(data) for name, data in wanted.items()}
    if is_first and not (target / RUNTIME).exists():  # else it is an installation of ours whose record is lost
        record["displaced"] = _displaced(target, wanted, changes)
    if not has_gate:
        record.pop("gate", None)
    elif not has_its_gate(known):
        record["gate"] = asdict(hermes_enabled.before(before, GATE, path=str(path)))
    noted = Change(path=target / RECORD, before=atomic.read(target / RECORD), after=_json(record))
    # What tells of an installation comes after the record: until then another's plugin can be there in part.
    plugin = sorted((*changes, noted), key=lambda one: one.path == target / RUNTIME)
    return Plan(home=home, config=config, plugin=tuple(plugin), record=record, backup=backup)


def _displaced(target: Path, wanted: Iterable[str], changes: Iterable[Change]) -> dict[str, str]:
    """Files of another plugin in whose place ours come, and where each is kept; by an installation that was killed too.

    Of several copies the first is theirs.
    """
    there = sorted({one.path.name for one in changes} | {one.name for one in _own_files(target)})
    kept = {name: next((one for one in there if one.startswith(f"{name}.changed-")), "") for name in wanted}
    return {name: copy for name, copy in kept.items() if copy}


def has_its_gate(record: Mapping[str, Any] | None) -> bool:
    """Whether the gate before the memory tool was installed as well."""
    return bool((record or {}).get("gate"))


def _without_gate(data: bytes, record: Mapping[str, Any] | None, path: str) -> bytes:
    """``config.yaml`` without the gate among the plugins to load, where we put it there or nothing tells who did."""
    if record is not None and not has_its_gate(record):
        return data
    was = hermes_enabled.Before(**record["gate"]) if record is not None else hermes_enabled.Before()
    return hermes_enabled.take(data, GATE, was, path=path)


def _gate_files(home: Path) -> list[Change]:
    target = home / "plugins" / GATE
    return [
        Change(path=target / one.name, before=atomic.read(target / one.name), after=one.read_bytes())
        for one in _carried(source(GATE))
    ]


def _gate_files_gone(home: Path, known: Mapping[str, Any] | None) -> list[Change]:
    """Taking away the files of the gate that we brought; a copy that somebody made by hand is theirs."""
    if not has_its_gate(known):
        return []
    found = [Change(path=one.path, before=one.before, after=None) for one in _gate_files(home)]
    return [one for one in found if one.before is not None]


def _plugin_changes(target: Path, wanted: Mapping[str, bytes], ours: Mapping[str, str], *, mark: str) -> list[Change]:
    """What happens to the files of the plugin. ``ours``: by name, as an earlier installation wrote them.

    What somebody changed is kept beside, under another name. What an earlier version had goes; a file that no version
    brought stays.
    """
    changes: list[Change] = []
    for name, data in wanted.items():
        before = atomic.read(target / name)
        if before not in {None, data} and _sha(before) != ours.get(name, ""):  # first, should this be killed in between
            changes.append(Change(path=target / f"{name}.{mark}", before=None, after=before))
        changes.append(Change(path=target / name, before=before, after=data))
    gone = sorted({one.name for one in _own_files(target)} & ours.keys() - wanted.keys())
    return changes + [Change(path=target / name, before=atomic.read(target / name), after=None) for name in gone]


def _files_of(record: Mapping[str, Any] | None) -> Mapping[str, str]:
    """Which files an installation wrote, by name with their hashes."""
    return cast("Mapping[str, str]", (record or {}).get("files") or {})


def _record(
    home: Path, config: Change, backup: Path | None, known: Mapping[str, Any] | None, *, version: str, now: datetime
) -> dict[str, Any]:
    """How the home was before the first installation. Once others changed ``config.yaml``, its bytes tell nothing."""
    if known is not None:
        is_ours = known.get("config_after") == _sha(config.before)
        kept = {**known, "version": version, "config_after": _sha(config.after) if is_ours else ""}
        return kept if not config.is_none else {**known, "version": version}
    whole = hermes_config.read(config.before, path=str(config.path))
    places = [
        hermes_config.place(whole, section, key, path=str(config.path))
        for section, key in ((SECTION, KEY), (SERVERS, SERVER))
    ]
    beside = {name: atomic.read(home / "memories" / name) for name in SIDECARS}
    return {
        "version": version,
        "at": now.isoformat(timespec="seconds"),
        "config_before": _sha(config.before),
        "config_after": _sha(config.after),
        "backup": backup.name if backup else None,
        "before": {one.section: {"value": one.value, "has_section": one.has_section} for one in places},
        "made_plugins": not (home / "plugins").exists(),
        "sidecars": {name: base64.b64encode(data).decode() for name, data in beside.items() if data is not None},
    }


def read_record(home: Path) -> dict[str, Any] | None:
    """What installing wrote down; None without it, or when nothing can be made of it."""
    try:
        content: object = json.loads(atomic.read(home / "plugins" / PLUGIN / RECORD) or b"null")
    except ValueError:
        return None
    return cast("dict[str, Any]", content) if isinstance(content, dict) else None


def install(planned: Plan) -> None:
    """Do it: the plugin first, so that a Hermes that starts meanwhile finds what its ``config.yaml`` names.

    What is refused half-way is taken back.

    Raises:
        Conflict: Somebody changed ``config.yaml`` since the plan was made.
        Unwritable: The system refuses.
    """
    if not planned.config.is_none and (refused := atomic.why_not_writable(planned.config.path)):
        raise refused
    steps = list(planned.plugin)
    if planned.backup is not None and not planned.config.is_none:
        mode = planned.config.path.stat().st_mode & 0o7777
        steps.append(Change(path=planned.backup, before=None, after=planned.config.before, new_mode=mode))
    steps = [one for one in (*steps, planned.config) if not one.is_none]
    with refusals(planned.home), all_or_nothing(planned.home, steps):
        for one in steps:
            write(one)
        if not has_its_gate(planned.record):
            _clear(planned.home / "plugins" / GATE)


def _clear(folder: Path) -> None:
    """Take away the folder of a plugin whose files are gone; what somebody keeps there of their own stays."""
    for one in folder.glob(atomic.TEMPORARY_FILES):  # of an installation that was killed
        one.unlink(missing_ok=True)
    if any(one.name != "__pycache__" for one in (folder.iterdir() if folder.is_dir() else ())):
        return
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    with suppress(OSError):
        folder.rmdir()


def plan_uninstall(home: Path) -> Plan:
    """What uninstalling changes in the home beside the memory files.

    Raises:
        InvalidInput: ``config.yaml`` cannot be understood or not be changed safely.
        Unreadable: A file cannot be read.
    """
    path, target = home / CONFIG, home / "plugins" / PLUGIN
    record, now = read_record(home), atomic.read(path)
    names = _brought(record)
    plugin = tuple(
        Change(path=one, before=one.read_bytes(), after=None) for one in _own_files(target) if one.name in names
    )
    plugin = (*_put_back(target, plugin, record), *_gate_files_gone(home, record))
    backup = path.with_name(str(record["backup"])) if record and record.get("backup") else None
    if record is not None and record.get("config_before") == _sha(now) and not _was_there(record):
        config = Change(path=path, before=now, after=now)  # never changed, or put back by hand
        return Plan(home=home, config=config, plugin=plugin, record=record, exact=True, backup=backup)
    if record is not None and record.get("config_after") == _sha(now):
        old = atomic.read(backup) if backup else None
        if _sha(old) == record.get("config_before") and not _was_there(record):
            config = Change(path=path, before=now, after=old)
            return Plan(home=home, config=config, plugin=plugin, record=record, exact=True, backup=backup)
    after = None if now is None else _without_ours(now, record, str(path))
    if backup is not None and not backup.exists():
        backup = None
    return Plan(
        home=home, config=Change(path=path, before=now, after=after), plugin=plugin, record=record, backup=backup
    )


def _put_back(target: Path, gone: Iterable[Change], record: Mapping[str, Any] | None) -> Generator[Change]:
    """Files of ours that go; where one stood in the place of another plugin's, that comes back."""
    kept = cast("Mapping[str, str]", (record or {}).get("displaced") or {})
    for one in gone:
        beside = target / kept[one.path.name] if one.path.name in kept else None
        old = atomic.read(beside) if beside else None
        yield replace(one, after=old)
        if beside is not None and old is not None:
            yield Change(path=beside, before=old, after=None)


def _brought(record: Mapping[str, Any] | None) -> frozenset[str]:
    """The names of the plugin's files: those that were written, or, where nothing tells, those that we carry."""
    names = set(_files_of(record))
    with suppress(NotAvailable):
        names |= {one.name for one in _carried(source())}
    return frozenset(names | {RUNTIME, RECORD})


def strays(folder: Path) -> list[str]:
    """Programs in the plugin's folder that are none of its own; Hermes runs them when it loads the plugin."""
    names = _brought(read_record(folder.parent.parent))
    return [one.name for one in _own_files(folder) if one.suffix == ".py" and one.name not in names]


def earlier_provider(record: Mapping[str, Any] | None) -> str:
    """The other provider that Hermes used before the first installation; empty for none."""
    before = cast("Mapping[str, Mapping[str, Any]]", (record or {}).get("before") or {})
    value = before.get(SECTION, {}).get("value")
    return "" if value in {None, PLUGIN} else str(value)


def _was_there(record: Mapping[str, Any]) -> bool:
    """Whether our provider was named before we came: by hand, or by an installation whose record is lost.

    A predecessor's plugin has the same name, and is one of its own.
    """
    if record.get("displaced"):
        return False
    before = cast("Mapping[str, Mapping[str, Any]]", record.get("before") or {})
    return SECTION in before and before[SECTION].get("value") == PLUGIN


def _without_ours(data: bytes, record: Mapping[str, Any] | None, path: str) -> bytes:
    before: Mapping[str, Any] = (record or {}).get("before") or {}
    ours_before = record is not None and _was_there(record)
    for section, key in ((SECTION, KEY), (SERVERS, SERVER)):
        was: Mapping[str, Any] = before.get(section) or {}
        stands = hermes_config.place(hermes_config.read(data, path=path), section, key, path=path).value
        if stands is None or (section == SECTION and stands != PLUGIN):
            continue  # somebody chose another provider meanwhile
        place = Place(
            section=section,
            key=key,
            value=None if ours_before else was.get("value"),
            has_section=bool(was.get("has_section", not before)),
        )
        data = hermes_config.changed(data, _fit_to_write(place), path=path)
    return _without_gate(data, record, path)


def _fit_to_write(place: Place) -> Place:
    """An empty provider is written as two quotes, since nothing at all would be no text."""
    return replace(place, value=None) if place.value == "" else place


def uninstall(planned: Plan) -> None:
    """Do it: ``config.yaml`` first, so that a Hermes that starts meanwhile looks for no plugin.

    Raises:
        Conflict: Somebody changed ``config.yaml`` since the plan was made.
        Unwritable: The system refuses.
    """
    with refusals(planned.home):
        if not planned.config.is_none:
            write(planned.config)
        if planned.exact and planned.backup is not None:
            planned.backup.unlink(missing_ok=True)
        target = planned.home / "plugins" / PLUGIN
        if target.is_symlink():
            target.unlink()
        elif target.exists():
            for one in planned.plugin:
                write(one)
            _clear(target)
        _clear(target.with_name(GATE))
        if planned.record is not None and planned.record.get("made_plugins"):
            with suppress(OSError):  # somebody keeps another plugin there by now
                target.parent.rmdir()


def clear_sidecars(home: Path, record: Mapping[str, Any] | None) -> list[Path]:
    """Take away what we wrote beside the memory files; a predecessor's sidecar gets its bytes back. What is gone.

    Raises:
        Unwritable: The system refuses.
    """
    kept: Mapping[str, str] = (record or {}).get("sidecars") or {}
    gone: list[Path] = []
    with refusals(home):
        for name in SIDECARS:
            path = home / "memories" / name
            old = base64.b64decode(kept[name]) if name in kept else None
            now = atomic.read(path)
            is_theirs = old is not None and b'"version": 2' not in old
            if now is None or (is_theirs and now == old):
                continue
            if old is not None and is_theirs:
                atomic.replace(path, old)
            else:
                path.unlink()
                gone.append(path)
    return gone


def _carried(folder: Path) -> Iterable[Path]:
    return sorted(one for one in folder.iterdir() if one.is_file() and one.suffix in CARRIED)


def _own_files(folder: Path) -> list[Path]:
    return sorted(one for one in folder.iterdir() if one.is_file()) if folder.is_dir() else []


def _sha(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode("utf-8")
