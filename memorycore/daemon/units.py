"""The daemon as a service of the user's own session: systemd, launchd or Task Scheduler. Only when asked for.

What would be written and run is a ``Plan``, which can be shown without being carried out.
"""

import getpass
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from xml.sax.saxutils import escape

from memorycore.errors import NotAvailable, Unwritable
from memorycore.outbound import holds_login
from memorycore.settings import Settings, absolute, user_home
from memorycore.settings.declared import CONFIG_VARIABLE, declared_settings

NAME = "memorycore"
LABEL = "org.memorycore.daemon"
COMMAND_WITHIN_S = 60.0
_PLACE = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What a service is told: its name, its program with absolute paths, its environment."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``install`` and ``uninstall`` are commands in their order; ``left_out``: secrets of the environment."""

    file: Path
    content: str
    encoding: str
    install: tuple[tuple[str, ...], ...]
    uninstall: tuple[tuple[str, ...], ...]
    left_out: tuple[str, ...] = ()


def unit(settings: Settings, env: Mapping[str, str]) -> Unit:
    """The service for these settings. A secret is never written down: it belongs into a ``*_FILE``."""
    home = user_home(env)
    standard = home / ".memorycore" / "data"
    digest = hashlib.sha256(str(settings.data_dir).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    passed: dict[str, str] = {"PYTHONUTF8": "1"}
    left_out: list[str] = []
    for name, is_path, is_secret in known_variables():
        if not env.get(name):
            continue
        if is_secret or holds_login(env[name]):
            left_out.append(name)
        else:
            passed[name] = str(absolute(env[name], home)) if is_path else env[name]
    if env.get("PYTHONPATH"):
        passed["PYTHONPATH"] = os.pathsep.join(
            str(absolute(part, home)) for part in env["PYTHONPATH"].split(os.pathsep)
        )
    return Unit(
        name=NAME if settings.data_dir == standard else f"{NAME}-{digest}",
        command=(sys.executable, "-m", "memorycore.daemon", "--wait"),
        environment=dict(sorted(passed.items())),
        left_out=tuple(left_out),
    )


def plan(one: Unit, env: Mapping[str, str], *, platform: str = sys.platform) -> Plan:
    """What makes that service on this system, and what takes it away again."""
    home = user_home(env)
    if platform == "darwin":
        return _launchd(one, home)
    if platform == "win32":
        return _task(one, home)
    configs = Path(env["XDG_CONFIG_HOME"]) if env.get("XDG_CONFIG_HOME") else home / ".config"
    return _systemd(one, configs)


def install(wanted: Plan) -> None:
    """Write the file and run the commands. When one fails, the file is taken away again.

    Raises:
        Unwritable: The file cannot be written.
        NotAvailable: The system's own program is missing or refuses; nothing is left installed.
    """
    try:
        wanted.file.parent.mkdir(parents=True, exist_ok=True)
        wanted.file.write_text(wanted.content, encoding=wanted.encoding)
        wanted.file.chmod(0o600)
    except OSError as error:
        raise Unwritable(path=str(wanted.file), why=error.strerror or str(error), mode="-") from error
    try:
        for command in wanted.install:
            _run(command)
    except NotAvailable:
        for command in wanted.uninstall:
            with suppress(NotAvailable):
                _run(command)
        wanted.file.unlink(missing_ok=True)
        raise


def uninstall(wanted: Plan) -> bool:
    """Take the service away; False when there was none. Whatever refuses does not keep the rest.

    Raises:
        Unwritable: The file cannot be deleted.
    """
    was_there = wanted.file.exists()
    for command in wanted.uninstall if was_there else ():
        with suppress(NotAvailable):
            _run(command)
    try:
        wanted.file.unlink(missing_ok=True)
    except OSError as error:
        raise Unwritable(path=str(wanted.file), why=error.strerror or str(error), mode="-") from error
    return was_there


def known_variables() -> list[tuple[str, bool, bool]]:
    """Every environment name that is read: whether it is a path, and whether it is a secret."""
    found = [(CONFIG_VARIABLE, True, False), ("TZ", False, False)]
    for declared in declared_settings():
        facts = declared.metadata
        found += [(name, facts["path"], facts["secret"]) for name in facts["variables"]]
        if facts["secret"]:
            found.append((facts["variables"][0] + "_FILE", True, False))
    return found


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - the commands of the plan, no shell
            command,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=COMMAND_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotAvailable(what=command[0], why=getattr(error, "strerror", None) or "no_answer") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().partition("\n")[0]
        raise NotAvailable(what=" ".join(command), why=said or f"exit {done.returncode}")


def _systemd(one: Unit, configs: Path) -> Plan:
    service = f"{one.name}.service"
    content = _filled(
        "systemd.service",
        name=one.name,
        command=" ".join(_systemd_word(word).replace("$", "$$") for word in one.command),
        environment="\n".join(
            f"Environment={_systemd_word(f'{name}={value}')}" for name, value in one.environment.items()
        ),
    )
    systemctl = ("systemctl", "--user")
    return Plan(
        file=configs / "systemd" / "user" / service,
        content=content,
        encoding="utf-8",
        install=((*systemctl, "daemon-reload"), (*systemctl, "enable", "--now", service)),
        uninstall=((*systemctl, "disable", "--now", service), (*systemctl, "daemon-reload")),
        left_out=one.left_out,
    )


def _systemd_word(word: str) -> str:
    """``man 5 systemd.syntax``: a word in quotes; % begins a specifier."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    return f'"{escaped}"'


def _launchd(one: Unit, home: Path) -> Plan:
    label = one.name.replace(NAME, LABEL, 1)
    pairs = (
        f"    <key>{escape(name)}</key>\n    <string>{escape(value)}</string>"
        for name, value in one.environment.items()
    )
    content = _filled(
        "launchd.plist",
        name=escape(label),
        command="\n".join(f"    <string>{escape(word)}</string>" for word in one.command),
        environment="\n".join(pairs),
    )
    file = home / "Library" / "LaunchAgents" / f"{label}.plist"
    domain = f"gui/{os.getuid() if hasattr(os, 'getuid') else 0}"
    return Plan(
        file=file,
        content=content,
        encoding="utf-8",
        install=(("launchctl", "bootstrap", domain, str(file)),),
        uninstall=(("launchctl", "bootout", f"{domain}/{label}"),),
        left_out=one.left_out,
    )


def _task(one: Unit, home: Path) -> Plan:
    """A task knows no environment of its own, so the program is told it with its arguments."""
    told = [part for name, value in one.environment.items() for part in ("--set", f"{name}={value}")]
    program, *arguments = one.command
    windowless = Path(program).with_name("pythonw.exe")
    content = _filled(
        "task.xml",
        name=escape(one.name),
        user=escape(getpass.getuser()),
        program=escape(str(windowless if windowless.is_file() else program)),
        arguments=escape(subprocess.list2cmdline([*arguments, *told])),
    )
    file = home / ".memorycore" / f"{one.name}.task.xml"
    name = one.name.replace(NAME, "MemoryCore", 1)
    return Plan(
        file=file,
        content=content,
        encoding="utf-16",
        install=(
            ("schtasks", "/Create", "/TN", name, "/XML", str(file), "/F"),
            ("schtasks", "/Run", "/TN", name),
        ),
        uninstall=(("schtasks", "/End", "/TN", name), ("schtasks", "/Delete", "/TN", name, "/F")),
        left_out=one.left_out,
    )


def _filled(template: str, **parts: str) -> str:
    text = files("memorycore.daemon").joinpath("templates", template).read_text(encoding="utf-8")
    return _PLACE.sub(lambda found: parts[found[1]], text)
