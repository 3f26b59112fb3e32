"""A home of its own for each page, with ``memorycore`` on the path."""

import os
import shutil
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.warm import ASK, warm

_KEPT = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
_READER = _KEPT | {"PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", "COLUMNS": "80", "MEMORYCORE_STORE_WAIT_MS": "30000"}
# The first command of a page is started as a reader's is; the others are forks of a process that is warm.
_MEMORYCORE = """#!/bin/sh
if [ ! -e '{started}' ]; then
  : > '{started}'
  exec '{python}' -m memorycore "$@"
fi
exec '{python}' -S -E '{ask}' '{socket}' "$@"
"""
_PYTHON = """#!/bin/sh
exec '{python}' "$@"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="session")
def socket() -> Generator[Path]:
    """Where a process answers that is warm. In a folder of its own, since the path of a socket must be short."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "socket"
        with warm(path, {"PATH": os.environ["PATH"], **_READER}):
            yield path


@pytest.fixture
def env(tmp_path: Path, home: Path, socket: Path) -> dict[str, str]:
    """The environment of a reader: nothing set, and a shell that finds ``memorycore`` and this ``python``.

    Apart from patience: on a busy machine a vector may come later than the page was printed with.
    """
    commands = tmp_path / "bin"
    commands.mkdir()
    ask = tmp_path / "ask.py"
    ask.write_text(ASK, encoding="utf-8")
    for name, script in (("memorycore", _MEMORYCORE), ("python", _PYTHON)):
        command = commands / name
        filled = script.format(python=sys.executable, started=tmp_path / "started", ask=ask, socket=socket)
        command.write_text(filled, encoding="utf-8")
        command.chmod(0o755)
    return {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "HOME": str(home), **_READER}
