"""Snapshots of a hot file: what was there before stays findable, within bounds."""

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memorycore.errors import Unwritable
from memorycore.hot.files import Edited, change, list_snapshots, look, prune_snapshots, snapshot

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOT = Path("/elsewhere/MEMORY.md")


def contents(folder: Path) -> list[bytes]:
    return [item.path.read_bytes() for item in list_snapshots(HOT, folder=folder)]


def test_the_bytes_before_each_change_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_bytes(b"Found here.\r\n")
    for number in range(3):
        change(
            path,
            lambda found, number=number: Edited(entries=(*found.entries, f"Added {number}.")),
            snapshots=tmp_path / "kept",
            now=START,
        )
    kept = [item.path.read_bytes() for item in list_snapshots(path, folder=tmp_path / "kept")]
    assert kept[0] == b"Found here.\r\n"
    assert kept[1:] == ["Found here.\n§\nAdded 0.".encode(), "Found here.\n§\nAdded 0.\n§\nAdded 1.".encode()]


def test_a_snapshot_tells_its_time_and_content_and_is_private(tmp_path: Path) -> None:
    taken = snapshot(HOT, b"One.", folder=tmp_path / "kept", now=START.astimezone() + timedelta(milliseconds=7))
    assert taken
    assert taken.name.startswith("MEMORY.md.000001.20260301T120000007Z.")
    assert list_snapshots(HOT, folder=tmp_path / "kept")[0].taken_at == START + timedelta(milliseconds=7)
    assert [stat.S_IMODE(made.stat().st_mode) for made in (taken.parent, taken)] == [0o700, 0o600]


def test_the_same_bytes_are_kept_once_until_others_come(tmp_path: Path) -> None:
    made = [snapshot(HOT, data, folder=tmp_path, now=START) for data in (b"One.", b"One.", b"Two.", b"One.", b"")]
    assert [item is not None for item in made] == [True, False, True, True, False]
    assert contents(tmp_path) == [b"One.", b"Two.", b"One."]


def test_a_clock_that_goes_backwards_keeps_the_order(tmp_path: Path) -> None:
    for year, data in ((2038, b"first"), (2026, b"second"), (1999, b"third")):
        snapshot(HOT, data, folder=tmp_path, now=START.replace(year=year))
    assert contents(tmp_path) == [b"first", b"second", b"third"]
    prune_snapshots(HOT, folder=tmp_path, now=START.replace(year=2040), keep=1)
    assert contents(tmp_path) == [b"first", b"third"]


def test_the_last_twenty_one_a_day_for_a_month_and_the_first_stay(tmp_path: Path) -> None:
    for hour in range(0, 24 * 60, 12):
        snapshot(HOT, f"{hour}".encode(), folder=tmp_path, now=START + timedelta(hours=hour))
    now = START + timedelta(days=60)
    deleted = prune_snapshots(HOT, folder=tmp_path, now=now)
    kept = [int(data) for data in contents(tmp_path)]
    last_twenty = list(range(24 * 60 - 20 * 12, 24 * 60, 12))
    last_of_day = [hour for hour in range(24 * 30, 24 * 50) if hour % 24 == 0]
    assert kept == [0, *last_of_day, *last_twenty]
    assert deleted == 120 - len(kept)
    assert prune_snapshots(HOT, folder=tmp_path, now=now) == 0


def test_files_of_others_are_not_pruned(tmp_path: Path) -> None:
    others = ["MEMORY.md", "MEMORY.md.bak.1", "USER.md.000001.20260301T120000000Z." + "0" * 16, "notes.txt"]
    for name in others:
        (tmp_path / name).write_bytes(b"Not mine.")
    snapshot(HOT, b"One.", folder=tmp_path, now=START)
    assert prune_snapshots(HOT, folder=tmp_path, now=START + timedelta(days=900), keep=0) == 0
    assert len(list(tmp_path.iterdir())) == len(others) + 1


def test_without_its_snapshot_no_change_is_made(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_bytes(b"One.")
    (tmp_path / "kept").write_bytes(b"a file where a folder should be")
    with pytest.raises(Unwritable):
        change(path, lambda _: Edited(entries=()), snapshots=tmp_path / "kept", now=START)
    assert look(path).entries == ("One.",)
