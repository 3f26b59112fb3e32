"""What goes to stderr: what happened, and never the text of a memory."""

import logging
import sys
import traceback
from types import TracebackType

ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
TALKATIVE = ("mcp", "httpx", "httpx2", "httpcore", "asyncio", "uvicorn", "sse_starlette", "starlette")


class _WithoutValues(logging.Formatter):
    """Tracebacks without the error's own text, which may hold what somebody wanted to remember."""

    def formatException(self, ei: ExceptionInfo) -> str:  # noqa: N802 - the name is logging's
        kind, _, frames = ei
        return "".join(traceback.format_tb(frames)) + (kind.__name__ if kind else "")


def log_to_stderr(level: str) -> None:
    pipe = logging.StreamHandler(sys.stderr)
    pipe.setFormatter(_WithoutValues("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[pipe], force=True)
    for name in TALKATIVE:  # at debug level these print whole messages
        logging.getLogger(name).setLevel(logging.WARNING)
