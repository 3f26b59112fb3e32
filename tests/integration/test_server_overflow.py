"""What the tools say about room in the memory files: trigger_overflow, audit, and a store that makes room."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memorycore.core import MemoryCore
from memorycore.options import BudgetOptions, HotLimit, thresholds_of
from memorycore.server.boundary import answer_tool
from memorycore.server.caller import caller
from memorycore.server.desk import Desk
from memorycore.server.tools import BY_NAME
from tests.homes import Home

OF_THE_PREDECESSOR = {
    "overflowed", "updated", "deleted", "merged", "compressed", "kept", "errors", "aged_sunk", "metadata_stamped",
    "stubbed", "stub_gc", "retyped", "usage_before", "usage_after", "chars_before", "chars_after", "target",
}  # fmt: skip
NAMES = ("invoices", "backups", "cookies", "queues", "licences", "fonts", "caches", "alerts", "metrics", "uploads")


def text(name: str) -> str:
    return f"Always check the {name} twice before you change the {name} module, and write down why."


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.options = _small(home, 600)
    return home


def _small(home: Home, chars: int) -> Any:
    from dataclasses import replace

    return replace(
        home.options,
        hot_limits={"memory": HotLimit(chars=chars), "user": HotLimit(chars=chars)},
        thresholds={"memory": thresholds_of(chars), "user": thresholds_of(chars)},
        budget=BudgetOptions(most_evicted=30),
    )


def asked(core: MemoryCore, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a client reads, as text of so many bytes at most."""
    answer = answer_tool(Desk(lambda: core, language="en"), BY_NAME[f"memorycore_{tool}"], arguments, caller("test"))
    return {**json.loads(answer), "bytes": len(answer.encode())}


def test_a_run_answers_the_predecessors_counts_for_each_file(home: Home) -> None:
    home.write_memory_file("Fixed the typo on the imprint, tests pass.", *map(text, NAMES[:6]))
    with home.core() as core:
        asked(core, "get_memory_usage")
        home.clock.forward(days=8)
        answer = asked(core, "trigger_overflow")
    runs = {run["target"]: run for run in answer["runs"]}
    assert set(runs) == {"memory", "user"}
    assert runs["memory"].keys() >= OF_THE_PREDECESSOR
    assert (runs["memory"]["usage_before"], runs["memory"]["deleted"]) == ("97%", 1)
    assert runs["memory"]["undo"].startswith("memorycore undo --run ")


def test_a_run_over_full_files_answers_in_four_kilobytes(home: Home) -> None:
    home.options = _small(home, 12_000)
    home.write_memory_file(*(f"{text(name)} Step {number}." for number in range(12) for name in NAMES))
    with home.core() as core:
        asked(core, "get_memory_usage")
        home.clock.forward(days=60)
        answer = asked(core, "trigger_overflow")
    left = answer["runs"][0]
    assert answer["bytes"] <= 4096
    assert left["stubbed"] + left["overflowed"] + left["deleted"] + left["merged"] > 12
    assert answer["left_out"] > 0
    assert "history" in answer["note"]


def test_a_store_that_makes_room_says_how_much_and_how_to_undo_it(home: Home) -> None:
    with home.core() as core:
        for name in NAMES[:5]:
            asked(core, "store_fact", content=text(name))
            home.clock.forward(days=8)
        told = asked(core, "store_fact", content=text(NAMES[5]))
        assert told["status"] == "stored"
        assert told["bytes"] <= 600
        assert told["made_room"]["count"] == 1
        undone = core.undo(actor="test", run=str(told["made_room"]["undo"]).rpartition(" ")[2])
    assert [event["status"] for event in undone["events"]] == ["undone"]


def test_texts_that_come_at_once_make_room_for_each_other(home: Home) -> None:
    home.write_memory_file(*map(text, NAMES[:6]))
    coming = [f"Never paint hall {number} without the green key." for number in range(8)]
    with home.core() as core:
        home.clock.forward(days=8)

        def store(content: str) -> dict[str, Any]:
            return asked(core, "store_fact", content=content, target="memory")

        with ThreadPoolExecutor(len(coming)) as pool:
            told = list(pool.map(store, coming))
        file = home.memory_file.read_text(encoding="utf-8")
    assert {answer["status"] for answer in told} <= {"stored", "disputed"}
    assert {answer["tier"] for answer in told} == {"hot"}
    assert len(file) <= 540


def test_a_store_with_room_says_nothing_of_it(home: Home) -> None:
    with home.core() as core:
        assert "made_room" not in asked(core, "store_fact", content=text("invoices"))


def test_the_audit_tells_pointers_plans_and_what_nobody_uses(home: Home) -> None:
    with home.core() as core:
        for name in NAMES[:6]:
            asked(core, "store_fact", content=text(name), policy="rule")
            home.clock.forward(days=8)
        home.clock.forward(days=60)
        target = asked(core, "memory_audit", target="memory")["targets"][0]
    stubs = [row for row in target["rows"] if row["type"] == "stub"]
    sinking = [row for row in target["rows"] if row["sink_candidate"]]
    assert stubs
    assert target["lru_sink_candidates"] == target["sink_candidates"] == len(sinking)
    assert {row["sink_reason"] for row in sinking} <= {"low_weight+inactive"}
    assert all(row["keep"] is not row["sink_candidate"] for row in target["rows"])
    assert {row["plan"] for row in target["rows"]} <= {"stays", "pointer", "cold", "bin", "folds"}
