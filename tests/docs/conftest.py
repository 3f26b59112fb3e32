"""A home of its own for each page, with ``memorycore`` on the path."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture
def env(tmp_path: Path, home: Path) -> dict[str, str]:
    """The environment of a reader: nothing set, and a shell that finds ``memorycore`` and this ``python``.

    Apart from patience: on a busy machine a vector may come later than the page was printed with.
    """
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, start in (("memorycore", f'"{sys.executable}" -m memorycore'), ("python", f'"{sys.executable}"')):
        command = commands / name
        command.write_text(f'#!/bin/sh\nexec {start} "$@"\n', encoding="utf-8")
        command.chmod(0o755)
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    return kept | {
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "LANG": "C.UTF-8",
        "COLUMNS": "80",
        "MEMORYCORE_STORE_WAIT_MS": "30000",
    }
