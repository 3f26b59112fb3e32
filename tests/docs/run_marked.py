"""``python -m tests.docs.run_marked``: run the blocks of the READMEs that need a package index, as ``.ci/run`` does.

Each kind of block once, from the top of the project, in an environment made for it. Blocks of ``make`` commands are
``.ci/run``'s own steps and are only compared with them.
"""

import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from tests.docs.pages import READMES, ROOT, RUN_BY_CI, blocks_of

STEPS = ("test", "check", "demo")


def marked() -> list[str]:
    """The commands of all marked blocks, without comments, without repeats."""
    blocks = [block.text for readme in READMES for block in blocks_of(readme) if block.mark == RUN_BY_CI]
    commands = ["\n".join(line.partition("#")[0].strip() for line in block.splitlines()) for block in blocks]
    return list(dict.fromkeys(commands))


def run(commands: str, folder: Path) -> None:
    venv.create(folder / "env", with_pip=True)
    binaries = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    if "uvx" in commands:
        subprocess.run([binaries / "python", "-m", "pip", "install", "-qq", "uv"], check=True)
    env = {**os.environ, "PIP_QUIET": "2", "UV_NO_PROGRESS": "1", "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["bash", "-eo", "pipefail", "-c", commands], cwd=ROOT, env=env, check=True)


def main() -> None:
    for commands in marked():
        lines = [line for line in commands.splitlines() if line]
        if all(line.removeprefix("make ") in STEPS for line in lines):
            continue
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            run(commands, Path(folder))
        sys.stdout.write(f"{' && '.join(lines)}: {time.monotonic() - started:.0f} s\n")


if __name__ == "__main__":
    main()
