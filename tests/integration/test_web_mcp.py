"""MCP at the daemon's ``/mcp``: a token for every request, sessions kept to their token, and nobody flooded out."""

import asyncio
import json
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import httpx
import pytest

from tests.web import Service, service
from tests.wire import PROTOCOL, Wire, read_answer

BOTH = {"accept": "application/json, text/event-stream"}
HELLO = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "http-test", "version": "1"}}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with service(tmp_path_factory.mktemp("mcp"), MEMORYCORE_CLIENT_CALLS_WAITING="4") as running:
        yield running


def message(method: str, params: Mapping[str, Any] | None = None, number: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


def call(tool: str, number: int = 1, **arguments: Any) -> dict[str, Any]:
    return message("tools/call", {"name": tool, "arguments": arguments}, number)


def result(response: httpx.Response) -> dict[str, Any]:
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
    return json.loads(lines[-1])["result"]


def told(response: httpx.Response) -> dict[str, Any]:
    """The object in the text of a tool's answer, which is no error of the protocol."""
    answer = result(response)
    assert not answer.get("isError")
    return json.loads(answer["content"][0]["text"])


def post(daemon: Service, body: Mapping[str, Any], *, token: str | None = None, session: str = "") -> httpx.Response:
    headers = {**daemon.bearer(token), **BOTH, **({"mcp-session-id": session} if session else {})}
    return daemon.client.post(f"{daemon.url}/mcp", json=body, headers=headers)


def joined(daemon: Service, token: str | None = None) -> str:
    """A new session; its id."""
    response = post(daemon, message("initialize", HELLO), token=token)
    assert response.status_code == 200, response.text
    return response.headers["mcp-session-id"]


def test_a_client_stores_and_finds(daemon: Service) -> None:
    session = joined(daemon)
    assert len(result(post(daemon, message("tools/list"), session=session))["tools"]) == 10
    stored = told(post(daemon, call("memorycore_store_fact", content="The kiln stands in Ghent."), session=session))
    found = told(post(daemon, call("memorycore_recall", query="kiln"), session=session))
    assert found["results"][0]["id"] == stored["id"]
    fields = daemon.answer("inspect", id=stored["id"])["fields"]
    assert fields["author"] == "http-test"


def test_a_session_belongs_to_the_token_that_opened_it(daemon: Service) -> None:
    ann, bea = daemon.named("ann"), daemon.named("bea")
    session = joined(daemon, ann)
    listing = message("tools/list")
    assert post(daemon, listing, token=ann, session=session).status_code == 200
    assert post(daemon, listing, token=bea, session=session).status_code == 404
    assert post(daemon, listing, session=session).status_code == 404
    assert post(daemon, listing, session="0123456789abcdef").status_code == 404


def test_a_named_token_stores_in_its_namespace_and_name(daemon: Service) -> None:
    token = daemon.named("desk", namespace="helpdesk", author="Cem")
    session = joined(daemon, token)
    body = call("memorycore_store_fact", content="The lift in Cork is out of order.", author="Ann")
    stored = told(post(daemon, body, token=token, session=session))
    assert daemon.answer("inspect", token=token, id=stored["id"])["fields"]["author"] == "Cem"
    assert daemon.ask("inspect", id=stored["id"]).status_code == 404


def test_a_client_of_the_modern_era_needs_no_session(daemon: Service) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = message("tools/call", {"name": "memorycore_get_memory_usage", "arguments": {}, "_meta": meta})
    headers = {
        **daemon.bearer(), **BOTH, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call",
        "mcp-name": "memorycore_get_memory_usage",
    }  # fmt: skip
    response = daemon.client.post(f"{daemon.url}/mcp", json=body, headers=headers)
    assert response.status_code == 200, response.text
    assert "mcp-session-id" not in response.headers


def flood(daemon: Service, bodies: Sequence[Mapping[str, Any]], path: str, **headers: str) -> list[httpx.Response]:
    """All of them sent at once."""

    async def run() -> list[httpx.Response]:
        sent = {**daemon.bearer(), **headers}
        async with httpx.AsyncClient(timeout=30, base_url=daemon.url, headers=sent) as client:
            return await asyncio.gather(*(client.post(path, json=body) for body in bodies))

    return asyncio.run(run())


def test_who_floods_is_told_to_come_again_and_the_others_are_served(daemon: Service) -> None:
    headers = {**BOTH, "mcp-session-id": joined(daemon)}
    before = daemon.metrics().get("memorycore_calls_turned_away_total", 0)
    bodies = [
        call("memorycore_store_fact", number, content="The greenhouse has a weather station.") for number in range(40)
    ]
    answers = [told(one) for one in flood(daemon, bodies, "/mcp", **headers)]
    refused = [answer for answer in answers if answer.get("code") == "too_many_calls"]
    assert 0 < len(refused) < 40
    assert all(answer["retryable"] and answer["status"] == "refused" for answer in refused)
    assert daemon.answer("recall", query="greenhouse")["results"]
    assert daemon.metrics()["memorycore_calls_turned_away_total"] - before == len(refused)


def test_who_floods_a_route_gets_429_and_when_to_come_again(daemon: Service) -> None:
    answers = flood(daemon, [{"query": "greenhouse"}] * 40, "/v1/recall", **{"memorycore-session": "flood"})
    refused = [answer for answer in answers if answer.status_code == 429]
    assert 0 < len(refused) < 40
    assert {answer.headers["retry-after"] for answer in refused} == {"1"}
    assert {answer.json()["code"] for answer in refused} == {"too_many_calls"}
    assert {answer.status_code for answer in answers} == {200, 429}


def test_who_floods_over_a_relay_is_told_so_too(daemon: Service) -> None:
    with Wire(daemon.home.environment()) as wire:
        wire.initialize()
        asked = [wire.ask("tools/call", {"name": "memorycore_recall", "arguments": {"query": "x"}}) for _ in range(30)]
        answers = [read_answer(wire.wait_for(number)) for number in asked]
        assert daemon.metrics()['memorycore_clients_open{via="relay"}'] == 1
        wire.close_input()
        wire.wait(10)
    refused = [answer for answer in answers if answer.get("code") == "too_many_calls"]
    assert 0 < len(refused) < 30
    assert all(answer["retryable"] for answer in refused)
    assert daemon.metrics()['memorycore_clients_open{via="relay"}'] == 0
