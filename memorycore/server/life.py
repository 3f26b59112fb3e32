"""When a process that serves by itself ends: signals, a parent that is gone, or nothing left to serve."""

import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable

import anyio

from memorycore.relay.ending import END_WITHIN_S, PARENT_CHECK_S, end_hard_in, leave

__all__ = ["END_WITHIN_S", "end_hard_in", "leave", "serve_until_told"]

_log = logging.getLogger(__name__)


async def serve_until_told(serve: Callable[[], Awaitable[None]], parent: int) -> None:
    """Run ``serve`` until it returns, a signal comes, or the process that started us is gone.

    ``parent`` is its number as it was when this process began: it may die before we come here.
    """
    async with anyio.create_task_group() as tasks:

        def end(why: str) -> None:
            _log.info("ending: %s", why)
            end_hard_in(END_WITHIN_S)
            tasks.cancel_scope.cancel()

        if sys.platform != "win32":  # there the client ends the process, or closes stdin
            tasks.start_soon(_end_on_signal, end)
            tasks.start_soon(_end_with_parent, end, parent)
        await serve()
        tasks.cancel_scope.cancel()


async def _end_on_signal(end: Callable[[str], None]) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            end(signal.Signals(number).name)


async def _end_with_parent(end: Callable[[str], None], parent: int) -> None:
    """A helper of a dead client may hold the pipe open for ever: then the end of input never comes."""
    while os.getppid() == parent:  # noqa: ASYNC110 - no event tells it
        await anyio.sleep(PARENT_CHECK_S)
    end("parent gone")
