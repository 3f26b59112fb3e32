"""A process that changes a hot file is killed at each of its steps: the old state or the new one stands."""

import os
import random
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import memorycore
from memorycore.domain.text import entry_hash
from memorycore.hot.document import render
from memorycore.hot.files import Edited, change, list_snapshots, look

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks and kills as POSIX does")

DRIVER = Path(__file__).with_name("hot_driver.py")
SOAK_ROUNDS = int(os.environ.get("MEMORYCORE_SOAK_ROUNDS", "0"))
OLD = render(["Stays.", "Goes.", "Old wording."])
NEW = render(["Stays.", "New wording.", "Comes."])


def drive(*arguments: object) -> str:
    source = Path(memorycore.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, DRIVER, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(source)},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_whoever_dies_at_any_step_leaves_the_old_state_or_the_new_one(tmp_path: Path) -> None:
    drive("steps", tmp_path)
    folders = sorted(tmp_path.iterdir())
    found = [look(folder / "MEMORY.md") for folder in folders]
    assert all(contents.data in {OLD, NEW} for contents in found)
    assert all(set(map(entry_hash, contents.entries)) <= set(contents.sidecar.entries) for contents in found)

    first_new = next(index for index, contents in enumerate(found) if contents.data == NEW)
    assert all(contents.data == NEW for contents in found[first_new:])
    assert 50 < first_new < len(found) - 5, "the rename is one step of many"
    for folder in folders[first_new:]:
        kept = list_snapshots(folder / "MEMORY.md", folder=folder / "kept")
        assert [item.path.read_bytes() for item in kept] == [OLD]
    for folder in folders[::10]:
        the_next_change_goes_through(folder / "MEMORY.md")


def the_next_change_goes_through(path: Path) -> None:
    before = look(path).entries
    written = change(
        path,
        lambda contents: Edited(entries=(*contents.entries, "Next.")),
        snapshots=path.parent / "kept",
        now=datetime(2026, 3, 2, tzinfo=UTC),
        timeout_s=1,
    )
    assert written.after.entries == (*before, "Next.")


def test_two_writers_that_may_die_lose_nothing_they_acknowledged(tmp_path: Path) -> None:
    drive("two", tmp_path, 15, random.randrange(2**32))


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.skipif(not SOAK_ROUNDS, reason="a long run: set MEMORYCORE_SOAK_ROUNDS")
def test_hundreds_of_deaths_lose_nothing(tmp_path: Path) -> None:
    acknowledged, standing = map(int, drive("two", tmp_path, SOAK_ROUNDS, random.randrange(2**32)).split())
    assert 0 < acknowledged <= standing
