"""Killed at any moment between the store here and the service there: afterwards both have the same, once."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.options import RemoteOptions
from tests.cold_services import KEPT, ROOT, Foreign, foreign
from tests.homes import Home

ROUNDS = 4


@pytest.mark.parametrize("kind", ["literal", "predecessor"])
def test_a_writer_that_is_killed_again_and_again_leaves_every_text_once(tmp_path: Path, kind: str) -> None:
    with foreign(kind) as service:
        service.set(slow_s=0.15)
        told = [line for number in range(ROUNDS) for line in killed_writer(tmp_path, service, number * 1_000)]
        service.set(slow_s=0)
        options = replace(Home(tmp_path).options, remote=RemoteOptions(url=service.url, timeout_s=5))
        with MemoryCore(options, long_lived=False, clock=when_claims_of_the_dead_are_over) as core:
            core.maintain(["remote"])
            assert core.usage()["cold"].get("remote", {}).get("waiting") == 0
            here = sorted(str(line["content"]) for line in core.export() if line["state"] == "active")
        assert service.texts() == here
        gone = {line.removeprefix("forgotten ") for line in told if line.startswith("forgotten ")}
        stored = {line.split(" ", 1)[1] for line in told if not line.startswith("forgotten ")}
        assert len(stored) > ROUNDS
        assert gone.isdisjoint(here)
        assert len(stored - gone - set(here)) <= ROUNDS  # the last of a round may be forgotten, and nobody heard of it


def when_claims_of_the_dead_are_over() -> datetime:
    return datetime.now(UTC) + timedelta(minutes=5)


def killed_writer(root: Path, service: Foreign, start: int) -> list[str]:
    """What a writer said before it was killed, somewhere in the middle of a call."""
    env = {name: os.environ[name] for name in KEPT if name in os.environ} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(ROOT / "tests" / "crash" / "remote_rounds.py"), str(root), service.url, str(start)]
    writer = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    assert writer.stdout
    lines = [writer.stdout.readline() for _ in range(3)]
    time.sleep(0.4 + start % 7 / 20)
    writer.kill()
    lines += writer.stdout.readlines()
    writer.stdout.close()
    writer.wait(10)
    return [line.strip() for line in lines if line.endswith("\n")]
