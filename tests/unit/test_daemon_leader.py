"""The lock of the leader, within one process; between processes it is tried with real daemons."""

import json
import sys
import threading
from pathlib import Path

import pytest

from memorycore.daemon import control, leader
from memorycore.errors import NotAvailable, StoreError


def test_who_leads_stands_in_the_file_while_it_leads(tmp_path: Path) -> None:
    assert leader.current(tmp_path) is None
    with leader.leadership(tmp_path) as me:
        assert leader.current(tmp_path) == me
        assert leader.is_here(me)
        with pytest.raises(NotAvailable) as refused, leader.leadership(tmp_path):
            pass
        assert (refused.value.facts["why"], refused.value.facts["pid"]) == ("daemon_leads", me.pid)
        assert leader.current(tmp_path) == me  # whoever was refused has touched nothing
    assert leader.current(tmp_path) is None
    assert (tmp_path / leader.LOCK).exists()


@pytest.mark.parametrize("content", [b"", b" {", b" []", b' {"pid": 1}', b" \xff", b' {"pid": "x", "host": 4}'])
def test_what_cannot_be_read_names_nobody(tmp_path: Path, content: bytes) -> None:
    (tmp_path / leader.LOCK).write_bytes(content)
    assert leader.current(tmp_path) is None


def test_a_lock_on_a_file_that_was_replaced_is_none(tmp_path: Path) -> None:
    """While one waits for the lock, another file takes the place of its own: the lock of the old one is none."""
    path, other, got = tmp_path / "lock", tmp_path / "other", threading.Event()
    with leader.held(path, wait_s=0) as first:
        assert first

        def wait() -> None:
            with leader.held(path, wait_s=20) as second:
                assert second
                got.set()

        waiting = threading.Thread(target=wait)
        waiting.start()
        with leader.held(other, wait_s=0) as another:
            assert another
            other.replace(path)
            assert not got.wait(0.5)
    waiting.join(20)
    assert got.is_set()


def test_a_leader_whose_file_is_gone_leads_no_more(tmp_path: Path) -> None:
    with leader.leadership(tmp_path) as me:
        assert leader.still_leads(tmp_path, me)
        (tmp_path / leader.LOCK).unlink()
        assert not leader.still_leads(tmp_path, me)


@pytest.mark.skipif(sys.platform != "linux", reason="has no folder in which not even its owner may write")
def test_a_folder_that_cannot_be_written_is_not_said_to_know_no_locks() -> None:
    with pytest.raises(StoreError), leader.held(Path("/sys/memorycore.lock"), wait_s=0):
        pass


def test_one_with_the_number_of_another_process_is_dead(tmp_path: Path) -> None:
    with leader.leadership(tmp_path) as me:
        written = (tmp_path / leader.LOCK).read_text(encoding="utf-8")
    (tmp_path / leader.LOCK).write_text(written, encoding="utf-8")
    assert leader.current(tmp_path) == me
    (tmp_path / leader.LOCK).write_text(written.replace(json.dumps(me.birth), '"before"'), encoding="utf-8")
    assert leader.current(tmp_path) is None


@pytest.mark.parametrize(
    ("version", "older"), [("0.0.9", True), ("0.1.0", False), ("0.1.0+local", False), ("99.0", False), ("", True)]
)
def test_versions_are_compared_as_numbers(version: str, older: bool) -> None:  # noqa: FBT001 a table
    assert control.is_older(version) is older
