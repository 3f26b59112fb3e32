"""How help is laid out: paragraphs as wide as the terminal is, examples line by line, options in columns.

The library that finds the commands can show help too, but it keeps the line breaks of the catalogue, knows no word
breaks in Chinese, and cuts what is longer than its column.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.text import Text

from memorycore import messages
from memorycore.cli.layout import WIDE, wrapped
from memorycore.options import Language

if TYPE_CHECKING:
    from rich.console import Console

MOST_COLUMNS = 120
LEAST_COLUMNS = 40
INDENT = 2
GAP = 2
WIDEST_NAME = 34  # a longer one has its explanation below it


def paragraphs(text: str) -> list[str]:
    """A text of the catalogue as paragraphs without line breaks, and each line of an example by itself, indented.

    Between the two, and between paragraphs, stands an empty line.
    """
    found: list[str] = []
    for line in text.strip("\n").splitlines():
        goes_on = found and found[-1] and not _is_example(found[-1])
        if not line.strip() or _is_example(line) or not goes_on:
            found.append(line.rstrip())
        else:
            found[-1] = f"{found[-1]}{_between(found[-1], line)}{line.strip()}"
    return found


def show(command: Any, context: Any, language: Language) -> None:
    """Print the help of one command."""
    from rich.console import Console

    plain = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    width = min(max(plain.width, LEAST_COLUMNS), MOST_COLUMNS) - INDENT
    for style, line in _page(command, context, language, width):
        _print(plain, line, style)


def _page(command: Any, context: Any, language: Language, width: int) -> Iterator[tuple[str, str]]:
    """Each line with its style."""
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield "", ""
    yield "bold", messages.text("help.usage", language, usage=usage)
    yield "", ""
    for one in paragraphs(command.help or ""):
        if _is_example(one):
            yield "cyan", one
        else:
            yield from (("", line) for line in wrapped(one, width))
    for title, rows in _panels(command, context):
        yield "", ""
        yield "bold", title
        yield from (("", line) for line in _columns(rows, width))


def _panels(command: Any, context: Any) -> Iterable[tuple[str, list[tuple[str, str]]]]:
    """Arguments, options and commands below their titles, each with what it is for."""
    found: dict[str, list[tuple[str, str]]] = {}
    for one in command.get_params(context):
        if not getattr(one, "hidden", False):
            found.setdefault(one.rich_help_panel, []).append((_spelling(one, context), one.help or ""))
    for name in command.list_commands(context) if hasattr(command, "commands") else ():
        below = command.commands[name]
        found.setdefault(below.rich_help_panel, []).append((name, paragraphs(below.help or "")[0]))
    return found.items()


def _spelling(parameter: Any, context: Any) -> str:
    """``--port PORT``, ``--pin / --no-pin``, ``STEP``."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    names = " / ".join(", ".join(names) for names in (parameter.opts, parameter.secondary_opts) if names)
    value = parameter.metavar if parameter.metavar is not None else parameter.display_type_rich(context)
    return f"{names} {value or ''}".strip()


def _columns(rows: list[tuple[str, str]], width: int) -> Iterator[str]:
    column = max((cell_len(name) for name, _ in rows if cell_len(name) <= WIDEST_NAME), default=0)
    room = max(width - INDENT - column - GAP, LEAST_COLUMNS // 2)
    margin = " " * (INDENT + column + GAP)
    for name, told in rows:
        first, *rest = wrapped(" ".join(told.split()), room)
        shown = " " * INDENT + name
        if cell_len(name) > column:
            yield shown
            yield margin + first
        else:
            yield shown + margin[cell_len(shown) :] + first
        yield from (margin + line for line in rest)


def _print(console: "Console", line: str, style: str) -> None:
    console.print(Text(line, style=style), crop=False, overflow="ignore", no_wrap=True)


def _is_example(line: str) -> bool:
    return line.startswith("  ")


def _between(before: str, after: str) -> str:
    """A space, but none between Chinese letters."""
    return "" if re.fullmatch(rf"[{WIDE}]{{2}}", before[-1] + after.strip()[0]) else " "
