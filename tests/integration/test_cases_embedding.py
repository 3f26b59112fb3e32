"""What went wrong with embedding services elsewhere, tried on the whole of ours: store, recall, status."""

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from memorycore.cli.checks import check_model, sentence
from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.govern.vectors import RETRY
from memorycore.opening import embed_choice
from memorycore.options import EmbedOptions
from memorycore.settings import load_settings
from tests.embedding_stub import Stub, good, refuses_when, rows, stub, vectors, wait_until
from tests.homes import Home, fact
from tests.loopback import Answer

TOWER = Draft(content="The mast of the tower is 330 meters tall.")


@contextmanager
def core_for(home: Home, served: Stub, *, long_lived: bool = False, **embed: Any) -> Generator[MemoryCore]:
    chosen: dict[str, Any] = {"url": served.url, "model": "plain-model", "timeout_s": 5.0, **embed}
    home.options = replace(home.options, embed=EmbedOptions(**chosen))
    core = MemoryCore(home.options, long_lived=long_lived, clock=home.clock)
    core.embedding.start()
    try:
        if core.background:
            core.background.start()
        yield core
    finally:
        core.close()


def any_width(body: dict[str, Any]) -> Answer:
    """A service that gives vectors as wide as it is asked to."""
    return rows(vectors(body["input"], width=body.get("dimensions", 32)))


def test_a_sentence_that_breaks_the_server_is_stored_found_by_words_and_given_up_in_the_end(tmp_path: Path) -> None:
    home = Home(tmp_path)  # IL-088
    refusing = refuses_when(lambda text: "330 meters" in text, Answer(500))
    with stub(refusing) as served, core_for(home, served) as core:
        core.embedding.wait_ready(20)
        answer = core.remember(TOWER, actor="test")
        assert (answer["status"], answer.get("pending")) == ("cold_stored", ["vector", "judge"])
        assert core.remember(fact(1), actor="test").get("pending") is None
        assert core.recall("how tall is the tower")["results"][0]["id"] == answer.get("id")
        tried: list[int] = []
        for minute in range(60):
            before = len(served.requests)
            core.fill_vectors()
            tried += [minute] if len(served.requests) > before else []
            home.clock.forward(minutes=1)
        pauses = [later - earlier for earlier, later in pairwise(tried)]
        assert len(tried) == RETRY.most
        assert pauses == sorted(pauses)
        assert core.usage()["cold"]["failed"] == 1
        sent = len(served.requests)
        home.clock.forward(days=30)
        core.fill_vectors()
        assert len(served.requests) == sent
        assert core.status()["level"] == "degraded"
        assert core.inspect(answer.get("id", ""))["vector"].startswith("failed: server_error")


def test_of_a_batch_of_eight_the_one_without_a_vector_is_named(tmp_path: Path) -> None:  # IL-089
    home = Home(tmp_path)
    with stub(refuses_when(lambda text: "room 5 " in text, Answer(500))) as served, core_for(home, served) as core:
        core.embedding.wait_ready(20)
        answers = list(core.remember_many([fact(number) for number in range(8)], actor="test"))
        assert [answer["status"] for answer in answers] == ["cold_stored"] * 8
        assert [number for number, answer in enumerate(answers) if answer.get("pending")] == [5]
        assert (core.usage()["cold"]["vectors"], core.usage()["cold"]["pending"]) == (7, 1)


def test_a_text_that_no_cut_makes_small_enough_is_parked_and_the_queue_goes_on(tmp_path: Path) -> None:  # IL-094
    home = Home(tmp_path)
    with stub() as served, core_for(home, served) as core:
        core.embedding.wait_ready(20)
        too_long = Answer(400, {"error": "the input length exceeds the context length"})
        served.answer = refuses_when(lambda text: "www" in text, too_long)
        core.remember(Draft(content="w" * 3_000), actor="test")
        for _ in range(RETRY.most):
            core.fill_vectors()
            home.clock.forward(hours=2)
        assert len(served.requests) < 100
        assert core.remember(fact(1), actor="test").get("pending") is None
        cold = core.usage()["cold"]
        assert (cold["vectors"], cold["pending"], cold["failed"]) == (1, 0, 1)
        assert any("1 " in problem for problem in core.status()["problems"])


def test_another_width_in_the_settings_is_noticed_and_filled_in_bit_by_bit(tmp_path: Path) -> None:  # IL-084
    home = Home(tmp_path)
    with stub(any_width) as served:
        with core_for(home, served, dimensions=32) as core:
            core.embedding.wait_ready(20)
            list(core.remember_many([fact(number) for number in range(50)], actor="test"))
            assert core.usage()["cold"]["vectors"] == 50
        with core_for(home, served, dimensions=16) as core:
            core.embedding.wait_ready(20)
            cold = core.usage()["cold"]
            assert (cold["vectors"], cold["pending"]) == (0, 50)  # seen at once, before anybody queued anything
            assert core.recall("printer room 7")["results"]
            served.answer = lambda body: Answer(401) if "room 40 " in str(body["input"]) else any_width(body)
            core.maintain(["reembed"])  # is cut off in the middle
            assert 0 < core.usage()["cold"]["vectors"] < 50
            assert core.recall("printer room 40")["results"][0]["content"] == fact(40).content
        served.answer = any_width
        home.clock.forward(minutes=5)
        with core_for(home, served, long_lived=True, dimensions=16) as core:  # goes on where it stopped
            assert wait_until(lambda: core.usage()["cold"]["vectors"] == 50, 20)
            assert core.remember(fact(99), actor="test").get("pending") is None
            assert core.recall("printer room 7").get("degraded") is None


def test_a_server_that_ignores_the_configured_width_leaves_a_clear_choice_and_no_vector(tmp_path: Path) -> None:
    home = Home(tmp_path)  # IL-098
    with stub() as served, core_for(home, served, dimensions=16) as core:
        assert not core.embedding.wait_ready(20)
        answer = core.remember(fact(1), actor="test")
        assert (answer["status"], answer.get("pending")) == ("cold_stored", ["vector", "judge"])
        assert core.usage()["cold"]["vectors"] == 0
        (problem,) = core.status()["problems"]
        (found,) = check_model(home.options)
    for said in (problem, sentence(found, "en")):
        assert all(part in said for part in ("MEMORYCORE_EMBED_DIMENSIONS", "32", "16")), said


def ollama(body: dict[str, Any]) -> Answer:
    return Answer(body={"embeddings": vectors(body["input"])})


@pytest.mark.parametrize(("written", "sent"), [("-1", -1), ("600", 600), ("30m", "30m")])
def test_how_long_ollama_keeps_the_model_is_a_setting(tmp_path: Path, written: str, sent: object) -> None:  # IL-101
    env = {"HOME": str(tmp_path), "MEMORYCORE_EMBED_MODEL": "nomic-embed-text", "MEMORYCORE_EMBED_KEEP_ALIVE": written}
    assert embed_choice(load_settings(env).core_options()).keep_alive == written
    config = tmp_path / "config.toml"
    config.write_text(f"embed_keep_alive = {written if written.lstrip('-').isdigit() else repr(written)}\n", "utf-8")
    assert load_settings({"HOME": str(tmp_path)}, config).embed_keep_alive == written
    with stub(ollama) as served, core_for(Home(tmp_path), served, keep_alive=written) as core:
        core.embedding.wait_ready(20)
        core.remember(fact(1), actor="test")
        assert {str(body["keep_alive"]) for body in served.requests} == {str(sent)}
        assert type(served.requests[-1]["keep_alive"]) is type(sent)
        assert set(served.paths) == {"/api/embed"}


def test_a_model_that_was_unloaded_delays_a_recall_by_no_more_than_its_budget(tmp_path: Path) -> None:  # IL-101
    awake = threading.Event()

    def sleepy(body: dict[str, Any]) -> Answer:
        awake.wait(15)
        return ollama(body)

    with stub(ollama) as served, core_for(Home(tmp_path), served, long_lived=True, keep_alive="-1") as core:
        core.embedding.wait_ready(20)
        kept = core.remember(fact(1), actor="test").get("id")
        served.answer = sleepy
        began = time.monotonic()
        found = core.recall("which printer is from Leeds")
        assert time.monotonic() - began < 3
        assert (found["results"][0]["id"], bool(found.get("degraded"))) == (kept, True)
        awake.set()
        assert wait_until(lambda: not core.recall("which printer is from Leeds").get("degraded"), 10)


def test_a_recall_asks_the_model_once_and_a_repeated_one_not_at_all(tmp_path: Path) -> None:  # IL-124
    with stub(good) as served, core_for(Home(tmp_path), served, long_lived=True) as core:
        core.embedding.wait_ready(20)
        list(core.remember_many([fact(number) for number in range(200)], actor="test"))
        sent = len(served.requests)
        for _ in range(3):
            assert core.recall("which printer is from Leeds")["results"]
        assert [body["input"] for body in served.requests[sent:]] == [["which printer is from Leeds"]]
