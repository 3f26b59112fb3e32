"""A child that runs maintenance again and again until somebody kills it. Started by the tests.

python -m tests.crash.maintenance_rounds FOLDER
"""

import sys
from datetime import timedelta
from pathlib import Path

from tests.homes import START, Home


def main() -> None:
    home = Home(Path(sys.argv[1]))
    home.clock.now = START + timedelta(days=40)
    with home.core() as core:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            home.clock.forward(minutes=5)
            core.maintain(["dedup", "expire", "consolidate", "purge", "integrity"], time_box_s=2.0)


if __name__ == "__main__":
    main()
