"""A host that knows nothing of us: plain flock on the side file, read, append, rename. Run as a program."""

import fcntl
import os
import sys
import tempfile
from pathlib import Path

DELIMITER = "\n§\n"


def add(file: Path, text: str) -> None:
    with file.with_name(file.name + ".lock").open("a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        entries = file.read_text(encoding="utf-8").split(DELIMITER) if file.exists() else []
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=".mem_", suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as temporary:
            temporary.write(DELIMITER.join([*filter(None, entries), text]))
        Path(name).replace(file)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    for number in range(int(sys.argv[2])):
        add(target, f"Host note {number} about the harbour.")
