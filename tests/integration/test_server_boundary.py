"""What tools answer: within their budgets, in the configured language, refusals as results, faults without secrets."""

import json
import logging
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorycore.core import MemoryCore
from memorycore.errors import StoreBusy
from memorycore.options import CoreOptions, EmbedOptions, Language
from memorycore.server.boundary import ToolFaultError, answer_tool
from memorycore.server.caller import caller
from memorycore.server.desk import Desk
from memorycore.server.fit import fit, size_bytes, to_json
from memorycore.server.tools import BY_NAME

Call = Callable[..., dict[str, Any]]


def options(home: Path, language: Language = "en") -> CoreOptions:
    return CoreOptions(
        hot_dir=home / "memories", data_dir=home / "data", embed=EmbedOptions(model="none"), language=language
    )


def caller_of(desk: Desk, connection: str = "connection-1") -> Call:
    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        text = answer_tool(desk, BY_NAME[f"memorycore_{tool}"], arguments, caller("Test Client", connection))
        return json.loads(text)

    return call


@pytest.fixture
def call(tmp_path: Path) -> Generator[Call]:
    desk = Desk(lambda: MemoryCore.open(options(tmp_path), long_lived=True), language="en")
    yield caller_of(desk)
    desk.close(grace_s=1)


@pytest.mark.parametrize(
    "content",
    [
        "Always answer in British English",
        "The staging database listens on port 5433",
        "用户偏好用简体中文回答，代码注释用英文",
        "A long story: " + "the ship sailed on and on. " * 1200,
    ],
)
def test_a_store_answers_in_600_bytes(call: Call, content: str) -> None:
    answer = call("store_fact", content=content)
    assert size_bytes(answer) <= 600
    assert answer["id"]
    assert answer["status"] in {"stored", "cold_stored"}
    assert answer["reasons"]


def test_the_predecessors_result_keys_are_there(call: Call) -> None:
    cold = call("store_fact", content="The staging database listens on port 5433")
    assert cold["memory_id"] == cold["id"]
    hot = call("store_fact", content="Always answer in British English")
    assert hot["usage_after"]
    assert call("recall", query="staging port")["results"][0]["final_score"] >= 0
    usage = call("get_memory_usage")
    assert usage["local"]["memory"].keys() == {"chars", "pct", "limit"}
    assert usage["thresholds"] == {"soft_60": 3000, "hard_80": 4000, "target_40": 2000}
    assert {"usage_pct", "keep", "sink_candidates"} <= call("memory_audit")["targets"][0].keys()


def test_recall_stays_in_4_kb_and_says_what_it_left_out(call: Call) -> None:  # IL-156
    for number in range(30):
        call("store_fact", content=f"Report {number} of the harbour: " + f"crane {number} lifted crates. " * 40)
    answer = call("recall", query="harbour report crane", top_k=30)
    assert size_bytes(answer) <= 4096
    assert answer["left_out"] == 30 - len(answer["results"])
    assert all(found["cut_chars"] > 0 for found in answer["results"])
    assert "max_bytes" in answer["note"]
    more = call("recall", query="harbour report crane", top_k=30, max_bytes=200_000)
    assert len(more["results"]) == 30
    assert not [found for found in more["results"] if "cut_chars" in found]


@pytest.mark.parametrize(("top_k", "found"), [(0, 1), (-3, 1), (2, 2), (5000, 12)])
def test_top_k_is_clamped(call: Call, top_k: int, found: int) -> None:
    for number in range(12):
        call("store_fact", content=f"Locker {number} holds parcel {number * 7}")
    assert len(call("recall", query="locker parcel", top_k=top_k, max_bytes=100_000)["results"]) == found


def test_audit_and_inspect_are_bounded_and_name_the_way_to_the_rest(call: Call) -> None:
    for number in range(40):
        call("store_fact", content=f"Always check gauge number {number} before the shift begins")
    audit = call("memory_audit", max_bytes=3000)
    assert size_bytes(audit) <= 3000
    assert audit["left_out"] > 0
    assert "max_bytes" in audit["note"]
    long = call("store_fact", content="Minutes: " + "nothing was decided about the roof. " * 800)
    story = call("inspect", id=long["id"])
    assert size_bytes(story) <= 8192
    assert story["cut_chars"] > 0


def test_author_session_and_actor_come_from_the_connection(call: Call) -> None:
    kept = call("store_fact", content="The cellar floods every March")["id"]
    story = call("inspect", id=kept)
    assert story["fields"]["author"] == "Test Client"
    assert story["fields"]["session_id"].startswith("Test Client-")
    assert story["events"][0]["actor"] == "mcp:Test Client"
    named = call("store_fact", content="The attic stays dry", author="Ada", session_id="s-7")["id"]
    fields = call("inspect", id=named)["fields"]
    assert (fields["author"], fields["session_id"]) == ("Ada", "s-7")


def test_what_is_for_one_session_is_seen_by_that_connection_only(tmp_path: Path) -> None:
    desk = Desk(lambda: MemoryCore.open(options(tmp_path), long_lived=True), language="en")
    mine, other = caller_of(desk, "connection-1"), caller_of(desk, "connection-2")
    mine("store_fact", content="The guest network is called Puffin", scope="session")
    assert [found["content"] for found in mine("recall", query="guest network Puffin")["results"]] == [
        "The guest network is called Puffin"
    ]
    assert other("recall", query="guest network Puffin")["results"] == []
    desk.close(grace_s=1)


def test_importance_left_out_is_estimated_and_given_is_kept(call: Call) -> None:
    left_out = call("inspect", id=call("store_fact", content="The ferry to Hoy runs on Tuesdays")["id"])
    given_one = call(
        "inspect", id=call("store_fact", content="The ferry to Eday runs on Fridays", importance=0.3)["id"]
    )
    assert "importance_given" not in left_out["fields"]
    assert (given_one["fields"]["importance"], given_one["fields"]["importance_given"]) == (0.3, True)


def test_dates_are_text_and_a_day_alone_means_the_whole_day(call: Call) -> None:
    kept = call("store_fact", content="The bridge is closed", valid_from="2026-03-01", valid_until="2026-03-02")
    fields = call("inspect", id=kept["id"])["fields"]
    assert fields["valid_from"] == "2026-03-01T00:00:00Z"
    assert fields["valid_until"] == "2026-03-02T23:59:59Z"


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "named"),
    [
        ("store_fact", {"content": "   "}, "invalid_input", "content"),
        ("store_fact", {}, "invalid_input", "content"),
        ("store_fact", {"content": "x", "importance": 7}, "invalid_input", "importance"),
        ("store_fact", {"content": "x", "importance": "very"}, "invalid_input", "importance"),
        ("store_fact", {"content": "x", "kind": "poem"}, "invalid_input", "preference"),
        ("store_fact", {"content": "x", "occurred_at": "yesterday"}, "invalid_input", "occurred_at"),
        ("store_fact", {"content": "x" * 70_000}, "too_long", "65536"),
        ("recall", {"query": "x", "tier": "warm"}, "invalid_input", "hot, cold"),
        ("memory_audit", {"target": "all"}, "invalid_input", "both"),
        ("inspect", {"id": "nobody"}, "not_found", "nobody"),
        ("update", {"id": "nobody", "content": "y"}, "not_found", "nobody"),
        ("restore", {"id": "nobody"}, "not_found", "nobody"),
        ("forget", {}, "invalid_input", "query"),
        ("run_cold_storage_maintenance", {"steps": ["fly"]}, "invalid_input", "fly"),
    ],
)
def test_a_refusal_is_a_result_with_code_and_sentence(
    call: Call, tool: str, arguments: dict[str, Any], code: str, named: str
) -> None:
    answer = call(tool, **arguments)
    assert (answer["ok"], answer["code"], answer["retryable"]) == (False, code, False)
    assert named in answer["message"]
    assert answer.get("status") == ("refused" if tool == "store_fact" else None)


def test_refusals_speak_the_configured_language(tmp_path: Path) -> None:
    desk = Desk(lambda: MemoryCore.open(options(tmp_path, "zh"), long_lived=True), language="zh")
    call = caller_of(desk)
    assert "没有" in call("inspect", id="nobody")["message"]
    assert "importance 应为数字" in call("store_fact", content="x", importance="very")["message"]
    desk.close(grace_s=1)


def test_null_means_not_given_and_unknown_arguments_are_named(call: Call) -> None:
    answer = call("store_fact", content="The pump needs oil", tags=None, kind=None, as_of="2020-01-01")
    assert answer["id"]
    assert answer["unknown_arguments"] == ["as_of"]


def test_a_store_that_cannot_be_opened_is_a_refusal_and_the_next_call_tries_again(tmp_path: Path) -> None:
    opened: list[int] = []

    def open_core() -> MemoryCore:
        opened.append(1)
        if len(opened) == 1:
            raise StoreBusy(waited_s=5)
        return MemoryCore.open(options(tmp_path), long_lived=True)

    desk = Desk(open_core, language="en")
    call = caller_of(desk)
    assert call("recall", query="x") | {"message": ""} == {
        "ok": False, "code": "store_busy", "message": "", "retryable": True,
    }  # fmt: skip
    assert call("recall", query="x")["results"] == []
    desk.close(grace_s=1)


def test_a_fault_is_one_short_sentence_and_its_text_stays_out_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    secret = "Zan" + "zibar"  # the lines of a traceback stand in the log, what they held does not

    def broken() -> MemoryCore:
        raise ZeroDivisionError(secret)

    with caplog.at_level(logging.DEBUG), pytest.raises(ToolFaultError) as fault:
        caller_of(Desk(broken, language="en"))("recall", query=secret)
    assert "ZeroDivisionError" in str(fault.value)
    assert len(str(fault.value)) < 400
    assert secret not in str(fault.value) + caplog.text


def test_a_closed_desk_refuses_instead_of_failing(tmp_path: Path) -> None:
    desk = Desk(lambda: MemoryCore.open(options(tmp_path), long_lived=True), language="en")
    call = caller_of(desk)
    call("store_fact", content="The kettle is blue")
    desk.close(grace_s=1)
    assert call("recall", query="kettle")["code"] == "not_available"


def test_update_forget_and_restore_go_round(call: Call) -> None:
    kept = call("store_fact", content="The meeting room is on floor 3")["id"]
    assert call("update", id=kept, content="The meeting room is on floor 4")["status"] == "updated"
    assert call("forget", query="a sentence that nobody ever stored")["status"] == "candidates"
    assert call("forget", id=kept, dry_run=True)["dry_run"] is True
    assert call("forget", id=kept)["status"] == "trashed"
    assert call("restore", id=kept)["status"] == "restored"
    assert call("recall", query="meeting room floor")["results"][0]["content"] == "The meeting room is on floor 4"


def test_the_candidates_of_forget_stay_in_4_kb(call: Call) -> None:
    for number in range(12):
        call("store_fact", content=f"Report {number} of the harbour: " + f"crane {number} lifted crates. " * 40)
    answer = call("forget", query="harbour report crane")
    assert answer["status"] == "candidates"
    assert size_bytes(answer) <= 4096
    assert all(found["cut_chars"] > 0 for found in answer["candidates"])


def test_a_budget_below_the_least_one_gets_the_least_one(call: Call) -> None:
    call("store_fact", content="The harbour has nine cranes. " * 40)
    assert 0 < size_bytes(call("recall", query="harbour cranes", max_bytes=1)) <= 512
    assert "512 at least" in BY_NAME["memorycore_recall"].ask.input_schema()["properties"]["max_bytes"]["description"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_wrong_with_a_file_is_said_however_long_its_path(tmp_path: Path, language: Language) -> None:
    home = tmp_path / ("a" * 60) / ("b" * 80)
    (home / "memories").mkdir(parents=True)
    (home / "memories" / "MEMORY.md").write_bytes(b"caf\xe9")
    desk = Desk(lambda: MemoryCore.open(options(home, language), long_lived=True), language=language)
    answer = caller_of(desk)("store_fact", content="Never deploy on Fridays without asking me first")
    desk.close(grace_s=1)
    assert size_bytes(answer) <= 600
    assert answer["status"] == "cold_stored_fallback"
    assert "MEMORY.md" in answer["note"]
    assert "UTF-8" in answer["note"]
    assert {"en": "offset 3", "zh": "偏移量 3"}[language] in answer["note"]


def test_numbers_are_rounded(call: Call) -> None:
    kept = call("store_fact", content="The ferry to Hoy runs on Tuesdays", importance=0.1 + 0.2)["id"]
    assert call("inspect", id=kept)["fields"]["importance"] == 0.3


TEXTS = st.text(max_size=400)
RESULTS = st.lists(st.fixed_dictionaries({"id": st.uuids().map(str), "content": TEXTS, "score": st.floats(0, 1)}))


@given(results=RESULTS, max_bytes=st.integers(700, 5000))
def test_whatever_is_answered_fits_and_nothing_is_left_out_in_silence(
    results: list[dict[str, Any]], max_bytes: int
) -> None:
    answer = fit({"results": results}, max_bytes=max_bytes, lists=("results",), more="more")
    assert size_bytes(answer) <= max_bytes
    assert len(answer["results"]) + answer.get("left_out", 0) == len(results)
    for shown, whole in zip(answer["results"], results, strict=False):
        assert shown["id"] == whole["id"]
        cut = shown.get("cut_chars", 0)
        assert shown["content"] == (whole["content"][:-cut] + "…" if cut else whole["content"])


def test_json_is_compact_readable_and_survives_half_a_letter() -> None:
    assert to_json({"a": "日本", "b": [1, 2]}) == '{"a":"日本","b":[1,2]}'
    assert json.loads(to_json({"a": "x\ud800"}))["a"] == "x?"
