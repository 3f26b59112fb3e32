"""An editor that knows no lock: it reads the file, thinks, and writes it in place. Run by ``test_retire_rivals``."""

import sys
import time
from pathlib import Path

DELIMITER = "\n§\n"


def main(file: Path, rounds: int) -> None:
    for number in range(rounds):
        entries = file.read_bytes().decode("utf-8").split(DELIMITER)
        time.sleep(0.05)
        entries = [*entries[1:], entries[0], f"Editor note {number} about the quay."]
        file.write_bytes(DELIMITER.join(entries).encode("utf-8"))
        time.sleep(0.15)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
