"""What went wrong with MCP servers elsewhere, tried on ours: answers too long for a client, and the way to the rest."""

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.server.boundary import answer_tool
from memorycore.server.caller import caller
from memorycore.server.desk import Desk
from memorycore.server.fit import size_bytes
from memorycore.server.tools import BY_NAME
from tests.homes import Home
from tests.stock import in_stock, stock

Call = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Generator[Call]:
    """A tool of a server with a thousand memories, eighty of them hot."""
    home = Home(tmp_path_factory.mktemp("thousand"))
    rules = [Draft(content=f"Always check gauge {number} of the boiler.", target="memory") for number in range(80)]
    facts = [
        in_stock(number, f"Crate {number} in the harbour shed holds {number * 3} tins of paint, some blue, some grey.")
        for number in range(920)
    ]
    with home.core() as core:
        list(core.remember_many(rules, actor="test"))
        stock(core.db, facts)
    desk = Desk(lambda: MemoryCore.open(home.options, long_lived=True), language="en")

    def ask(tool: str, **arguments: Any) -> dict[str, Any]:
        return json.loads(answer_tool(desk, BY_NAME[f"memorycore_{tool}"], arguments, caller("test")))

    yield ask
    desk.close(grace_s=1)


def test_a_recall_of_a_hundred_fits_and_leads_to_the_rest(call: Call) -> None:  # IL-156
    answer = call("recall", query="crate of paint in the harbour shed", top_k=100)
    assert size_bytes(answer) <= 4096
    assert answer["left_out"] + len(answer["results"]) == 50  # the most that one recall gives
    assert all(word in answer["note"] for word in ("max_bytes", "top_k"))
    more = call("recall", query="crate of paint in the harbour shed", top_k=100, max_bytes=100_000)
    assert [item["id"] for item in more["results"][: len(answer["results"])]] == [
        item["id"] for item in answer["results"]
    ]
    assert (len(more["results"]), more.get("left_out", 0)) == (50, 0)


def test_a_list_of_all_entries_fits_and_leads_to_the_rest(call: Call) -> None:  # IL-156
    answer = call("memory_audit")
    assert size_bytes(answer) <= 8192
    shown = sum(len(target["rows"]) for target in answer["targets"])
    assert (answer["left_out"] + shown, "max_bytes" in answer["note"]) == (80, True)
    assert answer["targets"][0]["entries"] == 80
    more = call("memory_audit", max_bytes=200_000)
    assert sum(len(target["rows"]) for target in more["targets"]) == 80


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("forget", {"query": "crate of paint"}),
        ("update", {"id": "crate of paint", "content": "New."}),
        ("get_memory_usage", {}),
        ("run_cold_storage_maintenance", {}),
        ("trigger_overflow", {"dry_run": True}),
    ],
)
def test_every_other_answer_fits_too(call: Call, tool: str, arguments: dict[str, Any]) -> None:  # IL-156
    assert size_bytes(call(tool, **arguments)) <= 8192


def test_a_memory_with_a_long_history_fits(tmp_path: Path) -> None:  # IL-156
    home = Home(tmp_path)
    with home.core() as core:
        kept = core.remember(Draft(content="The crate holds 0 tins."), actor="test").get("id", "")
        for number in range(1, 120):
            core.update(kept, content=f"The crate holds {number} tins. " + "It is blue. " * 20, actor="test")
    desk = Desk(lambda: MemoryCore.open(home.options, long_lived=True), language="en")
    story = json.loads(answer_tool(desk, BY_NAME["memorycore_inspect"], {"id": kept}, caller("test")))
    desk.close(grace_s=1)
    assert size_bytes(story) <= 8192
    assert story["content"].startswith("The crate holds 119 tins.")
    assert story["left_out"] > 100
