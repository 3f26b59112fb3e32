"""Commands that change a memory: store, update, restore."""

import sys
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from memorycore.cli.shell import ACTOR, Shell

if TYPE_CHECKING:
    from memorycore.answers import Changed
    from memorycore.core import MemoryCore

Json = Annotated[bool, typer.Option("--json")]
DryRun = Annotated[bool, typer.Option("--dry-run")]
Words = Annotated[list[str] | None, typer.Option("--tag", metavar="WORD", show_default=False)]
Text = Annotated[str | None, typer.Argument(metavar="TEXT", show_default=False)]
FromFile = Annotated[str | None, typer.Option("--from", metavar="FILE", show_default=False)]
Importance = Annotated[float | None, typer.Option("--importance", "-i", metavar="0..1", show_default=False)]
Meant = Annotated[str, typer.Argument(metavar="ID|TEXT", show_default=False)]
MemoryId = Annotated[str, typer.Argument(metavar="ID", show_default=False)]


def option(name: str, metavar: str) -> Any:
    return typer.Option(name, metavar=metavar, show_default=False)


def store(  # noqa: PLR0913 a parameter is an option of the command
    text: Text = None,
    *,
    from_file: FromFile = None,
    target: Annotated[str | None, option("--target", "memory|user")] = None,
    importance: Importance = None,
    kind: Annotated[str | None, option("--kind", "KIND")] = None,
    policy: Annotated[str | None, option("--policy", "POLICY")] = None,
    tags: Words = None,
    occurred_at: Annotated[str | None, option("--occurred-at", "DATE")] = None,
    valid_from: Annotated[str | None, option("--valid-from", "DATE")] = None,
    valid_until: Annotated[str | None, option("--valid-until", "DATE")] = None,
    session_id: Annotated[str | None, option("--session", "ID")] = None,
    scope: Annotated[str | None, option("--scope", "global|session")] = None,
    author: Annotated[str | None, option("--author", "NAME")] = None,
    source: Annotated[str | None, option("--source", "URI")] = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    from memorycore.cli import bulk
    from memorycore.errors import InvalidInput

    shell = Shell(as_json=json)
    if (text is None) == (from_file is None):
        raise InvalidInput(field="TEXT", why="one_of_text_or_from")
    given: dict[str, Any] = {
        "target": target, "importance": importance, "kind": kind, "policy": policy, "tags": tags,
        "occurred_at": occurred_at, "valid_from": valid_from, "valid_until": valid_until, "session_id": session_id,
        "scope": scope, "author": author, "source": source,
    }  # fmt: skip
    if from_file is not None:
        with shell.core() as core:
            ended_well = _store_many(shell, core, from_file, given, dry_run=dry_run)
        raise typer.Exit(0 if ended_well else 1)
    content = read_stdin() if text == "-" else text
    draft = bulk.draft_of({**given, "content": content}, zone=shell.settings.zone())
    with shell.core() as core:
        answer = core.remember(draft, actor=ACTOR, dry_run=dry_run)
    if json:
        shell.emit(answer)
    else:
        from memorycore.cli import shown_store

        shown_store.stored(shell, answer)
    raise typer.Exit(1 if answer["status"] in {"refused", "error"} else 0)


def read_stdin() -> str:
    """All of stdin as text: UTF-8, or what the console speaks.

    Raises:
        InvalidInput: It is neither.
    """
    import locale

    from memorycore.errors import InvalidInput

    content = sys.stdin.buffer.read()
    for encoding in ("utf-8-sig", locale.getencoding()):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise InvalidInput(field="TEXT", why="not_utf8")


def _store_many(shell: Shell, core: "MemoryCore", file: str, given: Mapping[str, Any], *, dry_run: bool) -> bool:
    """Whether every line could be used. ``given``: what holds for lines that do not say it themselves."""
    from memorycore.cli import bulk, shown_store

    zone = shell.settings.zone()
    counts: Counter[str] = Counter()
    with bulk.lines_of(file, shell) as lines:
        if dry_run:
            results = bulk.each(
                lines,
                lambda content: bulk.draft_of(bulk.filled(content, given), zone=zone),
                core.preview_many,
            )
        else:
            results = bulk.each(
                lines,
                lambda content: bulk.request_of(content, given, zone=zone),
                lambda requests: core.remember_many(requests, actor=ACTOR),
            )
        for result in results:
            if isinstance(result, bulk.Bad):
                counts["error"] += 1
                answer: dict[str, Any] = {**(bulk.DECISION if dry_run else {}), **bulk.bad_answer(result, shell)}
                content = ""
            else:
                line, stored = result
                counts[stored["status"]] += 1
                answer = {
                    **(bulk.DECISION if dry_run else bulk.FIELDS),
                    **cast("dict[str, Any]", stored),
                    "line": line.number,
                }
                content = str(cast("dict[str, Any]", line.content)["content"])
            if shell.as_json:
                shell.emit(answer)
            else:
                shown_store.stored_line(shell, answer, content)
    if not shell.as_json:
        shown_store.counts(shell, counts)
    return not counts["error"]


def update(  # noqa: PLR0913 a parameter is an option of the command
    memory: Meant,
    *,
    content: Annotated[str | None, option("--text", "TEXT")] = None,
    importance: Importance = None,
    kind: Annotated[str | None, option("--kind", "KIND")] = None,
    policy: Annotated[str | None, option("--policy", "POLICY")] = None,
    tags: Words = None,
    pinned: Annotated[bool | None, typer.Option("--pin/--unpin", show_default=False)] = None,
    valid_until: Annotated[str | None, option("--valid-until", "DATE")] = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    from memorycore.cli import bulk
    from memorycore.domain.memory import parse_time

    shell = Shell(as_json=json)
    zone = shell.settings.zone()
    until = parse_time(valid_until, zone=zone, end_of_day=True, name="valid_until") if valid_until else None
    with shell.core() as core:
        answer = core.update(
            memory,
            actor=ACTOR,
            content=read_stdin() if content == "-" else content,
            importance=importance,
            kind=cast("Any", kind),  # the core refuses a word that it does not know
            policy=cast("Any", policy),
            tags=None if tags is None else bulk.tags_of(",".join(tags)),
            pinned=pinned,
            valid_until=until,
            dry_run=dry_run,
        )
    answer_change(shell, answer)


def restore(memory_id: MemoryId, *, json: Json = False) -> None:
    shell = Shell(as_json=json)
    with shell.core() as core:
        answer = core.restore(memory_id, actor=ACTOR)
    answer_change(shell, answer)


def answer_change(shell: Shell, answer: "Changed") -> None:
    """Say what was changed, and end: with 1 where only candidates were found."""
    if shell.as_json:
        shell.emit(answer)
    else:
        from memorycore.cli import shown

        shown.changed(shell, answer)
    raise typer.Exit(1 if answer["status"] == "candidates" else 0)
