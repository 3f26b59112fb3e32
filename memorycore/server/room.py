"""How many connections a process can hold: each is an open file, and without any left it could not even look around."""

import sys
from contextlib import suppress

ENOUGH = 4096
MOST_CONNECTIONS = 512  # of one port
LEAST_CONNECTIONS = 16
KEPT_FOR_OURSELVES = 96  # open files: database, log, memory files, threads, and what libraries open for a moment


def make_room() -> None:
    """Raise the limit of open files as far as the system lets us, where it is low; 256 is usual on some."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def most_connections() -> int:
    """Of each of the two ports of a daemon."""
    if sys.platform == "win32":
        return MOST_CONNECTIONS
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, max(LEAST_CONNECTIONS, (limit - KEPT_FOR_OURSELVES) // 2))
