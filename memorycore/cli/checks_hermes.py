"""What ``memorycore hermes doctor`` looks at: whether one Hermes home and this installation fit together."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from memorycore import __version__, messages
from memorycore.cli.checks_running import check_daemon
from memorycore.cli.finding import Finding
from memorycore.errors import MemoryCoreError
from memorycore.hosts import hermes_config, hermes_enabled, hermes_home
from memorycore.hosts.hermes_config import KEY, SECTION, SERVER, SERVERS
from memorycore.hosts.hermes_home import GATE, PLUGIN
from memorycore.options import Language

MARKERS = ("MemoryProvider", "register_memory_provider")
MARKED_CHARS = 8192
ANSWERS_WITHIN_S = 60.0
TELLING = ("Provider:", "Plugin:", "Status:")  # of what `hermes memory status` prints
SAYS_VERSION = "import memorycore, sys; sys.stdout.write(memorycore.__version__)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """What ``runtime.json`` names: the interpreter, and what it is told."""

    python: str = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])


def examine(home: Path, env: Mapping[str, str], language: Language) -> Iterator[Finding]:
    """All checks, in the order in which Hermes meets these things."""
    yield Finding(level="pass", code="hermes_home", facts={"path": home})
    folder = home / "plugins" / PLUGIN
    runtime = runtime_of(folder)
    failures: list[Finding] = []
    for check in (
        lambda: check_plugin(folder),
        lambda: check_interpreter(folder, runtime, env),
        lambda: check_config(home),
        lambda: check_gate(home),
        lambda: check_neighbours(home, {**env, **runtime.env}),
        lambda: _check_daemon({**env, **runtime.env}),
        lambda: check_host(home, env),
    ):
        found = [one for one in safely(check, language) if one not in failures]  # two checks may stumble over one file
        failures += [one for one in found if one.code == "error"]
        yield from found


def safely(check: Callable[[], Iterable[Finding]], language: Language) -> Iterable[Finding]:
    """What a check finds; a failure of the check itself is a finding as well."""
    try:
        return list(check())
    except MemoryCoreError as error:
        return [Finding(level="fail", code="error", facts={"what": messages.error_text(error, language)})]
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return [Finding(level="fail", code="error", facts={"what": f"{type(error).__name__}: {error}"})]


def runtime_of(folder: Path) -> Runtime:
    """The content of ``runtime.json``; empty without one that can be read."""
    try:
        content: Any = json.loads((folder / hermes_home.RUNTIME).read_text(encoding="utf-8"))
        return Runtime(python=str(content["python"]), env=dict(cast("Mapping[str, str]", content.get("env") or {})))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return Runtime()


def check_plugin(folder: Path) -> Iterator[Finding]:
    """The folder has the name by which Hermes asks for it, and the words by which Hermes knows a provider."""
    start = folder / "__init__.py"
    if not start.is_file():
        yield Finding(level="fail", code="hermes_no_plugin", facts={"path": folder})
        return
    yield Finding(level="pass", code="hermes_plugin", facts={"path": folder})
    if not any(word in start.read_text(encoding="utf-8")[:MARKED_CHARS] for word in MARKERS):
        yield Finding(level="fail", code="hermes_no_marker", facts={"path": start})
    if strays := hermes_home.strays(folder):
        yield Finding(level="warn", code="hermes_strays", facts={"names": ", ".join(strays), "path": folder})
    try:
        carried = hermes_home.source()
    except MemoryCoreError:
        return
    old = [
        one.name for one in sorted(carried.glob("*.py"))
        if not (folder / one.name).is_file() or (folder / one.name).read_bytes() != one.read_bytes()
    ]  # fmt: skip
    if old:
        yield Finding(level="warn", code="hermes_plugin_differs", facts={"names": ", ".join(old)})


def check_interpreter(folder: Path, runtime: Runtime, env: Mapping[str, str]) -> Iterator[Finding]:
    """The interpreter of ``runtime.json`` has MemoryCore, and this version of it."""
    if not runtime.python:
        yield Finding(level="fail", code="hermes_no_runtime", facts={"path": folder / hermes_home.RUNTIME})
        return
    facts: dict[str, object] = {"python": runtime.python}
    try:
        alone = {name: value for name, value in env.items() if name != "PYTHONPATH"}  # as Hermes will start it
        ran = _run([runtime.python, "-c", SAYS_VERSION], {**alone, **runtime.env})
    except OSError as error:
        yield Finding(level="fail", code="hermes_no_import", facts={**facts, "why": error.strerror or str(error)})
        return
    if ran.returncode:
        why = (ran.stderr.strip().splitlines() or [""])[-1]
        yield Finding(level="fail", code="hermes_no_import", facts={**facts, "why": why})
        return
    facts |= {"version": ran.stdout.strip(), "own": __version__}
    same = ran.stdout.strip() == __version__
    yield Finding(
        level="pass" if same else "warn", code="hermes_import" if same else "hermes_other_version", facts=facts
    )


def check_config(home: Path) -> Iterator[Finding]:
    """``config.yaml`` names our provider and a server that can be started."""
    path = home / hermes_home.CONFIG
    whole = hermes_config.read(path.read_bytes() if path.exists() else None, path=str(path))
    provider = hermes_config.place(whole, SECTION, KEY, path=str(path)).value
    if not provider and runtime_of(home / "plugins" / PLUGIN).python:  # as `hermes memory off` leaves it
        yield Finding(level="warn", code="hermes_provider_off", facts={"path": path})
    else:
        chosen = provider == PLUGIN
        yield Finding(
            level="pass" if chosen else "fail",
            code="hermes_provider" if chosen else "hermes_other_provider",
            facts={"path": path, "provider": provider or "-"},
        )
    entry = _mapping(hermes_config.place(whole, SERVERS, SERVER, path=str(path)).value)
    command = entry.get("command")
    if not isinstance(command, str):
        yield Finding(level="fail", code="hermes_no_server", facts={"path": path})
        return
    works = os.access(command, os.X_OK) if Path(command).is_absolute() else shutil.which(command) is not None
    yield Finding(
        level="pass" if works else "fail",
        code="hermes_server" if works else "hermes_server_broken",
        facts={"command": command},
    )
    at = _mapping(entry.get("env")).get("HERMES_HOME")
    if at != str(home):
        yield Finding(level="warn", code="hermes_server_elsewhere", facts={"at": at or "-", "path": home})


def check_gate(home: Path) -> Iterator[Finding]:
    """The gate before the memory tool, where it was installed: there, as we carry it, and among what Hermes loads."""
    folder = home / "plugins" / GATE
    path = home / hermes_home.CONFIG
    named = GATE in hermes_enabled.names(path.read_bytes() if path.exists() else None, path=str(path))
    there = (folder / "__init__.py").is_file()
    if not hermes_home.has_its_gate(hermes_home.read_record(home)) and not (named or there):
        yield Finding(level="pass", code="hermes_no_gate")
        return
    if not there:
        yield Finding(level="fail", code="hermes_gate_gone", facts={"path": folder})
    elif not named:
        yield Finding(level="warn", code="hermes_gate_off", facts={"path": path})
    else:
        yield Finding(level="pass", code="hermes_gate", facts={"path": folder})
    carried = hermes_home.source(GATE)
    if there and (folder / "__init__.py").read_bytes() != (carried / "__init__.py").read_bytes():
        yield Finding(level="warn", code="hermes_plugin_differs", facts={"names": f"{GATE}/__init__.py"})


def check_neighbours(home: Path, env: Mapping[str, str]) -> Iterator[Finding]:
    """Whether another home of Hermes shares the data directory: a daemon works for one of them at a time."""
    from memorycore.settings import load_settings

    data_dir = load_settings(env).data_dir
    root = home.parent.parent if home.parent.name == "profiles" else home
    for other in (root, *sorted(root.glob("profiles/*"))):
        runtime = runtime_of(other / "plugins" / PLUGIN)
        if other == home or not runtime.python:
            continue
        told = {name: value for name, value in env.items() if not name.endswith("_DATA_DIR")}  # it has its own word
        if load_settings({**told, **runtime.env}).data_dir == data_dir:
            yield Finding(level="warn", code="hermes_shared_data", facts={"other": other, "path": data_dir})


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _check_daemon(env: Mapping[str, str]) -> Iterator[Finding]:
    from memorycore.daemon import logs
    from memorycore.settings import load_settings
    from memorycore.store import misses

    settings = load_settings(env)
    yield from check_daemon(settings)
    untold = misses.untold(settings.data_dir, settings.hot_dir)
    if untold.in_vain >= misses.IN_VAIN:
        facts = {"count": untold.in_vain, "log": settings.data_dir / logs.FILE}
        yield Finding(level="warn", code="hermes_in_vain", facts=facts)


def check_host(home: Path, env: Mapping[str, str]) -> Iterator[Finding]:
    """What Hermes itself says of its memory, where it is on the path.

    It is asked about a copy of what decides: whoever starts it in a home finds folders and files there afterwards.
    """
    program = shutil.which("hermes", path=env.get("PATH"))
    if program is None:
        yield Finding(level="pass", code="hermes_not_found")
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / home.name
        copy.mkdir()
        if (home / hermes_home.CONFIG).is_file():
            shutil.copy(home / hermes_home.CONFIG, copy / hermes_home.CONFIG)
        if (home / "plugins" / PLUGIN).is_dir():
            shutil.copytree(home / "plugins" / PLUGIN, copy / "plugins" / PLUGIN)
        try:
            ran = _run([program, "memory", "status"], {**env, "HERMES_HOME": str(copy), "PYTHONPATH": ""})
        except subprocess.TimeoutExpired:
            yield Finding(level="warn", code="hermes_slow", facts={"seconds": int(ANSWERS_WITHIN_S)})
            return
    said = [line.strip() for line in ran.stdout.splitlines() if line.strip().startswith(TELLING)]
    works = ran.returncode == 0 and PLUGIN in ran.stdout and not any(
        word in ran.stdout for word in ("NOT installed", "not available", "NOT available")
    )  # fmt: skip
    yield Finding(
        level="pass" if works else "fail",
        code="hermes_status" if works else "hermes_status_bad",
        facts={"said": " · ".join(said) or (ran.stderr.strip().splitlines() or ["-"])[-1]},
    )


def _run(command: list[str], env: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603 an interpreter or program that the user has installed
        command, env=dict(env), stdin=subprocess.DEVNULL, capture_output=True, check=False,
        encoding="utf-8", errors="replace", timeout=ANSWERS_WITHIN_S,
    )  # fmt: skip
