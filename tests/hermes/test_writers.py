"""Many writes of Hermes into small files: none is refused for want of room, and no text is lost."""

import json
import subprocess
import sys
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.hermes.hermes_home import NEEDS_HERMES, Hermes, HermesHome, hermes_home

pytestmark = [*NEEDS_HERMES, pytest.mark.timeout(300)]

EDITOR = Path(__file__).with_name("editor.py")
KEPT = {"active", "trashed", "superseded"}
LONGEST = 200
STUFF = ["anchors", "barrels", "candles", "dories", "eels", "flags", "gulls", "hawsers", "ice", "jibs"]


@pytest.fixture
def home(tmp_path: Path) -> Generator[HermesHome]:
    with hermes_home(tmp_path / "home") as made:
        made.daemon.foreground()
        made.daemon.leader_of_now()
        yield made


def begun(home: HermesHome, stack: ExitStack, session: str) -> Hermes:
    process = stack.enter_context(home.hermes())
    process.do("begin", session=session)
    process.do("be_patient")
    return process


def text(number: int) -> str:
    """A rule, a fact, a record or something in Chinese; most are as long as may be."""
    goods = ", ".join(f"{one} of lot {number}-{place}" for place, one in enumerate(STUFF))
    kinds = (
        f"Always tell the crew of boat {number} first about {goods}",
        f"The shed with the number {number} holds {goods}",
        f"2026-11-{number % 28 + 1:02}: finished and shipped order {number} with {goods}",
        f"{number} 号仓库的规矩：任何时候都先称重，再登记 {goods}",
    )
    return kinds[number // 2 % 4][: LONGEST if number % 5 else 90].strip()


def test_two_hundred_writes_in_a_row_find_room_and_every_text_is_kept(home: HermesHome) -> None:
    texts = [text(number) for number in range(200)]
    with ExitStack() as stack:
        hermes = begun(home, stack, "many")
        answers = [
            hermes.do("memory", action="add", target=("memory", "user")[number % 2], content=each)
            for number, each in enumerate(texts)
        ]
        assert [answer for answer in answers if not answer["success"]] == []
        hermes.do("shut_down")
        assert hermes.do("missed") == {}
    kept = home.kept()
    assert {kept.get(each) for each in texts} <= KEPT


def test_two_agents_an_editor_and_an_overflow_that_never_rests_lose_nothing(home: HermesHome) -> None:
    notes = [[f"Agent {name} saw ship {number} off the coast of Brest." for number in range(50)] for name in "AB"]
    edited = [f"Editor note {number} about the quay of Brest." for number in range(50)]
    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        agents = [begun(home, stack, name) for name in "AB"]
        editor = subprocess.Popen([sys.executable, str(EDITOR), str(home.memory_file), "50"])
        adding = [
            pool.submit(agent.do, "add_all", texts=each, tries=100) for agent, each in zip(agents, notes, strict=True)
        ]
        while editor.poll() is None or not all(one.done() for one in adding):
            home.ask("overflow")
            time.sleep(0.05)
        assert editor.returncode == 0
        assert [one.result() for one in adding] == [[], []]
    kept = home.kept()
    assert {kept.get(each) for each in (*notes[0], *notes[1], *edited)} <= KEPT
    assert len(home.memory_file.read_text(encoding="utf-8")) <= 2_200


def test_a_daemon_that_is_down_is_told_of_when_one_runs_again(home: HermesHome) -> None:
    home.daemon.kill_leader()
    with ExitStack() as stack:
        hermes = begun(home, stack, "down")
        assert hermes.do("memory", action="add", target="memory", content=text(0))["success"]
        home.daemon.leader_of_now()
        assert hermes.do("memory", action="add", target="memory", content=text(8))["success"]
        hermes.do("shut_down")
    counts = home.ask("status")["missed"]["counts"]
    assert counts.keys() & {"hermes memory-write:no_daemon", "hermes memory-write:unreachable"}, json.dumps(counts)
    assert {row["text"] for row in home.rows()} == {text(0), text(8)}
