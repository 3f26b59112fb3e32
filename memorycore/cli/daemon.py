"""The daemon: in the foreground, in the background, and as a service of the system."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memorycore.cli.shell import Shell
from memorycore.cli.write import Json, option

if TYPE_CHECKING:
    from memorycore.daemon.control import Daemon

NOT_RUNNING = 3  # as service scripts answer
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")

Port = Annotated[int | None, option("--port", "PORT")]
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


def start(*, port: Port = None, idle_exit: IdleExit = None, json: Json = False) -> None:
    from memorycore.daemon import control

    shell = Shell(as_json=json)
    _started(shell, *control.start(shell.settings, idle_exit_s=_seconds(idle_exit), port=port))


def restart(*, port: Port = None, idle_exit: IdleExit = None, json: Json = False) -> None:
    from memorycore.daemon import control

    shell = Shell(as_json=json)
    ended = control.stop(shell.settings.data_dir)
    how, found = control.start(shell.settings, idle_exit_s=_seconds(idle_exit), port=port)
    _started(shell, "replaced" if ended != "not_running" and how == "started" else how, found)


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
    found = control.find(shell.settings.data_dir)
    steps = shown_daemon.steps_of(shell)
    answer = shown_daemon.answer(shell, found, steps)
    if json:
        shell.emit(answer)
    else:
        shown_daemon.status(shell, answer)
    raise typer.Exit(0 if answer["status"] == "runs" else NOT_RUNNING)


def _started(shell: Shell, how: str, found: "Daemon") -> None:
    from memorycore.cli import shown_daemon

    answer: dict[str, Any] = {"ok": True, **shown_daemon.answer(shell, found, []), "status": how}
    if shell.as_json:
        shell.emit(answer)
        return
    shell.out.print(shell.word(f"daemon.{how}", pid=answer["pid"], url=answer["url"]))
    for difference in answer["differs"]:
        shell.out.print(shell.word(f"daemon.differs_{difference}"), style="yellow")


def _seconds(minutes: float | None) -> float | None:
    return minutes * 60 if minutes else None


DAEMON = {"start": start, "stop": stop, "restart": restart, "status": status}
