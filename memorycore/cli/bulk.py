"""Many at once: JSON lines in, one answer a line out, in the order of the input.

A bad line is answered with its number and the others go on. ``id`` of an input line is the caller's own reference.
"""

import json
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

from memorycore import messages
from memorycore.domain.memory import Draft, Memory, Source, parse_time
from memorycore.errors import InvalidInput, MemoryCoreError

if TYPE_CHECKING:
    from memorycore.cli.shell import Shell

# What every line of a bulk store answers, in this order; a line that could not be used keeps these values.
FIELDS: Mapping[str, Any] = {
    "ref": None, "id": None, "status": "error", "tier": "none", "route": None, "type": None, "protected": False,
    "reasons": [],
}  # fmt: skip

# What a dry run says beside that.
DECISION: Mapping[str, Any] = {**FIELDS, "importance": None, "gates": [], "judge": []}

T = TypeVar("T")
A = TypeVar("A", bound=Mapping[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the input: its number from 1 and its object, or why it is none."""

    number: int
    content: Mapping[str, Any] | MemoryCoreError


@dataclass(frozen=True, slots=True, kw_only=True)
class Bad:
    """A line that could not be used."""

    number: int
    error: MemoryCoreError
    ref: str = ""


@contextmanager
def lines_of(name: str, shell: "Shell") -> Generator[Iterator[Line], None, None]:
    """The lines of a file, or of stdin for ``-``; on a terminal a bar on stderr shows how far it is.

    Raises:
        InvalidInput: There is no such file, or the system refuses.
    """
    if name == "-":
        yield read_lines(sys.stdin.buffer)
        return
    path = Path(name)
    try:
        with path.open("rb") as file, _progress(path.stat().st_size, shell) as advance:
            yield read_lines(file, advance)
    except BrokenPipeError:  # about the answers, not about this file
        raise
    except OSError as error:
        raise InvalidInput(field=name, why="unreadable_config", detail=error.strerror) from error


def read_lines(file: IO[bytes], advance: Callable[[int], None] | None = None) -> Iterator[Line]:
    """Lines with something on them. The bytes are UTF-8 whatever the console speaks; a mark at the start is skipped."""
    for number, raw in enumerate(file, 1):
        if advance:
            advance(len(raw))
        if raw.strip(b" \t\r\n\xef\xbb\xbf"):
            yield Line(number=number, content=_object(raw))


def _object(raw: bytes) -> Mapping[str, Any] | MemoryCoreError:
    try:
        content: object = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return InvalidInput(field="line", why="not_utf8")
    except (ValueError, RecursionError):
        return InvalidInput(field="line", why="not_json")
    if not isinstance(content, dict):
        return InvalidInput(field="line", why="not_json")
    return cast("dict[str, Any]", content)


@contextmanager
def _progress(total: int, shell: "Shell") -> Generator[Callable[[int], None] | None, None, None]:
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

    columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=shell.err, transient=True, redirect_stdout=sys.stdout.isatty()) as progress:
        task = progress.add_task("", total=total)
        yield lambda size: progress.advance(task, size)


def each(
    lines: Iterable[Line],
    read: Callable[[Mapping[str, Any]], T],
    answer: Callable[[Iterator[T]], Iterable[A]],
) -> Iterator[tuple[Line, A] | Bad]:
    """Answers in the order of the lines, though ``answer`` may look ahead and skips nothing.

    Args:
        lines: The input.
        read: Makes one request of one object, or raises.
        answer: Gives one answer per request, in order; it may take several requests before its first answer.
    """
    waiting: deque[Line | Bad] = deque()

    def requests() -> Iterator[T]:
        for line in lines:
            try:
                if isinstance(line.content, MemoryCoreError):
                    raise line.content
                request = read(line.content)
            except MemoryCoreError as error:
                waiting.append(Bad(number=line.number, error=error, ref=_reference(line)))
                continue
            waiting.append(line)
            yield request

    for answered in answer(requests()):
        while isinstance(first := waiting.popleft(), Bad):
            yield first
        yield first, answered
    for left in waiting:
        if isinstance(left, Bad):
            yield left


def _reference(line: Line) -> str:
    return "" if isinstance(line.content, MemoryCoreError) else reference(line.content)


def reference(content: Mapping[str, Any]) -> str:
    """The caller's own reference; numbers are taken as they are written."""
    value = content.get("id")
    return "" if value is None else str(value)


def bad_answer(bad: Bad, shell: "Shell") -> dict[str, Any]:
    """What a script gets for a line that could not be used."""
    sentence = messages.error_text(bad.error, shell.language, of_a_line=True)
    return {
        **FIELDS,
        "ref": bad.ref or None,
        "line": bad.number,
        "status": "error",
        "code": bad.error.code,
        "message": sentence,
    }


def filled(content: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """A line with what was ``given`` for all lines, where it does not say that itself."""
    return {**given, **{name: value for name, value in content.items() if value is not None}}


def request_of(content: Mapping[str, Any], given: Mapping[str, Any], *, zone: tzinfo) -> Draft | Memory:
    """One line of ``store --from``: something new, or a memory that ``export`` wrote, exactly as it was.

    Raises:
        InvalidInput: A field has an impossible value.
    """
    from memorycore import transfer

    return transfer.from_line(content) if transfer.MARK in content else draft_of(filled(content, given), zone=zone)


def draft_of(content: Mapping[str, Any], *, zone: tzinfo) -> Draft:
    """One line of ``store --from`` as a request. Fields that mean nothing to us are no mistake.

    Raises:
        InvalidInput: A field has an impossible value.
    """
    importance = content.get("importance")
    if importance is not None and (isinstance(importance, bool) or not isinstance(importance, int | float)):
        raise InvalidInput(field="importance", why="not_a_number", value=importance)
    return Draft(
        content=_text(content, "content"),
        importance=importance,
        scope=cast("Any", _text(content, "scope") or "global"),  # Draft refuses a word that it does not know
        target=cast("Any", _text(content, "target") or None),
        kind=cast("Any", _text(content, "kind") or None),
        policy=cast("Any", _text(content, "policy") or None),
        tags=tags_of(content.get("tags")),
        valid_from=_time(content, "valid_from", zone),
        valid_until=_time(content, "valid_until", zone, end_of_day=True),
        occurred_at=_time(content, "occurred_at", zone),
        session_id=_text(content, "session_id"),
        author=_text(content, "author"),
        source=_source(content.get("source")),
        ref=reference(content),
    )


def tags_of(value: object) -> tuple[str, ...]:
    """A list of words, or words with commas between them."""
    if not isinstance(value, str | list | tuple | None):
        raise InvalidInput(field="tags", why="not_words")
    parts = cast("list[object]", value.split(",") if isinstance(value, str) else value or [])
    if not all(isinstance(part, str) for part in parts):
        raise InvalidInput(field="tags", why="not_words")
    return tuple(dict.fromkeys(word for part in parts if (word := str(part).strip())))


def _text(content: Mapping[str, Any], name: str) -> str:
    value = content.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput(field=name, why="not_text", value=value)
    return value


def _time(content: Mapping[str, Any], name: str, zone: tzinfo, *, end_of_day: bool = False) -> datetime | None:
    value = _text(content, name)
    return parse_time(value, zone=zone, end_of_day=end_of_day, name=name) if value else None


def _source(value: object) -> Source | None:
    if not value:
        return None
    if isinstance(value, str):
        return Source(uri=value)
    if not isinstance(value, dict):
        raise InvalidInput(field="source", why="not_text")
    fields = cast("dict[str, Any]", value)
    return Source(
        uri=_text(fields, "uri"),
        locator=_text(fields, "locator"),
        sha256=_text(fields, "sha256"),
        status=cast("Any", _text(fields, "status") or "unverified"),
        checked_at=parse_time(_text(fields, "checked_at"), name="checked_at") if fields.get("checked_at") else None,
    )
