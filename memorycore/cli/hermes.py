"""Hermes: move into one of its homes, out of it again, and look whether all of it works."""

import difflib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memorycore.cli.shell import Shell
from memorycore.cli.write import DryRun, Json, option

if TYPE_CHECKING:
    from memorycore.cli.finding import Finding
    from memorycore.core.give_back import Returns
    from memorycore.daemon.control import Stopped
    from memorycore.hosts.clients import Entry
    from memorycore.hosts.hermes_home import Plan
    from memorycore.settings import Settings

PATHS = ("MEMORYCORE_DATA_DIR", "MNEMOSYNE_DATA_DIR", "MEMORYCORE_CONFIG", "MEMORYCORE_EMBED_KEY_FILE")
OF_ONE_PLACE = frozenset({"HERMES_HOME", "MEMORY_DIR", "PYTHONPATH", "PYTHONUTF8"})
Profile = Annotated[str | None, option("--profile", "NAME")]


def install(
    *,
    profile: Profile = None,
    gate: Annotated[bool | None, typer.Option("--gate/--no-gate", show_default=False)] = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    from datetime import UTC, datetime

    from memorycore import __version__
    from memorycore.cli import checks
    from memorycore.hosts import hermes_home

    shell = Shell(as_json=json)
    home = home_of(profile, os.environ)
    env = environment(home, os.environ)
    entry = _entry(home, env)
    planned = hermes_home.plan_install(
        home, hermes_home.source(), entry, version=__version__, now=datetime.now(UTC), gate=gate
    )  # fmt: skip
    _show_plan(shell, planned, "trial" if dry_run else "install")
    if not dry_run:
        hermes_home.install(planned)
    found = [] if dry_run else _verified(home, env, shell)
    if json:
        status = "nothing_to_change" if not planned.changes else "trial" if dry_run else "installed"
        shell.emit({
            "ok": not checks.failed(found), "status": status, **_answer(planned),
            "checks": [checks.as_answer(one, shell) for one in found],
        })  # fmt: skip
    elif planned.changes and not dry_run:
        _tell_installed(shell, planned, entry.left_out)
    if not json:
        for one in found:
            checks.show(one, shell)
    if checks.failed(found):
        raise typer.Exit(1)


def _entry(home: Path, env: Mapping[str, str]) -> "Entry":
    """How Hermes starts our server."""
    from dataclasses import replace

    from memorycore.hosts import clients
    from memorycore.settings import user_home

    entry = clients.server_entry(clients.client("hermes", home=user_home(env), env=env), env, hermes_home=home)
    if env.get("PYTHONPATH"):  # a source tree that is not installed
        entry = replace(entry, env={**entry.env, "PYTHONPATH": env["PYTHONPATH"]})
    return entry


def _tell_installed(shell: Shell, planned: "Plan", left_out: Sequence[str]) -> None:
    from memorycore.hosts import hermes_home

    shell.out.print(shell.word("hermes.installed", home=planned.home), style="bold", soft_wrap=True)
    if planned.backup is not None and (other := hermes_home.earlier_provider(planned.record)):
        shell.out.print(shell.word("hermes.in_place_of", provider=other), soft_wrap=True)
    if planned.backup is not None:
        shell.out.print(shell.word("client.backup", file=planned.backup), style="dim", soft_wrap=True)
    if left_out:
        shell.err.print(shell.word("daemon.left_out", names=", ".join(left_out)), style="yellow")
    shell.out.print(shell.word("client.restart", client="Hermes"))


def _verified(home: Path, env: Mapping[str, str], shell: Shell) -> "list[Finding]":
    """What Hermes itself says of the installation, and what else somebody should know at once."""
    from memorycore.cli import checks_hermes

    runtime = checks_hermes.runtime_of(home / "plugins" / checks_hermes.PLUGIN)
    steps = (
        lambda: checks_hermes.check_neighbours(home, {**env, **runtime.env}),
        lambda: checks_hermes.check_host(home, env),
    )
    found = [one for step in steps for one in checks_hermes.safely(step, shell.language)]
    return [one for one in found if one.code != "hermes_not_found"]


def uninstall(*, profile: Profile = None, dry_run: DryRun = False, json: Json = False) -> None:
    from memorycore.hosts import hermes_home
    from memorycore.settings import load_settings

    shell = Shell(as_json=json)
    home = home_of(profile, os.environ)
    settings = load_settings(environment(home, os.environ))
    planned = hermes_home.plan_uninstall(home)
    returns = _given_back(settings, for_real=False)
    if not json:
        if dry_run:
            shell.out.print(shell.word("say.trial"), style="yellow")
        _show_plan(shell, planned, "uninstall")
        _show_returns(shell, returns)
        if settings.data_dir.exists():
            shell.out.print(shell.word("hermes.data_stays", path=settings.data_dir), soft_wrap=True)
    ended: Stopped = "not_running"
    if not dry_run:
        ended = _end_daemon(settings)
        if _is_due(returns):
            returns = _given_back(settings, for_real=True)
        hermes_home.uninstall(planned)
        hermes_home.clear_sidecars(home, planned.record)
    if json:
        told = [
            {
                "file": str(one.path), "limit": one.limit, "chars": one.chars, "pointers": one.pointers,
                "back": list(one.back), "aside": list(one.aside),
            }
            for one in returns
        ]  # fmt: skip
        status = "trial" if dry_run else "uninstalled"
        shell.emit({
            "ok": True, "status": status, **_answer(planned), "returns": told, "daemon": ended,
            "data": str(settings.data_dir),
        })  # fmt: skip
    elif not dry_run:
        if ended != "not_running":
            shell.out.print(shell.word(f"daemon.{ended}"))
        shell.out.print(shell.word("hermes.uninstalled", home=home), style="bold", soft_wrap=True)


def doctor(*, profile: Profile = None, json: Json = False) -> None:
    from memorycore.cli import checks
    from memorycore.cli.checks_hermes import examine

    shell = Shell(as_json=json)
    home = home_of(profile, os.environ)
    findings = list(examine(home, environment(home, os.environ), shell.language))
    if json:
        answer = [checks.as_answer(one, shell) for one in findings]
        shell.emit({"ok": not checks.failed(findings), "home": str(home), "checks": answer})
    else:
        for finding in findings:
            checks.show(finding, shell)
        checks.show_counts(findings, shell)
    raise typer.Exit(1 if checks.failed(findings) else 0)


def home_of(profile: str | None, env: Mapping[str, str]) -> Path:
    from memorycore.hosts import hermes, hermes_home
    from memorycore.settings import absolute, user_home

    user = user_home(env)
    named = absolute(env["HERMES_HOME"], user) if env.get("HERMES_HOME") else None
    return hermes_home.find_home(hermes.standard_home(user, env), named, profile)


def work_for(profile: str) -> None:
    """Let this command look where Hermes' provider looks in this profile, with what it was told at installation."""
    told = environment(home_of(profile, os.environ), os.environ)
    os.environ.pop("MEMORY_DIR", None)
    os.environ.update(told)


def in_use_instead(settings: "Settings") -> str:
    """The profile that Hermes uses now in the place of the home whose files these are; empty when it is this one."""
    from memorycore.hosts import hermes_home

    home = settings.hermes_home
    return hermes_home.active_profile(home) if home and settings.hot_dir == home / "memories" else ""


def environment(home: Path, env: Mapping[str, str]) -> dict[str, str]:
    """What our programs are told that work for this home: our own variables as they are, and this home's files.

    What an earlier installation was told holds on: else one that is brought up to date from another shell would look
    for its memory elsewhere. ``MEMORY_DIR`` says which files are meant without Hermes; here the home says it. It is
    written down only where the config file would lead elsewhere. A profile has its memory beside that of the home.
    """
    from memorycore.cli.checks_hermes import PLUGIN, runtime_of
    from memorycore.settings import absolute, load_settings, user_home

    user = user_home(env)
    earlier = {
        name: value for name, value in runtime_of(home / "plugins" / PLUGIN).env.items() if name not in OF_ONE_PLACE
    }
    told = {**earlier, **env, **{name: str(absolute(env[name], user)) for name in PATHS if env.get(name)}}
    if env.get("PYTHONPATH"):
        parts = env["PYTHONPATH"].split(os.pathsep)
        told["PYTHONPATH"] = os.pathsep.join(str(absolute(part, user)) for part in parts if part)
    told.pop("MEMORY_DIR", None)
    told["HERMES_HOME"] = str(home)
    settings = load_settings(told)
    if (origin := settings.origins.get("data_dir")) and origin.kind == "derived":
        told["MEMORYCORE_DATA_DIR"] = str(settings.data_dir)
    if settings.hot_dir != home / "memories":
        told["MEMORY_DIR"] = str(home / "memories")
    return told


def _given_back(settings: "Settings", *, for_real: bool) -> "list[Returns]":
    """What comes back, or would; nothing where nothing was ever stored."""
    from memorycore.core import MemoryCore, give_back

    options = settings.core_options()
    if not (settings.data_dir / "memorycore.db").exists():
        return []
    with MemoryCore.open(options, long_lived=False) as core:
        return give_back.give_back(core.rooms) if for_real else give_back.preview(core.rooms)


def _is_due(returns: "list[Returns]") -> bool:
    return any(one.entries != one.before or one.aside for one in returns)


def _end_daemon(settings: "Settings") -> "Stopped":
    """End a daemon that was started on demand. One that is a service of the system was asked for by itself."""
    from memorycore.daemon import control, units

    if units.plan(units.unit(settings, os.environ), os.environ).file.exists():
        return "not_running"
    return control.stop(settings.data_dir)


def _show_plan(shell: Shell, planned: "Plan", what: str) -> None:
    if shell.as_json:
        return
    if not planned.changes:
        shell.out.print(shell.word("hermes.nothing_to_change", home=planned.home), soft_wrap=True)
        return
    shell.out.print(shell.word(f"hermes.plan_{what}", home=planned.home), soft_wrap=True)
    sys.stdout.write(_difference(planned))
    for one in planned.plugin:
        if not one.is_none:
            sign = "+" if one.before is None else "-" if one.after is None else "~"
            sys.stdout.write(f"  {sign} {one.path}\n")
    sys.stdout.flush()


def _show_returns(shell: Shell, returns: "list[Returns]") -> None:
    for one in returns:
        if one.pointers or one.back or one.aside:
            facts = {"path": one.path, "pointers": one.pointers, "back": len(one.back), "chars": one.chars}
            shell.out.print(shell.word("hermes.returns", limit=one.limit, **facts), soft_wrap=True)
        if one.aside:
            from memorycore.core.give_back import RESTORED

            shell.out.print(
                shell.word("hermes.aside", count=len(one.aside), path=one.path.with_name(RESTORED)), soft_wrap=True
            )


def _difference(planned: "Plan") -> str:
    """The difference that the plan makes to ``config.yaml``."""
    before, after = ((data or b"").decode("utf-8", "replace") for data in (planned.config.before, planned.config.after))
    return "".join(
        line if line.endswith("\n") else line + "\n"
        for line in difflib.unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), *[str(planned.config.path)] * 2, n=2
        )
    )


def _answer(planned: "Plan") -> dict[str, Any]:
    return {
        "home": str(planned.home),
        "diff": _difference(planned),
        "files": [str(one.path) for one in planned.plugin if not one.is_none],
        "backup": str(planned.backup) if planned.backup else None,
        "exact": planned.exact,
    }


HERMES = {"install": install, "uninstall": uninstall, "doctor": doctor}
