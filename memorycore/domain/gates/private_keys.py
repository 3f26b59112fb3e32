"""Private keys in armour: every line of the body, of a whole block, of one cut off, of one on an escaped line.

The lines ``-----BEGIN … PRIVATE KEY-----`` and ``-----END …`` stay, so that a masked block is still seen to be one.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator

from memorycore.domain.gates.disguise import Span

_BEGIN = re.compile(r"-{4,5} ?BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END = re.compile(r"-{4,5} ?END[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_PUTTY = re.compile(r"Private-Lines: *\d+[ \t]*\r?\n")
_BODY = re.compile(r"[A-Za-z0-9+/=]{4,}")
_HEADER = re.compile(r"[A-Za-z][A-Za-z-]*: [^\n]*")
_BETWEEN = re.compile(r"(?:\s|\\+[nrt]|[>|#*\"',]|\" ?\+ ?\")+")
_LONG_LINE = 40


def find_private_keys(text: str) -> Iterator[Span]:
    """Spans of the body, one for each line of a key."""
    begins = sorted(match.span() for pattern in (_BEGIN, _PUTTY) for match in pattern.finditer(text))
    ends = [match.start() for match in _END.finditer(text)]
    for (_, place), (following, _) in zip(begins, [*begins, (len(text), 0)][1:], strict=True):
        at = bisect_left(ends, place)
        closed = at < len(ends) and ends[at] <= following
        yield from _body(text, place, ends[at] if closed else following, closed=closed)
    for before, close in zip([0, *ends[:-1]], ends, strict=True) if ends else ():
        last = bisect_left(begins, (close, 0))
        yield from _headless(text, max(before, begins[last - 1][1] if last else 0), close)


def _body(text: str, place: int, stop: int, *, closed: bool) -> Iterator[Span]:
    """Lines from behind BEGIN to END, or to the first line that is no part of a key when the end was cut off."""
    while place < stop:
        if gap := _BETWEEN.match(text, place, stop):
            place = gap.end()
        if header := _HEADER.match(text, place, stop):
            place = header.end()
            continue
        line = _BODY.match(text, place, stop)
        if not line or not (closed or _is_key_line(text, line)):
            return
        yield line.span()
        place = line.end()


def _is_key_line(text: str, line: re.Match[str]) -> bool:
    """In a block without end, the last line may be short; a word of the next sentence is followed by a blank."""
    if len(line.group()) >= _LONG_LINE:
        return True
    follows = text[line.end() : line.end() + 1]
    return follows in ("", "\n", "\r", "\\", '"', ".", "…") and bool(re.search(r"\d|[a-z][A-Z]|[+/=]", line.group()))


def _headless(text: str, floor: int, place: int) -> Iterator[Span]:
    """Long lines right before an END whose BEGIN was cut off."""
    lines: list[Span] = []
    while place > floor:
        start = text.rfind("\n", floor, place - 1) + 1 or floor
        line = _BODY.search(text, start, place)
        if not line or text[start:place].strip(" \t\r\n>|") != line.group():
            break
        if len(line.group()) < _LONG_LINE and lines:
            break
        lines.append(line.span())
        place = start
    yield from reversed(lines)
