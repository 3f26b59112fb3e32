"""Deadlines, order, caches and faults of the service, over models that a test holds in its hand."""

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from memorycore.embed import EmbedChoice, EmbeddingService, why_of
from memorycore.embed.choose import Loaded
from memorycore.errors import EmbeddingError
from memorycore.search.pipeline import WAIT_S, patience
from memorycore.testing import HashingEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Held(HashingEmbedder):
    """Works while ``open`` is set; remembers the texts of every call."""

    def __init__(self, *, batch_size: int = 64) -> None:
        super().__init__()
        self.batch_size = batch_size
        self.open = threading.Event()
        self.open.set()
        self.asked: list[str] = []
        self.embedded: list[str] = []

    def embed_queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        self.asked.extend(texts)
        return super().embed_passages(texts)

    def embed_passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        self.embedded.extend(texts)
        self.open.wait(20)
        return super().embed_passages(texts)


@contextmanager
def serving(model: HashingEmbedder) -> Generator[EmbeddingService]:
    service = EmbeddingService.serving(model)
    try:
        yield service
    finally:
        if isinstance(model, Held):
            model.open.set()
        service.close()


def whys(results: Sequence[object]) -> list[str]:
    return [why_of(result) if isinstance(result, EmbeddingError) else "" for result in results]


def test_whoever_waited_for_a_model_to_load_does_not_wait_as_long_again() -> None:
    opened = threading.Event()

    def load(choice: EmbedChoice, stopping: threading.Event) -> Loaded:
        opened.wait(20)
        return Loaded(embedder=HashingEmbedder())

    service = EmbeddingService(EmbedChoice(), load=load)
    assert service.loading_s == 0
    assert not service.wait_ready(0.05)
    assert service.loading_s >= 0.05
    assert patience(service.loading_s) < patience(0.01) < patience(0)
    assert patience(60) == WAIT_S
    opened.set()
    assert service.wait_ready(10)
    assert service.loading_s == 0
    service.close()


def test_a_question_and_a_text_get_vectors_of_the_models_width() -> None:
    with serving(HashingEmbedder()) as service:
        asked = service.query("where is the key", timeout_s=None)
        [kept] = service.passages(["the key is under the mat"], timeout_s=None)
        assert asked is not None
        assert asked.shape == (256,)
        assert not isinstance(kept, EmbeddingError)
        assert kept.shape == (1, 256)
        assert (service.state, service.why, service.describe()) == ("ready", "", "hashing (256)")
        assert service.fingerprint() == "hashing|256"


def test_the_same_question_soon_after_costs_no_call() -> None:  # IL-124
    model = Held()
    with serving(model) as service:
        first = service.query("where is the key", timeout_s=None)
        again = service.query(" where is the key ", timeout_s=0)
        assert again is first
        assert model.asked == ["where is the key"]


def test_a_late_vector_is_kept_for_the_following_call() -> None:
    model = Held()
    model.open.clear()
    with serving(model) as service:
        began = time.monotonic()
        assert whys(service.passages(["slow text"], timeout_s=0.1)) == ["timeout"]
        assert time.monotonic() - began < 1.0
        model.open.set()
        assert whys(service.passages(["slow text"], timeout_s=None)) == [""]
        assert whys(service.passages(["slow text"], timeout_s=0)) == [""]
        assert model.embedded == ["slow text"]


def test_a_question_does_not_wait_behind_a_backlog_of_texts() -> None:
    model = Held()
    model.open.clear()
    with serving(model) as service:
        service.passages([f"text {number}" for number in range(100)], timeout_s=0)
        assert service.query("quick?", timeout_s=5) is not None


def test_what_somebody_waits_for_goes_before_what_nobody_waits_for() -> None:
    model = Held(batch_size=1)
    model.open.clear()
    with serving(model) as service:
        patient = threading.Thread(
            target=service.passages, args=(["first", "second", "third"],), kwargs={"timeout_s": None}
        )
        patient.start()
        assert wait_for(lambda: model.embedded == ["first"])
        service.passages(["urgent", "third"], timeout_s=0)
        model.open.set()
        patient.join(10)
        assert model.embedded == ["first", "urgent", "third", "second"]


def test_a_short_text_is_not_kept_waiting_by_a_very_long_one() -> None:
    model = Held(batch_size=1)
    model.open.clear()
    with serving(model) as service:
        long = "A sentence of seven words, no more. " * 300
        service.passages([long], timeout_s=0)
        assert wait_for(lambda: len(model.embedded) == 1)
        service.passages(["short"], timeout_s=0)
        model.open.set()
        [rows] = service.passages([long], timeout_s=None)
        assert not isinstance(rows, EmbeddingError)
        assert model.embedded.index("short") == 1
        assert len(model.embedded) == len(rows) + 1


def test_equal_texts_are_embedded_once() -> None:
    model = Held()
    with serving(model) as service:
        one, other, two = service.passages(["same", "other", "same"], timeout_s=None)
        assert one is two
        assert one is not other
        assert sorted(model.embedded) == ["other", "same"]


def test_a_long_text_has_a_row_for_each_part() -> None:
    with serving(HashingEmbedder()) as service:
        [rows] = service.passages(["A sentence of seven words, no more. " * 300], timeout_s=None)
        assert not isinstance(rows, EmbeddingError)
        assert rows.shape[0] >= 5


def test_a_question_longer_than_the_model_reads_is_asked_by_its_beginning() -> None:
    model = Held()
    with serving(model) as service:
        assert service.query("why is that so? " * 700, timeout_s=None) is not None
        assert 0 < len(model.asked[0]) < 10_000


def test_nothing_reaches_a_model_that_it_could_choke_on() -> None:
    model = Held()
    with serving(model) as service:
        service.passages(["a\x00b \ud800c"], timeout_s=None)
        service.query("a\x00b \udfffc", timeout_s=None)
        assert model.embedded == model.asked == ["ab \ufffdc"]


def test_nothing_asked_gives_nothing_and_nothing_stored_is_named() -> None:
    with serving(HashingEmbedder()) as service:
        assert service.query(" \x00\n", timeout_s=None) is None
        assert whys(service.passages(["", "text", "\x00"], timeout_s=None)) == ["empty_text", "", "empty_text"]


def test_vectors_that_are_shared_cannot_be_written_to() -> None:
    with serving(HashingEmbedder()) as service:
        found = service.query("shared", timeout_s=None)
        assert found is not None
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 1.0


def test_a_queue_that_is_full_says_so_at_the_deadline() -> None:
    model = Held(batch_size=1)
    model.open.clear()
    with serving(model) as service:
        results = whys(service.passages([f"text {number}" for number in range(400)], timeout_s=0.2))
        assert set(results[:256]) == {"timeout"}
        assert set(results[256:]) == {"busy"}


def test_a_patient_caller_gets_more_texts_through_than_may_wait_at_once() -> None:
    with serving(HashingEmbedder()) as service:
        assert set(whys(service.passages([f"text {number}" for number in range(700)], timeout_s=None))) == {""}


def test_a_mistake_of_a_model_costs_the_one_text_its_vector(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(HashingEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
            if "boom" in texts:
                raise ZeroDivisionError
            return super().embed_passages(texts)

    with serving(Broken()) as service:
        assert whys(service.passages(["before", "boom", "after"], timeout_s=None)) == ["", "fault", ""]
        assert whys(service.passages(["boom"], timeout_s=None)) == ["fault"]
        assert (service.state, service.why) == ("ready", "")
        assert "ZeroDivisionError" in caplog.text


def test_without_a_model_every_answer_is_no_vector() -> None:
    service = EmbeddingService(EmbedChoice(backend="none"))
    assert not service.wait_ready(10)
    assert service.query("anything", timeout_s=None) is None
    assert whys(service.passages(["anything"], timeout_s=None)) == ["off"]
    assert (service.state, service.why, service.fingerprint(), service.describe()) == (
        "off",
        "chosen_off",
        None,
        "none",
    )
    service.close()


def test_texts_that_come_while_the_model_loads_are_embedded_when_it_has_loaded() -> None:
    loading = threading.Event()

    def load(choice: EmbedChoice, stopping: threading.Event) -> Loaded:
        loading.wait(10)
        return Loaded(embedder=HashingEmbedder())

    service = EmbeddingService(EmbedChoice(), load=load)
    assert whys(service.passages(["early"], timeout_s=0.05)) == ["timeout"]
    assert service.query("early?", timeout_s=0.05) is None
    assert service.fingerprint(0.05) is None
    loading.set()
    assert whys(service.passages(["early"], timeout_s=None)) == [""]
    assert service.query("early?", timeout_s=5) is not None
    service.close()


def test_closing_releases_everybody_who_waits() -> None:
    model = Held(batch_size=1)
    model.open.clear()
    results: list[str] = []
    service = EmbeddingService.serving(model)
    waiting = threading.Thread(target=lambda: results.extend(whys(service.passages(["a", "b"], timeout_s=None))))
    waiting.start()
    assert wait_for(lambda: model.embedded == ["a"])
    service.close()
    model.open.set()
    waiting.join(10)
    assert results in (["closed", "closed"], ["", "closed"])
    assert whys(service.passages(["c"], timeout_s=None)) == ["closed"]
    assert service.query("c", timeout_s=None) is None


def wait_for(condition: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    return condition()
