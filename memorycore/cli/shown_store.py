"""What a store answers, as a person reads it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from memorycore.cli.layout import FILES, columns, dim, point, preview, sentence_of

if TYPE_CHECKING:
    from memorycore.answers import Stored
    from memorycore.cli.shell import Shell

STATUS_CELLS = 13  # the longest word of messages' table short, in both languages


def stored(shell: "Shell", answer: "Stored") -> None:
    if answer.get("dry_run"):
        shell.out.print(shell.word("say.trial"), style="yellow")
    file = FILES.get(answer.get("target", "memory"), "MEMORY.md")
    shell.out.print(shell.word(f"status.{answer['status']}", file=file) + _type(shell, answer), style="bold")
    for reason in answer["reasons"]:
        if not reason.startswith("known_already"):  # the status said it
            point(shell, sentence_of(reason))
    if note := answer.get("note"):
        point(shell, note)
    if answer.get("pending"):
        point(shell, shell.word("say.pending"))
    facts = [answer.get("id", ""), answer.get("usage", "")]
    dim(shell, " · ".join(fact for fact in facts if fact))
    if undo := answer.get("undo"):
        dim(shell, shell.word("say.undo", command=undo))


def _type(shell: "Shell", answer: "Stored") -> str:
    words = [shell.word(f"type.{answer['type']}")] if answer["type"] else []
    if answer["protected"]:
        words.append(shell.word("type.protected"))
    return shell.word("say.in_brackets", words=shell.word("say.comma").join(words)) if words else ""


def stored_line(shell: "Shell", answer: Mapping[str, Any], content: str) -> None:
    """One line for one line of ``store --from``."""
    where = shell.word(f"short.{answer['status']}")
    text = answer["message"] if "code" in answer else preview(content)
    shell.out.print(columns((f"{answer['line']:>5}", where + " " * (STATUS_CELLS - cell_len(where)), text)))


def counts(shell: "Shell", found: Mapping[str, int]) -> None:
    """How many lines went where."""
    total = sum(found.values())
    parts = [f"{shell.word(f'short.{status}')} {number}" for status, number in sorted(found.items())]
    shell.err.print(shell.word("say.lines", total=total, parts=" · ".join(parts)))
