"""What maintenance says to a person: a line for each step, with what it found; or when each of them runs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from memorycore.cli.layout import columns, dim, inside, minute

if TYPE_CHECKING:
    from memorycore.answers_upkeep import Maintained, Scheduled
    from memorycore.cli.shell import Shell

STYLES = {"failed": "red", "lost": "yellow", "partial": "yellow", "busy": "yellow"}
MEGABYTE = 1024**2


def maintained(shell: "Shell", answer: "Maintained") -> None:
    if answer["dry_run"]:
        shell.out.print(shell.word("say.trial"), style="yellow")
    rows = [
        (
            Text(str(step["step"])),
            Text(_told(shell, step), style=STYLES.get(str(step["outcome"]), "")),
            Text(f"{step['seconds']:.1f} s" if "seconds" in step else "", style="dim"),
        )
        for step in answer["steps"]
    ]
    shell.out.print(columns(*rows))
    for undo in dict.fromkeys(str(step["undo"]) for step in answer["steps"] if "undo" in step):
        dim(shell, shell.word("say.undo", command=undo))


def schedule(shell: "Shell", steps: "Sequence[Scheduled]") -> None:
    words = [shell.word(f"schedule.{name}") for name in ("step", "every", "last", "next")]
    rows = [tuple(Text(word, style="dim") for word in words)]
    for step in steps:
        last = minute(shell, step.get("last")) or "—"
        if outcome := step.get("outcome", ""):
            last = f"{last} {shell.word(f'outcome.{outcome}')}" if outcome != "done" else last
        rows.append((Text(step["step"]), Text(step["every"]), Text(last), Text(minute(shell, step.get("next")) or "—")))
    shell.out.print(columns(*rows))
    shell.out.print()
    shell.out.print(inside(columns(*((step["step"], Text(shell.word(f"step.{step['step']}"))) for step in steps))))


def _told(shell: "Shell", step: Mapping[str, object]) -> str:
    """What a step found, in words: those counts that say something."""
    outcome = str(step["outcome"])
    if outcome in {"busy", "lost", "failed"}:
        return shell.word(f"outcome.{outcome}", error=step.get("error", ""))
    found = [_phrase(shell, str(step["step"]), name, value) for name, value in step.items()]
    told = " · ".join(phrase for phrase in found if phrase) or shell.word("outcome.nothing")
    return f"{told} · {shell.word('outcome.partial')}" if outcome == "partial" else told


def _phrase(shell: "Shell", step: str, name: str, value: object) -> str:
    """A count in words: those of the step where one name means several things, else those of the name."""
    codes = (f"counted.{step}_{name}", f"counted.{name}")
    code = next((code for code in codes if shell.word(code) != code), "")
    if not value or isinstance(value, str) or not code:
        return ""
    if name.endswith("_bytes") and isinstance(value, int):
        return shell.word(code, mb=f"{value / MEGABYTE:.1f}")
    if isinstance(value, list):
        value = len(value)  # type: ignore[arg-type]
    return shell.word(code, count=value)
