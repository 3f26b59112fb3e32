"""A configured endpoint that is slow, down or back again (cases IL-082, IL-083, IL-085, IL-100 … IL-104)."""

import os
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from memorycore.domain.memory import Draft
from memorycore.embed import EmbedChoice, EmbeddingService, why_of
from memorycore.errors import EmbeddingError
from memorycore.options import EmbedOptions
from tests.embedding_stub import good, refuses_when, rows, stub, vectors, wait_until
from tests.homes import Home
from tests.loopback import Answer


@contextmanager
def service_for(url: str, cache_dir: Path | None = None, model: str = "plain-model") -> Generator[EmbeddingService]:
    service = EmbeddingService(EmbedChoice(url=url, model=model, timeout_s=5.0, cache_dir=cache_dir))
    try:
        yield service
    finally:
        service.close()


def whys(results: Sequence[object]) -> set[str]:
    return {why_of(result) if isinstance(result, EmbeddingError) else "" for result in results}


def free_url() -> str:
    with stub() as served:
        return served.url


def test_an_endpoint_that_is_down_is_not_replaced_by_another_model() -> None:  # IL-082
    with service_for(free_url()) as service:
        assert not service.wait_ready(10)
        assert (service.state, service.why) == ("failed", "unreachable")
        assert service.describe() == "plain-model"
        assert service.query("where?", timeout_s=1) is None
        assert whys(service.passages(["a text"], timeout_s=1)) == {"unreachable"}
        assert service.fingerprint(0) is None


def test_another_model_of_the_same_width_is_another_space() -> None:  # IL-083
    with stub() as served, service_for(served.url) as one, service_for(served.url, model="other-model") as two:
        assert one.fingerprint() == "plain-model|32|-|plain|c1"
        assert two.fingerprint() == "other-model|32|-|plain|c1"


def test_a_changed_width_gives_no_vectors_and_says_so() -> None:  # IL-085
    with stub() as served, service_for(served.url) as service:
        assert service.wait_ready(10)
        served.answer = lambda body: rows(vectors(body["input"], width=16))
        assert whys(service.passages(["new text"], timeout_s=5)) == {"width_changed"}
        assert service.query("new question", timeout_s=5) is None
        assert (service.state, service.why) == ("failed", "width_changed")


def test_a_slow_first_call_keeps_nobody_beyond_the_deadline() -> None:  # IL-100
    awake = threading.Event()

    def sleepy(body: dict[str, Any]) -> Answer:
        awake.wait(20)
        return good(body)

    with stub(sleepy) as served, service_for(served.url) as service:
        began = time.monotonic()
        service.start()
        assert whys(service.passages(["first text"], timeout_s=0.2)) == {"timeout"}
        assert service.query("first question", timeout_s=0.2) is None
        assert service.fingerprint(0.1) is None
        assert time.monotonic() - began < 2.0
        assert service.state == "loading"
        awake.set()
        assert whys(service.passages(["first text"], timeout_s=10)) == {""}  # IL-102: without a restart
        assert service.query("first question", timeout_s=10) is not None


def test_fifty_texts_of_an_outage_have_vectors_at_the_next_try() -> None:  # IL-103
    texts = [f"said during the outage, number {number}" for number in range(50)]
    with stub() as served:
        port = int(served.url.split(":")[2].split("/")[0])
    with service_for(f"http://127.0.0.1:{port}/v1") as service:
        for text in texts:
            assert whys(service.passages([text], timeout_s=0.5)) == {"unreachable"}  # IL-104: never a bare success
        with stub(port=port):
            assert whys(service.passages(texts, timeout_s=None)) == {""}
            assert service.state == "ready"


def test_an_outage_in_the_middle_is_survived_and_seen() -> None:
    with stub() as served, service_for(served.url) as service:
        assert service.wait_ready(10)
        served.answer = lambda _: Answer(401)
        assert service.query("during", timeout_s=5) is None
        assert (service.state, service.why) == ("failed", "unauthorised")
        served.answer = good
        assert whys(service.passages(["after"], timeout_s=None)) == {""}
        assert (service.state, service.why) == ("ready", "")


def test_a_service_that_failed_is_left_alone_for_a_while_by_those_in_a_hurry() -> None:
    with stub() as served, service_for(served.url) as service:
        assert service.wait_ready(10)
        served.answer = lambda _: Answer(429, headers={"Retry-After": "30"})
        assert service.query("one", timeout_s=5) is None
        sent = len(served.requests)
        assert service.query("two", timeout_s=5) is None
        assert whys(service.passages(["three"], timeout_s=5)) == {"overloaded"}
        assert len(served.requests) == sent


def test_a_question_that_was_answered_before_is_answered_during_an_outage() -> None:
    with stub() as served, service_for(served.url) as service:
        known = service.query("known", timeout_s=None)
        served.answer = lambda _: Answer(401)
        assert service.query("unknown", timeout_s=5) is None
        assert service.query("known", timeout_s=5) is known


def test_one_text_that_breaks_the_server_is_no_outage() -> None:
    with (
        stub(refuses_when(lambda text: "330 meters" in text, Answer(500))) as served,
        service_for(served.url) as service,
    ):
        assert whys(service.passages(["it is 330 meters tall"], timeout_s=10)) == {"server_error"}
        assert service.state == "ready"
        assert whys(service.passages(["it is tall"], timeout_s=10)) == {""}


def test_a_model_behind_an_endpoint_is_calibrated_once(tmp_path: Path) -> None:
    with stub() as served, service_for(served.url, tmp_path) as first:
        assert first.wait_ready(20)
        measured = first.calibration
        assert measured is not None
        asked = len(served.requests)
        assert asked > 10
        with service_for(served.url, tmp_path) as second:
            assert second.wait_ready(10)
            assert len(served.requests) == asked + 1
            known = second.calibration
            assert known is not None
            assert np.allclose(known.means["han"], measured.means["han"])
            assert known.strong == measured.strong


def test_a_version_that_measures_otherwise_keeps_its_calibration_beside_ours(tmp_path: Path) -> None:
    def calls() -> int:
        before = len(served.requests)
        with service_for(served.url, tmp_path) as service:
            assert service.wait_ready(20)
        return len(served.requests) - before

    with stub() as served:
        measured = calls()
        (ours,) = tmp_path.glob("calibration-*.npz")
        theirs = [ours.with_name(f"{ours.stem[:-8]}{number:08x}.npz") for number in range(5)]
        for number, one in enumerate(theirs):
            one.write_bytes(b"another layout")
            os.utime(one, (number, number))
        assert calls() == 1
        ours.unlink()
        assert calls() == measured
        assert set(tmp_path.glob("calibration-*.npz")) == {ours, *theirs[-3:]}
        assert calls() == 1


def test_a_server_that_refuses_some_sentences_is_calibrated_by_the_others() -> None:
    with stub(refuses_when(lambda text: "cat" in text, Answer(500))) as served, service_for(served.url) as service:
        assert service.wait_ready(20)
        assert service.calibration is not None


def test_closing_while_the_first_call_hangs_takes_no_time() -> None:
    hanging = threading.Event()

    def never(body: dict[str, Any]) -> Answer:
        hanging.wait(20)
        return good(body)

    with stub(never) as served:
        service = EmbeddingService(EmbedChoice(url=served.url, model="plain-model"))
        service.start()
        assert wait_until(lambda: bool(served.requests))
        began = time.monotonic()
        service.close()
        assert time.monotonic() - began < 2.0
        hanging.set()


def test_a_model_without_a_name_is_asked_for() -> None:
    service = EmbeddingService(EmbedChoice(url="http://127.0.0.1:9/v1"))
    assert not service.wait_ready(10)
    assert service.why == "model_not_named"
    service.close()


def test_a_slow_model_leaves_the_question_of_a_turn_to_its_words(tmp_path: Path) -> None:
    may_answer = threading.Event()
    with stub() as served:
        home = Home(tmp_path)
        home.options = replace(home.options, embed=EmbedOptions(model="plain-model", url=served.url))
        with home.core(long_lived=True) as core:
            assert core.embedding.wait_ready(10)
            core.remember(Draft(content="The heron nests behind the old lighthouse."), actor="test")
            served.answer = lambda body: (may_answer.wait(20), good(body))[1]
            told = core.prefetch("Where does the heron behind the lighthouse nest?", session_id="s")
            assert "heron" in told["text"]
            assert told.get("degraded")
            may_answer.set()
