"""Rules leave a hot file and come back while others write to it; every text is somewhere afterwards."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.pointer import is_fold
from memorycore.domain.text import entry_hash
from memorycore.hot.arrange import without_stale
from memorycore.lifecycle import hot
from memorycore.store import all_rows, memories
from tests.homes import Home, rule

RULES = [rule(number).content for number in range(12)]


def start(module: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", f"tests.integration.{module}", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip


def finish(*processes: "subprocess.Popen[str]") -> None:
    finished = [process.communicate(timeout=110) for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), [error for _, error in finished]
    assert any(output.strip() not in {"", "0"} for output, _ in finished), "nothing ever left"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    with home.core() as core:
        for text in RULES:
            core.remember(rule(RULES.index(text)), actor="setup")
    return home


def agrees(home: Home, core: MemoryCore) -> None:
    """Each entry has one row and each row that has an entry one that is there; nothing is left half done."""
    core.touch()
    core.touch()
    tier = core.rooms.tiers["memory"]
    with core.db.read() as c:
        rows = memories.select(c, "file_memories", namespace=tier.namespace, hot_tier=tier.id)
        assert all_rows(c, "all_open_intents", {"namespace": "default"}) == []
    # A pointer beside its own text has no row; it goes with the next write.
    entries = [one for one in without_stale(home.entries(), hot.beside(core.db, tier).stale) if not is_fold(one)]
    keys, rows_by_key = set(map(entry_hash, entries)), {row.entry_key: row for row in rows}
    assert [entry for entry in entries if entry_hash(entry) not in rows_by_key] == [], "an entry without a row"
    assert [row for key, row in rows_by_key.items() if key not in keys] == [], "a row without its entry"
    assert len(keys) == len(entries) == len(rows)
    assert core.maintain(["integrity"])["steps"][0]["database"] == "ok"


@pytest.mark.skipif(os.name == "nt", reason="the host's lock is flock")
def test_two_processes_and_a_host_with_the_lock_lose_nothing(home: Home) -> None:
    finish(
        start("host_writer", home.memory_file, 60),
        start("retiring_writer", home.root, 1, 25),
        start("retiring_writer", home.root, 2, 25),
    )
    with home.core() as core:
        agrees(home, core)
        states = {str(line["content"]): line["state"] for line in core.export()}
    notes = [f"Host note {number} about the harbour." for number in range(60)]
    assert {states.get(text) for text in (*RULES, *notes)} == {"active"}


@pytest.mark.parametrize("others", [("retiring_writer", "retiring_writer"), ("overflowing_writer",)])
def test_what_an_editor_without_the_lock_writes_over_is_in_the_bin_at_worst(home: Home, others: tuple[str]) -> None:
    ours = [start(other, home.root, 100 * number + 100, 40) for number, other in enumerate(others)]
    finish(start("careless_editor", home.memory_file, 12), *ours)
    with home.core() as core:
        agrees(home, core)
        states = {str(line["content"]): line["state"] for line in core.export()}
        events = core.history(limit=1000)["events"]
        named = {line["id"] for line in events if line["action"] == "trashed"}
        reworded = {line.get("before", "") for line in events}  # what the editor put in the place of another text
        assert {item["id"] for item in core.trash()["items"]} <= named
    assert {states.get(text) for text in RULES} <= {"active", "trashed"}
    kept = b"".join(path.read_bytes() for path in (home.options.data_dir / "snapshots").rglob("MEMORY.md.*"))
    kept += home.memory_file.read_bytes()
    notes = [f"Editor note {number} about the quay." for number in range(12)]
    known = states.keys() | reworded
    assert [note for note in notes if note not in known and note.encode() not in kept] == []


@pytest.mark.skipif(os.name == "nt", reason="the host's lock is flock")
def test_two_hundred_entries_of_a_host_survive_overflow_in_a_loop(home: Home) -> None:
    finish(start("host_writer", home.memory_file, 200), start("overflowing_writer", home.root, 100, 60))
    with home.core() as core:
        agrees(home, core)
        states = {str(line["content"]): line["state"] for line in core.export()}
        moved = [line for line in core.history(limit=1000)["events"] if line["action"] == "moved"]
    notes = [f"Host note {number} about the harbour." for number in range(200)]
    assert {states.get(text) for text in (*RULES, *notes)} == {"active"}
    assert len({line["id"] for line in moved if "harbour" in line.get("text", "")}) > 20, "notes of the host left too"
