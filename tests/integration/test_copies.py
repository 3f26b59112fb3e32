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


@pytest.mark.skipif(sys.platform == "win32", reason="nobody can tell there whether a process is gone")
def test_the_copy_of_a_command_that_was_killed_goes_with_the_next_one_and_no_other_does(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        options = core.options
    command = [sys.executable, "-c", HELD, str(options.data_dir)]
    held = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    killed, living = (Path(one.stdout.readline().strip()) for one in held if one.stdout is not None)
    held[0].kill()
    held[0].communicate(timeout=20)
    of_another_machine = killed.with_name(killed.name.replace("@", "@not-"))
    link = killed.with_name(f"{killed.name}x")
    of_another_machine.mkdir()
    link.symlink_to(tmp_path)
    try:
        assert (killed / "memorycore.db").is_file()
        with copied(options, StoreError(path="x", why="full")):
            assert [one.exists() for one in (killed, living, of_another_machine, link)] == [False, True, True, True]
    finally:
        of_another_machine.rmdir()
        link.unlink()
        held[1].communicate(timeout=20)
    assert not living.exists()
