"""Upkeep where no daemon leads: a server that nobody asks anything does light steps that are due, two seconds at most.

Any number of servers may work on one memory. A step is done by the one that gets its lease in the store; the others see
there that it is being done, or when it was, and leave it.
"""

import logging
import os
import socket
import threading
from pathlib import Path

from memorycore import endpoint
from memorycore.errors import MemoryCoreError
from memorycore.server.desk import Desk

_log = logging.getLogger(__name__)

LOOK_EVERY_S = 20.0
IDLE_FOR_S = 10.0
BUDGET_S = 2.0
CONNECT_WITHIN_S = 0.3


def begin(desk: Desk, *, every_s: float = LOOK_EVERY_S, idle_for_s: float = IDLE_FOR_S) -> None:
    """Look after the memory of this desk in a thread of its own, until the desk is closed."""
    threading.Thread(target=_look, args=(desk, every_s, idle_for_s), name="memorycore-spare-time", daemon=True).start()


def a_daemon_leads(data_dir: Path) -> bool:
    """Whether somebody listens where the daemon of this directory said that it does."""
    found = endpoint.read(data_dir)
    if found is None:
        return False
    try:
        socket.create_connection(found.relay, timeout=CONNECT_WITHIN_S).close()
    except OSError:
        return False
    return True


def _look(desk: Desk, every_s: float, idle_for_s: float) -> None:
    pause = threading.Event()
    while (idle_s := desk.idle_s()) is not None:
        if idle_s >= idle_for_s:
            _tend(desk)
        pause.wait(every_s)


def _tend(desk: Desk) -> None:
    try:
        with desk.core() as core:
            if not a_daemon_leads(core.options.data_dir):
                done = core.catch_up(light=True, budget_s=BUDGET_S, owner=f"server {os.getpid()}")
                if done:
                    _log.info("tended: %s", ", ".join(done))
    except MemoryCoreError as error:  # the store may be busy or full for a while
        _log.info("nothing can be tended now: %s", error.code)
