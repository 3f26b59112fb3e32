"""Private keys in armour: every line of the body, whether the block is whole, cut off or on one line with ``\\n``.

The lines ``-----BEGIN … PRIVATE KEY-----`` and ``-----END …`` stay, so that a masked block is still seen to be one.
"""

import re
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
    end = 0
    for begin in (*_BEGIN.finditer(text), *_PUTTY.finditer(text)):
        if begin.end() >= end:
            for span in _body(text, begin.end()):
                end = span[1]
                yield span
    for close in _END.finditer(text):
        yield from _headless(text, close.start())


def _body(text: str, place: int) -> Iterator[Span]:
    """Lines from behind BEGIN to END, or to the first line that is no part of a key when the end was cut off."""
    finish = _END.search(text, place)
    closed = bool(finish) and not _BEGIN.search(text, place, finish.start() if finish else place)
    stop = finish.start() if finish and closed else len(text)
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


def _headless(text: str, place: int) -> Iterator[Span]:
    """Long lines right before an END whose BEGIN was cut off."""
    lines: list[Span] = []
    while place:
        start = text.rfind("\n", 0, place - 1) + 1
        line = _BODY.search(text, start, place)
        if not line or text[start:place].strip(" \t\r\n>|") != line.group():
            break
        if len(line.group()) < _LONG_LINE and lines:
            break
        lines.append(line.span())
        place = start
    yield from reversed(lines)
