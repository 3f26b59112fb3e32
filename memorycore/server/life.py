"""When the process ends: signals, a parent that is gone, a client that has closed its end; and within what time.

A client waits two seconds after it has closed stdin before it kills. A tool that is stuck in a thread cannot be
stopped, so a timer ends the process hard if the orderly way takes too long: every commit survives that.
"""

import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable

import anyio

_log = logging.getLogger(__name__)

END_WITHIN_S = 1.6
PARENT_CHECK_S = 2.0


def end_hard_in(seconds: float) -> None:
    """From now on the process lives at most ``seconds`` longer; its exit code is then 0 as well."""
    timer = threading.Timer(seconds, leave, args=(0,))
    timer.daemon = True
    timer.start()


def leave(code: int) -> None:
    """End at once, without joining threads: the one that reads stdin cannot be woken."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # nobody reads it any more
    os._exit(code)


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
