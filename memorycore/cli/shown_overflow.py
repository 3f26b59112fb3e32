"""What overflow did or would do, as a person reads it: per file the sizes, what left, as what and why, the way back."""

import os
from typing import TYPE_CHECKING

from rich.text import Text

from memorycore.cli.layout import FILES, columns, dim, inside, point, thousands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorycore.answers_overflow import Later, Left, NextWrite, Overflown, OverflowRun
    from memorycore.cli.shell import Shell

MOST_LATER = 5
MOST_PUSHED_OUT = 10  # all of them stand in ``--json``


def overflown(shell: "Shell", answer: "Overflown") -> None:
    if folder := answer.get("dir"):
        day = answer.get("planned_for", "")[:10]
        shell.out.print(shell.word("overflow.preview", folder=folder), style="yellow")
        code = "first_contact" if answer.get("stays_days") else "first_contact_at_once"
        point(shell, shell.word(f"overflow.{code}", day=day))
    elif answer["dry_run"]:
        shell.out.print(shell.word("say.trial"), style="yellow")
    for run in answer["runs"]:
        shell.out.print()
        _run(shell, run, dry_run=answer["dry_run"])
    told = _questions(shell, answer)
    if told or answer["degraded"]:
        shell.out.print()
    for sentence in (*told, *answer["degraded"]):
        point(shell, sentence)


def _questions(shell: "Shell", answer: "Overflown") -> "Sequence[str]":
    """What the questions since the last run did to the weights."""
    if not answer["questions_read"]:
        return ()
    hits = answer["strong_hits"] + answer["weak_hits"]
    return (shell.word("overflow.questions", count=answer["questions_read"], hits=hits),)


def _run(shell: "Shell", run: "OverflowRun", *, dry_run: bool) -> None:
    if problem := run.get("problem"):
        shell.out.print(Text(f"{FILES[run['target']]}   {shell.word('usage.unreadable')}", style="bold"))
        shell.out.print(inside(Text(problem, style="red")))
        return
    shell.out.print(Text(_heading(shell, run), style="bold"))
    dim(shell, shell.word(f"overflow.pressure_{'next' if run.get('for_next') else run['pressure']}"))
    if note := run.get("note"):
        point(shell, note)
    if pressed := run.get("next_write"):
        _next_write(shell, pressed)
    if dry_run and run["entries"]:
        _diff(shell, run.get("diff", ""))
    _left(shell, run["entries"])
    if not run["entries"]:
        dim(shell, shell.word("overflow.nothing"))
    if waiting := run.get("deferred"):
        shell.out.print(inside(Text(shell.word("overflow.deferred", count=len(waiting)))))
        _left(shell, waiting)
    _afterwards(shell, run)


def _afterwards(shell: "Shell", run: "OverflowRun") -> None:
    if not run["target_reached"]:
        dim(shell, shell.word("overflow.aim_not_reached"))
    if later := run.get("later"):
        _later(shell, later)
    if run["errors"]:
        point(shell, shell.word("overflow.errors", count=run["errors"]))
    if undo := run.get("undo"):
        dim(shell, shell.word("say.undo", command=undo))


def _heading(shell: "Shell", run: "OverflowRun") -> str:
    before, after = run["chars_before"], run["chars_after"]
    changed = before != after
    return shell.word(
        "overflow.heading_changed" if changed else "overflow.heading",
        file=FILES[run["target"]],
        before=thousands(before),
        after=thousands(after),
        limit=thousands(run["limit"]),
        usage_before=run["usage_before"].rstrip("%"),
        usage_after=run["usage_after"].rstrip("%"),
    )


def _diff(shell: "Shell", diff: str) -> None:
    """A unified diff whose long lines go on below themselves; without a width, as in a pipe, they stay whole."""
    stay_whole = not shell.out.is_terminal and "COLUMNS" not in os.environ
    for line in diff.splitlines():
        if stay_whole:
            shell.out.print(f"  {line}", soft_wrap=True, markup=False)
        elif line.startswith(("---", "+++", "@@")):
            shell.out.print(inside(Text(line, style="dim")))
        else:
            style = {"-": "red", "+": "green"}.get(line[:1], "dim")
            shell.out.print(inside(columns((Text(line[:1], style=style), Text(line[1:], style=style)), padding=0)))
    shell.out.print()


def _left(shell: "Shell", entries: "Sequence[Left]") -> None:
    for number, left in enumerate(entries, 1):
        to = shell.word(f"overflow.to_{left['to']}", pointer=left.get("pointer"))
        shell.out.print(inside(columns((f"{number:>2}.", Text(left["text"])), padding=1)))
        shell.out.print(inside(Text(f"{to} · {left['why']}", style="dim"), by=6))


def _next_write(shell: "Shell", pressed: "NextWrite") -> None:
    code = "overflow.next_write" if pressed["entries"] else "overflow.next_write_cold"
    shell.out.print(inside(Text(shell.word(code, chars=pressed["chars"], count=len(pressed["entries"])))))
    _left(shell, pressed["entries"][:MOST_PUSHED_OUT])
    if len(pressed["entries"]) > MOST_PUSHED_OUT:
        dim(shell, shell.word("say.and_more", count=len(pressed["entries"]) - MOST_PUSHED_OUT))
    if pressed["entries"] and not pressed["fits"]:
        point(shell, shell.word("overflow.next_write_cold", chars=pressed["chars"]))
    shell.out.print(inside(Text(shell.word("overflow.then"))))


def _later(shell: "Shell", later: "Sequence[Later]") -> None:
    shell.out.print(inside(Text(shell.word("overflow.later", count=len(later)))))
    for left in later[:MOST_LATER]:
        shell.out.print(inside(columns((Text(left["day"]), Text(left["text"])), padding=1), by=4))
        shell.out.print(inside(Text(f"{shell.word('overflow.to_' + left['to'])} · {left['why']}", style="dim"), by=15))
    if len(later) > MOST_LATER:
        dim(shell, shell.word("say.and_more", count=len(later) - MOST_LATER))
