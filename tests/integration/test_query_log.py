"""What was asked is noted on this machine: gated, bounded, private, and gone with what is erased."""

import base64
import stat
import sys
import tracemalloc
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from memorycore.core import MemoryCore, RecallFilters
from memorycore.domain.memory import Draft
from memorycore.options import BudgetOptions, GateOptions
from memorycore.store import queries
from memorycore.store.queries import Query
from tests.command_line import CommandLine
from tests.homes import START, Home, fact
from tests.raw import files_with

KEY = base64.b64decode("Z2hwX0FiQ2RFZkdoSWpLbE1uT3BRclN0VXZXeFl6MDEyMzQ1Njc4OQ==").decode()


def asked(core: MemoryCore) -> list[str]:
    return [query.text for query in logged(core)]


def logged(core: MemoryCore) -> list[Query]:
    core.rooms.uses.flush()
    with core.db.read() as c:
        return queries.since(c, core.options.namespace, 0, limit=10_000)


def questions(core: MemoryCore, *, dry_run: bool = False) -> tuple[object, object]:
    """How many questions the step kept and dropped."""
    step = core.maintain(["questions"], dry_run=dry_run)["steps"][0]
    return step["kept"], step["dropped"]


def test_a_question_is_noted_with_its_time_and_way_whether_or_not_it_finds_anything(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        core.remember(fact(1), actor="test")
        core.recall("printer in Leeds")
        home.clock.forward(hours=1)
        core.recall("nothing of this kind", source="tool", viewer_session="claude-1")
        first, second = logged(core)
        assert (first.text, first.at, first.source, first.session_id) == ("printer in Leeds", START, "command", "")
        assert (second.source, second.session_id, second.at - first.at) == ("tool", "claude-1", timedelta(hours=1))


@pytest.mark.parametrize("long_lived", [True, False])
def test_a_process_that_lives_long_writes_later_and_another_one_at_once(tmp_path: Path, long_lived: bool) -> None:  # noqa: FBT001 a case
    home = Home(tmp_path)
    with home.core(long_lived=long_lived) as core, home.core() as other:
        core.rooms.uses.flush()
        core.recall("printer")
        with other.db.read() as c:
            there = [query.text for query in queries.since(c, "default", 0, limit=9)]
        assert there == ([] if long_lived else ["printer"])
    with home.core() as core:
        assert asked(core) == ["printer"]


@pytest.mark.parametrize("way", ["explain", "log False", "off", "blank", "inspect", "erase"])
def test_who_only_looks_leaves_no_trace(tmp_path: Path, way: str) -> None:
    home = Home(tmp_path)
    home.options = replace(home.options, activity_log=way != "off")
    with home.core() as core:
        stored = core.remember(fact(1), actor="test")
        if way == "inspect":
            core.inspect(stored.get("id", ""))
        elif way == "erase":
            core.erase("printer bought in Leeds", actor="test")
        else:
            core.recall(" " if way == "blank" else "printer", explain=way == "explain", log=way != "log False")
        assert asked(core) == []


def test_bulk_questions_leave_no_trace(mc: CommandLine, tmp_path: Path) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text("printer in Leeds\n", encoding="utf-8")
    mc("recall", "--from", str(questions))
    mc("recall", "printer in York")
    assert b"printer in York" in data_of(mc)
    assert b"printer in Leeds" not in data_of(mc)


def data_of(mc: CommandLine) -> bytes:
    return b"".join(path.read_bytes() for path in mc.home.rglob("memorycore.db*"))


@pytest.mark.parametrize("gates", [GateOptions(), GateOptions(secrets="refuse", pii="off"), GateOptions(pii="block")])
def test_no_secret_and_no_personal_data_is_in_the_log_whatever_is_set(tmp_path: Path, gates: GateOptions) -> None:
    home = Home(tmp_path)
    home.options = replace(home.options, gates=gates)
    with home.core() as core:
        core.recall(f"Does {KEY} still work for jane.miller@quillfeather.co.uk?")
        assert asked(core) == ["Does [secret: GitHub token] still work for [personal data: e-mail]?"]


@pytest.mark.parametrize("lead", [960, 990, 999, 1_000, 1_020])
def test_a_secret_at_the_cut_leaves_no_half(tmp_path: Path, lead: int) -> None:
    with Home(tmp_path).core() as core:
        core.recall("a" * (lead - 1) + " " + KEY)
        (text,) = asked(core)
        assert len(text) <= 1_000
        assert KEY[:5] not in text


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("word " * 400, "word"),
        ("词语" * 600, "词语"),
        ("x" * 999 + "👩‍👩‍👧" + "x" * 50, "x"),
        ("x" * 999 + "e\u0301" + "x" * 50, "x"),
        ("🇫🇷" * 600, "🇷"),
    ],
)
def test_a_long_question_is_cut_between_words_and_characters(tmp_path: Path, text: str, ends: str) -> None:
    with Home(tmp_path).core() as core:
        core.recall(text)
        (kept,) = asked(core)
        assert 960 <= len(kept) <= 1_000
        assert kept.endswith(ends)
        assert text.startswith(kept)


def test_what_is_older_than_its_days_goes(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.options = replace(home.options, budget=BudgetOptions(log_days=2))
    with home.core() as core:
        core.recall("first")
        home.clock.forward(days=1)
        core.recall("second")
        home.clock.forward(days=1.5)
        core.recall("third")
        assert asked(core) == ["second", "third"]


def test_what_a_clock_that_ran_ahead_noted_does_not_outlive_its_days(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        home.clock.forward(days=4_000)
        core.recall("from the future")
        home.clock.now = START
        core.recall("from now")
        assert [query.at for query in logged(core)] == [START, START]
        home.clock.forward(days=46)
        core.recall("much later")
        assert asked(core) == ["much later"]


def test_the_oldest_make_room_when_the_log_is_full(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.options = replace(home.options, budget=BudgetOptions(log_kb=4))
    with home.core(long_lived=True) as core:
        for number in range(60):
            core.recall(f"question number {number} " + "about words " * 4)
            core.rooms.uses.flush()
        left = asked(core)
        assert left[-1].startswith("question number 59")
        assert [int(text.split()[2]) for text in left] == list(range(60 - len(left), 60))
        assert 2_600 <= sum(len(text) + queries.ROW_BYTES for text in left) <= 4_096


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core(long_lived=True) as core:
        core.recall("printer")
        core.rooms.uses.flush()
        files = list(home.options.data_dir.glob("memorycore.db*"))
        assert len(files) >= 2
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_an_export_holds_no_questions(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        core.remember(fact(1), actor="test")
        core.recall("zephyrine")
        assert "zephyrine" not in str(list(core.export()))


def test_another_namespace_does_not_see_them(tmp_path: Path) -> None:
    home, other = Home(tmp_path), Home(tmp_path)
    other.options = replace(other.options, namespace="other")
    with home.core() as core, other.core() as beside:
        core.recall("printer")
        beside.recall("scanner")
        assert (asked(core), asked(beside)) == (["printer"], ["scanner"])


def test_a_store_that_is_busy_keeps_nobody_waiting_and_loses_no_question(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core(long_lived=True) as core, home.core() as writer:
        core.touch()
        with writer.db.write():
            core.recall("printer")
            core.rooms.uses.flush()
        assert asked(core) == ["printer"]


def test_notes_that_cannot_be_written_do_not_pile_up(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core(long_lived=True) as core, home.core() as writer, writer.db.write():
        tracemalloc.start()
        for number in range(3_000):
            core.rooms.uses.note([1], Query(text=f"question {number} {'x' * 500}", at=START, source="tool"))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 4_000_000


def test_a_filtered_question_is_a_question(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        core.recall("printer", filters=RecallFilters(tier="cold"))
        core.recall("scanner", filters=RecallFilters(as_of=START))
        assert asked(core) == ["printer", "scanner"]


def test_a_memory_that_is_updated_by_its_words_is_no_question(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        core.remember(Draft(content="The printer in room 1 was bought in Leeds."), actor="test")
        core.forget("printer", actor="test")
        assert asked(core) == []


def test_usage_says_how_much_is_kept_and_since_when(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core(vectors=True) as core:
        core.recall("printer")
        home.clock.forward(days=1)
        core.recall("scanner")
        since = "2026-03-02T09:00:00Z"
        assert core.usage()["questions"] == {"noted": True, "count": 2, "oldest": since, "threshold": 0.5}


def test_maintenance_empties_the_log_of_who_has_switched_it_off(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        core.recall("zephyrine quillfeather")
    home.options = replace(home.options, activity_log=False)
    with home.core() as core:
        assert questions(core, dry_run=True) == (1, 0)
        assert questions(core) == (0, 1)
    assert files_with(tmp_path, b"quillfeather") == []


def test_maintenance_keeps_the_log_within_its_bounds(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        core.recall("printer")
        home.clock.forward(days=46)
        assert questions(core) == (0, 1)
