"""What a relay makes of bytes and lines."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorycore.endpoint import Endpoint
from memorycore.relay import greeting, mail
from memorycore.relay.greeting import Wanted
from memorycore.relay.link import is_coming, lines_of
from memorycore.relay.mail import Mail

MODERN = {"_meta": {mail.MODERN_KEY: "2026-07-28"}}


def lines(chunks: Sequence[bytes], *, most: int = 0) -> list[bytes]:
    left = iter(chunks)
    return list(lines_of(lambda _: next(left, b""), most=most))


@given(st.lists(st.binary(min_size=1, max_size=9).map(lambda chunk: chunk.replace(b"a", b"\n"))))
def test_lines_are_the_same_however_they_come(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    ended = whole if not whole or whole.endswith(b"\n") else whole + b"\n"
    assert b"".join(lines(chunks)) == ended
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines(chunks))


def test_a_line_that_is_too_long_comes_as_nothing_once() -> None:
    long = [b"x" * 40] * 5
    assert lines([b"one\n", *long, b"\ntwo\n"], most=50) == [b"one\n", b"", b"two\n"]
    assert lines([b"x" * 51 + b"\ntwo\n"], most=50) == [b"", b"two\n"]


def request(number: object, method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def test_what_waits_is_what_was_asked_and_neither_answered_nor_cancelled() -> None:
    post = Mail()
    for line in (request(1, "tools/list"), request("1", "ping"), request(2, "tools/call", name="memorycore_update")):
        post.sent(line)
    post.sent(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
    post.sent(b"no message at all")
    assert post.answered(b'{"jsonrpc":"2.0","method":"notifications/progress"}') is None
    assert [call.id for call in post.waiting.values()] == ["1", 2]
    assert post.answered(b'{"jsonrpc":"2.0","id":"1","result":{}}') is not None
    assert [call.id for call in post.take_running(None)] == [2]
    assert post.waiting == {}


def test_only_what_may_have_begun_and_changes_something_is_given_up() -> None:
    post = Mail()
    for number, tool in enumerate(("memorycore_forget", "memorycore_forget", "memorycore_recall")):
        post.sent(request(number, "tools/call", name=tool))
    assert [call.id for call in post.take_running([0, 2])] == [0]
    assert [call.id for call in post.waiting.values()] == [1, 2]


@pytest.mark.parametrize(("meta", "kind"), [({}, None), (MODERN, "complete")])
def test_a_call_that_was_given_up_gets_a_result_of_its_era(meta: dict[str, object], kind: str | None) -> None:
    call = mail.call_of(request(7, "tools/call", name=mail.STORES, **meta))
    assert call is not None
    answer = json.loads(mail.refused(call, {"ok": False, "code": "daemon_gone", "message": "没有"}))
    assert answer["result"].get("resultType") == kind
    assert json.loads(answer["result"]["content"][0]["text"])["status"] == "error"


def test_a_request_that_is_no_call_gets_a_protocol_error() -> None:
    call = mail.call_of(request(7, "resources/read", uri="memory://status"))
    assert call is not None
    assert json.loads(mail.refused(call, {"message": "gone"}))["error"]["message"] == "gone"
    assert mail.call_of(b'{"jsonrpc":"2.0","method":"notifications/initialized"}') is None


def test_one_folder_under_two_names_is_one_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    words = {"version": "1", "namespace": "default", "settings": "s", "hot_dir": str(tmp_path / "real")}
    found = Endpoint(
        pid=1, started="", version="1", url="", relay=("127.0.0.1", 1), token="", data_dir=str(tmp_path / "real"),
        hot_dir=words["hot_dir"], namespace="default", settings="s",
    )  # fmt: skip
    wanted = Wanted(**{**words, "data_dir": str(tmp_path / "link")}, toolset="core", language="zh", session="s")
    assert greeting.difference(wanted, found) == ""
    assert greeting.difference({**asdict(wanted), "hot_dir": str(tmp_path)}, found) == "other_hot_dir"
    assert greeting.difference({}, found) == "other_version"


def test_a_proof_is_for_one_token_one_nonce_and_one_end() -> None:
    said = greeting.read(greeting.welcome("token", "nonce"))
    assert greeting.is_shown(said, "token", "nonce", "daemon")
    for other in (("other", "nonce", "daemon"), ("token", "other", "daemon"), ("token", "nonce", "client")):
        assert not greeting.is_shown(said, *other)
    assert not greeting.is_shown({"proof": 1}, "token", "nonce", "daemon")
    assert not greeting.is_shown(said, "token", None, "daemon")


@pytest.mark.parametrize("line", [b"[" * 100_000, b'{"a":' * 5_000, b"\xff\x00", b"9" * 5_000, b"null"])
def test_a_line_that_says_nothing_is_passed_on_and_ends_nothing(line: bytes) -> None:
    Mail().sent(line)
    assert mail.call_of(line) is None
    assert greeting.read(line) == {}


def test_a_proof_in_other_letters_is_none() -> None:
    assert not greeting.is_shown({"proof": "é" * 64}, "token", "nonce", "daemon")


def test_a_farewell_is_no_message_and_no_message_is_one() -> None:
    assert greeting.last_words(greeting.farewell([1, "two"])) == [1, "two"]
    assert greeting.last_words(request(1, "ping")) is None
    assert greeting.last_words(b'{"memorycore": 1}') is None
    assert greeting.read(b"[1]") == {}


@pytest.mark.parametrize("content", [None, "", "no json", '{"pid": 0}', '{"pid": "x"}', '{"pid": 999999999}'])
def test_nobody_is_coming_when_no_living_process_leads(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "daemon.lock").write_text(content, encoding="utf-8")
    assert not is_coming(str(tmp_path))
