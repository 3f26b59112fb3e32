"""Tending the store: the steps of maintenance, run now or listed."""

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from memorycore.cli.shell import ACTOR, Shell
from memorycore.cli.write import DryRun, Json

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from memorycore.govern.steps.work import Progress

Steps = Annotated[list[str] | None, typer.Argument(metavar="STEP", show_default=False)]
Retry = Annotated[bool, typer.Option("--retry")]
Listed = Annotated[bool, typer.Option("--list")]


def maintain(
    steps: Steps = None, *, listed: Listed = False, retry: Retry = False, dry_run: DryRun = False, json: Json = False
) -> None:
    from memorycore.cli import shown_maintain
    from memorycore.errors import StoreError

    shell = Shell(as_json=json)
    if listed:
        with shell.core() as core:
            schedule = core.schedule()
        if json:
            shell.emit({"steps": schedule})
        else:
            shown_maintain.schedule(shell, schedule)
        return
    with shell.core(with_model=not dry_run) as core, _watched(shell) as report:
        if retry and not dry_run:
            core.retry_given_up()
        answer = core.maintain(steps or (), dry_run=dry_run, report=report, owner=ACTOR)
    if json:
        shell.emit(answer)
    else:
        shown_maintain.maintained(shell, answer)
    if any(step["outcome"] in {"failed", "lost"} for step in answer["steps"]):
        raise typer.Exit(StoreError.exit_code)


@contextmanager
def _watched(shell: Shell) -> "Generator[Callable[[Progress], None] | None]":
    """A bar where a person is watching: the step by name, and how far it is."""
    if shell.as_json or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description:<12}"), BarColumn(), TextColumn("{task.fields[done]}"))
    with Bar(*columns, console=shell.err, transient=True, redirect_stdout=sys.stdout.isatty()) as shown:
        task = shown.add_task("", total=1, done="")

        def report(progress: "Progress") -> None:
            part = min(progress.done / progress.total, 1.0) if progress.total else 0.0
            done = f"{progress.done}/{progress.total}" if progress.total > 1 else ""
            shown.update(
                task, description=progress.step, total=progress.steps, completed=progress.number - 1 + part, done=done
            )

        yield report
