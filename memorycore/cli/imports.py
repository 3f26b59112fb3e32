"""Import: what other memories, an export or the predecessor have left in files."""

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memorycore.cli.shell import ACTOR, Shell
from memorycore.cli.write import DryRun, Json

if TYPE_CHECKING:
    from memorycore.core import MemoryCore

Named = Annotated[list[str] | None, typer.Argument(metavar="[PATH]...", show_default=False)]


def import_(
    paths: Named = None,
    *,
    verbose: Annotated[bool, typer.Option("--verbose", "-v")] = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    from memorycore.cli import shown_import
    from memorycore.settings import absolute, user_home

    shell = Shell(as_json=json)
    home = user_home(os.environ)
    named = [absolute(path, home) for path in paths or []]
    with shell.core(with_model=not dry_run) as core:
        with _watched(shell) as report:
            answer = core.import_from(
                named, actor=ACTOR, left_in=_predecessors_folders(home), dry_run=dry_run, report=report
            )
        if json:
            shell.emit(answer)
        else:
            shown_import.imported(shell, answer, verbose=verbose)
        if answer["new"] and not dry_run:
            _make_vectors(shell, core)
    raise typer.Exit(0 if answer["ok"] else 1)


def _make_vectors(shell: Shell, core: "MemoryCore") -> None:
    """Wait for the vectors of what came in. All of it is safe, so this may be broken off; what is left follows."""
    sys.stdout.flush()
    total, done = core.usage()["cold"]["pending"], 0
    with _watched(shell) as report:
        while made := core.fill_vectors().made:
            done += made
            report(done, max(done, total))


def _predecessors_folders(home: Path) -> list[Path]:
    """Where the predecessor kept its files by itself."""
    from memorycore.hosts import hermes

    own = home / ".memorycore"
    return [own, own / "data", hermes.standard_home(home, os.environ) / "memories"]


@contextmanager
def _watched(shell: Shell) -> Generator[Callable[[int, int], None]]:
    """A bar where a person is watching."""
    if shell.as_json or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=shell.err, transient=True, redirect_stdout=sys.stdout.isatty()) as shown:
        task = shown.add_task("", total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)
