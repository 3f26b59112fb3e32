"""Several processes on one memory: nothing lost, nothing twice, no raw lock error."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.homes import Home

ROUNDS = 6


def start(module: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", f"tests.integration.{module}", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="the host's lock is flock")
def test_three_writers_and_a_host_lose_nothing(tmp_path: Path) -> None:  # IL-012, IL-013, IL-014, IL-047
    home = Home(tmp_path)
    host = start("host_writer", home.memory_file, ROUNDS * 2)
    writers = [start("mixed_writer", tmp_path, name, ROUNDS) for name in ("anna", "bert", "cleo")]
    finished = [process.communicate(timeout=110) for process in [host, *writers]]
    assert [process.returncode for process in [host, *writers]] == [0] * 4, [errors for _, errors in finished]
    acknowledged = {memory_id for output, _ in finished[1:] for memory_id in json.loads(output)}
    with home.core() as core:
        core.touch()
        lines = list(core.export())
        active = {str(line["memory_id"]): str(line["content"]) for line in lines if line["state"] == "active"}
        hot = {str(line["content"]) for line in lines if line.get("tier") == "hot"}
        check = core.maintain(["integrity"])["steps"][0]
    assert acknowledged <= set(active)
    assert len(set(active.values())) == len(active), "a text is there twice"
    assert sum(text.startswith("The shared crate") for text in active.values()) == ROUNDS
    entries = home.entries()
    assert len(set(entries)) == len(entries)
    assert set(entries) == hot
    assert sum(entry.startswith("Host note") for entry in entries) == ROUNDS * 2
    assert (check["database"], check["rows_without_text"]) == ("ok", 0)
