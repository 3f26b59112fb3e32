"""Commands on what happened: history, undo."""

from typing import TYPE_CHECKING, Annotated

import typer

from memorycore.cli.shell import ACTOR, Shell
from memorycore.cli.write import DryRun, Json, option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from memorycore.answers import History, HistoryLine, Undone, UndoneEvent

Since = Annotated[str | None, option("--since", "TIME")]
EXIT_CONFLICT = 4
STYLES = {"undone": "green", "would_undo": "green", "conflict": "bold red", "nothing_to_undo": "bold"}


def history(
    memory_id: Annotated[str | None, typer.Argument(metavar="ID", show_default=False)] = None,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N")] = 20,
    since: Since = None,
    automatic: Annotated[bool, typer.Option("--automatic")] = False,
    json: Json = False,
) -> None:
    from memorycore.domain.spans import moment_before

    shell = Shell(as_json=json)
    zone = shell.settings.zone()
    with shell.looking() as core:
        start = moment_before(since, core.rooms.clock(), zone=zone, name="--since") if since else None
        answer = core.history(limit=limit, memory_id=memory_id or "", since=start, automatic_only=automatic)
    if json:
        shell.emit(answer)
    else:
        show_history(shell, answer)


def undo(
    event: Annotated[int | None, typer.Argument(metavar="EVENT", show_default=False)] = None,
    *,
    last: Annotated[bool, typer.Option("--last")] = False,
    run: Annotated[str | None, option("--run", "ID")] = None,
    since: Since = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    from memorycore.domain.spans import moment_before

    shell = Shell(as_json=json)
    zone = shell.settings.zone()
    with shell.core() as core:
        start = moment_before(since, core.rooms.clock(), zone=zone, name="--since") if since else None
        answer = core.undo(actor=ACTOR, event=event, last=last, run=run or "", since=start, dry_run=dry_run)
    if json:
        shell.emit(answer)
    else:
        show_undone(shell, answer)
    raise typer.Exit(EXIT_CONFLICT if answer["status"] == "conflict" else 0)


def show_history(shell: Shell, answer: "History") -> None:
    """Newest first: what, the texts that went and came, the evidence; then when, who, and the way back."""
    from rich.text import Text

    if not answer["events"]:
        shell.out.print(shell.word("say.no_history"))
    width = max((len(str(line["event"])) for line in answer["events"]), default=0)
    for line in answer["events"]:
        told = _wordings(line.get("before"), line.get("after"), line.get("text"))
        if said := line.get("said"):
            told.append(Text(shell.word("say.said", text=said)))
        told += [Text(f"· {why}") for why in line.get("why", [])]
        told.append(Text(_facts(shell, line), style="dim"))
        _show(shell, f"{line['event']:>{width}}", Text(line["what"], style="bold"), told)


def _facts(shell: Shell, line: "HistoryLine") -> str:
    from memorycore.cli.layout import minute

    facts = [
        minute(shell, line["at"]),
        line["actor"],
        shell.word("say.by_itself") if line["automatic"] else "",
        shell.word("say.undone_by", event=line["undone_by"]) if "undone_by" in line else "",
        line.get("undo", ""),
    ]
    return " · ".join(fact for fact in facts if fact)


def show_undone(shell: Shell, answer: "Undone") -> None:
    """Each event with what became of it; where somebody changed the text since, both wordings."""
    from rich.text import Text

    from memorycore.cli.layout import point

    if answer.get("dry_run"):
        shell.out.print(shell.word("say.trial"), style="yellow")
    if not answer["events"]:
        shell.out.print(shell.word("say.nothing_to_undo"))
    for one in answer["events"]:
        style = STYLES[one["status"]]
        head = Text.assemble((shell.word(f"undo.{one['status']}"), style), f" · {one['what']}")
        _show(shell, str(one["event"]), head, _undone_event(shell, one))
    if answer.get("pending"):
        point(shell, shell.word("say.pending_remote"))


def _undone_event(shell: Shell, one: "UndoneEvent") -> "list[Text]":
    from rich.text import Text

    before, after = one.get("before"), one.get("after")
    if one["status"] == "conflict" and before is not None and after is not None:
        told = [Text(shell.word("undo.stands", text=before)), Text(shell.word("undo.earlier", text=after))]
    else:
        told = _wordings(before, after, one.get("text"))
    if made := one.get("made_text"):
        told.append(Text(shell.word("undo.made", text=made)))
    if message := one.get("message"):
        told.append(Text(f"· {message}"))
    where = shell.word(f"undo.is_{one['tier']}") if "tier" in one else ""
    redo = shell.word("say.redo", command=one["redo"]) if "redo" in one else ""
    told.append(Text(" · ".join(fact for fact in (where, redo) if fact), style="dim"))
    return told


def _wordings(before: str | None, after: str | None, text: str | None) -> "list[Text]":
    from rich.text import Text

    if before is not None and after is not None:
        return [Text(f"- {before}", style="red"), Text(f"+ {after}", style="green")]
    return [Text(text)] if text else []


def _show(shell: Shell, number: str, head: "Text", told: "Sequence[Text]") -> None:
    """A number with its lines beside it; long ones go on below themselves."""
    from rich.console import Group
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(number, Group(head, *(line for line in told if line.plain)))
    shell.out.print(table)
