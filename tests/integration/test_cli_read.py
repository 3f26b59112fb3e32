"""recall, status, audit, inspect, trash, export."""

import contextlib
import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from rich.cells import cell_len

from tests.command_line import CommandLine, lines

RULES = ["Never deploy on Fridays without asking me first", "发布之前一定要先跑完全部测试，不要跳过任何一项"]
FACT = "The lease of the office ends in May 2031"


@pytest.fixture
def filled(mc: CommandLine) -> CommandLine:
    rows: list[dict[str, Any]] = [{"content": text, "id": f"r{number}"} for number, text in enumerate(RULES)]
    rows.append({"content": FACT, "id": "f1", "occurred_at": "2026-03-14", "tags": ["office"], "author": "Mei"})
    mc("store", "--from", "-", stdin=lines(rows))
    return mc


def test_recall_finds_both_tiers_and_says_which(filled: CommandLine) -> None:
    hot = filled("recall", "deploy on Fridays", "--json").answer["results"][0]
    cold = filled("recall", "office lease", "--json").answer["results"][0]
    assert (hot["tier"], hot["content"]) == ("hot", RULES[0])
    assert (cold["tier"], cold["ref"], cold["tags"]) == ("cold", "f1", ["office"])


def test_filters_keep_out_what_does_not_fit(filled: CommandLine) -> None:
    def found(*filters: str) -> int:
        return len(filled("recall", "office lease", *filters, "--json").answer["results"])

    assert found("--tag", "office", "--author", "Mei", "--since", "2026-03-14", "--until", "2026-03-14") == 1
    assert found("--tag", "home") == found("--since", "2026-03-15") == found("--tier", "hot") == 0


def test_questions_in_bulk_are_answered_in_order(filled: CommandLine) -> None:
    asked = (
        lines([{"query": "office lease", "id": 1}]) + b"{\n" + lines([{"id": "x"}, {"query": ""}, {"query": "测试"}])
    )
    ran = filled("recall", "--from", "-", "--top-k", "2", "--json", stdin=asked)
    assert ran.code == 1
    assert [answer.get("ref") for answer in ran.answers] == ["1", None, "x", None, None]
    assert [answer.get("line") for answer in ran.answers] == [None, 2, 3, None, None]
    assert [len(answer["results"]) for answer in ran.answers] == [1, 0, 0, 0, 1]
    assert {"id", "ref", "refs", "tier", "score", "content"} <= ran.answers[0]["results"][0].keys()


def test_a_recall_leaves_a_trace_only_where_that_is_wanted(filled: CommandLine) -> None:
    def traces() -> int:
        with contextlib.closing(apsw.Connection(str(filled.data / "memorycore.db"))) as c:
            return int(next(iter(c.execute("SELECT count(*) FROM memory_use")))[0])

    filled("recall", "office lease", ACTIVITY_LOG_ENABLED="0")
    filled("recall", "--from", "-", stdin=lines([{"query": "office lease"}]))
    assert traces() == 0
    filled("recall", "office lease")
    assert traces() > 0


def test_a_memory_of_one_session_is_found_with_that_session_only(filled: CommandLine) -> None:
    filled("store", "The blue theme is on", "--scope", "session", "--session", "s-1")
    assert filled("recall", "blue theme", "--json").answer["results"] == []
    assert filled("recall", "blue theme", "--session", "s-1", "--json").answer["results"]


def test_explain_shows_how_a_score_came_about(filled: CommandLine) -> None:
    found = filled("recall", "office lease", "--explain", "--json").answer["results"][0]
    assert found["why"]
    assert "why" not in filled("recall", "office lease", "--json").answer["results"][0]
    assert "依据 " in filled("recall", "office lease", "--explain", MEMORYCORE_LANG="zh").out


def test_an_entry_of_today_was_written_today(filled: CommandLine) -> None:
    assert "written today" in filled("audit").out
    assert "今天写入" in filled("audit", MEMORYCORE_LANG="zh").out


@pytest.mark.parametrize("query", ["", " ", '"', "AND OR NOT", "*", "端", "a" * 10_000, "col:umn NEAR(x)", "\x00"])
def test_any_question_gets_an_answer(filled: CommandLine, query: str) -> None:
    ran = filled("recall", query, "--json")
    assert ran.code == 0
    assert isinstance(ran.answer["results"], list)


def test_status_says_the_verdict_first_and_fits_on_a_screen(filled: CommandLine) -> None:
    ran = filled("status", MEMORYCORE_EMBED_MODEL="")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "ok")
    assert len(ran.out.splitlines()) <= 24
    assert str(filled.data) in "".join(ran.out.split())


def test_status_needs_you_when_a_memory_file_cannot_be_read(filled: CommandLine) -> None:
    filled.write_hot("USER.md", b"caf\xe9")
    ran = filled("status", MEMORYCORE_LANG="zh")
    assert ran.code == 2
    assert ran.out.startswith("需要处理：")
    for command, words, zero in (("status", "cannot be read", "0 of"), ("audit", "USER.md   cannot be read", "0 of")):
        shown = filled(command).out
        assert words in shown
        assert f"USER.md   {zero}" not in shown
        assert shown.count(" of 5,000") == 1
    assert len(ran.out.splitlines()) <= 24
    assert filled("recall", "office lease", "--json").answer["results"], "the rest goes on"


def test_audit_shows_each_entry_with_its_hash(filled: CommandLine) -> None:
    targets = {target["target"]: target for target in filled("audit", "--json").answer["targets"]}
    assert {row["text"] for row in targets["memory"]["rows"]} | {row["text"] for row in targets["user"]["rows"]} == set(
        RULES
    )
    assert all(len(row["sha256"]) == 64 for row in targets["memory"]["rows"])
    assert [target["target"] for target in filled("audit", "user", "--json").answer["targets"]] == ["user"]
    assert filled("audit", "both", "--json").answer["targets"]
    assert filled("audit", "mind", "--json").code == 2


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "arguments",
    [["status"], ["audit", "-v"], ["trash"], ["recall", "office lease"], ["recall", "发布"], ["config", "show", "-v"],
     ["doctor"], ["store", "不要在周五发布，除非先问过我"], ["--help"], ["store", "--help"],
     ["client", "install", "--help"]],
    ids=" ".join,
)  # fmt: skip
def test_what_people_read_fits_eighty_columns_without_colour(
    filled: CommandLine, arguments: list[str], language: str
) -> None:
    memory_id = filled("recall", FACT, "--json").answer["results"][0]["id"]
    filled("forget", memory_id)
    out = filled(*arguments, MEMORYCORE_LANG=language, NO_COLOR="1", COLUMNS="80").out
    assert out
    assert "\x1b" not in out
    assert max(cell_len(line) for line in out.splitlines()) <= 80


def test_one_memory_is_shown_with_its_history(filled: CommandLine) -> None:
    memory_id = filled("recall", "office lease", "--json").answer["results"][0]["id"]
    filled("update", memory_id, "--text", "The lease of the office ends in June 2031")
    story = filled("inspect", memory_id, "--json").answer
    assert [revision["content"] for revision in story["revisions"]] == [FACT]
    shown = filled("inspect", memory_id, MEMORYCORE_LANG="zh").out
    assert "以前的写法" in shown
    assert FACT in " ".join(shown.split())


def exported(mc: CommandLine) -> list[dict[str, Any]]:
    ran = mc("export")
    assert f"{len(ran.answers)} memories exported" in ran.err
    return ran.answers


def test_an_export_into_an_empty_home_loses_no_field(filled: CommandLine, tmp_path: Path) -> None:
    first = {item["ref"]: item["id"] for item in filled("store", "--from", "-", "--json", stdin=lines([
        {"content": "Until summer the gate code is 7781", "id": "g", "valid_until": "2031-06-30", "importance": 0.25,
         "session_id": "s-1", "source": {"uri": "mail:1", "locator": "line 3"}},
        {"content": "Only for this session: use the blue theme", "id": "s", "scope": "session", "session_id": "s-1"},
        {"content": "To be forgotten again", "id": "t"},
    ])).answers}  # fmt: skip
    filled("update", first["g"], "--pin")
    filled("forget", first["t"])
    before = exported(filled)
    other = {"HOME": str(tmp_path / "other")}
    ran = filled("store", "--from", "-", "--json", stdin=lines(before), **other)
    assert ran.code == 0, ran.out
    after = [json.loads(line) for line in filled("export", **other).out.splitlines()]
    assert sorted(after, key=lambda line: line["memory_id"]) == sorted(before, key=lambda line: line["memory_id"])


def test_an_export_into_a_file_is_private_and_whole(filled: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    ran = filled("export", str(file))
    assert (ran.code, ran.out) == (0, "")
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(file.read_text(encoding="utf-8").splitlines()) == 3
    assert filled("export", str(tmp_path / "no" / "folder")).code == 6
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("out")] == ["out.jsonl"]
