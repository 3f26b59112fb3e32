"""What waits for a person, and what became of a decision, as a person reads it."""

from typing import TYPE_CHECKING

from rich.text import Text

from memorycore.cli.layout import FILES, columns, dim, inside, point, sentence_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from memorycore.answers import Decided, Review, ReviewItem, ReviewText
    from memorycore.cli.shell import Shell


def listed(shell: "Shell", answer: "Review", *, in_full: bool) -> None:
    """Each thing with its texts, what speaks for it, and the commands that decide it; ``in_full`` with ids."""
    if not answer["items"]:
        shell.out.print(shell.word("review.nothing"))
        return
    if not in_full:
        parts = (shell.word(f"review.count_{name}", count=count) for name, count in answer["counts"].items() if count)
        shell.out.print(Text(shell.word("review.comma").join(parts), style="bold"))
    for item in answer["items"]:
        if not in_full:
            shell.out.print()
        _item(shell, item, in_full=in_full)


def _item(shell: "Shell", item: "ReviewItem", *, in_full: bool) -> None:
    file = FILES.get(item["new"].get("target", ""), FILES["memory"])
    facts = (shell.word(f"review.{item['kind']}", file=file), shell.word("review.since", date=item["since"][:10]))
    shell.out.print(Text.assemble((item["number"], "bold"), f"  {' · '.join(facts)}"))
    rows: list[tuple[RenderableType, ...]] = []
    for name in ("old", "new"):
        text = item.get(name)
        if text is None:
            continue
        label = shell.word(f"say.{name}") if "old" in item else ""
        rows.append((label, Text(text["content"])))
        rows.append(("", Text(_about(shell, text, in_full=in_full), style="dim")))
    shell.out.print(inside(columns(*rows) if "old" in item else columns(*((text,) for _, text in rows))))
    for why in (*item["why"], *(sign["says"] for sign in item.get("evidence", []))):
        point(shell, why)
    _commands(shell, [(Text(way["command"], style="bold"), Text(way["does"], style="dim")) for way in item["commands"]])


def _commands(shell: "Shell", ways: "Sequence[tuple[Text, Text]]") -> None:
    """Each command with what it does, beside it or below it: a command that is broken in two cannot be copied."""
    if max(command.cell_len + does.cell_len for command, does in ways) + 6 <= shell.out.width:
        shell.out.print(inside(columns(*ways), by=4))
        return
    for command, does in ways:
        shell.out.print(inside(command, by=4))
        shell.out.print(inside(does, by=6))


def _about(shell: "Shell", text: "ReviewText", *, in_full: bool) -> str:
    facts = [
        shell.word(f"tier.{text['tier']}"),
        (text.get("occurred_at") or text["created_at"])[:10],
        *(shell.word("review.from", what=what) for what in (text.get("author"), text.get("source")) if what),
        *(shell.word(f"review.{code}") for code in text.get("guarded", [])),
        shell.word("review.untrusted") if text.get("untrusted") else "",
        text["id"] if in_full else "",
    ]
    return " · ".join(fact for fact in facts if fact)


def decided(shell: "Shell", answer: "Decided") -> None:
    if answer.get("dry_run"):
        shell.out.print(shell.word("say.trial"), style="yellow")
    code = answer["status"] if answer["status"] != "trusted" else f"trusted_{answer['tier']}"
    file = FILES[answer.get("target", "memory")]
    shell.out.print(shell.word(f"decided.{code}", until=answer.get("until"), file=file), style="bold")
    before, after = answer.get("before"), answer.get("after", "")
    if before is None or answer["status"] == "kept_both":
        texts = [Text(text) for text in (before, after) if text]
    else:
        texts = [Text(f"- {before}", style="red"), Text(f"+ {after}", style="green")]
    for text in texts:
        shell.out.print(inside(text))
    for reason in answer.get("reasons", []):
        point(shell, sentence_of(reason))
    if answer.get("pending"):
        point(shell, shell.word("say.pending_remote"))
    dim(shell, answer.get("usage", ""))
    if undo := answer.get("undo"):
        dim(shell, shell.word("say.undo", command=undo))
