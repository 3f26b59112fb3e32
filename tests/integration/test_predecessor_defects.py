"""What the predecessor got wrong in its hot files, and is right here. Its list counts the defects from D1 to D34.

Of those that are shown elsewhere:

D3  test_hot_files::test_an_undecodable_file_is_not_written
D4  test_retire_rivals::test_two_hundred_entries_of_a_host_survive_overflow_in_a_loop
D10 test_wrong_results::test_facts_about_different_things_stay_apart
D14 test_retire_crash, test_core_crash, test_hot_budget
D15 test_core_vectors
D16 test_hot_tier_random, test_retire_random
D17 test_wrong_results::test_each_text_goes_where_it_belongs, test_routing
D32 test_retire_rivals::test_what_an_editor_without_the_lock_writes_over_is_in_the_bin_at_worst
D34 test_activity::test_common_words_are_no_evidence
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft, Memory
from memorycore.domain.pointer import is_pointer
from memorycore.hot.document import size
from memorycore.options import BudgetOptions, HotLimit, Thresholds, thresholds_of
from tests.homes import Home

PUSH = "Never push to main without a review, not even when the build is green and everybody is waiting."
CHINESE = "不要在周五发布计费服务，除非值班经理和财务部门都已经书面确认过，备份已经完成，而且回退演练过。"
LONG = "Before you touch the billing module, " + "and also the part that prints, " * 35 + "ask Ana."


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def pressed(home: Home, hard: int = 60) -> None:
    """Nothing has room but a pointer or two."""
    home.options = replace(
        home.options,
        thresholds=dict.fromkeys(("memory", "user"), Thresholds(soft=0, hard=hard, aim=0, rule_budget=0)),
        budget=BudgetOptions(most_evicted=100, pointer_share=1.0),
    )


def adopted(home: Home, core: MemoryCore, texts: Sequence[str], *, days: int) -> None:
    """A host wrote them, and they stood there for so long."""
    home.write_memory_file(*texts)
    core.touch()
    home.clock.forward(days=days)


def named(core: MemoryCore, text: str) -> Memory:
    found = core.rooms.named(text)
    assert found is not None, text
    return found


def active(core: MemoryCore) -> set[str]:
    return {str(line["content"]) for line in core.export() if line["state"] == "active"}


def test_what_overflow_moved_is_found_a_year_later(home: Home) -> None:  # D1, D8, D12
    pressed(home)
    record = "On 2026-02-20 the database was moved to the Leeds server; done."
    with home.core() as core:
        adopted(home, core, [record, PUSH], days=60)
        core.overflow()
        for _ in range(4):
            home.clock.forward(days=100)
            core.maintain()
        assert not set(home.entries()) & active(core)
        found = [core.recall(words, log=False)["results"][0]["content"] for words in ("Leeds server", "push main")]
        assert found == [record, PUSH]


@pytest.mark.parametrize(
    "texts",
    [
        ("Alice's phone is 555-0101", "Alice's phone is 555-0202", "Bob's phone is 555-0303", "Carol's is 555-0404"),
        ("The production database listens on port 5432.", "The test database listens on port 5433."),
        ("User prefers tea in the morning", "User prefers beer in the evening"),
        ("Never delete anything in /srv/a.", "Never delete anything in /srv/b."),
        ("用户喜欢香菜", "用户不喜欢香菜"),
        ("有线网络的密码写在路由器背面", "无线网络的密码写在路由器背面"),
    ],
)
@pytest.mark.parametrize("days", [1, 60])
def test_a_run_merges_no_two_entries_that_differ_in_what_counts(home: Home, texts: tuple[str, ...], days: int) -> None:
    pressed(home)  # D2, D10
    with home.core(vectors=True) as core:
        adopted(home, core, texts, days=days)
        for _ in range(3):
            assert core.overflow()["runs"][0]["merged"] == 0
        assert active(core) >= set(texts)


def test_an_entry_does_not_leave_for_a_cold_one_with_another_value(home: Home) -> None:  # D5
    pressed(home)
    with home.core(vectors=True) as core:
        core.remember(Draft(content="The proxy of the office listens on port 8080."), actor="test")
        adopted(home, core, ["The proxy of the office listens on port 8081."], days=60)
        core.overflow()
        assert {"The proxy of the office listens on port 8080.", "The proxy of the office listens on port 8081."} <= (
            active(core)
        )


def test_a_long_rule_that_left_and_came_back_has_every_character(home: Home) -> None:  # D6, D11
    roomy, seen = home.options, list[Memory]()
    with home.core() as core:
        told = Draft(content=LONG, target="memory", importance=0.95, tags=("billing",))
        core.remember(told, actor="test")
        seen.append(named(core, LONG))
    home.clock.forward(days=60)
    pressed(home)
    with home.core() as core:
        core.overflow()
        seen.append(named(core, LONG))
    home.options = roomy
    with home.core() as core:
        core.recall(home.entries()[0])
        seen.append(named(core, LONG))
    assert [memory.residence for memory in seen] == ["hot", "stub", "hot"]
    kept = ("content", "importance", "importance_given", "protected", "scope", "tags", "created_at", "policy")
    assert len({tuple(getattr(memory, name) for name in kept) for memory in seen}) == 1


def test_the_entry_that_leaves_is_the_one_that_is_meant(home: Home) -> None:  # D13
    inner = "Always lock the gate of the yard before you go to lunch."
    outer = f"From Monday to Friday: {inner} On Sundays ask the porter who has the key."
    pressed(home, hard=len(outer) + 45)
    with home.core() as core:
        adopted(home, core, [outer, inner], days=60)
        core.update(named(core, outer).id, pinned=True, actor="test")
        core.overflow()
        assert home.entries()[0] == outer
        assert (named(core, outer).residence, named(core, inner).residence) == ("hot", "stub")


def test_a_run_for_one_namespace_touches_nothing_of_another(home: Home) -> None:  # D18
    other, text = Home(home.root), PUSH
    other.options = replace(home.options, namespace="ben", hot_dir=home.root / "ben")
    pressed(home)
    with other.core() as theirs, home.core() as core:
        theirs.remember(Draft(content=text, target="memory"), actor="test")
        adopted(home, core, [text], days=60)
        core.overflow()
        core.maintain()
        assert named(core, text).residence == "stub"
        assert named(theirs, text).residence == "hot"
        assert (other.options.hot_dir / "MEMORY.md").read_text("utf-8") == text


@pytest.mark.parametrize("entries", [4, 23, 60, 220])
def test_a_file_full_of_fresh_rules_makes_room_for_the_next_one(home: Home, entries: int) -> None:  # D23
    texts = [f"Always lock gate {number}".ljust(5_000 // entries - 6, "!") + "." for number in range(entries)]
    with home.core() as core:
        for _ in core.remember_many([Draft(content=text, target="memory") for text in texts], actor="test"):
            pass
        full = size(home.entries())
        answers = [
            core.remember(Draft(content=f"Never paint door {n} red.", target="memory"), actor="t") for n in (1, 2)
        ]
        assert [answer["status"] for answer in answers] == ["stored", "stored"]
        assert 4_000 - 5_000 // entries - 100 < full <= 4_000
        assert size(home.entries()) <= 4_000
        assert {*texts, "Never paint door 1 red.", "Never paint door 2 red."} <= active(core)


def test_two_runs_at_once_move_each_entry_once(home: Home) -> None:  # D33
    pressed(home)
    texts = [f"Always lock gate {number} of the yard before dark." for number in range(20)]
    with home.core() as core, home.core() as other:
        adopted(home, core, texts, days=60)
        with ThreadPoolExecutor(2) as at_once:
            list(at_once.map(MemoryCore.overflow, (core, other)))
        core.touch()
        moved = [line["id"] for line in core.history(limit=1000)["events"] if line["action"] == "moved"]
        assert len(moved) == len(set(moved)) == len(texts)
        assert active(core) == set(texts)
        assert len(home.entries()) == len(set(home.entries()))


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("不要使用已删除的字段, 否则报错", False),
        ("必须在任务已完成后发邮件汇报", False),
        ("Never push to main without review", False),
        ("User wants concise answers about embedding and importance of sleep", False),
        ("Never delete the Mem0 export; overflow.py depends on it", False),
        ("2026-01-02 用户决定必须每天备份, 已配置 cron", False),
        ("对花生过敏, 吃了会休克", False),
        ("20260215 拍板方案", True),
        ("Decided on 2026-02-15 to use Go; done", True),
        ("2026年2月15日 数据库已迁移到新机房", True),
    ],
)
def test_a_week_later_a_record_leaves_and_a_rule_does_not(home: Home, text: str, leaves: bool) -> None:  # noqa: FBT001 a column
    home.options = replace(  # §3.3 and §3.7: word lists and dates
        home.options,
        thresholds={**home.options.thresholds, "memory": Thresholds(soft=0, hard=5_000, aim=0, rule_budget=5_000)},
    )
    with home.core() as core:
        adopted(home, core, [text], days=8)
        core.overflow()
        assert (text not in home.entries()) == leaves
        assert text in active(core)


@pytest.mark.parametrize(
    ("rule", "orders"),
    [
        ('Never say "done" before all the tests of the parser are green on every machine.', {"Never", "before"}),
        (CHINESE, {"不要", "除非"}),
        (LONG, {"Before", "ask", "touch"}),
    ],
)  # fmt: skip
def test_a_pointer_leads_to_its_rule_and_says_nothing_of_it(home: Home, rule: str, orders: set[str]) -> None:
    pressed(home, hard=45)  # §5: stubs
    with home.core() as core:
        adopted(home, core, [rule], days=60)
        core.overflow()
        [entry] = home.entries()
        assert is_pointer(entry)
        assert len(entry) <= 40
        assert [word for word in orders if word in entry] == []
        assert core.recall(entry, log=False)["results"][0]["content"] == rule


def test_what_was_asked_about_stays_and_what_nobody_asked_for_leaves(home: Home) -> None:  # D12
    home.options = replace(
        home.options, thresholds=dict.fromkeys(("memory", "user"), thresholds_of(700)),
        hot_limits=dict.fromkeys(("memory", "user"), HotLimit(chars=700)),
    )  # fmt: skip
    asked, *others = [
        f"Always {what} before you leave the building{' and look twice' * 5}."
        for what in ("lock the archive", "empty the kettle", "switch off the projector", "close the shutters")
    ]
    new = f"Never feed the tortoise in the yard{' and look twice' * 5}."
    with home.core(vectors=True) as core:
        for text in (asked, *others):
            core.remember(Draft(content=text, target="memory"), actor="test")
        home.clock.forward(days=20)
        core.recall("has anybody to lock the archive before they leave the building?")
        assert core.remember(Draft(content=new, target="memory"), actor="test")["status"] == "stored"
        assert {asked, new} <= set(home.entries())
        assert {named(core, text).residence for text in others} > {"stub"}
