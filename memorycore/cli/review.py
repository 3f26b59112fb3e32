"""``memorycore review``: what waits for a person, and the decisions."""

from typing import TYPE_CHECKING, Annotated

import typer

from memorycore.cli.shell import ACTOR, Shell
from memorycore.cli.write import DryRun, Json, option

if TYPE_CHECKING:
    from memorycore.core.review import Choice

KEEP: "dict[str, Choice]" = {"old": "old", "new": "new", "both": "both"}


def review(  # noqa: PLR0913 a parameter is an option of the command
    number: Annotated[str | None, typer.Argument(metavar="NUMBER", show_default=False)] = None,
    *,
    keep: Annotated[str | None, option("--keep", "old|new|both")] = None,
    accept: Annotated[bool, typer.Option("--accept")] = False,
    trust: Annotated[bool, typer.Option("--trust")] = False,
    reject: Annotated[bool, typer.Option("--reject")] = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    from memorycore.cli import shown_review
    from memorycore.errors import InvalidInput

    shell = Shell(as_json=json)
    choice = _choice(keep, accept=accept, trust=trust, reject=reject)
    if choice and number is None:
        raise InvalidInput(field="NUMBER", why="needs_a_number")
    with shell.core() if choice else shell.looking() as core:
        if choice and number is not None:
            decided = core.decide(number, choice, actor=ACTOR, dry_run=dry_run)
            if json:
                shell.emit(decided)
            else:
                shown_review.decided(shell, decided)
            return
        listed = core.review()
    if number is not None:
        wanted = number.strip().lower()
        listed["items"] = [item for item in listed["items"] if item["number"] == wanted]
        if not listed["items"]:
            raise InvalidInput(field="NUMBER", why="nothing_waits", value=number)
    if json:
        shell.emit(listed)
    else:
        shown_review.listed(shell, listed, in_full=number is not None)


def _choice(keep: str | None, *, accept: bool, trust: bool, reject: bool) -> "Choice | None":
    """The one decision that the options stand for.

    Raises:
        InvalidInput: They stand for several, or for none that there is.
    """
    from memorycore.errors import InvalidInput

    if sum((keep is not None, accept or trust, reject)) > 1:
        raise InvalidInput(field="--keep, --accept, --reject", why="one_way")
    if keep is not None:
        if keep not in KEEP:
            raise InvalidInput(field="--keep", why="unknown value", value=keep, allowed=", ".join(KEEP))
        return KEEP[keep]
    return "trust" if trust else "accept" if accept else "reject" if reject else None
