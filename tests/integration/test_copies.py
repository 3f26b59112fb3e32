"""A copy of the database to look into: made whole or not at all, and gone afterwards."""

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from memorycore.cli.copies import IN_MEMORY, copied
from memorycore.errors import StoreError
from tests.command_line import CommandLine
from tests.homes import Home, rule

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
    held = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") for _ in range(2)
    ]
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


NOTHING_CAN_BE_WRITTEN = """
import resource
import sys
from memorycore.cli import main
from memorycore.cli.copies import sweep

resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
sweep()
main(["status", "--json"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit there")
def test_where_nothing_can_be_written_a_command_that_looks_says_what_is_wrong(mc: CommandLine) -> None:
    assert mc("store", rule(1).content).code == 0
    ran = subprocess.run(
        [sys.executable, "-c", NOTHING_CAN_BE_WRITTEN],
        env={"PYTHONPATH": ":".join(sys.path), **mc.env}, capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert (json.loads(ran.stdout)["code"], ran.stderr) == ("store_error", b"")


@pytest.fixture
def without_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose file system is to be read only: Python finds no folder that it can write to."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "nowhere")])
    with pytest.raises(FileNotFoundError):
        tempfile.gettempdir()


@pytest.mark.usefixtures("without_temporary_folder")
def test_without_a_temporary_folder_commands_do_as_they_do_with_one(
    mc: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "portalocker"]:
        monkeypatch.delitem(sys.modules, name)  # it asks for the folder when it is imported
    assert mc("store", rule(1).content).code == 0
    assert mc("recall", "check before a release", "--json").answer["results"][0]["content"] == rule(1).content


@pytest.mark.skipif(not Path(IN_MEMORY).is_dir(), reason="no file system in memory")
@pytest.mark.usefixtures("without_temporary_folder")
def test_without_a_temporary_folder_a_copy_lies_in_memory(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        options = core.options
    with copied(options, StoreError(path="x", why="full")) as looked_into:
        assert looked_into.data_dir.parent == Path(IN_MEMORY)


@pytest.mark.usefixtures("without_temporary_folder")
def test_a_preview_without_a_temporary_folder_says_so(mc: CommandLine) -> None:
    mc.write_hot("MEMORY.md", rule(1).content.encode())
    ran = mc("overflow", "--dir", str(mc.hot), "--dry-run", "--json")
    assert (ran.code, ran.answer["code"]) == (6, "unwritable")
