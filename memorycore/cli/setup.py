"""Commands around the memory: config, client, doctor, serve, demo."""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from memorycore.cli.shell import Shell
from memorycore.cli.write import Json, option

if TYPE_CHECKING:
    from collections.abc import Sequence


def _show_version(asked: bool) -> None:  # noqa: FBT001 typer hands the flag over by position
    if asked:
        from memorycore import __version__

        sys.stdout.write(f"memorycore {__version__}\n")
        raise typer.Exit


def memorycore(
    context: typer.Context,
    *,
    profile: Annotated[str | None, option("--profile", "NAME")] = None,
    version: Annotated[bool, typer.Option("--version", is_eager=True, callback=_show_version)] = False,
) -> None:
    del version  # answered before any command
    if profile is None:
        return
    from memorycore.cli.hermes import work_for
    from memorycore.errors import InvalidInput

    if context.invoked_subcommand == "hermes":
        raise InvalidInput(field="--profile", why="stands_after_hermes")
    work_for(profile)


def doctor(*, fix: Annotated[bool, typer.Option("--fix")] = False, json: Json = False) -> None:
    from memorycore.cli import checks
    from memorycore.cli.repairs import repair

    shell = Shell(as_json=json)
    findings = list(checks.examine(os.environ, shell.language))
    repaired = repair(findings, checks.settings_that_work(os.environ)[0]) if fix else []
    if repaired:
        findings = list(checks.examine(os.environ, shell.language))
    if json:
        answer = {"ok": not checks.failed(findings), "checks": [checks.as_answer(one, shell) for one in findings]}
        shell.emit({**answer, **({"repaired": [one.code for one in repaired]} if fix else {})})
    else:
        for finding in findings:
            checks.show(finding, shell)
        checks.show_counts(findings, shell)
        for finding in repaired:
            shell.out.print(shell.word("doctor.repaired", what=checks.sentence(finding, shell.language)))
        if fix and not repaired:
            shell.out.print(shell.word("doctor.nothing_to_repair"))
    raise typer.Exit(1 if checks.failed(findings) else 0)


def serve(
    *,
    transport: Annotated[str | None, option("--transport", "stdio|streamable-http")] = None,
    host: Annotated[str | None, option("--host", "ADDRESS")] = None,
    port: Annotated[int | None, option("--port", "PORT")] = None,
    log_level: Annotated[str | None, option("--log-level", "LEVEL")] = None,
) -> None:
    from memorycore.server.__main__ import main as serve_until_told

    given = {"--transport": transport, "--host": host, "--port": port, "--log-level": log_level}
    serve_until_told([part for name, value in given.items() if value is not None for part in (name, str(value))])


def demo(
    *,
    language: Annotated[str | None, option("--lang", "en|zh")] = None,
    fast: Annotated[bool, typer.Option("--fast")] = False,
) -> None:
    from memorycore.cli.demo import run
    from memorycore.errors import InvalidInput
    from memorycore.messages import language_of

    shell = Shell()
    spoken = language_of(language) if language else shell.language
    if spoken is None:
        raise InvalidInput(field="--lang", why="unknown value", value=language, allowed="en, zh")
    raise typer.Exit(run(spoken, fast=fast))


def config_show(*, verbose: Annotated[bool, typer.Option("--verbose", "-v")] = False, json: Json = False) -> None:
    from memorycore.cli import shown
    from memorycore.errors import MemoryCoreError
    from memorycore.settings import readable_settings

    shell = Shell(as_json=json)
    settings, unreadable = readable_settings(os.environ)
    problems: list[MemoryCoreError] = [*unreadable]
    try:
        settings.core_options()
    except MemoryCoreError as error:  # each value can be read, but not all of them together be used
        problems.append(error)
    if json:
        shell.emit(shown.settings_answer(shell, settings, problems))
    else:
        for problem in problems:
            shell.refuse(problem)
        shown.settings(shell, settings, verbose=verbose)
    if problems:
        raise typer.Exit(problems[0].exit_code)


def config_path(*, json: Json = False) -> None:
    from memorycore import settings

    shell = Shell(as_json=json)
    path = settings.config_path(os.environ)
    if json:
        shell.emit({"path": str(path), "exists": path.is_file()})
        return
    sys.stdout.write(f"{path}\n")
    if not path.is_file():
        shell.err.print(shell.word("say.no_config"))


def client_install(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False)],
    *,
    only_print: Annotated[bool, typer.Option("--print")] = False,
    json: Json = False,
) -> None:
    from datetime import UTC, datetime

    from memorycore.daemon.units import known_variables
    from memorycore.hosts import clients
    from memorycore.settings import absolute, user_home

    shell = Shell(as_json=json)
    home = user_home(os.environ)
    # The server starts in another folder than this one, so a path that was given relative is written down whole.
    paths = {
        name: str(absolute(os.environ[name], home))
        for name, is_path, _ in known_variables()
        if is_path and os.environ.get(name)
    }
    env = {**os.environ, **paths}
    found = clients.client(name, home=home, env=env)
    entry = clients.server_entry(found, env)
    if only_print:
        if json:
            shell.emit({"client": name, "file": str(found.file), "block": clients.block(found, entry)})
        else:
            sys.stdout.write(clients.block(found, entry))
            shell.err.print(shell.word("client.belongs_in", file=found.file), style="dim")
            _left_out(shell, entry.left_out)
        return
    done = clients.install(found, entry, now=datetime.now(UTC))
    if json:
        backup = None if done.backup is None else str(done.backup)
        shell.emit({"client": name, "file": str(done.file), "changed": done.changed, "backup": backup})
        return
    shell.out.print(shell.word("client.changed" if done.changed else "client.unchanged", client=name, file=done.file))
    if done.backup:
        shell.out.print(shell.word("client.backup", file=done.backup), style="dim")
    if done.changed:
        shell.out.print(shell.word("client.restart", client=name))
    _left_out(shell, entry.left_out)


def _left_out(shell: Shell, names: "Sequence[str]") -> None:
    if names:
        shell.err.print(shell.word("daemon.left_out", names=", ".join(names)), style="yellow")


CONFIG = {"show": config_show, "path": config_path}
CLIENT = {"install": client_install}
