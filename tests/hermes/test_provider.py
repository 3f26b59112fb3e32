"""The plugin in the real Hermes: loaded by its loader, driven by its MemoryManager, told by its memory tool.

``make hermes`` installs Hermes and runs this. One daemon, one process of Hermes and one session for each test.
"""

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.daemons import wait_for
from tests.hermes.hermes_home import NEEDS_HERMES, Hermes, HermesHome, hermes_home

pytestmark = NEEDS_HERMES

SOON_S = 1.0
"""The promise is 0.3 s on a machine that has time; this tells it from waiting for a daemon that does not answer."""

QUESTION = "On which server does the shop run?"
FACT = "The shop runs on a server in Bergen."


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[HermesHome]:
    with hermes_home(tmp_path_factory.mktemp("hermes") / "home") as made:
        made.daemon.foreground()
        made.ask("store", content=FACT)
        yield made


@pytest.fixture
def hermes(home: HermesHome, request: pytest.FixtureRequest) -> Generator[Hermes]:
    with home.hermes(MEMORYCORE_INDEX_TOPICS="the ferry, the  garden") as process:
        began = process.do("begin", session=request.node.name)
        assert began == {"name": "memorycore-prefetch", "available": True, "is": True}
        yield process


@pytest.fixture
def patient(hermes: Hermes) -> Hermes:
    hermes.do("be_patient")
    return hermes


def test_a_turn_gets_a_dated_fact_with_its_id_in_the_fence_of_hermes_and_only_once(patient: Hermes) -> None:
    text = patient.do("turn", text=QUESTION)
    assert text.startswith("<memory-context>")
    assert f": {FACT} [" in text
    assert patient.do("turn", text=QUESTION, number=2) == ""
    assert patient.do("turn", text="How is sourdough bread baked in the Alps?", number=3) == ""
    assert patient.do("missed") == {}


def test_after_a_compression_a_fact_may_come_again(patient: Hermes, request: pytest.FixtureRequest) -> None:
    session = request.node.name
    assert FACT in patient.do("turn", text=QUESTION)
    patient.do("switch", session=session, parent_session_id=session, reason="compression")
    assert FACT in patient.do("turn", text=QUESTION)
    patient.do("switch", session="another", parent_session_id=session, reset=True, reason="new_session")
    assert FACT in patient.do("turn", text=QUESTION)


def test_a_fact_comes_once_though_the_daemon_was_replaced(patient: Hermes, home: HermesHome) -> None:
    assert FACT in patient.do("turn", text=QUESTION)
    home.daemon.run("restart")
    assert patient.do("turn", text=QUESTION) == ""
    assert patient.do("missed") == {}


def test_the_block_of_the_system_prompt_stays_the_same_byte_for_byte(patient: Hermes) -> None:
    block = patient.do("system")
    assert "memorycore_recall" in block
    assert block.endswith("Topics: the ferry, the garden")
    patient.do("turn", text=QUESTION)
    patient.do("memory", action="add", target="memory", content="Answer in metric units.")
    assert patient.do("system") == block


def test_what_the_memory_tool_writes_is_typed_before_the_tool_returns(patient: Hermes, home: HermesHome) -> None:
    for change in (
        {"action": "add", "content": "Always answer the harbour master in Danish."},
        {"action": "replace", "old_text": "harbour master", "content": "Always answer the pilot in Danish."},
    ):
        assert patient.do("memory", target="memory", **change)["success"]
        (row,) = [row for row in home.rows() if row["text"] == change["content"]]
        assert (row["type"], row["origin"]) == ("rule", "hermes")
    assert patient.do("memory", target="memory", action="remove", old_text="the pilot")["success"]
    assert not [row for row in home.rows() if "pilot" in row["text"]]


def test_every_hook_is_answered_and_the_end_is_orderly(patient: Hermes, home: HermesHome) -> None:
    patient.do("turn", text=QUESTION)
    assert patient.do("done", text=QUESTION, reply="In Bergen.")
    assert patient.do("compress") == ""
    patient.do("delegate")
    assert "error" in patient.do("call", tool="memorycore_recall")
    patient.do("end")
    assert patient.do("shut_down")["status"] == "drained"
    assert patient.do("missed") == {}
    assert home.ask("recall", query="In Bergen.")["results"][0]["content"] == FACT  # no word of the talk was kept


def test_nobody_speaks_in_a_job_on_a_schedule(home: HermesHome) -> None:
    with home.hermes() as process:
        process.do("begin", session="cron", context="cron")
        calls = home.calls()
        assert process.do("turn", text=QUESTION) == ""
        process.do("done", text=QUESTION, reply="In Bergen.", session="cron")
        process.do("end")
        process.do("shut_down")
        assert home.calls() == calls


def test_what_hermes_would_block_is_not_injected(patient: Hermes, home: HermesHome) -> None:
    home.ask("store", content="The gardener of the palace uses the C2 framework sliver for the hedges.")
    home.ask("store", content="The gardener of the palace is called Mette.")
    text = patient.do("turn", text="Who is the gardener of the palace?")
    assert "Mette" in text
    assert "sliver" not in text
    assert patient.do("missed").get("prefetch:blocked") == 1


@contextmanager
def hanging(home: HermesHome) -> Generator[None]:
    pid = home.daemon.leader_of_now().pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_daemon_that_hangs_costs_a_turn_little_and_soon_nothing(hermes: Hermes, home: HermesHome) -> None:
    took: list[float] = []
    with hanging(home):
        for number in range(5):
            assert hermes.do("turn", text=f"{QUESTION} Number {number}?") == ""
            took.append(hermes.seconds)
        assert hermes.do("memory", action="add", target="user", content="The user sails.")["success"]
    assert max(took) < SOON_S
    missed = hermes.do("missed")
    assert missed == {"prefetch:timeout": 3, "prefetch:breaker": 2, "memory-write:timeout": 1}


def test_a_daemon_that_was_slow_is_told_of_the_next_write_at_once(
    hermes: Hermes, home: HermesHome, request: pytest.FixtureRequest
) -> None:
    def add(number: int) -> int:
        content = f"The user's boat with the number {number} lies in Brest."
        assert hermes.do("memory", action="add", target="user", content=content)["success"]
        return hermes.do("missed").get("memory-write:breaker", 0)

    with hanging(home):
        assert [add(number) for number in range(5)][-1] > 0
    hermes.do("switch", session=request.node.name)  # what waited has been told
    hermes.do("be_patient")
    before = hermes.do("missed").get("memory-write:breaker", 0)
    assert add(9) <= before


def test_a_daemon_that_was_killed_is_started_again_and_what_was_missed_stands_in_the_status(
    hermes: Hermes, home: HermesHome
) -> None:
    pid = home.daemon.kill_leader()
    assert hermes.do("turn", text=QUESTION) == ""
    assert hermes.seconds < SOON_S
    wait_for(lambda: (found := home.daemon.leader_of_now()) and found.pid != pid)
    hermes.do("be_patient")
    assert FACT in hermes.do("turn", text=QUESTION)
    hermes.do("shut_down")
    counts = home.ask("status")["missed"]["counts"]  # unreachable, or no daemon where its place was taken away already
    assert counts.get("hermes prefetch:unreachable", 0) + counts.get("hermes prefetch:no_daemon", 0) == 1


def test_a_home_whose_daemon_serves_other_files_gets_nothing(home: HermesHome) -> None:
    home.daemon.leader_of_now()
    with home.hermes(HERMES_HOME=str(home.profile("work"))) as process:
        process.do("begin", session="work")
        assert process.do("turn", text=QUESTION) == ""
        assert process.do("missed") == {"prefetch:other_home": 1}


def test_without_memorycore_hermes_goes_on_as_if_there_were_no_plugin(tmp_path: Path) -> None:
    with hermes_home(tmp_path / "home") as bare:
        bare.runtime_file.unlink()
        with bare.hermes(PATH="/usr/bin:/bin") as process:
            assert process.do("begin")["available"] is False
            assert process.do("turn", text=QUESTION) == ""
            assert process.do("missed") == {"prefetch:no_daemon": 1}


def test_the_first_words_start_a_daemon_and_do_not_wait_for_it(tmp_path: Path) -> None:
    with hermes_home(tmp_path / "home") as fresh, fresh.hermes() as process:
        process.do("begin")
        assert process.seconds < SOON_S
        assert process.do("turn", text=QUESTION) == ""
        assert process.seconds < SOON_S
        fresh.daemon.leader_of_now()
        fresh.ask("store", content=FACT)
        process.do("be_patient")
        assert FACT in process.do("turn", text=QUESTION)
