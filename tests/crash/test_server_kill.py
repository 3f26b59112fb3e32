"""Servers that write to one directory at once, some of them killed in the middle: nothing acknowledged is lost."""

import contextlib
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import pytest

from memorycore.core import MemoryCore
from memorycore.hot.document import parse
from memorycore.settings import load_settings
from tests.wire import GoneError, Wire, server_env

SERVERS = 4
KILLED = 2
STORES = 25
ROUNDS = int(os.environ.get("MEMORYCORE_SOAK_ROUNDS", "20"))


@dataclass
class Writer:
    """One client with its own server; ``acknowledged`` is what its server has promised to keep, with the tier."""

    wire: Wire
    contents: Sequence[str]
    acknowledged: dict[str, str] = field(default_factory=dict[str, str])
    refusals: list[str] = field(default_factory=list[str])

    def run(self) -> None:
        """Store one after the other until all are stored or the server dies."""
        with contextlib.suppress(GoneError, BrokenPipeError):
            for content in self.contents:
                answer = self.wire.call("memorycore_store_fact", content=content)
                if "id" in answer:
                    self.acknowledged[content] = answer["tier"]
                else:
                    self.refusals.append(f"{answer.get('code')}: {answer.get('message')}")


def environment(home: Path, model: str) -> dict[str, str]:
    return server_env(home, MEMORYCORE_EMBED_MODEL=model)


def contents_of(round_number: int, writer: int) -> list[str]:
    """Rules for the hot file and facts for the store, told apart only by their numbers, half of them in Chinese."""
    kinds = (
        "Always check valve {n} of plant {w} before shift {r}",
        "Pump {n} of plant {w} was serviced in round {r}",
        "第{r}轮：{w}号厂的{n}号阀门编号是{n}{w}",
        "Sensor {n} of plant {w} reports on channel {n}{r}",
    )
    return [kinds[number % 4].format(n=number, w=writer, r=round_number) for number in range(STORES)]


def one_round(home: Path, model: str, number: int, chance: random.Random) -> dict[str, str]:
    """Four servers store at once, two are killed at a moment nobody chose; what was acknowledged comes back."""
    env = environment(home, model)
    writers = [Writer(Wire(env), contents_of(number, index)) for index in range(SERVERS)]
    try:
        for writer in writers:
            writer.wire.initialize()
            writer.wire.call("memorycore_get_memory_usage")
        threads = [threading.Thread(target=writer.run, daemon=True) for writer in writers]
        for thread in threads:
            thread.start()
        for writer in writers[:KILLED]:
            time.sleep(chance.uniform(0.02, 0.35))
            writer.wire.process.kill()
        for thread in threads[KILLED:]:
            thread.join(timeout=60)
            assert not thread.is_alive()
        for writer in writers[KILLED:]:
            assert len(writer.acknowledged) == STORES, writer.refusals
            writer.wire.close_input()
            assert writer.wire.wait(10) == 0
            assert "Traceback" not in writer.wire.errors
            assert "locked" not in writer.wire.errors
        assert not [refusal for writer in writers for refusal in writer.refusals]
        assert any(len(writer.acknowledged) < STORES for writer in writers[:KILLED]), "nobody was killed in the middle"
        return {content: tier for writer in writers for content, tier in writer.acknowledged.items()}
    finally:
        for writer in writers:
            with contextlib.suppress(ProcessLookupError):
                writer.wire.process.kill()
            writer.wire.wait(10)


def check(home: Path, model: str, acknowledged: Mapping[str, str]) -> None:
    """Every acknowledged text is there once, the files parse, the database is sound."""
    with MemoryCore.open(load_settings(environment(home, model)).core_options(), long_lived=False) as core:
        found = Counter(str(line["content"]) for line in core.export())
        usage = core.usage()
    assert not [content for content in acknowledged if found[content] != 1]
    assert not [content for content, times in found.items() if times > 1]
    assert not [hot for hot in usage["hot"] if hot.get("problem")]
    path = home / "memories" / "MEMORY.md"
    document = parse(path.read_bytes(), path=str(path))
    assert document.clean
    entries = Counter(document.entries)
    assert not [entry for entry, times in entries.items() if times > 1]
    assert not [content for content, tier in acknowledged.items() if tier == "hot" and content not in entries]
    connection = apsw.Connection(str(home / "data" / "memorycore.db"))
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.execute("INSERT INTO memory_text(memory_text) VALUES('integrity-check')")
    finally:
        connection.close()


def test_two_of_four_servers_are_killed_and_every_acknowledged_memory_is_there_once(tmp_path: Path) -> None:
    chance = random.Random(20260728)
    acknowledged: dict[str, str] = {}
    for number in range(2):
        acknowledged |= one_round(tmp_path, "none", number, chance)
        check(tmp_path, "none", acknowledged)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_twenty_rounds_of_killing_lose_nothing(tmp_path: Path) -> None:
    chance = random.Random()
    acknowledged: dict[str, str] = {}
    for number in range(ROUNDS):
        acknowledged |= one_round(tmp_path, "auto", number, chance)
        check(tmp_path, "auto", acknowledged)


@pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")
def test_a_server_killed_while_it_stores_leaves_no_child_behind(tmp_path: Path) -> None:
    with Wire(server_env(tmp_path)) as wire:
        wire.initialize()
        wire.call("memorycore_store_fact", content="The lighthouse keeper is called Ida")
        wire.process.kill()
        wire.wait(5)
    children = subprocess.run(
        ["ps", "-eo", "ppid,args"], capture_output=True, encoding="utf-8", check=True
    ).stdout.splitlines()
    assert not [line for line in children if line.split()[0] == str(wire.process.pid)]
