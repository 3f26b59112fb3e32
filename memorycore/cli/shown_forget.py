"""What forgetting many, and erasing, say to a person."""

from typing import TYPE_CHECKING

from rich.text import Text

from memorycore.cli.layout import at_slashes, columns, dim, inside, point, sentence_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorycore.answers_forget import Erased, Forgotten, ForgottenMany
    from memorycore.cli.shell import Shell

MEGABYTE = 1024**2
LABEL_CELLS = 14  # the longest label and what is around it


def many(shell: "Shell", answer: "ForgottenMany") -> None:
    if answer["status"] == "nothing":
        shell.out.print(shell.word("say.nothing_matches"))
        return
    if answer.get("dry_run"):
        shell.out.print(shell.word("say.trial"), style="yellow")
    until = answer.get("until", "")
    shell.out.print(shell.word("say.many_trashed", count=answer["count"], until=until), style="bold")
    listed(shell, answer["items"], most=None)
    for item in answer.get("skipped", []):
        point(shell, f"{item['id']}: {item['message']}")
    if undo := answer.get("undo"):
        dim(shell, shell.word("say.undo", command=undo))


def listed(shell: "Shell", items: "Sequence[Forgotten]", *, most: int | None) -> None:
    """One line each: id and as much of the text as has room."""
    shown = items if most is None else items[:most]
    for item in shown:
        text = Text(" ".join(item["content"].split()))
        room = shell.out.width - len(item["id"]) - 4
        if room > 0:
            text.truncate(room, overflow="ellipsis")
        shell.out.print(inside(Text.assemble((item["id"], "dim"), "  ", text)), soft_wrap=True)
    if len(items) > len(shown):
        dim(shell, shell.word("say.and_more", count=len(items) - len(shown)))


def receipt(shell: "Shell", answer: "Erased") -> None:
    from memorycore.cli import shown

    if answer["status"] == "nothing":
        shell.out.print(shell.word("say.nothing_matches"))
        return
    if answer["status"] == "candidates":
        shown.changed(shell, {"status": "candidates", "candidates": answer.get("candidates", [])})
        return
    if answer.get("dry_run"):
        shell.out.print(shell.word("say.trial"), style="yellow")
    style = "bold yellow" if answer["status"] == "pending" else "bold"
    shell.out.print(shell.word(f"status.{answer['status']}"), style=style)
    listed(shell, answer.get("items", []), most=None)
    room = shell.out.width - LABEL_CELLS
    rows = [(shell.word(f"label.{name}"), Text(text)) for name, text in _facts(shell, answer, room) if text]
    if rows:
        shell.out.print(inside(columns(*rows)))
    for reason in answer.get("reasons", []):
        point(shell, sentence_of(reason))
    if finish := answer.get("finish"):
        dim(shell, shell.word("say.finish", command=finish))


def _facts(shell: "Shell", answer: "Erased", room: int) -> list[tuple[str, str]]:
    removed = [shell.word(f"erased.{place}", count=count) for place, count in answer.get("removed", {}).items()]
    searched = answer.get("searched")
    looked = ""
    if searched and not answer.get("dry_run"):
        megabytes = f"{searched['bytes'] / MEGABYTE:.1f}"
        found = "still_there" if answer.get("remaining") else "nothing_left"
        looked = shell.word(f"erased.{found}", count=searched["files"], mb=megabytes)
    places = dict.fromkeys(at_slashes(item["file"], room) for item in answer.get("remaining", []))
    ids = [answer["id"]] if "id" in answer and not answer.get("dry_run") else []
    return [
        ("removed", " · ".join(removed)),
        ("also", ", ".join(answer.get("also", []))),
        ("searched", looked),
        ("stands_in", "\n".join(places)),
        ("unread", "\n".join(at_slashes(path, room) for path in answer.get("unread", []))),
        ("held_by", "\n".join(item["id"] for item in answer.get("held_by", []))),
        ("id", ", ".join([*ids, *answer.get("ids", [])])),
    ]
