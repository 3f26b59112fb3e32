"""What the plugin of Hermes counts while nobody answers is neither lost nor counted twice."""

import os
import threading
from pathlib import Path
from types import ModuleType

import pytest

from tests.plugin_host import module_of

FILE = Path(__file__).parents[2] / "hermes-plugin" / "memorycore-prefetch" / "tally.py"


@pytest.fixture(scope="module")
def tally() -> ModuleType:
    return module_of(FILE)


def test_several_that_write_at_once_lose_none_of_each_other(tally: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "missed.json"

    def one_process() -> None:
        own = tally.Tally(file, may_make_folder=False)
        for _ in range(25):
            own.miss("prefetch", "timeout", question=True)
            own.keep()

    threads = [threading.Thread(target=one_process) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tally.read(file) == tally.Numbers({"prefetch:timeout": 200}, 200)
    assert list(tmp_path.iterdir()) == [file]


def test_what_was_told_is_gone_and_what_came_in_meanwhile_stays(tally: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "missed.json"
    earlier = tally.Tally(file, may_make_folder=False)
    earlier.miss("sync-turn", "no_daemon")
    earlier.keep()
    own = tally.Tally(file, may_make_folder=False)
    own.miss("prefetch", "no_daemon", question=True)
    assert own.answered()
    waits = own.to_tell()
    assert waits.missed == {"sync-turn:no_daemon": 1, "prefetch:no_daemon": 1}
    own.miss("prefetch", "timeout", question=True)
    own.keep()
    own.told(waits)
    assert own.missed() == {"prefetch:timeout": 1}
    assert own.to_tell().missed == {"prefetch:timeout": 1}
    own.told(own.to_tell())
    assert not file.exists()
    assert not own.answered()


@pytest.mark.parametrize("text", ["", "null", "[]", '{"missed": 3}', '{"missed": {"a": "b"}}', "\x00"])
def test_a_damaged_file_means_nothing_and_is_written_over(tally: ModuleType, tmp_path: Path, text: str) -> None:
    file = tmp_path / "missed.json"
    file.write_text(text, encoding="utf-8")
    own = tally.Tally(file, may_make_folder=False)
    own.miss("prefetch", "timeout")
    own.keep()
    assert tally.read(file).missed == {"prefetch:timeout": 1}


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_folder_is_made_only_where_memorycore_is_and_for_its_owner_alone(tally: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "home" / "data" / "missed.json"
    for may_make, made in ((False, []), (True, [0o700, 0o700, 0o600])):
        own = tally.Tally(file, may_make_folder=may_make)
        own.miss("prefetch", "no_daemon")
        own.keep()
        found = [path for path in (file.parent.parent, file.parent, file) if path.exists()]
        assert [path.stat().st_mode & 0o777 for path in found] == made
        assert own.missed() == {"prefetch:no_daemon": 1}


@pytest.mark.skipif(os.name != "posix", reason="limits")
def test_a_full_disk_is_not_filled_with_drafts_and_nothing_is_forgotten(tally: ModuleType, tmp_path: Path) -> None:
    import resource

    own = tally.Tally(tmp_path / "missed.json", may_make_folder=False)
    own.miss("prefetch", "timeout")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        own.keep()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
    own.keep()
    assert tally.read(tmp_path / "missed.json").missed == {"prefetch:timeout": 1}
