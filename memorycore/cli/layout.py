"""How answers are laid out for a person: sentences, aligned columns, no boxes, nothing that colour alone says."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memorycore.answers import AuditTarget, HotUsage
    from memorycore.cli.shell import Shell

BAR_CELLS = 20
FILES = {"memory": "MEMORY.md", "user": "USER.md"}
PREVIEW_CHARS = 50
WIDE = "\u2e80-\ufe4f\uff00-\uffef"  # Chinese letters and their punctuation
_STARTS_NO_LINE = "，。；：、！？）」』》】”’…"
# What is not broken: a command in backticks, a word, one Chinese letter; each with the punctuation that follows it.
_UNIT = re.compile(
    rf"(?:`[^`\n]*`|[（「『《【“‘]?[{WIDE}]|[^\s`{WIDE}{_STARTS_NO_LINE}]+|\S)[{re.escape(_STARTS_NO_LINE)}]*\s*"
)


def columns(*rows: "Iterable[RenderableType]", padding: int = 2) -> Table:
    """Rows in columns of their own width. A long path goes on in the next line: one that is cut is of no use."""
    table = Table.grid(padding=(0, padding))
    for row in map(tuple, rows):
        while len(table.columns) < len(row):
            table.add_column(overflow="fold")
        table.add_row(*row)
    return table


def inside(what: "RenderableType", *, by: int = 2) -> Padding:
    return Padding(what, (0, 0, 0, by), expand=False)


def point(shell: "Shell", sentence: str) -> None:
    shell.out.print(inside(columns(("·", Text(sentence)), padding=1)))


def facts_line(shell: "Shell", facts: Iterable[str], memory_id: str) -> None:
    """One line of facts and the id, which moves to a line of its own rather than be cut."""
    line = " · ".join(fact for fact in facts if fact)
    whole = f"{line} · {memory_id}"
    for part in [whole] if cell_len(whole) + 4 <= shell.out.width else [line, memory_id]:
        shell.out.print(inside(Text(part, style="dim"), by=4))


def dim(shell: "Shell", line: str) -> None:
    if line:
        shell.out.print(inside(Text(line, style="dim")))


def with_command(shell: "Shell", sentence: str) -> str:
    """A sentence whose command begins a line where it would be broken: it shall be copied whole."""
    told, named, rest = sentence.rpartition("memorycore ")
    lines = Text(sentence).wrap(shell.out, shell.out.width)
    if not named or any(f"{named}{rest}" in line.plain for line in lines):
        return sentence
    return f"{told.rstrip()}\n{named}{rest}"


def wrapped(text: str, width: int) -> list[str]:
    """One paragraph as lines of at most so many cells; a word that is longer stands alone, uncut."""
    lines = [""]
    for unit in _UNIT.findall(text.strip()):
        if lines[-1] and cell_len(lines[-1] + unit.rstrip()) > width:
            lines.append("")
        lines[-1] += unit
    return [line.rstrip() for line in lines]


def preview(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= PREVIEW_CHARS else line[: PREVIEW_CHARS - 1] + "…"


def sentence_of(reason: str) -> str:
    """What stands behind the code in ``code: sentence``."""
    code, colon, sentence = reason.partition(": ")
    return sentence if colon and code.replace("_", "").isalnum() else reason


def minute(shell: "Shell", moment: object) -> str:
    """``2026-03-14 09:30`` of an ISO time, as clocks show it here; empty for none."""
    if not moment:
        return ""
    at = datetime.fromisoformat(str(moment))
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return at.astimezone(shell.settings.zone()).strftime("%Y-%m-%d %H:%M")


def pairs(item: Mapping[str, object]) -> str:
    return " · ".join(f"{name} {value_of(value)}" for name, value in item.items() if value not in (None, "", {}, []))


def value_of(value: object) -> str:
    if isinstance(value, Mapping):
        return pairs(value)  # type: ignore[arg-type]
    if isinstance(value, list | tuple):
        return ", ".join(str(part) for part in value)  # type: ignore[misc]
    return str(value)


def thousands(number: int) -> str:
    return f"{number:,}"


def bar(shell: "Shell", filled: "HotUsage | AuditTarget") -> Text:
    """How full a file is. Where colours show: green, from the soft mark on yellow, from the hard one on red."""
    in_unicode = (shell.out.encoding or "").lower().startswith("utf")
    full, empty = ("█", "░") if in_unicode else ("#", ".")
    cells = min(BAR_CELLS, round(BAR_CELLS * filled["chars"] / filled["limit"]))
    style = "red" if filled["chars"] >= filled["hard"] else "yellow" if filled["chars"] >= filled["soft"] else "green"
    return Text(full * cells, style=style) + Text(empty * (BAR_CELLS - cells), style="dim")


def at_slashes(text: str, room: int) -> str:
    """A path that is too long for one line goes on after a slash, not in the middle of a name."""
    lines = [""]
    for part in re.split(r"(?<=[/\\])", text):
        if lines[-1] and cell_len(lines[-1] + part) > room:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)
