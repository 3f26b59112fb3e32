"""What an import answers, as a person reads it: each file with what became of it, then what somebody should see."""

from typing import TYPE_CHECKING

from rich.text import Text

from memorycore.cli.layout import columns, dim, inside, point, preview, sentence_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorycore.answers_import import Imported, ImportedFile, ImportedRecord, ImportProblem
    from memorycore.cli.shell import Shell

ORDER = ("hot", "cold", "pointer", "past", "bin", "question", "quarantined", "refused", "left_out", "known")
WORTH_A_LOOK = frozenset({"quarantined", "refused", "left_out"})
# Reasons for which a record is shown although it came in.
TOLD = frozenset({"secret_masked", "pii_redacted", "untrusted", "text_cut", "no_room", "file_unusable"})
MOST_SHOWN = 20
MOST_ALIKE = 3


def imported(shell: "Shell", answer: "Imported", *, verbose: bool) -> None:
    if answer["status"] == "nothing_found":
        shell.out.print(shell.word("import.nothing_found"))
        return
    if answer.get("dry_run"):
        shell.out.print(shell.word("say.trial"), style="yellow")
    for file in answer["files"]:
        _file(shell, file)
        _problems(shell, [problem for problem in answer["problems"] if problem["path"] == file["path"]])
    named = {file["path"] for file in answer["files"]}
    _problems(shell, [problem for problem in answer["problems"] if problem["path"] not in named])
    shown = answer["records"] if verbose else [record for record in answer["records"] if _is_worth_a_look(record)]
    for record in shown if verbose else shown[:MOST_SHOWN]:
        _record(shell, record)
    if not verbose and len(shown) > MOST_SHOWN:
        dim(shell, shell.word("import.more", count=len(shown) - MOST_SHOWN))
    shell.out.print(shell.word(f"import.{answer['status']}", count=answer["new"]), style="bold")
    if undo := answer.get("undo"):
        dim(shell, shell.word("say.undo", command=undo))


def _file(shell: "Shell", file: "ImportedFile") -> None:
    shell.out.print(Text(f"{file['path']} · ") + Text(shell.word(f"import.what_{file['what']}"), style="dim"))
    parts = [
        shell.word(f"import.count_{becomes}", count=count)
        for becomes in ORDER
        if (count := file["counts"].get(becomes, 0))
    ]
    if parts:
        shell.out.print(inside(Text(shell.word("say.comma").join(parts))))


def _problems(shell: "Shell", problems: "Sequence[ImportProblem]") -> None:
    """What could not be read, the first few of a kind, and what to do about it."""
    for code in dict.fromkeys(problem["code"] for problem in problems):
        alike = [problem for problem in problems if problem["code"] == code]
        for problem in alike[:MOST_ALIKE]:
            where = problem.get("where")
            line = shell.word("say.bad_line", line=where, message=problem["message"]) if where else problem["message"]
            shell.out.print(inside(Text(line, style="yellow")))
        if len(alike) > MOST_ALIKE:
            dim(shell, shell.word("import.more", count=len(alike) - MOST_ALIKE))
        if fix := alike[0].get("fix"):
            shell.out.print(inside(Text(f"→ {fix}", style="dim"), by=4))


def _is_worth_a_look(record: "ImportedRecord") -> bool:
    codes = {reason.partition(":")[0] for reason in record["reasons"]}
    return record["becomes"] in WORTH_A_LOOK or not codes.isdisjoint(TOLD)


def _record(shell: "Shell", record: "ImportedRecord") -> None:
    word = shell.word(f"import.becomes_{record['becomes']}")
    shell.out.print(columns((word, Text(preview(record["text"]) or record["ref"]))))
    for reason in record["reasons"]:
        point(shell, sentence_of(reason))
