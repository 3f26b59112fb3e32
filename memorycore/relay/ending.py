"""How a process of ours ends when its client, a signal or its parent says so.

A client waits two seconds after it has closed stdin before it kills. A tool that is stuck in a thread cannot be
stopped, so a timer ends the process hard if the orderly way takes too long: every commit survives that.
"""

import os
import sys
import threading
import time
from typing import NoReturn

END_WITHIN_S = 1.6
PARENT_CHECK_S = 2.0


def end_hard_in(seconds: float) -> None:
    """From now on the process lives at most ``seconds`` longer; its exit code is then 0 as well."""
    timer = threading.Timer(seconds, leave, args=(0,))
    timer.daemon = True
    timer.start()


def leave(code: int) -> NoReturn:
    """End at once, without joining threads: the one that reads stdin cannot be woken."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # nobody reads it any more, or it was closed from the start
    os._exit(code)


def leave_without(parent: int) -> None:
    """End when the process that started this one is gone: a helper of it may hold the pipe open for ever.

    ``parent`` is its number as it was when this process began. Windows gives an orphan no other parent.
    """
    if sys.platform == "win32":
        return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK_S)
        leave(0)

    threading.Thread(target=watch, name="memorycore-parent", daemon=True).start()
