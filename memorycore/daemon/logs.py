"""What the daemon says about itself: one JSON object a line, without a word of any memory.

Our own messages hold codes, names and numbers only. Libraries may put whole requests into theirs, so of them no more
is kept than where it was said; of an error, its kind and its way through the code, never its text.
"""

import json
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import cast

FILE = "daemon.log"
KEPT_FILES = 3
MOST_BYTES = 1024 * 1024
OUTSPOKEN = ("memorycore", "uvicorn", "apscheduler")  # what these say of themselves names no memory
# What these say, whoever reaches a port can make them say, as often as he likes.
FROM_OUTSIDE = ("asyncio", "mcp", "memorycore.server.sessions", "uvicorn")
SAID_AT_MOST = 3
SPARING_FOR_S = 600.0
MOST_MESSAGES = 200
TALKATIVE = ("mcp", "httpx", "httpcore", "asyncio", "uvicorn", "sse_starlette", "apscheduler", "filelock")


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if record.name.partition(".")[0] in OUTSPOKEN:
            line["message"], _, rest = record.getMessage().partition("\n")  # uvicorn appends tracebacks to some
            if rest and record.name.startswith("memorycore"):  # ours hold the way through the code, and no more
                line["frames"] = [one.strip() for one in rest.splitlines()]
        else:
            line["where"] = f"{record.module}:{record.lineno}"
        line |= getattr(record, "facts", {})
        if record.exc_info and record.exc_info[0] is not None:
            kind, _, frames = record.exc_info
            line["error"] = kind.__name__
            line["frames"] = _frames(frames)
        return json.dumps(line, ensure_ascii=False, default=str)


class Sparing(logging.Filter):
    """Lets few lines of what others can cause through, and says with the next one how many were held back.

    Else a stranger without a token could push out of the log what somebody will look for in it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._spans: dict[tuple[str, str], _Span] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if not record.name.startswith(FROM_OUTSIDE):
            return True
        key, now = (record.name, record.getMessage().partition("\n")[0]), self._clock()
        with self._lock:
            span = self._spans.get(key)
            if span is None or now - span.began >= SPARING_FOR_S:
                if len(self._spans) >= MOST_MESSAGES:
                    self._spans.clear()
                held_back = 0 if span is None else span.seen - SAID_AT_MOST
                if held_back > 0:
                    record.facts = {**getattr(record, "facts", {}), "held_back": held_back}
                span = self._spans[key] = _Span(began=now)
            span.seen += 1
            return span.seen <= SAID_AT_MOST


@dataclass(slots=True, kw_only=True)
class _Span:
    """A message since it was first said: how often somebody wanted to say it."""

    began: float
    seen: int = 0


def _frames(frames: TracebackType | None) -> list[str]:
    return [f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in traceback.extract_tb(frames)]


class PrivateFile(RotatingFileHandler):
    """A log that only its owner can read, also after it was renewed."""

    def _open(self) -> TextIOWrapper:
        file = open(self.baseFilename, self.mode, encoding=self.encoding, opener=_private)  # noqa: SIM115 - the logger closes it
        return cast("TextIOWrapper", file)


def _private(path: str, flags: int) -> int:
    number = os.open(path, flags, 0o600)
    if os.name == "posix":
        os.fchmod(number, 0o600)
    return number


def begin(data_dir: Path, level: str, *, to_stderr: bool) -> None:
    """Log to the file, and to stderr where it is somewhere else. Without room for a file, to stderr alone."""
    pipes: list[logging.Handler] = []
    try:
        pipes.append(PrivateFile(data_dir / FILE, maxBytes=MOST_BYTES, backupCount=KEPT_FILES, encoding="utf-8"))
    except OSError:
        to_stderr = True
    if to_stderr and sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] - None when closed
        pipes.append(logging.StreamHandler(sys.stderr))
    for pipe in pipes:
        pipe.setFormatter(JsonLines())
        pipe.addFilter(Sparing())
    logging.basicConfig(level=level, handlers=pipes, force=True)
    logging.raiseExceptions = False  # a full disk must not fill stderr with tracebacks
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    # It warns whenever a look finds the one before still at work, which is as it should be.
    logging.getLogger("apscheduler").setLevel(logging.ERROR)


def last_message(data_dir: Path) -> str:
    """What the log says last; empty without a log."""
    try:
        lines = (data_dir / FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    for line in reversed(lines):
        try:
            found = json.loads(line)
        except ValueError:
            if line.strip():
                return line.strip()
        else:
            return str(found.get("message", "")) if isinstance(found, dict) else ""  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    return ""
