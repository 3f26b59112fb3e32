"""Whose call comes next: fair between clients, bounded for each, and never refused without need."""

import asyncio
import threading
import time
from collections.abc import Callable, Generator

import pytest

from memorycore.errors import TooManyCalls
from memorycore.server.gate import Gate, GateRules


class Work:
    """Calls that end when the test lets them; who began, in order."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.release = threading.Event()

    def of(self, name: str) -> Callable[[], str]:
        def work() -> str:
            self.began.append(name)
            assert self.release.wait(10)
            return name

        return work


@pytest.fixture
def work() -> Generator[Work]:
    found = Work()
    yield found
    found.release.set()


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0.005)


def test_a_client_with_many_calls_waits_for_the_others_in_between(work: Work) -> None:
    async def run() -> None:
        gate = Gate(GateRules(at_once=1, per_client=1, waiting=10))
        many = [asyncio.create_task(gate.run("many", work.of("many"))) for _ in range(6)]
        await settled()
        few = [asyncio.create_task(gate.run(name, work.of(name))) for name in ("a", "b")]
        await settled()
        work.release.set()
        await asyncio.gather(*many, *few)
        gate.close()

    asyncio.run(run())
    assert work.began[:3] == ["many", "a", "b"]
    assert len(work.began) == 8


def test_a_client_has_a_few_calls_at_work_though_there_is_room_for_more(work: Work) -> None:
    async def run() -> None:
        gate = Gate(GateRules(at_once=8, per_client=2, waiting=10))
        calls = [asyncio.create_task(gate.run("one", work.of("one"))) for _ in range(5)]
        calls += [asyncio.create_task(gate.run("other", work.of("other")))]
        await settled()
        assert sorted(work.began) == ["one", "one", "other"]
        work.release.set()
        await asyncio.gather(*calls)
        gate.close()

    asyncio.run(run())


def test_an_agent_that_stores_thirty_facts_at_once_is_refused_none(work: Work) -> None:
    async def run() -> None:
        gate = Gate()
        calls = [asyncio.create_task(gate.run("agent", work.of("agent"))) for _ in range(30)]
        await settled()
        work.release.set()
        assert await asyncio.gather(*calls) == ["agent"] * 30
        gate.close()

    asyncio.run(run())


def test_what_comes_on_top_is_refused_and_may_come_again(work: Work) -> None:
    async def run() -> None:
        gate = Gate(GateRules(at_once=1, per_client=1, waiting=2))
        held = [asyncio.create_task(gate.run("one", work.of("one"))) for _ in range(3)]
        await settled()
        with pytest.raises(TooManyCalls) as refused:
            await gate.run("one", work.of("one"))
        assert refused.value.retryable
        other = asyncio.create_task(gate.run("other", work.of("other")))
        await settled()
        assert not other.done()  # it is not refused: it waits for its turn
        work.release.set()
        assert await asyncio.gather(*held, other) == ["one"] * 3 + ["other"]
        assert await gate.run("one", lambda: "again") == "again"
        gate.close()

    asyncio.run(run())


def test_work_whose_caller_has_gone_counts_until_it_ends(work: Work) -> None:
    async def run() -> None:
        gate = Gate(GateRules(at_once=1, per_client=1))
        left = asyncio.create_task(gate.run("one", work.of("left")))
        await settled()
        left.cancel()
        after = asyncio.create_task(gate.run("one", work.of("after")))
        await settled()
        assert work.began == ["left"]
        work.release.set()
        assert await after == "after"
        gate.close()

    asyncio.run(run())


def test_a_caller_that_goes_while_it_waits_leaves_no_gap(work: Work) -> None:
    async def run() -> None:
        gate = Gate(GateRules(at_once=1, per_client=1))
        calls = [asyncio.create_task(gate.run("one", work.of(name))) for name in ("first", "second", "third")]
        await settled()
        calls[1].cancel()
        work.release.set()
        assert await calls[0] == "first"
        assert await calls[2] == "third"
        gate.close()

    asyncio.run(run())
    assert work.began == ["first", "third"]


def test_a_client_is_held_to_its_rate_only_while_others_are_there() -> None:
    async def run(*, others: bool) -> float:
        gate = Gate(GateRules(calls_per_s=5, per_client=1))
        started = time.monotonic()
        for _ in range(12):  # ten of them are credit
            if others:
                await gate.run("other", lambda: None)
            await gate.run("one", lambda: None)
        gate.close()
        return time.monotonic() - started

    assert asyncio.run(run(others=True)) >= 0.3
    assert asyncio.run(run(others=False)) < 0.3


def test_a_client_that_goes_on_flooding_while_others_are_there_is_refused_sooner(work: Work) -> None:
    async def run() -> None:
        gate = Gate(GateRules(at_once=2, per_client=1, waiting=64, calls_per_s=5))
        for _ in range(10):  # all its credit
            await gate.run("one", lambda: None)
        other = asyncio.create_task(gate.run("other", work.of("other")))
        held = [asyncio.create_task(gate.run("one", work.of("one"))) for _ in range(5)]
        await settled()
        with pytest.raises(TooManyCalls) as refused:
            for _ in range(3):
                await asyncio.wait_for(gate.run("one", lambda: None), 0.2)
        assert refused.value.facts["most"] == 5
        work.release.set()
        await asyncio.gather(other, *held)
        gate.close()

    asyncio.run(run())


def test_a_place_for_work_with_its_own_thread_is_given_back(work: Work) -> None:
    async def run() -> None:
        gate = Gate(GateRules(at_once=1, per_client=1))
        async with gate.turn("one"):
            waits = asyncio.create_task(gate.run("other", lambda: "other"))
            await settled()
            assert not waits.done()
        assert await waits == "other"
        gate.close()

    asyncio.run(run())


def test_a_fault_in_the_work_reaches_the_caller_and_gives_the_place_back() -> None:
    def broken() -> None:
        raise LookupError("gone")

    async def run() -> None:
        gate = Gate(GateRules(at_once=1, per_client=1))
        for _ in range(3):
            with pytest.raises(LookupError):
                await gate.run("one", broken)
        gate.close()

    asyncio.run(run())
