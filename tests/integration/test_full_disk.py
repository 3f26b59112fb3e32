"""When the disk is full, the answer says so, and what was acknowledged before is there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.homes import Home, fact, rule

pytest.importorskip("resource", reason="limits the size of files")


def test_a_full_disk_refuses_and_damages_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        core.remember(rule(1), actor="test")
        core.remember(fact(1), actor="test")
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.full_disk", str(tmp_path), str(300_000)],
        capture_output=True, encoding="utf-8", timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    stored = answers.count("cold_stored")
    assert 0 < stored < len(answers)
    assert set(answers) == {"cold_stored", "store_error"}
    with home.core() as core:
        assert core.usage()["cold"]["total"] == 1 + stored
        assert home.entries() == [rule(1).content]
        assert core.maintain(["integrity"])["steps"][0]["database"] == "ok"
        assert core.remember(fact(2), actor="test")["status"] == "cold_stored"


def test_whoever_only_looks_gets_an_answer_where_the_database_cannot_be_opened(mc: CommandLine) -> None:
    for text in ("Always greet the crew in Danish.", "The ferry leaves at nine from pier four."):
        assert mc("store", text).code == 0
    (mc.data / "memorycore.db-shm").mkdir()  # as on a full disk SQLite cannot make this file
    before = {
        path.name: path.read_bytes() for path in (*mc.data.glob("memorycore.db*"), *mc.hot.iterdir()) if path.is_file()
    }
    found = mc("recall", "ferry", "--json")
    assert found.answer["results"][0]["content"].startswith("The ferry leaves")
    assert "read from a copy" in " ".join(found.err.split())
    told = mc("status", "--json")
    assert (told.code, told.answer["memories"], told.answer["data_dir"]) == (2, 2, str(mc.data))
    assert "read from a copy" in told.answer["verdict"]
    assert "Danish" in mc("audit").out
    assert len(mc("export").answers) == 2
    assert (mc("history").code, mc("trash").code, mc("review").code) == (0, 0, 0)
    assert mc("store", "The mill grinds spelt.", "--json").answer["code"] == "store_error"
    after = {name: (mc.data if name.startswith("memorycore.db") else mc.hot) / name for name in before}
    assert {name: path.read_bytes() for name, path in after.items()} == before
