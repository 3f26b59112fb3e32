"""How the demo looks: in colour or without, 80 columns or a little more, in both languages."""

import re
import statistics
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from memorycore import __version__
from memorycore.domain.text import script_class
from memorycore.options import Language

MOST_COLUMNS = 88
_BRACKET = re.compile(r"[（(].*?[)）]")  # the word that showed a reason
READING_S = 0.9
GLANCE_S = 0.25
COLOURS = {"memory": "yellow", "user": "yellow", "cold": "cyan", "bin": "magenta", "known": "green"}


class Show:
    """Everything that the demo prints. Sentences come from ``words``; facts are put in."""

    def __init__(self, words: Mapping[str, str], *, language: Language, fast: bool) -> None:
        self.language: Language = language
        self._words = words
        self._acts = 0
        self._out = _console()
        self._pauses = self._out.is_terminal and not fast

    def say(self, code: str, **facts: object) -> str:
        return self._words[code].format(**facts)

    # --- frame -----------------------------------------------------------------------------------------------------

    def opening(self) -> None:
        self._out.print()
        self._out.print(Text(self.say("title", version=__version__), style="bold"))
        self._out.print(self.say("subtitle"))
        self._out.print(self.say("promise"), style="dim")

    def act(self, code: str, **facts: object) -> None:
        """The heading of the next part, after a moment to read the last one."""
        if self._acts:
            self._rest(READING_S)
        self._acts += 1
        self._out.print()
        self._out.print(
            Rule(Text(f" {self._acts} · {self.say(code, **facts)} ", style="bold"), align="left", style="dim")
        )

    def note(self, code: str, **facts: object) -> None:
        self._out.print(Text(self.say(code, **facts), style="dim"))

    def end(self, *, seconds: float, tidy: bool) -> None:
        self._rest(READING_S)
        self._out.print()
        self._out.print(Rule(style="dim"))
        self._out.print(self.say("end_done" if tidy else "end_untidy", seconds=seconds))
        self._out.print(Text.from_markup(self.say("end_next")))

    def interrupted(self) -> None:
        self._out.print()
        self._out.print(self.say("interrupted"))

    def failed(self, why: str) -> None:
        self._out.print(Text(self.say("failed", why=why), style="red"))

    # --- the acts --------------------------------------------------------------------------------------------------

    @contextmanager
    def progress(self, total: int) -> Generator[Callable[[], None]]:
        """A bar on a terminal, which goes away; nothing elsewhere."""
        columns = (BarColumn(bar_width=40), MofNCompleteColumn(), TextColumn("{task.fields[text]}", style="dim"))
        with Progress(*columns, console=self._out, transient=True, disable=not self._out.is_terminal) as bar:
            task = bar.add_task("", total=total, text="")
            yield lambda: bar.advance(task)

    def places(self, groups: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        """Per place a count and some statements, each with the reason (text, reason) for which it went there."""
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(ratio=1, overflow="fold")  # "ellipsis" cuts lines that mix Chinese and English
        for place, told in groups.items():
            name = Text(self.say(f"place_{place}"), style=f"bold {COLOURS[place]}")
            name.append("\n" + self.say(f"place_{place}_for"), style="not bold dim")
            body: list[Text | Padding] = []
            for text, reason in _varied(told, 3 if place == "cold" else 2):
                body += [Text(text), Padding(Text(reason, style="dim"), (0, 0, 0, 2))]
            table.add_row(name, Text(str(len(told)), style="bold"), Group(*body))
            table.add_row()
        self._out.print()
        self._out.print(table)

    def file(self, name: str, content: str, *, chars: int, limit: int, entries: int) -> None:
        """A memory file exactly as it is on the disk."""
        body = Text(content)
        body.highlight_regex(r"(?m)^§$", "dim")
        size = self.say("file_size", chars=chars, limit=limit, entries=entries)
        title = Text.assemble((name, "bold yellow"), f"  {size}")
        self._out.print(Panel(body, title=title, title_align="left", border_style="dim"))

    def answer(
        self, question: str, found: Mapping[str, Any] | None, ms: float, *, beside: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        """One question, the best memory if there is one, its tier and the time; and others that count as well."""
        across = "" if found is None else self._across(question, str(found["content"]))
        self._out.print(_apart(Text("? ").append(question, style="bold"), Text(across, style="dim")))
        for one in (found, *beside):
            where = Text()
            if one is not None:
                tier = str(one["tier"])
                where.append(self.say(f"tier_{tier}"), style="yellow" if tier == "hot" else "cyan")
            where.append(f" {ms:4.0f} ms", style="dim")
            text = self.say("ask_nothing") if one is None else str(one["content"])
            self._out.print(Padding(_apart(Text(text), where), (0, 0, 0, 2)))
        self._rest(GLANCE_S)

    def _across(self, question: str, text: str) -> str:
        asked, found = ("zh" if script_class(part) == "han" else "en" for part in (question, text))
        if asked == found:
            return ""
        return self.say("across", asked=self.say(f"language_{asked}"), found=self.say(f"language_{found}"))

    def median(self, code: str, times_ms: Sequence[float], **facts: object) -> None:
        self.note(code, typical=statistics.median(times_ms), **facts)

    def difference(self, old: str, new: str) -> None:
        self._out.print(Text(f"- {old}", style="red"))
        self._out.print(Text(f"+ {new}", style="green"))

    def changes(self, before: Sequence[str], after: Sequence[str]) -> None:
        """What went out of a memory file, and what came in."""
        for mark, style, texts in (("-", "red", set(before) - set(after)), ("+", "green", set(after) - set(before))):
            for text in (*before, *after):
                if text in texts:
                    self._out.print(Text(f"{mark} {text}", style=style))

    def line(self, code: str, **facts: object) -> None:
        self._out.print(self.say(code, **facts))

    def checks(self, results: Sequence[tuple[str, str, bool]]) -> None:
        """Lines of what was looked at (code of the label), what was found, and whether that is as it should be."""
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column()
        table.add_column()
        for code, found, good in results:
            mark = Text("✓ " if good else "✗ ", style="green" if good else "bold red")
            table.add_row(mark.append(self.say(code), style="default"), found)
        self._out.print(table)

    def _rest(self, seconds: float) -> None:
        if self._pauses:
            time.sleep(seconds)


def _apart(left: Text, right: Text) -> Table:
    """One line with two ends; the left one wraps."""
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(ratio=1, overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_row(left, right)
    return table


def _console() -> Console:
    plain = Console(highlight=False, markup=False, emoji=False)
    return Console(highlight=False, markup=False, emoji=False, width=min(plain.width, MOST_COLUMNS))


def _varied(told: Sequence[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    """A few of them: in both languages where there are such, and for different reasons."""

    def novelty(pair: tuple[str, str]) -> int:
        text, reason = pair
        other_language = all(script_class(text) != script_class(seen) for seen, _ in chosen)
        other_reason = all(_BRACKET.sub("", reason) != _BRACKET.sub("", seen) for _, seen in chosen)
        return 2 * other_language + other_reason

    chosen: list[tuple[str, str]] = []
    while len(chosen) < min(count, len(told)):
        chosen.append(max((pair for pair in told if pair not in chosen), key=novelty))
    return chosen
