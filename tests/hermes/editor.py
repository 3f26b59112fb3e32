"""An editor that keeps Hermes' lock while it works: it reads the file, thinks, and puts another in its place."""

import fcntl
import sys
import time
from pathlib import Path

DELIMITER = "\n§\n"


def edit(file: Path, note: str) -> None:
    """Append a note, and put the first entry last."""
    with file.with_name(file.name + ".lock").open("a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        entries = file.read_text(encoding="utf-8").split(DELIMITER) if file.exists() else []
        time.sleep(0.02)
        draft = file.with_name(".editor.tmp")
        draft.write_text(DELIMITER.join(filter(None, [*entries[1:], *entries[:1], note])), encoding="utf-8")
        draft.replace(file)


if __name__ == "__main__":
    for number in range(int(sys.argv[2])):
        edit(Path(sys.argv[1]), f"Editor note {number} about the quay of Brest.")
        time.sleep(0.1)
