"""Folders that belong to their owner alone."""

from contextlib import suppress
from pathlib import Path

PRIVATE = 0o700


def make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, each for its owner only; one that is there keeps its mode.

    Raises:
        OSError: The system refuses, or a file stands in the way.
    """
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for one in reversed(missing):
        with suppress(FileExistsError):
            one.mkdir(mode=PRIVATE)
    if not folder.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(folder))
