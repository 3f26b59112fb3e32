"""When the disk is full, the answer says so, and what was acknowledged before is there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
