"""A copy of the database to look into: made whole or not at all, and gone afterwards."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memorycore.cli.copies import copied
from memorycore.errors import StoreError
from tests.homes import Home

HELD = """
import sys
from pathlib import Path
from memorycore.cli.copies import copied
from memorycore.errors import StoreError
from memorycore.options import CoreOptions

here = Path(sys.argv[1])
with copied(CoreOptions(data_dir=here, hot_dir=here), StoreError(path="x", why="y")) as options:
    print(options.data_dir, flush=True)
    sys.stdin.read()
"""


def test_where_there_is_nothing_to_copy_the_first_failure_is_told(tmp_path: Path) -> None:
    failure = StoreError(path=str(tmp_path), why="full")
    with pytest.raises(StoreError) as told, copied(Home(tmp_path).options, failure):
        pass
    assert told.value is failure


def test_what_a_command_fails_with_is_not_taken_for_the_database(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        options = core.options
    with pytest.raises(BrokenPipeError), copied(options, StoreError(path="x", why="full")):
        raise BrokenPipeError


@pytest.mark.skipif(sys.platform == "win32", reason="nothing there ends a process in order")
def test_a_command_that_is_ended_leaves_no_copy(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        data = core.options.data_dir
    command = [sys.executable, "-c", HELD, str(data)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as held:
        assert held.stdout is not None
        made = Path(held.stdout.readline().strip())
        assert (made / "memorycore.db").stat().st_mode & 0o077 == 0
        held.send_signal(signal.SIGTERM)
        assert held.wait(20) == 128 + signal.SIGTERM
    assert not made.exists()
