"""The two pipes of the protocol, and the way that keeps everything else off them."""

import os
import sys
from io import TextIOWrapper

Pipes = tuple[int, int]
Wire = tuple[TextIOWrapper, TextIOWrapper]


def is_wired() -> bool:
    """False when somebody started the process with stdin or stdout closed: then there is no client."""
    return sys.stdin is not None and sys.stdout is not None  # pyright: ignore[reportUnnecessaryComparison] - the stubs do not know


def claim_pipes() -> Pipes:
    """Take the protocol's file descriptors (in, out) away from everybody else, before anything heavy is imported.

    From here on file descriptor 1 is stderr and descriptor 0 is empty, for this process and its children, to the very
    end: a stray print, a C library or Python's own buffer at exit cannot reach the wire, and no child can eat the
    client's messages or wait for them.
    """
    wire_in, wire_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing if sys.stderr is None else 2, 1)  # pyright: ignore[reportUnnecessaryComparison] - None when closed
    os.close(nothing)
    return wire_in, wire_out


def wire_of(pipes: Pipes) -> Wire:
    """The two as text, in UTF-8 whatever the system thinks."""
    wire_in, wire_out = pipes
    lines_in = TextIOWrapper(os.fdopen(wire_in, "rb"), encoding="utf-8", errors="replace")
    lines_out = TextIOWrapper(os.fdopen(wire_out, "wb"), encoding="utf-8", newline="\n")
    return lines_in, lines_out
