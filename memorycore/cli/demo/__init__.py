"""``memorycore demo``: a real server, the official client, a small world of statements, and what becomes of them.

Everything happens in a temporary folder and without a network; no process and no file is left, also after Ctrl-C.
"""

import signal
import tempfile
import time
from pathlib import Path

from memorycore.options import Language

INTERRUPTED = 130


def run(language: Language, *, fast: bool = False) -> int:
    """Play the demo and give the exit code: 0, 1 when something was missing at the end, 130 after Ctrl-C.

    ``fast`` leaves out the pauses for reading, which a stream that is no terminal never has.
    """
    import anyio

    from memorycore.cli.demo.play import play
    from memorycore.cli.demo.server import ServerGoneError
    from memorycore.cli.demo.show import Show
    from memorycore.cli.demo.world import load_words, load_world

    show = Show(load_words(language), language=language, fast=fast)
    started_at = time.monotonic()
    for name in ("SIGTERM", "SIGHUP"):  # whoever ends the demo another way than by Ctrl-C wants it tidy as well
        if number := getattr(signal, name, None):
            signal.signal(number, _as_ctrl_c)
    with tempfile.TemporaryDirectory(prefix="memorycore-demo-", ignore_cleanup_errors=True) as name:
        try:
            complete = anyio.run(play, show, Path(name), load_world())
        except KeyboardInterrupt:
            complete = None
        except ServerGoneError as error:
            show.failed(str(error))
            return 1
    if complete is None:
        show.interrupted()
        return INTERRUPTED
    show.end(seconds=time.monotonic() - started_at, tidy=not Path(name).exists())
    return 0 if complete else 1


def _as_ctrl_c(number: int, frame: object) -> None:
    del number, frame
    signal.raise_signal(signal.SIGINT)
