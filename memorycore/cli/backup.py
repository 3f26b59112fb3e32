"""Backups: make one, list them, go back to one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memorycore.cli.shell import Shell
from memorycore.cli.write import DryRun, Json

if TYPE_CHECKING:
    from memorycore.answers_upkeep import BackedUp

MEGABYTE = 1024**2
What = Annotated[list[str] | None, typer.Argument(metavar="[FILE | list | restore FILE]", show_default=False)]
Verify = Annotated[bool, typer.Option("--verify")]


def backup(what: What = None, *, verify: Verify = False, dry_run: DryRun = False, json: Json = False) -> None:
    from memorycore.errors import InvalidInput

    shell = Shell(as_json=json)
    match what or []:
        case ["list"] if not (verify or dry_run):
            _list(shell)
        case ["restore", file]:
            _restore(shell, Path(file).expanduser(), verify=verify, dry_run=dry_run)
        case [] | [_] if not (verify or dry_run):
            _make(shell, Path(what[0]) if what else None)
        case _:
            raise InvalidInput(field="backup", why="backup_ways")


def _make(shell: Shell, to: Path | None) -> None:
    with shell.core() as core:
        made = core.backup(to)
    if shell.as_json:
        shell.emit(made)
        return
    shell.out.print(shell.word("backup.made", path=made["path"]), style="bold", soft_wrap=True)
    shell.out.print(f"  {_line(shell, made)}", style="dim")


def _list(shell: Shell) -> None:
    from memorycore.core.backup import list_backups

    answer = list_backups(shell.settings.core_options())
    if shell.as_json:
        shell.emit(answer)
        return
    if not answer["backups"]:
        shell.out.print(shell.word("backup.none", folder=answer["folder"]), soft_wrap=True)
    for one in answer["backups"]:
        shell.out.print(one["path"], soft_wrap=True)
        problem = shell.word("backup.unreadable") if "problem" in one else ""
        shell.out.print(f"  {problem or _line(shell, one)}", style="red" if problem else "dim")


def _restore(shell: Shell, file: Path, *, verify: bool, dry_run: bool) -> None:
    from memorycore.core.backup import restore

    answer = restore(shell.settings.core_options(), file, dry_run=dry_run, verify=verify)
    if shell.as_json:
        shell.emit(answer)
        return
    if dry_run:
        shell.out.print(shell.word("say.trial"), style="yellow")
    when = answer["made_at"][:16].replace("T", " ")
    shell.out.print(shell.word("backup.restored", when=when, count=answer["memories"]), style="bold")
    for path in answer["files"]:
        shell.out.print(f"  {path}", soft_wrap=True)
    if answer.get("verified"):
        shell.out.print(f"  {shell.word('backup.verified')}")
    if aside := answer.get("aside"):
        shell.out.print(shell.word("backup.aside", path=aside), style="dim", soft_wrap=True)


def _line(shell: Shell, one: "BackedUp") -> str:
    when = one.get("made_at", "")[:16].replace("T", " ")
    megabytes = f"{one['bytes'] / MEGABYTE:.1f}"
    return shell.word("backup.line", when=when, count=one.get("memories", 0), files=one.get("files", 0), mb=megabytes)
