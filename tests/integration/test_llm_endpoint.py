"""One chat model behind a service: what is sent, what is believed, what is not told."""

import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from memorycore.errors import LlmError
from memorycore.llm import ChatEndpoint, open_endpoint
from memorycore.llm.relation import SCHEMA
from memorycore.options import LlmOptions
from tests.llm_stub import Stub, always, label, says, stub
from tests.loopback import BODY_TOO, HEAD_ONLY, Answer, dripping

KEY = "not-a-real-key-" + "1234"


@contextmanager
def opened(served: Stub, **given: Any) -> Generator[ChatEndpoint]:
    endpoint = ChatEndpoint(served.options(**given))
    try:
        yield endpoint
    finally:
        endpoint.close()


def failure(served: Stub, **given: Any) -> LlmError:
    with pytest.raises(LlmError) as caught, opened(served, **given) as endpoint:
        endpoint.answer("be brief", "hello", schema=SCHEMA)
    return caught.value


def test_words_come_back_and_the_answer_is_restricted_to_the_labels() -> None:
    with stub(always("same")) as served, opened(served, key=KEY) as endpoint:
        assert endpoint.answer("be brief", "hello", schema=SCHEMA) == '{"relation": "same"}'
        [body] = served.requests
        assert [message["role"] for message in body["messages"]] == ["system", "user"]
        assert body["response_format"]["json_schema"]["schema"]["properties"]["relation"]["enum"] == [
            "same", "refines", "supersedes", "disputes", "different",
        ]  # fmt: skip
        assert (body["model"], body["temperature"], body["stream"]) == ("judge-1", 0, False)
        assert served.headers[0]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "options", [LlmOptions(key=KEY), LlmOptions(key=KEY, model="m"), LlmOptions(key=KEY, url="http://127.0.0.1:9/v1")]
)
def test_there_is_no_endpoint_unless_address_and_model_are_given(options: LlmOptions) -> None:
    assert open_endpoint(options) is None


def test_opening_contacts_nobody() -> None:
    with stub(always("same")) as served:
        endpoint = open_endpoint(served.options())
        assert endpoint is not None
        endpoint.close()
        assert served.requests == []


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_knows_no_response_format_is_asked_without_from_then_on(status: int) -> None:
    def strict(body: dict[str, Any]) -> Answer:
        return Answer(status, {"error": "unknown field"}) if "response_format" in body else label("same")

    with stub(strict) as served, opened(served) as endpoint:
        for _ in range(2):
            assert endpoint.answer("be brief", "hello", schema=SCHEMA) == '{"relation": "same"}'
        assert ["response_format" in body for body in served.requests] == [True, False, False]
        assert set(served.requests[1]) == {"model", "messages", "stream"}


def test_a_refusal_for_another_reason_is_tried_once_without_and_then_told() -> None:
    with stub(lambda _: Answer(400, {"error": "no"})) as served:
        assert failure(served).facts["why"] == "refused"
        assert len(served.requests) == 2


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(401, {"error": "no"}), "unauthorised"),
        (Answer(403, {"error": "no"}), "unauthorised"),
        (Answer(404, {"error": "no"}), "model_not_found"),
        (Answer(429, headers={"Retry-After": "7"}), "overloaded"),
        (Answer(500, b"oops"), "server_error"),
        (Answer(503), "server_error"),
        (Answer(body=b"<html>busy</html>"), "bad_answer"),
        (Answer(body={"choices": []}), "bad_answer"),
        (says(None), "bad_answer"),
        (says("x" * 300_000), "bad_answer"),
        (Answer(200, b"\x1f\x8b", {"Content-Encoding": "gzip"}), "bad_answer"),
    ],
)
def test_a_failure_is_told_by_its_kind(answer: Answer, why: str) -> None:
    with stub(lambda _: answer) as served:
        error = failure(served)
        assert error.facts["why"] == why
        assert error.facts["model"] == "judge-1"
        assert error.facts.get("retry_after_s") == (7.0 if why == "overloaded" else None)
        assert len(served.requests) == 1


def test_a_redirect_is_not_followed() -> None:
    with stub(always("same")) as other, stub(lambda _: Answer(307, headers={"Location": other.url})) as served:
        assert failure(served, key=KEY).facts["why"] == "bad_answer"
        assert other.requests == []


def test_a_silent_server_costs_the_configured_time_and_no_more() -> None:
    with stub(lambda _: time.sleep(1.0) or label("same")) as served:
        began = time.monotonic()
        assert failure(served, timeout_s=0.3).facts["why"] == "timeout"
        assert time.monotonic() - began < 0.9


@pytest.mark.parametrize("sends", [HEAD_ONLY, BODY_TOO], ids=["head", "body"])
def test_a_server_that_sends_letter_by_letter_costs_little_more(sends: tuple[bytes, bytes]) -> None:
    with dripping(*sends) as url:
        endpoint = ChatEndpoint(LlmOptions(url=url, model="m", timeout_s=0.4))
        began = time.monotonic()
        with pytest.raises(LlmError, match="timeout"):
            endpoint.answer("be brief", "hello", schema=SCHEMA)
        endpoint.close()
        assert time.monotonic() - began < 1.5


def test_nobody_there_is_unreachable_and_a_closed_one_closed() -> None:
    with stub(always("same")) as served:
        options = served.options()
    endpoint = ChatEndpoint(options)
    with pytest.raises(LlmError) as caught:
        endpoint.answer("be brief", "hello", schema=SCHEMA)
    assert caught.value.facts["why"] == "unreachable"
    assert str(caught.value.facts["host"]).startswith("127.0.0.1:")
    endpoint.close()
    with pytest.raises(LlmError, match="closed"):
        endpoint.answer("be brief", "hello", schema=SCHEMA)


@pytest.mark.parametrize("url", ["ftp://host/v1", "just words", "http://", "http://host:notaport/v1"])
def test_an_address_that_is_none_is_said_to_be_one(url: str) -> None:
    with stub(always("same")) as served:
        assert failure(served, url=url).facts["why"] == "bad_llm_url"


@pytest.mark.parametrize(
    ("base", "path"),
    [("", "/v1/chat/completions"), ("/v1/", "/v1/chat/completions"), ("/api/x", "/api/x/chat/completions"),
     ("/v1/chat/completions", "/v1/chat/completions"), ("/v1?version=2", "/v1/chat/completions?version=2")],
)  # fmt: skip
def test_the_base_of_a_service_is_enough(base: str, path: str) -> None:
    with stub(always("same")) as served, opened(served, url=served.url.removesuffix("/v1") + base) as endpoint:
        endpoint.answer("be brief", "hello", schema=SCHEMA)
        assert served.paths == [path]


def test_the_key_and_the_texts_are_never_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    echo = Answer(401, {"error": f"wrong key {KEY} for hello"})
    with stub(lambda _: echo) as served:
        url = served.url.replace("//", "//someone:pass-word@")
        error = failure(served, key=KEY, url=url)
        assert served.headers[0]["Authorization"] == f"Bearer {KEY}"
        told = f"{error!r} {error} {error.facts} {served.options(key=KEY)!r} {ChatEndpoint(served.options(key=KEY))!r}"
    assert KEY not in told + caplog.text
    assert "hello" not in told + caplog.text
    assert "pass-word" not in caplog.text + told


def test_a_service_that_closed_a_kept_connection_is_asked_on_a_new_one() -> None:
    with stub(always("same")) as served, opened(served) as endpoint:
        served.answer = lambda _: Answer(200, label("same").body, {"Connection": "close"})
        for _ in range(3):
            assert json.loads(endpoint.answer("be brief", "hello", schema=SCHEMA)) == {"relation": "same"}
