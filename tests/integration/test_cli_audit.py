"""memorycore audit as a table, and what status says of the memory files."""

from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from memorycore.core import MemoryCore
from memorycore.options import BudgetOptions, HotLimit, thresholds_of
from tests.command_line import CommandLine
from tests.homes import Home

NAMES = ("invoices", "backups", "cookies", "queues", "licences", "fonts", "caches")
RULES = [f"Always check the {name} twice before you change the {name} module, and write down why." for name in NAMES]
CHINESE = "改动数据库结构之前，务必先问过我，并且把理由写进提交说明，再等一个工作日。"
SMALL = {"MEMORYCORE_CHAR_LIMIT_MEMORY": "600", "MEMORYCORE_RULE_MIN_RESIDENCY_DAYS": "0"}


@pytest.fixture
def full(mc: CommandLine) -> CommandLine:
    for text in (*RULES, CHINESE):
        mc("store", text, **SMALL)
    return mc


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("command", [["audit"], ["audit", "-v"], ["status"]], ids=" ".join)
def test_audit_and_status_are_aligned_at_eighty_columns(full: CommandLine, command: list[str], language: str) -> None:
    out = full(*command, MEMORYCORE_LANG=language, NO_COLOR="1", COLUMNS="80", **SMALL).out
    assert "\x1b" not in out
    assert max(map(cell_len, out.splitlines())) <= 80
    if command == ["audit"]:
        head = next(line for line in out.splitlines() if ("last use" if language == "en" else "上次用到") in line)
        column = cell_len(head.partition("last use" if language == "en" else "上次用到")[0])
        used = [line for line in out.splitlines() if line.rstrip().endswith(("today", "今天"))]
        assert {cell_len(line.rstrip()) - cell_len(line.split()[-1]) for line in used} == {column}


def test_the_audit_names_its_numbers_only_when_asked(full: CommandLine) -> None:
    plain, wordy = full("audit", **SMALL).out, full("audit", "--verbose", **SMALL).out
    assert "effective_weight" not in plain
    assert "effective_weight" in wordy
    assert "rules 439 of 450" in plain or "pointers" in plain
    assert "the rule comes back when a question means it" in " ".join(plain.split())
    assert "There is no model of meaning" in plain


def test_without_budget_and_log_the_audit_says_so(full: CommandLine) -> None:
    out = full("audit", **SMALL, MEMORYCORE_RULE_BUDGET_ENABLED="0", ACTIVITY_LOG_ENABLED="0").out
    assert "MEMORYCORE_RULE_BUDGET_ENABLED=0" in out
    assert "ACTIVITY_LOG_ENABLED=0" in out


def test_status_says_what_left_and_came_back_and_how_to_undo_it(full: CommandLine) -> None:
    left = full("status", "--json", **SMALL).answer
    assert left["moves"]["left"] == left["pointers"] > 0
    full("recall", "what do I check before the invoices module is changed", **SMALL)
    moves = full("status", "--json", **SMALL).answer["moves"]
    assert moves["returned"] == 1
    out = full("status", **SMALL).out
    assert moves["undo"] in out
    assert len(out.splitlines()) <= 24
    assert full(*moves["undo"].split()[1:], **SMALL).code == 0
    assert full("status", "--json", **SMALL).answer["moves"]["returned"] == 0


def test_status_fits_on_a_screen_whatever_is_wrong(full: CommandLine) -> None:
    full.write_hot("USER.md", b"caf\xe9")
    (full.data / "trash.json").write_text("{}", encoding="utf-8")
    out = full("status", **SMALL, COLUMNS="80", ACTIVITY_LOG_ENABLED="0").out
    assert len(out.splitlines()) <= 24
    assert "memorycore undo --run" in out


def test_what_the_audit_foretells_comes_true(tmp_path: Path) -> None:
    home = Home(tmp_path)
    marks = thresholds_of(600)
    home.options = replace(
        home.options, budget=BudgetOptions(most_evicted=1),
        hot_limits={"memory": HotLimit(chars=600), "user": HotLimit(chars=600)},
        thresholds={"memory": marks, "user": marks},
    )  # fmt: skip
    home.write_memory_file("Fixed the typo on the imprint, tests pass.", *RULES[:6])
    with home.core() as core:
        foretold = {row["text"]: (row["plan"], row["plan_day"]) for row in rows(core) if "plan_day" in row}
        came: dict[str, tuple[str, str]] = {}
        for _ in range(30):
            for left in core.overflow("memory")["runs"][0]["entries"]:
                came[left["text"]] = (left["to"], home.clock().date().isoformat())
            home.clock.forward(days=1)
    assert foretold
    assert came == foretold


def rows(core: MemoryCore) -> list[dict[str, str]]:
    return [dict(row) for row in core.audit("memory")["targets"][0]["rows"]]  # type: ignore[arg-type]
