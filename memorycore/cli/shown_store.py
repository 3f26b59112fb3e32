"""What a store answers, as a person reads it."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.text import Text

from memorycore.cli.layout import FILES, columns, dim, inside, point, preview, sentence_of
from memorycore.cli.shown_judge import pair

if TYPE_CHECKING:
    from memorycore.answers import Stored
    from memorycore.cli.shell import Shell

REPLACING = frozenset({"updated", "cold_updated", "superseded"})
KNOWN = frozenset({"duplicate", "cold_duplicate", "updated", "cold_updated"})
ABOUT_BOTH = frozenset({"same", "refines", "supersedes", "disputes", "exception_to", "proposed", "judged_before"})
ABOUT_WHAT_CAME = ABOUT_BOTH | {"secret_masked", "pii_redacted", "invalid_characters", "untrusted"}
STATUS_CELLS = 13  # the longest word of messages' table short, in both languages


def stored(shell: "Shell", answer: "Stored") -> None:
    """What became of the text, the other text that it met, why, and the way back."""
    if answer.get("dry_run"):
        shell.out.print(shell.word("say.trial"), style="yellow")
    shell.out.print(_headline(shell, answer), style="bold")
    _both_texts(shell, answer)
    reasons = list(_telling(answer))
    about_both = [reason for reason in reasons if reason.partition(":")[0] in ABOUT_BOTH]
    of_its_own = [reason for reason in reasons if reason not in about_both]
    sentences = [*map(sentence_of, about_both), *answer.get("why", []), *map(sentence_of, of_its_own)]
    for sentence in filter(None, (*sentences, answer.get("note"))):
        point(shell, sentence)
    pending = answer.get("pending", [])
    if {"vector", "judge"} & {*pending}:
        point(shell, shell.word("say.pending"))
    if "remote" in pending:
        point(shell, shell.word("say.pending_remote"))
    if answer.get("dry_run"):
        _decision(shell, answer)
    facts = [answer.get("id", ""), answer.get("usage", "")]
    dim(shell, " · ".join(fact for fact in facts if fact))
    if undo := answer.get("undo"):
        dim(shell, shell.word("say.undo", command=undo))
    if room := answer.get("made_room"):
        dim(shell, shell.word("say.made_room", count=room["count"]))
        dim(shell, shell.word("say.undo", command=room["undo"]))


def _headline(shell: "Shell", answer: "Stored") -> str:
    """A change that only waits for a person is said to wait, whatever the two texts are to each other."""
    codes = _codes(answer)
    waits = answer["status"] == "disputed" and "proposed" in codes and "disputes" not in codes
    file = FILES.get(answer.get("target", "memory"), "MEMORY.md")
    return shell.word("status.proposed" if waits else f"status.{answer['status']}", file=file) + _type(shell, answer)


def _codes(answer: "Stored") -> set[str]:
    return {reason.partition(":")[0] for reason in answer["reasons"]}


def _both_texts(shell: "Shell", answer: "Stored") -> None:
    """Minus and plus where one text took the place of the other; where both stay, side by side."""
    before, after = answer.get("before"), answer.get("after")
    if before is None or after is None:
        return
    if answer["status"] in REPLACING:
        shell.out.print(inside(Text(f"- {before}", style="red")))
        shell.out.print(inside(Text(f"+ {after}", style="green")))
    else:
        pair(shell, before, after)


def _telling(answer: "Stored") -> Iterator[str]:
    """The reasons that a person needs: of a text that is known, where it would have gone is of no interest."""
    for reason in answer["reasons"]:
        code = reason.partition(":")[0]
        of_interest = answer["status"] not in KNOWN or code in ABOUT_WHAT_CAME
        if of_interest and code != "known_already":  # the status said it
            yield reason


def _decision(shell: "Shell", answer: "Stored") -> None:
    """Of a dry run: what would be kept of a text with secrets, and how it stands to what is known."""
    if masked := answer.get("masked"):
        point(shell, shell.word("say.kept_as", text=masked))
    for found in answer.get("gates", []):
        if found["action"] == "kept" and found["gate"] == "pii":
            point(shell, shell.word("say.pii_kept", count=len(found["spans"])))
    others = 0
    for verdict in answer.get("judge", []):
        if verdict["relation"] == "different" and not verdict.get("limited"):
            others += 1
        elif verdict.get("content") != answer.get("before"):  # that one was shown
            shell.out.print(inside(Text(verdict.get("content", ""))))
            shell.out.print(inside(Text(shell.word(f"relation.{verdict['relation']}")), by=4))
    if others:
        point(shell, shell.word("say.compared", count=others))
    if (importance := answer.get("importance")) is not None:
        point(shell, shell.word("say.importance", importance=f"{importance:.2f}"))


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
