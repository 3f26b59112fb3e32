"""How far a long call is, told to the client that asked to be told."""

import asyncio
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.mcpserver import Context

    from memorycore.govern.steps.work import Progress

LEAST_PAUSE_S = 0.2


def reporter(context: "Context[Any, Any] | None") -> "Callable[[Progress], None]":
    """What a worker thread calls to have a progress notification sent; nothing is sent where nobody asked for it.

    Progress counts in steps, parts of the one that runs as fractions. Between two notifications there is a pause, but
    the beginning of each step is always told.
    """
    if context is None:
        return lambda _: None
    loop = asyncio.get_running_loop()
    told_at, told_step = 0.0, ""

    def report(progress: "Progress") -> None:
        nonlocal told_at, told_step
        now = time.monotonic()
        if loop.is_closed() or (progress.step == told_step and now - told_at < LEAST_PAUSE_S):
            return
        told_at, told_step = now, progress.step
        part = min(progress.done / progress.total, 1.0) if progress.total else 0.0
        done = progress.number - 1 + part
        asyncio.run_coroutine_threadsafe(context.report_progress(done, progress.steps, progress.step), loop)

    return report
