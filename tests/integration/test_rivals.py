"""Several processes that say equal, fuller, contradicting and newer texts at the same time."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from memorycore.core import MemoryCore
from memorycore.domain.text import norm_hash
from memorycore.store import all_rows
from tests.homes import Home

ROUNDS = 9


def start(root: Path, turn: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.integration.rival_writer", str(root), str(turn), str(ROUNDS)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip


def kept(core: MemoryCore) -> set[str]:
    """Every text that can be had back: rows in any state, earlier wordings, and what the ledger says was said."""
    texts: set[str] = set()
    for line in core.export():
        story = core.inspect(str(line["memory_id"]))
        texts |= {str(line["content"]), *(str(revision["content"]) for revision in story["revisions"])}
        texts |= {str(event["said"]) for event in story["events"] if event.get("said")}
    with core.db.read() as c:
        facts = [json.loads(row[0]) for row in c.execute("SELECT facts FROM event")]
    return texts | {str(fact["said"]) for fact in facts if fact.get("said")}


def test_rivals_lose_nothing_and_say_nothing_twice(tmp_path: Path) -> None:
    home = Home(tmp_path)
    writers = [start(tmp_path, turn) for turn in (0, 1, 2)]
    finished = [process.communicate(timeout=110) for process in writers]
    assert [process.returncode for process in writers] == [0, 0, 0], [errors[-2000:] for _, errors in finished]
    said = {text for output, _ in finished for text in json.loads(output)}
    with home.core() as core:
        core.touch()
        assert {norm_hash(text) for text in said} <= {norm_hash(text) for text in kept(core)}
        lines = list(core.export())
        active = [str(line["content"]) for line in lines if line["state"] == "active"]
        assert [text for text, count in Counter(map(norm_hash, active)).items() if count > 1] == []
        assert sorted(home.entries()) == sorted(str(line["content"]) for line in lines if line["tier"] == "hot")
        with core.db.read() as c:
            assert all_rows(c, "all_open_intents", {"namespace": "default"}) == []
        assert core.maintain(["integrity"])["steps"][0]["database"] == "ok"
