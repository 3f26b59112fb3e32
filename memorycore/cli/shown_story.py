"""The story of one memory, as a person reads it."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from rich.console import Group
from rich.table import Table
from rich.text import Text

from memorycore import messages
from memorycore.cli.layout import columns, inside, minute, pairs, point, value_of

if TYPE_CHECKING:
    from memorycore.answers_story import Link, Story
    from memorycore.cli.shell import Shell

# Fields that a line of their own, or the head, tells better.
TOLD = frozenset({"trash_reason", "trashed_at"})


def story(shell: "Shell", answer: "Story") -> None:
    """What it says, where it is, how it stands to others, what it said before, what happened to it."""
    shell.out.print(Text(answer["content"] or shell.word("state.purged"), style="bold"))
    if note := answer.get("note"):
        point(shell, note)
    facts: dict[str, object] = {
        "id": answer["id"],
        "state": answer["state"],
        "residence": answer["residence"],
        **{name: value for name, value in answer["fields"].items() if name not in TOLD},
        "refs": answer["refs"],
        "vector": answer["vector"],
    }
    rows = [(name, value_of(value)) for name, value in facts.items() if value not in (None, "", [], ())]
    shell.out.print(inside(columns(*rows)))
    if answer["links"]:
        _heading(shell, "say.links")
        shell.out.print(inside(_list(_link(shell, link) for link in answer["links"])))
    if answer["revisions"]:
        _heading(shell, "say.revisions")
        earlier = ((minute(shell, item.get("from")), str(item.get("content", ""))) for item in answer["revisions"])
        shell.out.print(inside(columns(*earlier)))
    if answer["events"]:
        _heading(shell, "say.events")
        shell.out.print(inside(_list(_event(shell, item) for item in answer["events"])))


def _heading(shell: "Shell", code: str) -> None:
    shell.out.print(Text(shell.word(code), style="bold"))


def _list(items: Iterable[tuple[str, list[Text]]]) -> Table:
    """Lines beside a number; long ones go on below themselves."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for number, lines in items:
        table.add_row(number, Group(*(line for line in lines if line.plain)))
    return table


def _link(shell: "Shell", link: "Link") -> tuple[str, list[Text]]:
    code = f"link.{link['status']}"
    status = shell.word(code) if messages.has(code, shell.language) else ""
    facts = (link["since"][:10], shell.word(f"state.{link['state']}") if link["state"] != "active" else "", status)
    return "·", [
        Text(link["what"]),
        Text(link["content"], style="bold"),
        *(Text(why) for why in link.get("why", [])),
        Text(" · ".join(fact for fact in facts if fact), style="dim"),
        Text(link["id"], style="dim"),
    ]


def _event(shell: "Shell", item: Mapping[str, Any]) -> tuple[str, list[Text]]:
    """One event: what happened, the words that went and came, when, by whom, and the way back."""
    before, after = item.get("before"), item.get("after")
    lines = [Text(str(item.get("what") or _named(shell, item)))]
    if before is not None and after is not None and before != after:
        lines += [Text(f"- {before}", style="red"), Text(f"+ {after}", style="green")]
    if said := item.get("said"):
        lines.append(Text(shell.word("say.said", text=said)))
    lines += [Text(f"· {why}") for why in cast("list[str]", item.get("why", []))]
    facts = (
        minute(shell, item.get("at")),
        str(item.get("actor", "")),
        shell.word("say.by_itself") if item.get("automatic") else "",
        shell.word("say.undone_by", event=item["undone_by"]) if "undone_by" in item else "",
        str(item.get("undo", "")),
    )
    return str(item.get("event", "")), [*lines, Text(" · ".join(fact for fact in facts if fact), style="dim")]


def _named(shell: "Shell", item: Mapping[str, Any]) -> str:
    """An event without a sentence of its own."""
    action = f"event.{item.get('action')}"
    what = shell.word(action) if messages.has(action, shell.language) else str(item.get("action"))
    known = {"event", "at", "action", "actor", "reason", "automatic"}
    facts = (what, str(item.get("reason", "")), pairs({name: item[name] for name in item if name not in known}))
    return " · ".join(fact for fact in facts if fact)
