"""The course of a simulated life as one SVG: how full the files were, and which share of the needed rules was hot."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from benchmarks.policies import Need

WINDOW_DAYS = 14
WIDTH, HEIGHT, LEFT, TOP, GAP = 460, 170, 46, 40, 60
FONT = ' font-family="sans-serif" font-size="11"'
COLOURS = {
    "memory": "#1f77b4", "user": "#ff7f0e",
    "product": "#d62728", "clairvoyant": "#2ca02c", "lru": "#9467bd", "fifo": "#8c564b", "none": "#999999",
}  # fmt: skip

Line = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One run. ``usage`` by file and ``marks``: shares of the file's limit; ``needs`` by policy."""

    title: str
    days: int
    usage: Mapping[str, Line]
    marks: Mapping[str, float]
    needs: Mapping[str, Sequence[Need]]


def draw(courses: Sequence[Course]) -> str:
    """One column for each run: usage above, the share of needed rules that were hot below."""
    column, row = WIDTH + LEFT + 14, HEIGHT + GAP
    width, height = column * len(courses), TOP + 2 * row
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"{FONT}>'
    parts = [head, f'<rect width="{width}" height="{height}" fill="white"/>']
    for number, course in enumerate(courses):
        recent = {name: _recent(needs, course.days) for name, needs in course.needs.items()}
        x = number * column + LEFT
        parts += _panel(x, TOP, f"{course.title}: share of the limit in use", course.usage, course.days, course.marks)
        parts += _panel(x, TOP + row, f"needed rules in the prompt, last {WINDOW_DAYS} days", recent, course.days, {})
    return "\n".join([*parts, "</svg>", ""])


def _recent(needs: Sequence[Need], days: int) -> Line:
    """For each day the share of the last ``WINDOW_DAYS``, days without any left out."""
    when = [need.day for need in needs]
    line: list[tuple[float, float]] = []
    for day in range(1, days + 1):
        window = needs[bisect_right(when, day - WINDOW_DAYS) : bisect_left(when, day)]
        if window:
            line.append((day, sum(need.hot for need in window) / len(window)))
    return line


def _panel(
    x: float, y: float, title: str, lines: Mapping[str, Line], days: int, marks: Mapping[str, float]
) -> list[str]:
    def at(day: float, value: float) -> str:
        return f"{x + WIDTH * day / days:.1f},{y + HEIGHT * (1 - value):.1f}"

    parts = [f'<text x="{x}" y="{y - 20}" font-weight="bold">{escape(title)}</text>']
    for percent in range(0, 101, 25):
        level = y + HEIGHT * (1 - percent / 100)
        parts.append(f'<path d="M{at(0, percent / 100)} L{at(days, percent / 100)}" stroke="#ddd"/>')
        parts.append(f'<text x="{x - 6}" y="{level + 4:.1f}" text-anchor="end">{percent} %</text>')
    parts += [
        f'<text x="{x + WIDTH * day / days:.1f}" y="{y + HEIGHT + 14}" text-anchor="middle">{day} d</text>'
        for day in range(0, days + 1, 30)
    ]
    for name, value in marks.items():
        parts.append(f'<path d="M{at(0, value)} L{at(days, value)}" stroke="#555" stroke-dasharray="4 3"/>')
        parts.append(f'<text x="{x + 4}" y="{y + HEIGHT * (1 - value) - 3:.1f}" fill="#555">{escape(name)}</text>')
    for number, (name, line) in enumerate(lines.items()):
        points = " ".join(at(day, value) for day, value in line)
        width = 2 if name in {"product", "memory", "user"} else 1
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}" stroke-width="{width}"/>')
        place = x + 88 * number
        parts.append(f'<text x="{place}" y="{y - 6}" fill="{COLOURS[name]}">{escape(name)}</text>')
    return parts
