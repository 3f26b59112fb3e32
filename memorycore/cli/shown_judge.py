"""What the judge answers, as a person reads it."""

from typing import TYPE_CHECKING

from rich.text import Text

from memorycore.cli.layout import columns, inside, point

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memorycore.answers import Judgement, Sign
    from memorycore.cli.shell import Shell


def judged(shell: "Shell", old: str, new: str, answer: "Judgement", *, number: int | None = None) -> None:
    """The two texts, one under the other, then the verdict and what it rests on."""
    if number is not None:
        shell.out.print(Text(f"{number}.", style="dim"))
    pair(shell, old, new)
    shell.out.print(Text(shell.word(f"relation.{answer['relation']}"), style="bold"))
    signs(shell, answer["evidence"])
    for name in ("limited", "undecided"):
        if answer[name]:
            point(shell, shell.word(f"relation.{name}"))


def pair(shell: "Shell", old: str, new: str) -> None:
    rows = ((shell.word("say.old"), Text(old, style="red")), (shell.word("say.new"), Text(new, style="green")))
    shell.out.print(inside(columns(*rows)))


def signs(shell: "Shell", evidence: "Iterable[Sign]") -> None:
    for one in evidence:
        point(shell, one["says"])
