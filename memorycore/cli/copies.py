"""A copy of the database to look into, where the one that is meant cannot be opened: a full disk, a fault of it."""

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from memorycore.errors import StoreError
from memorycore.options import CoreOptions

IN_MEMORY = "/dev/shm"  # noqa: S108 where Linux has a file system that needs no disk; the folder made there is private
BESIDE_BYTES = 4 * 1024 * 1024  # what SQLite and a look write beside the copy


@contextmanager
def copied(options: CoreOptions, failure: StoreError) -> Generator[CoreOptions]:
    """The options with a copy in the place of the database. The memory files are those that are meant, and stay.

    Raises:
        StoreError: The ``failure`` that made a copy necessary, where none can be made.
    """
    files = [one for name in ("memorycore.db", "memorycore.db-wal") if (one := options.data_dir / name).is_file()]
    try:
        needed = BESIDE_BYTES + 2 * sum(one.stat().st_size for one in files)
        folder = next(path for path in (tempfile.gettempdir(), IN_MEMORY) if files and _free(path) > needed)
        with tempfile.TemporaryDirectory(prefix="memorycore-", dir=folder) as made:
            for one in files:
                shutil.copyfile(one, Path(made) / one.name)
            yield replace(options, data_dir=Path(made), looks_only=True, remote=None, limits_source=None)
    except (OSError, StopIteration):
        raise failure from None


def _free(folder: str) -> int:
    with suppress(OSError):
        return shutil.disk_usage(folder).free
    return 0
