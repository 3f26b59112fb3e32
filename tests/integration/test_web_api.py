"""The daemon's routes for programs: the same answers as the tools, refusals with a status, numbers that move."""

import json
import socket
from collections.abc import Generator
from contextlib import closing
from typing import cast
from urllib.parse import urlsplit

import apsw
import pytest

from memorycore.settings import Settings
from memorycore.web import calls
from memorycore.web.api import MOST_BYTES
from memorycore.web.given import Given
from tests.web import Service, service

RELAY = 'memorycore_requests_refused_total{reason="relay"}'
EXAMPLES = {"string": "hermes", "array": ["hermes"], "object": {"prefetch:timeout": 1}}


def everything(daemon: Service) -> tuple[int, int]:
    """The number of memories and of events."""
    with closing(apsw.Connection(str(daemon.home.data / "memorycore.db"), apsw.SQLITE_OPEN_READWRITE)) as c:
        ((memories, events),) = c.execute("SELECT (SELECT count(*) FROM memory), (SELECT count(*) FROM event)")
        return cast("tuple[int, int]", (memories, events))


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with service(tmp_path_factory.mktemp("web")) as running:
        yield running


def test_what_is_stored_is_found_changed_and_taken_back(daemon: Service) -> None:
    stored = daemon.answer("store", content="The kiln in Ghent is fired on Tuesdays.", session_id="s1", author="Ann")
    found = daemon.answer("recall", query="kiln in Ghent")["results"][0]
    assert (found["id"], found["author"]) == (stored["id"], "Ann")
    daemon.answer("update", id=stored["id"], content="The kiln in Ghent is fired on Mondays.")
    story = daemon.answer("inspect", id=stored["id"])
    assert story["content"].endswith("Mondays.")
    assert {event["actor"] for event in story["events"]} == {"api:api"}
    daemon.answer("forget", id=stored["id"])
    daemon.answer("undo", last=True)
    assert daemon.answer("recall", query="kiln in Ghent")["results"][0]["id"] == stored["id"]


def test_questions_about_the_state_are_answered_to_get_as_well(daemon: Service) -> None:
    assert daemon.get("/v1/status").json()["data_dir"] == str(daemon.home.data)
    assert daemon.get("/v1/usage").json()["hot"][0]["target"] == "memory"
    assert daemon.get("/v1/recall?query=kiln&top_k=1").json()["results"] is not None
    assert daemon.get("/v1/store").status_code == 405


def test_a_long_answer_is_whole_unless_it_is_asked_to_be_short(daemon: Service) -> None:
    text = "The archive of the printer in Turin holds " + ", ".join(f"volume {number}" for number in range(900)) + "."
    stored = daemon.answer("store", content=text)
    assert daemon.answer("recall", query="archive of the printer in Turin")["results"][0]["content"] == text
    short = daemon.ask("recall", query="archive of the printer in Turin", max_bytes=600)
    assert len(short.content) <= 700
    assert short.json()["results"][0]["id"] == stored["id"]


@pytest.mark.parametrize(
    ("route", "arguments", "status", "code"),
    [
        ("store", {"content": ""}, 400, "invalid_input"),
        ("store", {}, 400, "invalid_input"),
        ("store", {"content": "x" * 70_000}, 413, "too_long"),
        ("recall", {"query": "a", "since": "yesterday"}, 400, "invalid_input"),
        ("inspect", {"id": "01900000-0000-7000-8000-000000000000"}, 404, "not_found"),
        ("session-end", {"session_id": "s", "reason": "boredom"}, 400, "invalid_input"),
        ("nothing-of-the-kind", {}, 404, "invalid_input"),
    ],
)
def test_a_refusal_has_a_code_a_sentence_and_a_status(
    daemon: Service, route: str, arguments: dict[str, str], status: int, code: str
) -> None:
    response = daemon.ask(route, **arguments)
    answer = response.json()
    assert (response.status_code, answer["ok"], answer["code"], answer["retryable"]) == (status, False, code, False)
    assert "Nothing was" in answer["message"] or "not stored" in answer["message"]


@pytest.mark.parametrize("body", [b"{", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(daemon: Service, body: bytes) -> None:
    response = daemon.client.post(f"{daemon.url}/v1/recall", content=body, headers=daemon.bearer())
    assert (response.status_code, response.json()["code"]) == (400, "invalid_input")


WRONG: dict[str, list[object]] = {
    "string": [5, 1.5, True, ["x"], {"x": "y"}],
    "array": [5, True, {"x": "y"}, [["x"]], [5], [{"x": 1}]],
    "integer": ["x", True, [], {}, 1.5],
    "number": ["x", True, [], {}],
    "boolean": ["maybe", 7, [], {}],
    "object": ["x", 5, True, [5], {"prefetch:timeout": "often"}, {"prefetch:timeout": 0}],
}


@pytest.mark.parametrize("route", calls.table(Settings(), Given()))
def test_a_wrong_json_type_is_refused_and_changes_nothing(daemon: Service, route: str) -> None:
    schema = calls.table(Settings(), Given())[route].ask.input_schema()
    good = {name: EXAMPLES[schema["properties"][name]["type"]] for name in schema.get("required", ())}
    before = everything(daemon)
    for name, found in schema["properties"].items():
        as_truth = "yes" in found.get("enum", ())  # that may be said by a truth value too
        for value in (one for one in WRONG[found["type"]] if not (as_truth and one is True)):
            body = json.dumps({**good, name: value}).encode()
            response = daemon.client.post(f"{daemon.url}/v1/{route}", content=body, headers=daemon.bearer())
            answer = response.json()
            assert (response.status_code, answer["ok"], answer["code"]) == (400, False, "invalid_input"), (name, value)
            assert name in answer["message"]
            assert "Nothing was changed" in answer["message"]
    assert everything(daemon) == before


@pytest.mark.parametrize(
    "arguments",
    [{"event": 2**63}, {"event": -(10**30)}, {"run": "\x00"}, {"since": "\ud800"}, {"event": 1, "max_bytes": 10**30}],
)
def test_a_number_or_a_text_out_of_all_bounds_is_no_fault(daemon: Service, arguments: dict[str, object]) -> None:
    body = json.dumps(arguments).encode()
    response = daemon.client.post(f"{daemon.url}/v1/undo", content=body, headers=daemon.bearer())
    assert response.status_code in {200, 400, 404, 409}


def test_a_body_without_end_is_not_read_to_its_end(daemon: Service) -> None:
    body = json.dumps({"content": "x" * MOST_BYTES}).encode()
    response = daemon.client.post(f"{daemon.url}/v1/store", content=body, headers=daemon.bearer())
    assert (response.status_code, response.json()["code"]) == (413, "too_long")


def test_strangers_who_flood_push_nothing_out_of_the_log(daemon: Service) -> None:
    before, refused = len(daemon.home.log()), daemon.metrics()
    here = daemon.home.leader_of_now()
    address = urlsplit(here.url)
    for _ in range(100):
        for port, nonsense in ((address.port, b"nonsense\r\n\r\n"), (here.relay[1], b"{}\n")):
            with socket.create_connection((address.hostname, port), timeout=10) as stranger:
                stranger.sendall(nonsense)
                stranger.recv(1_000)
    lines = [line for line in daemon.home.log()[before:] if line["logger"].startswith(("uvicorn", "memorycore.server"))]
    assert 2 <= len(lines) <= 10
    assert daemon.metrics()[RELAY] - refused.get(RELAY, 0) == 100


def test_health_needs_no_token_and_tells_nothing(daemon: Service) -> None:
    response = daemon.client.get(f"{daemon.url}/healthz")
    assert (response.status_code, response.json()) == (200, {"ok": True})


@pytest.mark.parametrize("path", ["/v1/status", "/v1/store", "/metrics", "/mcp", "/unknown", "/"])
def test_everything_else_needs_a_token(daemon: Service, path: str) -> None:  # IL-209
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {daemon.token}"}):
        response = daemon.client.get(daemon.url + path, headers=headers)
        assert response.status_code == 401
        assert response.headers["www-authenticate"].startswith("Bearer")
        assert response.json()["code"] == "unauthorised"


@pytest.mark.parametrize("path", ["/healthz", "/v1/status", "/mcp"])
def test_a_page_that_was_led_here_by_its_own_name_learns_nothing(daemon: Service, path: str) -> None:  # IL-209
    assert daemon.get(path, Host="memory.example").status_code == 421
    assert daemon.get(path, Host="127.0.0.1.evil.example:80").status_code == 421
    assert daemon.get(path, Origin="https://evil.example").status_code == 403
    assert daemon.get(path, Origin="null").status_code == 403


def test_every_counter_counts_what_it_says(daemon: Service) -> None:
    before = daemon.metrics()
    daemon.answer("store", content="The trailer in Cork has number 4711.")
    daemon.ask("store", content="")
    daemon.answer("recall", query="trailer in Cork")
    daemon.answer("prefetch", query="Which number has the trailer in Cork?", session_id="m")
    daemon.answer("prefetch", query="Which number has the trailer in Cork?", session_id="m")
    daemon.ask("nothing-of-the-kind")
    daemon.get("/healthz", Host="memory.example")
    daemon.get("/healthz", Origin="https://evil.example")
    daemon.client.get(f"{daemon.url}/v1/status")
    daemon.client.post(f"{daemon.url}/v1/store", content=b"x" * (MOST_BYTES + 1), headers=daemon.bearer())
    after = daemon.metrics()
    grown = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
    assert {name: grown.get(name) for name in (
        'memorycore_calls_total{call="memorycore_store_fact",via="api",outcome="ok"}',
        'memorycore_calls_total{call="memorycore_store_fact",via="api",outcome="refused"}',
        'memorycore_calls_total{call="memorycore_recall",via="api",outcome="ok"}',
        'memorycore_call_duration_seconds_count{call="memorycore_recall"}',
        'memorycore_stores_total{status="cold_stored"}',
        'memorycore_prefetch_memories_total{outcome="offered"}',
        'memorycore_prefetch_memories_total{outcome="given"}',
        'memorycore_requests_refused_total{reason="host"}',
        'memorycore_requests_refused_total{reason="origin"}',
        'memorycore_requests_refused_total{reason="route"}',
        'memorycore_requests_refused_total{reason="size"}',
        'memorycore_requests_refused_total{reason="token"}',
        'memorycore_memories{tier="cold"}',
    )} == {
        'memorycore_calls_total{call="memorycore_store_fact",via="api",outcome="ok"}': 1,
        'memorycore_calls_total{call="memorycore_store_fact",via="api",outcome="refused"}': 1,
        'memorycore_calls_total{call="memorycore_recall",via="api",outcome="ok"}': 1,
        'memorycore_call_duration_seconds_count{call="memorycore_recall"}': 1,
        'memorycore_stores_total{status="cold_stored"}': 1,
        'memorycore_prefetch_memories_total{outcome="offered"}': 1,
        'memorycore_prefetch_memories_total{outcome="given"}': 1,
        'memorycore_requests_refused_total{reason="host"}': 1,
        'memorycore_requests_refused_total{reason="origin"}': 1,
        'memorycore_requests_refused_total{reason="route"}': 1,
        'memorycore_requests_refused_total{reason="size"}': 1,
        'memorycore_requests_refused_total{reason="token"}': 1,
        'memorycore_memories{tier="cold"}': 1,
    }  # fmt: skip


def test_gauges_follow_the_files_and_the_bin(daemon: Service) -> None:
    before = daemon.metrics()
    rule = daemon.answer("store", content="Always run check number 12 before a release.", target="memory")
    gone = daemon.answer("store", content="The boiler in Porto was bought in May.")
    daemon.answer("forget", id=gone["id"])
    after = daemon.metrics()
    assert rule["tier"] == "hot"
    assert (
        after['memorycore_hot_file_characters{target="memory"}']
        > before['memorycore_hot_file_characters{target="memory"}']
    )
    assert after["memorycore_memories_in_bin"] == before["memorycore_memories_in_bin"] + 1
    assert after['memorycore_memories{tier="hot"}'] == before['memorycore_memories{tier="hot"}'] + 1
    assert after["memorycore_database_size_bytes"] > 0
