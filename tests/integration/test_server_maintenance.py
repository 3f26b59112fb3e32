"""The tool that tidies: it says how far it is, keeps the predecessor's counts, and changes nothing in a dry run."""

import json
from pathlib import Path

from tests.wire import Wire, read_answer, server_env

TOOL = "memorycore_run_cold_storage_maintenance"
OF_THE_PREDECESSOR = {
    "scanned", "merged", "cleaned", "conflicts_resolved", "reversals_resolved", "candidates_processed", "vector_ok",
    "total", "embeddings", "errors", "pending_stale", "trash_cleared", "trash_revived", "forgotten",
}  # fmt: skip


def test_a_client_that_wants_to_know_is_told_how_far_maintenance_is(tmp_path: Path) -> None:
    with Wire(server_env(tmp_path, MEMORYCORE_EMBED_MODEL="none", MEMORYCORE_DAEMON="off")) as wire:
        wire.initialize()
        wire.call("memorycore_store_fact", content="The boiler in Leeds was serviced in May.")
        wanted = {"name": TOOL, "arguments": {"dry_run": False}, "_meta": {"progressToken": "tidy-1"}}
        answer = read_answer(wire.request("tools/call", wanted))
        told = [
            line["params"] for line in map(json.loads, wire.lines) if line.get("method") == "notifications/progress"
        ]
    assert answer.keys() >= OF_THE_PREDECESSOR | {"steps", "dry_run"}
    assert (answer["total"], answer["errors"]) == (1, [])
    assert {one["progressToken"] for one in told} == {"tidy-1"}
    progress = [one["progress"] for one in told]
    assert progress == sorted(progress)
    assert {"reconcile", "purge", "checkpoint"} <= {one["message"] for one in told}
    assert all(one["total"] == len(answer["steps"]) for one in told)


def test_a_dry_run_of_one_step_says_what_it_would_do(tmp_path: Path) -> None:
    with Wire(server_env(tmp_path, MEMORYCORE_EMBED_MODEL="none", MEMORYCORE_DAEMON="off")) as wire:
        wire.initialize()
        answer = wire.call(TOOL, steps=["decay"], dry_run=True)
        assert not [line for line in wire.lines if "notifications/progress" in line]
    assert [(step["step"], step["outcome"]) for step in answer["steps"]] == [("decay", "planned")]
