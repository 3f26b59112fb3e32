"""``memorycore forget``: one memory or many, into the bin or for good."""

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from memorycore.cli.shell import ACTOR, Shell
from memorycore.cli.write import DryRun, Json, Words, answer_change, option

if TYPE_CHECKING:
    from memorycore.answers_forget import Erased
    from memorycore.core import MemoryCore
    from memorycore.core.forget_many import Wanted

MOST_LISTED = 20
_MOMENT = timedelta(milliseconds=1)


def forget(  # noqa: PLR0913 a parameter is an option of the command
    memory: Annotated[str | None, typer.Argument(metavar="ID|TEXT", show_default=False)] = None,
    *,
    query: Annotated[str | None, option("--query", "WORDS")] = None,
    tags: Words = None,
    session_id: Annotated[str | None, option("--session", "ID")] = None,
    since: Annotated[str | None, option("--since", "DATE")] = None,
    until: Annotated[str | None, option("--until", "DATE")] = None,
    before: Annotated[str | None, option("--before", "DATE")] = None,
    kind: Annotated[str | None, option("--kind", "KIND")] = None,
    tier: Annotated[str | None, option("--tier", "hot|cold")] = None,
    target: Annotated[str | None, option("--target", "memory|user")] = None,
    author: Annotated[str | None, option("--author", "NAME")] = None,
    erase: Annotated[bool, typer.Option("--erase")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y")] = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    from memorycore.errors import InvalidInput

    shell = Shell(as_json=json)
    given: dict[str, Any] = {
        "query": query, "tags": tags, "session_id": session_id, "since": since, "until": until, "before": before,
        "kind": kind, "tier": tier, "target": target, "author": author,
    }  # fmt: skip
    many = any(value is not None for value in given.values())
    if (memory is not None) == many:
        raise InvalidInput(field="ID|TEXT", why="one_of_memory_or_filters")
    with shell.core() as core:
        if memory is None:
            code = _many(shell, core, _wanted(shell, core, given), erase=erase, yes=yes, dry_run=dry_run)
            raise typer.Exit(code)
        if erase:
            raise typer.Exit(_receipt(shell, core.erase(memory, actor=ACTOR, dry_run=dry_run)))
        answer = core.forget(memory, actor=ACTOR, dry_run=dry_run)
    answer_change(shell, answer)


def _wanted(shell: Shell, core: "MemoryCore", given: "dict[str, Any]") -> "Wanted":
    from memorycore.cli import bulk
    from memorycore.core import RecallFilters
    from memorycore.core.forget_many import Wanted
    from memorycore.domain.memory import KINDS, TARGETS, parse_time
    from memorycore.domain.spans import moment_before
    from memorycore.errors import InvalidInput

    for name, allowed in (("kind", KINDS), ("tier", ("hot", "cold")), ("target", TARGETS)):
        if given[name] is not None and given[name] not in allowed:
            raise InvalidInput(field=name, why="unknown value", value=given[name], allowed=", ".join(allowed))
    zone, now = shell.settings.zone(), core.rooms.clock()
    ends = [parse_time(given["until"], zone=zone, end_of_day=True, name="--until")] if given["until"] else []
    if given["before"]:
        ends.append(moment_before(given["before"], now, zone=zone, name="--before") - _MOMENT)
    filters = RecallFilters(
        kind=given["kind"],
        tags=bulk.tags_of(",".join(given["tags"] or [])),
        since=moment_before(given["since"], now, zone=zone, name="--since") if given["since"] else None,
        until=min(ends) if ends else None,
        tier=given["tier"],
        target=given["target"],
        session_id=given["session_id"] or "",
        author=given["author"] or "",
    )
    return Wanted(query=given["query"] or "", filters=filters)


def _many(shell: Shell, core: "MemoryCore", wanted: "Wanted", *, erase: bool, yes: bool, dry_run: bool) -> int:
    """Look first, ask where it is more than one, then do it to what was shown and to nothing else."""
    from dataclasses import replace

    from memorycore.cli import shown_forget

    trial = core.erase_many(wanted, actor=ACTOR, dry_run=True) if erase else core.forget_many(
        wanted, actor=ACTOR, dry_run=True
    )  # fmt: skip
    items = trial.get("items", [])
    if dry_run or not items:
        if erase:
            return _receipt(shell, cast("Erased", trial))
        _emit_or(shell, trial, shown_forget.many)
        return 0 if items else 1
    if len(items) > 1 and not yes:
        _ask(shell, items, erase=erase)
    chosen = replace(wanted, only=frozenset(item["id"] for item in items))
    if erase:
        return _receipt(shell, core.erase_many(chosen, actor=ACTOR))
    answer = core.forget_many(chosen, actor=ACTOR)
    _emit_or(shell, answer, shown_forget.many)
    return 1 if answer.get("skipped") else 0


def _ask(shell: Shell, items: Any, *, erase: bool) -> None:
    """Show them and ask a person; a script has to say ``--yes``.

    Raises:
        InvalidInput: Nobody can be asked.
        Exit: The answer was no.
    """
    from memorycore.cli import shown_forget
    from memorycore.errors import InvalidInput

    if shell.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInput(field="--yes", why="needed_for_many", count=len(items))
    shown_forget.listed(shell, items, most=MOST_LISTED)
    if not typer.confirm(shell.word("say.erase_them" if erase else "say.forget_them", count=len(items))):
        raise typer.Exit(1)


def _receipt(shell: Shell, answer: "Erased") -> int:
    from memorycore.cli import shown_forget

    _emit_or(shell, answer, shown_forget.receipt)
    return 0 if answer["erased"] or answer.get("dry_run") else 1


def _emit_or(shell: Shell, answer: Any, show: Any) -> None:
    if shell.as_json:
        shell.emit(answer)
    else:
        show(shell, answer)
