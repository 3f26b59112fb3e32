"""Vectors come when the model can make them; the text is safe and found before that."""

import threading
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.embed import EmbedChoice, EmbeddingService
from memorycore.options import CoreOptions, EmbedOptions
from tests.homes import Home, fact


def options(root: Path, url: str) -> CoreOptions:
    return CoreOptions(
        hot_dir=root / "memories", data_dir=root / "data", embed=EmbedOptions(url=url, model="any", timeout_s=2.0)
    )


def test_a_store_with_the_model_away_answers_that_the_vector_is_pending(tmp_path: Path) -> None:  # IL-104
    core = MemoryCore(options(tmp_path, "http://127.0.0.1:9/v1"), long_lived=False)
    answer = core.remember(fact(1), actor="test")
    assert answer["status"] == "cold_stored"
    assert answer.get("pending") == ["vector", "judge"]
    found = core.recall("printer room 1")
    assert found["results"][0]["id"] == answer.get("id")
    assert found.get("degraded")
    assert core.usage()["cold"]["pending"] == 1
    assert core.status()["level"] == "degraded"
    core.close()


def test_pending_vectors_are_made_once_the_model_is_there(tmp_path: Path) -> None:  # IL-103
    home = Home(tmp_path)
    with home.core() as core:
        for number in range(50):
            core.remember(fact(number), actor="test")
        assert core.usage()["cold"]["vectors"] == 0
    with home.core(vectors=True) as core:
        report = core.maintain(["reembed"])["steps"][0]
        assert report["made"] == 50
        usage = core.usage()["cold"]
        assert (usage["vectors"], usage["pending"], usage["failed"]) == (50, 0, 0)


def test_a_long_lived_process_makes_them_in_the_background(tmp_path: Path) -> None:  # IL-102
    home = Home(tmp_path)
    with home.core() as core:
        core.remember(fact(1), actor="test")
    with home.core(long_lived=True, vectors=True) as core:
        assert core.background is not None
        core.background.start()
        pause = threading.Event()
        for _ in range(100):
            if core.usage()["cold"]["pending"] == 0:
                break
            pause.wait(0.05)
        assert core.usage()["cold"]["vectors"] == 1


def test_a_switch_of_the_model_embeds_again_and_keeps_both_apart(tmp_path: Path) -> None:  # IL-083
    from memorycore.testing import HashingEmbedder

    home = Home(tmp_path)
    with home.core(vectors=True) as core:
        core.remember(fact(1), actor="test")
        assert core.usage()["cold"]["vectors"] == 1
    other = EmbeddingService.serving(HashingEmbedder(width=64))
    core = MemoryCore(home.options, long_lived=False, clock=home.clock, embedding=other)
    core.embedding.wait_ready(None)
    assert core.usage()["cold"]["vectors"] == 0
    assert core.recall("printer room 1")["results"]
    assert core.maintain(["reembed"])["steps"][0]["made"] == 1
    assert core.usage()["cold"]["vectors"] == 1
    core.close()


def test_equal_text_is_never_embedded_twice(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core(vectors=True) as core:
        first = core.remember(
            Draft(content="The heron host runs the crawler.", scope="session", session_id="a"), actor="t"
        )
        second = core.remember(
            Draft(content="The heron host runs the crawler.", scope="session", session_id="b"), actor="t"
        )
        assert first.get("id") != second.get("id")
        assert "pending" not in second
        assert core.usage()["cold"]["vectors"] == 2


def test_without_any_model_everything_works_by_keyword(tmp_path: Path) -> None:
    core = MemoryCore(Home(tmp_path).options, long_lived=False, embedding=EmbeddingService(EmbedChoice(backend="none")))
    core.remember(Draft(content="设备清单在书房"), actor="test")
    assert core.recall("设备")["results"][0]["content"] == "设备清单在书房"  # IL-110
    assert core.recall("设备").get("degraded")
    core.close()


@pytest.mark.parametrize("query", ["", "   ", "\x00", "?!", "\ud83d"])
def test_a_question_without_words_has_an_answer(tmp_path: Path, query: str) -> None:
    with Home(tmp_path).core(vectors=True) as core:
        core.remember(fact(1), actor="test")
        assert isinstance(core.recall(query)["results"], list)
