"""The command line. Importing this package imports nothing heavy: help must be there at once."""

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code.

    Expected refusals are one sentence on stderr, or with ``--json`` one object on stdout; the exit code is the error's.
    """
    from memorycore import messages
    from memorycore.cli.app import command_line
    from memorycore.cli.shell import Shell, never_fail_to_print, showable
    from memorycore.errors import MemoryCoreError

    never_fail_to_print()
    given = list(sys.argv[1:] if arguments is None else arguments)
    language = showable(messages.language(os.environ))
    try:
        command_line(language)(given, prog_name="memorycore")
    except MemoryCoreError as error:
        shell = Shell(as_json="--json" in given)
        shell.refuse(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # whoever reads has seen enough, as ``head`` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
