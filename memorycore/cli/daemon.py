"""The daemon: in the foreground, in the background, and as a service of the system."""

import os
import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memorycore import messages
from memorycore.cli.shell import Shell
from memorycore.cli.write import Json, option

if TYPE_CHECKING:
    from memorycore.daemon.control import Daemon
    from memorycore.daemon.units import Plan

NOT_RUNNING = 3  # as service scripts answer
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")

Port = Annotated[int | None, option("--port", "PORT")]
OnlyPrint = Annotated[bool, typer.Option("--print")]
IdleExit = Annotated[float | None, option("--idle-exit", "MINUTES")]


def daemon(
    context: typer.Context,
    *,
    port: Port = None,
    idle_exit: IdleExit = None,
    wait: Annotated[bool, typer.Option("--wait")] = False,
    log_level: Annotated[str, option("--log-level", "LEVEL")] = "INFO",
) -> None:
    if context.invoked_subcommand is not None:
        return
    from memorycore.daemon.run import Asked, run
    from memorycore.errors import InvalidInput
    from memorycore.server.life import leave

    if log_level.upper() not in LEVELS:
        raise InvalidInput(field="--log-level", why="unknown value", value=log_level, allowed=", ".join(LEVELS))
    asked = Asked(idle_exit_s=_seconds(idle_exit), port=port, wait=wait, log_level=log_level.upper())
    leave(run(Shell().settings, asked))


def start(
    *,
    port: Port = None,
    idle_exit: IdleExit = None,
    on_demand: Annotated[bool, typer.Option("--on-demand")] = False,
    json: Json = False,
) -> None:
    from memorycore.daemon import control

    shell = Shell(as_json=json)
    minutes = shell.settings.daemon_idle_minutes if on_demand and idle_exit is None else idle_exit
    _started(shell, *control.start(shell.settings, idle_exit_s=_seconds(minutes), port=port))


def restart(*, port: Port = None, idle_exit: IdleExit = None, json: Json = False) -> None:
    from memorycore.daemon import control

    shell = Shell(as_json=json)
    seconds = None if idle_exit is None else idle_exit * 60
    _started(shell, *control.restart(shell.settings, idle_exit_s=seconds, port=port))


def stop(*, json: Json = False) -> None:
    from memorycore.daemon import control

    shell = Shell(as_json=json)
    how = control.stop(shell.settings.data_dir)
    if json:
        shell.emit({"ok": True, "status": how})
    else:
        shell.out.print(shell.word(f"daemon.{how}"))


def status(*, json: Json = False) -> None:
    from memorycore.cli import shown_daemon
    from memorycore.daemon import control

    shell = Shell(as_json=json)
    from memorycore.errors import StoreError

    found, problem = control.find(shell.settings.data_dir), ""
    try:
        steps = shown_daemon.steps_of(shell)
    except StoreError as error:  # as with a full disk: whether the daemon runs can be said all the same
        steps, problem = [], messages.error_text(error, shell.language)
    answer = shown_daemon.answer(shell, found, steps)
    if problem:
        answer["problem"] = problem
    if json:
        shell.emit(answer)
    else:
        shown_daemon.status(shell, answer)
    raise typer.Exit(0 if answer["status"] == "runs" else NOT_RUNNING)


def install(*, only_print: OnlyPrint = False, json: Json = False) -> None:
    from memorycore.daemon import control, units

    shell = Shell(as_json=json)
    wanted = _plan(shell, "install")
    if only_print:
        _only_shown(shell)
        return
    control.stop(shell.settings.data_dir)
    units.install(wanted)
    control.wait_until_up(shell.settings.data_dir)
    _done(shell, "installed")


def uninstall(*, only_print: OnlyPrint = False, json: Json = False) -> None:
    from memorycore.daemon import control, units

    shell = Shell(as_json=json)
    wanted = _plan(shell, "uninstall")
    if only_print:
        _only_shown(shell)
        return
    was_there = units.uninstall(wanted)
    control.stop(shell.settings.data_dir)
    _done(shell, "uninstalled" if was_there else "not_installed")


def _plan(shell: Shell, what: str) -> "Plan":
    """Say what will be done before it is; with ``--json`` as an object of its own."""
    from memorycore.daemon import units

    wanted = units.plan(units.unit(shell.settings, os.environ), os.environ)
    commands = wanted.install if what == "install" else wanted.uninstall
    if shell.as_json:
        shell.emit({
            "plan": what, "file": str(wanted.file), "commands": [list(command) for command in commands],
            "content": wanted.content if what == "install" else None, "left_out": list(wanted.left_out),
        })  # fmt: skip
        return wanted
    shell.out.print(shell.word(f"daemon.plan_{what}", file=wanted.file))
    if what == "install":
        sys.stdout.write(f"\n{wanted.content}\n")
        shell.out.print(shell.word("daemon.plan_commands"))
    sys.stdout.write("\n" + "".join(f"  {shlex.join(command)}\n" for command in commands) + "\n")
    if wanted.left_out:
        shell.err.print(shell.word("daemon.left_out", names=", ".join(wanted.left_out)), style="yellow")
    return wanted


def _only_shown(shell: Shell) -> None:
    if not shell.as_json:
        shell.out.print(shell.word("daemon.plan_only"))


def _done(shell: Shell, how: str) -> None:
    if shell.as_json:
        shell.emit({"ok": True, "status": how})
    else:
        shell.out.print(shell.word(f"daemon.{how}"))


def _started(shell: Shell, how: str, found: "Daemon") -> None:
    from memorycore.cli import shown_daemon

    answer: dict[str, Any] = {"ok": True, **shown_daemon.answer(shell, found, []), "status": how}
    if shell.as_json:
        shell.emit(answer)
        return
    shell.out.print(shell.word(f"daemon.{how}", pid=answer["pid"], url=answer["url"]))
    shown_daemon.tell_differences(shell, answer)


def _seconds(minutes: float | None) -> float | None:
    return minutes * 60 if minutes else None


DAEMON = {
    "start": start, "stop": stop, "restart": restart, "status": status, "install": install, "uninstall": uninstall,
}  # fmt: skip
