"""``python -m memorycore.daemon``: the daemon as ``memorycore daemon start`` begins it, with the log as its stderr."""

import argparse
import os
import sys
from collections.abc import Sequence

from memorycore import messages
from memorycore.errors import MemoryCoreError
from memorycore.server.life import leave


def main(arguments: Sequence[str] | None = None) -> None:
    """Lead until told to stop. Does not return."""
    from memorycore.daemon.run import Asked, run
    from memorycore.settings import load_settings

    asked = _parser().parse_args(arguments)
    for name, _, value in (pair.partition("=") for pair in asked.set):
        os.environ[name] = value
    code = 0
    try:
        settings = load_settings(os.environ)
        os.chdir(settings.data_dir.anchor)  # nobody's folder is kept in use
        code = run(
            settings, Asked(idle_exit_s=asked.idle_exit or None, port=asked.port, wait=asked.wait, to_stderr=False)
        )
    except MemoryCoreError as error:
        sys.stderr.write(messages.error_text(error, messages.language(os.environ)) + "\n")
        leave(error.exit_code)
    leave(code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m memorycore.daemon", description="The daemon of MemoryCore.")
    parser.add_argument("--idle-exit", type=float, metavar="SECONDS", default=0.0)
    parser.add_argument("--port", type=int, default=None)
    parser.add_argument("--wait", action="store_true", help="take over when the one that runs now has ended")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="like the environment")
    return parser


if __name__ == "__main__":
    main()
