"""One model behind a service: what is sent, what is believed, what is tried again (cases IL-085 … IL-106)."""

import base64
import math
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from memorycore.embed import EmbedChoice, why_of
from memorycore.embed.endpoint import Endpoint
from memorycore.embed.isolation import embed_each, embed_whole
from memorycore.errors import EmbeddingError
from tests.embedding_stub import Stub, good, refuses_when, rows, stub, vectors
from tests.loopback import BODY_TOO, HEAD_ONLY, Answer, dripping

CHOICE = EmbedChoice(model="plain-model", timeout_s=5.0)


@contextmanager
def opened(served: Stub, choice: EmbedChoice = CHOICE) -> Generator[Endpoint]:
    endpoint = Endpoint(replace(choice, url=choice.url or served.url), stopping=threading.Event())
    try:
        endpoint.open()
        yield endpoint
    finally:
        endpoint.close()


def ollama(body: dict[str, Any]) -> Answer:
    """Its own protocol, not the one it shares with others."""
    return Answer(body={"embeddings": vectors(body["input"])})


def failure(served: Stub, choice: EmbedChoice = CHOICE) -> EmbeddingError:
    with pytest.raises(EmbeddingError) as caught, opened(served, choice) as endpoint:
        endpoint.embed_passages(["one text", "another text"])
    return caught.value


def test_a_text_becomes_a_row_of_length_one_and_the_first_answer_fixes_the_width() -> None:
    with stub() as served, opened(served) as endpoint:
        found = endpoint.embed_passages(["a green door", "the soup"])
        assert found.shape == (2, 32)
        assert found.dtype == np.float32
        assert np.allclose(np.linalg.norm(found, axis=1), 1.0)
        assert endpoint.fingerprint == "plain-model|32|-|plain|c1"


def test_another_width_under_the_same_name_is_noticed_and_nothing_of_it_is_used() -> None:  # IL-085
    with stub() as served, opened(served) as endpoint:
        served.answer = lambda body: rows(vectors(body["input"], width=48))
        with pytest.raises(EmbeddingError) as caught:
            endpoint.embed_queries(["a door"])
        assert caught.value.facts == {"model": "plain-model", "why": "width_changed", "expected": 32, "found": 48}


def test_an_answer_out_of_order_is_sorted_by_its_index() -> None:
    def backwards(body: dict[str, Any]) -> Answer:
        answer: Any = good(body)
        answer.body["data"].reverse()
        return answer

    with stub() as served, opened(served) as endpoint:
        expected = endpoint.embed_passages(["one", "two", "three"])
        served.answer = backwards
        assert np.array_equal(endpoint.embed_passages(["one", "two", "three"]), expected)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(body=b"<html>busy</html>"), "bad_answer"),
        (Answer(body={"object": "list"}), "bad_answer"),
        (Answer(body=["x"]), "bad_answer"),
        (rows(vectors(["only one"])), "bad_answer"),
        (Answer(body={"data": [{"index": 1, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]}), "bad_answer"),
        (rows([[None] * 32, [1.0] * 32]), "bad_vector"),
        (rows([[1.0] * 31, [1.0] * 32]), "bad_answer"),
        (rows([[math.nan] * 32, [1.0] * 32]), "bad_vector"),
        (rows([[1e300] * 32, [1.0] * 32]), "bad_vector"),
        (rows([[0.0] * 32, [1.0] * 32]), "bad_vector"),
        (rows(["!!!", "???"]), "bad_answer"),
        (Answer(301, headers={"Location": "http://127.0.0.1:9/"}), "bad_answer"),
    ],
)
def test_an_answer_that_cannot_be_trusted_is_refused_whole(answer: Answer, why: str) -> None:
    with stub(lambda body: good(body) if len(body["input"]) == 1 else answer) as served:
        assert why_of(failure(served)) == why


@pytest.mark.parametrize(
    ("status", "why"), [(401, "unauthorised"), (403, "unauthorised"), (404, "model_not_found"), (418, "refused")]
)
def test_a_refusal_is_told_apart_and_not_repeated(status: int, why: str) -> None:
    with stub(lambda _: Answer(status, {"error": "no"})) as served:
        assert why_of(failure(served)) == why
        assert len(served.requests) == 1


def test_the_key_is_sent_and_never_told(caplog: pytest.LogCaptureFixture) -> None:
    secret = "not-a-real-key-1234"  # noqa: S105 invented
    caplog.set_level("DEBUG")
    with stub(lambda _: Answer(401, {"error": f"wrong key {secret}"})) as served:
        choice = replace(CHOICE, key=secret, url=served.url.replace("//", "//someone:pass-word@"))
        error = failure(served, choice)
        assert served.headers[0]["Authorization"] == f"Bearer {secret}"
    told = f"{error!r} {error.facts} {choice!r} {caplog.text}"
    assert secret not in told
    assert "pass-word" not in caplog.text


def test_a_login_in_the_address_is_used_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    with stub() as served, opened(served, replace(CHOICE, url=served.url.replace("//", "//me:pass%21word@"))):
        assert served.headers[0]["Authorization"] == "Basic " + base64.b64encode(b"me:pass!word").decode()
    assert "pass" not in caplog.text


def test_a_busy_server_is_asked_again_when_it_says_so() -> None:
    answers = [Answer(429, headers={"Retry-After": "0.1"}), Answer(503)]
    with stub(lambda body: answers.pop(0) if answers else good(body)) as served, opened(served) as endpoint:
        assert endpoint.width == 32
        assert len(served.requests) == 3


def test_a_pause_longer_than_the_time_left_is_not_waited_for() -> None:
    with stub() as served, opened(served) as endpoint:
        served.answer = lambda _: Answer(429, headers={"Retry-After": "3600"})
        began = time.monotonic()
        with pytest.raises(EmbeddingError) as caught:
            endpoint.embed_queries(["x"])
        assert why_of(caught.value) == "overloaded"
        assert caught.value.facts["retry_after_s"] == 3600.0
        assert time.monotonic() - began < 1.0


def test_a_silent_server_costs_the_configured_time_and_no_more() -> None:
    with stub() as served, opened(served, replace(CHOICE, timeout_s=0.3)) as endpoint:
        served.answer = lambda body: time.sleep(1.0) or good(body)
        began = time.monotonic()
        with pytest.raises(EmbeddingError) as caught:
            endpoint.embed_queries(["x"])
        assert why_of(caught.value) == "timeout"
        assert time.monotonic() - began < 0.9


@pytest.mark.parametrize("sends", [HEAD_ONLY, BODY_TOO], ids=["head", "body"])
def test_a_server_that_sends_letter_by_letter_costs_little_more(sends: tuple[bytes, bytes]) -> None:
    with dripping(*sends) as url:
        endpoint = Endpoint(replace(CHOICE, url=url, timeout_s=0.4), stopping=threading.Event())
        began = time.monotonic()
        with pytest.raises(EmbeddingError, match="timeout"):
            endpoint.embed_queries(["a door"])
        endpoint.close()
        assert time.monotonic() - began < 1.5


def test_nobody_there_is_unreachable() -> None:
    with stub() as served:
        url = served.url
    with pytest.raises(EmbeddingError) as caught, opened(served, replace(CHOICE, url=url)):
        pass
    assert why_of(caught.value) == "unreachable"
    assert str(caught.value.facts["host"]).startswith("127.0.0.1:")


@pytest.mark.parametrize("url", ["ftp://host/v1", "just words", "http://", "http://host:notaport/v1"])
def test_an_address_that_is_none_is_said_to_be_one(url: str) -> None:
    with stub() as served:
        assert why_of(failure(served, replace(CHOICE, url=url))) == "bad_url"


@pytest.mark.parametrize(
    ("base", "path"),
    [("", "/v1/embeddings"), ("/v1", "/v1/embeddings"), ("/v1/", "/v1/embeddings"), ("/api/x", "/api/x/embeddings"),
     ("/v1/embeddings", "/v1/embeddings"), ("/api/embed", "/api/embed")],
)  # fmt: skip
def test_the_base_of_a_service_is_enough(base: str, path: str) -> None:
    answer = ollama if base.endswith("/api/embed") else good
    with stub(answer) as served, opened(served, replace(CHOICE, url=served.url.removesuffix("/v1") + base)):
        assert served.paths == [path]


def test_a_sentence_that_breaks_the_server_costs_no_other_its_vector() -> None:  # IL-088
    texts = ["before", "the mast is 330 meters tall", "after"]
    with stub(refuses_when(lambda text: "330 meters" in text, Answer(500))) as served, opened(served) as endpoint:
        first, broken, last = embed_each(endpoint.embed_passages, texts)
        assert not isinstance(first, EmbeddingError)
        assert not isinstance(last, EmbeddingError)
        assert isinstance(broken, EmbeddingError)
        assert why_of(broken) == "server_error"


def test_of_a_batch_of_eight_seven_have_vectors_and_one_is_named() -> None:  # IL-089
    texts = [f"item {number} of eight" for number in range(8)]
    with stub(refuses_when(lambda text: "item 5" in text, Answer(500))) as served, opened(served) as endpoint:
        results = embed_whole(endpoint, texts)
        assert [number for number, result in enumerate(results) if isinstance(result, EmbeddingError)] == [5]


def test_a_server_that_takes_one_text_at_a_time_still_serves_a_batch() -> None:
    with stub(lambda body: rows(vectors(body["input"][:1]))) as served, opened(served) as endpoint:
        results = embed_each(endpoint.embed_passages, ["one", "two", "three"])
        assert not any(isinstance(result, EmbeddingError) for result in results)


def test_a_long_text_is_cut_in_parts_and_each_has_a_vector() -> None:  # IL-092
    sentence = "The gardener wrote down what grew in the third bed. "
    text = (sentence * 400)[:20_000]
    short = refuses_when(lambda part: len(part) > 4 * 512, Answer(400, {"error": "input exceeds 512 tokens"}))
    with stub(short) as served, opened(served) as endpoint:
        [found] = embed_whole(endpoint, [text])
        assert not isinstance(found, EmbeddingError)
        assert len(found) == len(served.texts()[1:]) >= 10
        assert "".join(served.texts()[1:]) == text


def test_a_text_denser_than_it_looks_is_halved_until_it_is_taken() -> None:  # IL-093
    text = "{=}" * 2000
    short = refuses_when(lambda part: 2 * len(part) > 512, Answer(400))
    with stub(short) as served, opened(served) as endpoint:
        [found] = embed_whole(endpoint, [text])
        assert not isinstance(found, EmbeddingError)
        assert all(2 * len(part) <= 512 for part in served.texts()[-len(found) :])
        assert len(served.requests) <= len(found) + 20


def test_what_is_refused_at_every_size_is_given_up_after_few_tries() -> None:  # IL-094
    with stub() as served, opened(served) as endpoint:
        served.answer = lambda _: Answer(400, {"error": "the input length exceeds the context length"})
        [result] = embed_whole(endpoint, ["w" * 3000])
        assert isinstance(result, EmbeddingError)
        assert why_of(result) == "too_long"
        assert len(served.requests) <= 6


def test_a_size_that_the_server_takes_is_remembered_for_later_texts() -> None:
    short = refuses_when(lambda part: len(part) > 400, Answer(400, {"error": "too long"}))
    with stub(short) as served, opened(served) as endpoint:
        embed_whole(endpoint, ["The hedge was cut in June. " * 80])
        sent = len(served.requests)
        [again] = embed_whole(endpoint, ["The fence was painted in May. " * 20])
        assert not isinstance(again, EmbeddingError)
        assert len(served.requests) == sent + 1


def test_a_server_that_knows_no_dimensions_is_asked_without_them_from_then_on() -> None:  # IL-096
    def strict(body: dict[str, Any]) -> Answer:
        return Answer(400, {"error": "unknown field"}) if "dimensions" in body else good(body)

    with stub(strict) as served, opened(served, replace(CHOICE, dimensions=32)) as endpoint:
        endpoint.embed_passages(["one"])
        assert ["dimensions" in body for body in served.requests] == [True, False, False]


def test_dimensions_are_sent_only_when_they_are_configured() -> None:
    with stub() as served, opened(served), opened(served, replace(CHOICE, dimensions=32)):
        assert [body.get("dimensions") for body in served.requests] == [None, 32]


def test_floats_are_asked_for_and_base64_is_understood() -> None:  # IL-097
    def encoded(body: dict[str, Any]) -> Answer:
        packed = (np.asarray(row, "<f4").tobytes() for row in vectors(body["input"]))
        return rows([base64.b64encode(row).decode() for row in packed])

    with stub() as served, opened(served) as endpoint:
        plain = endpoint.embed_passages(["one", "two"])
        served.answer = encoded
        assert np.allclose(endpoint.embed_passages(["one", "two"]), plain)
        assert {body["encoding_format"] for body in served.requests} == {"float"}


def test_a_server_that_ignores_the_configured_width_is_not_built_on() -> None:  # IL-098
    with stub() as served:
        error = failure(served, replace(CHOICE, dimensions=16))
        assert error.facts == {"model": "plain-model", "why": "wrong_width", "expected": 16, "found": 32}


@pytest.mark.parametrize(("configured", "sent"), [("-1", -1), (-1, -1), ("5m", "5m"), ("0.5", 0.5)])
def test_keep_alive_is_sent_as_a_number_in_ollamas_own_protocol(
    configured: str | float, sent: object
) -> None:  # IL-101
    with stub(ollama) as served:
        with opened(served, replace(CHOICE, keep_alive=configured)) as endpoint:
            assert endpoint.embed_passages(["one", "two"]).shape == (2, 32)
        assert served.paths[0] == "/api/embed"
        assert served.requests[0]["keep_alive"] == sent
        assert served.requests[0]["truncate"] is False


@pytest.mark.parametrize(
    ("choice", "question", "passage"),
    [
        (EmbedChoice(model="nomic-embed-text:v1.5"), "search_query: door", "search_document: door"),
        (EmbedChoice(model="intfloat/multilingual-e5-base"), "query: door", "passage: door"),
        (EmbedChoice(model="text-embedding-3-small"), "door", "door"),
        (EmbedChoice(model="own", query_prefix="Q> ", passage_prefix="P> "), "Q> door", "P> door"),
        (EmbedChoice(model="nomic-embed-text", query_prefix="", passage_prefix=""), "door", "door"),
    ],
)
def test_each_role_gets_its_prefix(choice: EmbedChoice, question: str, passage: str) -> None:  # IL-106
    with stub() as served, opened(served, choice) as endpoint:
        endpoint.embed_queries(["door"])
        endpoint.embed_passages(["door"])
        assert served.texts()[1:] == [question, passage]


def test_prefixes_are_part_of_the_space_a_vector_lives_in() -> None:
    with stub() as served, opened(served) as plain, opened(served, replace(CHOICE, query_prefix="Q> ")) as other:
        assert plain.fingerprint != other.fingerprint


def test_a_proxy_of_the_environment_does_not_stand_before_the_own_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    with stub() as served, opened(served) as endpoint:
        assert endpoint.width == 32
