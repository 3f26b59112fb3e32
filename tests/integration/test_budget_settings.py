"""Each setting of the hot budget changes something, and without model, log or budget the rest of it works on."""

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.domain.pointer import is_fold, pointer
from memorycore.embed import EmbeddingService
from memorycore.govern.activity import threshold
from memorycore.govern.overflow.ladder import Entry, is_sinking, signals, weight_of
from memorycore.govern.overflow.plan import plan, plan_return
from memorycore.hot.document import size
from memorycore.lifecycle.retire import Leaving, rearrange
from memorycore.options import BudgetOptions, CoreOptions, EmbedOptions, LlmOptions, thresholds_of
from memorycore.testing import HashingEmbedder
from tests.entries import MARKS, NOW, entry, gone, ground, rule
from tests.homes import Home

Observed = Callable[[Path, BudgetOptions], object]
FREE_PORT = "http://127.0.0.1:9/v1"  # discard: nobody answers there
LAST = "Never paint the shed in the yard of the harbour office red, and say so to everybody who asks."
# Settings of the log and of its reading are changed where those are tested.
ELSEWHERE = {
    "strong_hits": "test_activity", "strong_adds": "test_activity", "weak_hits": "test_activity",
    "log_days": "test_query_log", "log_kb": "test_query_log",
}  # fmt: skip


def pressed(_: Path, budget: BudgetOptions, **more: Any) -> object:
    """What leaves a full file for 300 code points more."""
    planned = plan([rule(number, days=50, **more) for number in range(9)], ground(needed=300, budget=budget))
    return [(move.entry.text, move.how, len(move.pointer)) for move in planned.moves]


def idle(_: Path, budget: BudgetOptions) -> object:
    """What leaves a file that presses only softly."""
    return len(plan([rule(number, days=50) for number in range(20)], ground(limit=5000, budget=budget,
               marks=replace(MARKS, hard=5000))).moves)  # fmt: skip


def weight(_: Path, budget: BudgetOptions) -> object:
    return weight_of(rule(1, days=20, protected=("red_line",)), NOW, budget)


def sinks(_: Path, budget: BudgetOptions) -> object:
    return is_sinking(rule(1, days=40), NOW, budget)


def told(_: Path, budget: BudgetOptions) -> object:
    """The signals of an entry of 100 code points after 35 days, and of a long one; one has a twin."""
    long = replace(rule(1, days=35), text="x" * 300, twin="m0")
    return [signals(one, NOW, budget, log_on=True) for one in (rule(2, days=35), long)]


def pins(_: Path, budget: BudgetOptions) -> object:
    return len(plan([rule(number, days=50, pinned=True) for number in range(9)], ground(budget=budget)).moves)


def pointing(number: int, days: float) -> Entry:
    known = rule(number, days=60)
    text = pointer(f"Ask Ana about topic{number} of branch{number}", taken=[])
    assert known.standing is not None
    stands = replace(known.standing, retired_at=NOW - timedelta(days=days), pointer=text)
    return replace(known, text=text, type="stub", standing=stands)


def pointers(_: Path, budget: BudgetOptions) -> object:
    """What becomes of three pointers of two days in a file that is full of what is new."""
    stubs = [pointing(number, days=2) for number in range(10, 13)]
    planned = plan([*stubs, *(rule(number, days=1) for number in range(9))], ground(budget=budget))
    return sorted(gone(planned)), is_fold(planned.fold or "")


def many_pointers(_: Path, budget: BudgetOptions) -> object:
    stubs = [pointing(number, days=2) for number in range(10, 13)]
    return gone(plan(stubs, ground(budget=budget)))


def returned(_: Path, budget: BudgetOptions) -> object:
    wanted = [(one.memory, 1.0) for one in (pointing(number, days=9) for number in range(5)) if one.memory]
    return len(plan_return([rule(9)], wanted, ground(budget=budget)).coming)


def scored(_: Path, budget: BudgetOptions) -> object:
    service = EmbeddingService.serving(HashingEmbedder())
    service.wait_ready(5)
    try:
        return threshold(service, CoreOptions(hot_dir=Path(), data_dir=Path(), budget=budget))
    finally:
        service.close()


def found(root: Path, budget: BudgetOptions) -> object:
    """The weight of a rule that was a result, of a question that does not mean it."""
    return weighed(root, replace(budget, strong_score=5.0), vectors=True)


def weighed(root: Path, budget: BudgetOptions, *, vectors: bool = False) -> object:
    """The weight of a rule that was asked for, by its words where there is no model."""
    home = Home(root)
    home.options = replace(home.options, budget=budget)
    with home.core(vectors=vectors) as core:
        core.remember(Draft(content=LAST, target="memory"), actor="test")
        home.clock.forward(days=1)
        core.recall("who may paint the shed of the harbour office?")
        core.overflow()
        return core.audit("memory")["targets"][0]["rows"][0]["weight"]


def came_back(root: Path, budget: BudgetOptions) -> object:
    """How often a rule comes back that leaves each hour, and on which day a fact does that is asked for each day."""
    home = Home(root)
    home.options = replace(home.options, budget=budget)
    fact = "The boiler of the harbour office was bought in Leeds."
    with home.core(vectors=True) as core:
        core.remember(Draft(content=LAST, target="memory"), actor="test")
        core.remember(Draft(content=fact), actor="test")
        back: list[bool] = []
        days: list[bool] = []
        for _ in range(3):
            home.clock.forward(hours=1)
            retire(core, LAST)
            core.recall(LAST)
            back.append(LAST in home.entries())
        for _ in range(4):
            home.clock.forward(days=1)
            core.recall(fact)
            days.append(fact in home.entries())
        return back, days


def retire(core: MemoryCore, text: str) -> None:
    """Let it leave the file, as overflow does."""
    memory = core.rooms.named(text)
    assert memory is not None
    tier, cause = core.rooms.tiers["memory"], core.rooms.cause("test", "")
    rearrange(core.db, tier, [Leaving(memory=memory, how="cold", reason="evicted")], [], cause)


def completed(root: Path, budget: BudgetOptions) -> object:
    """Whether a record that was typed as a rule is one of something long done."""
    home = Home(root)
    home.options = replace(home.options, budget=budget, thresholds={"memory": MARKS, "user": MARKS})
    record = "2026-02-20 数据库已迁移到新机房，旧机房已退役。"
    home.write_memory_file(record, *(rule(number).text for number in range(8)))
    with home.core() as core:
        core.touch()
        core.update(record, policy="rule", actor="test")
        home.clock.forward(days=40)
        runs = core.overflow("memory", dry_run=True)["runs"]
        return [item["reason"] for item in runs[0]["entries"] if item["text"] == record]


def session(root: Path, budget: BudgetOptions) -> object:
    home = Home(root)
    home.options = replace(home.options, budget=budget)
    with home.core() as core:
        core.session_seen("s1")
        home.clock.forward(minutes=5)
        return core.rooms.session_runs()


def refilled(root: Path, budget: BudgetOptions) -> object:
    """How often room is made for a host that goes on writing above the hard mark."""
    home = Home(root)
    home.options = replace(home.options, budget=budget)
    made = 0
    with home.core(long_lived=True) as core:
        home.write_memory_file(*(f"The crate {number} holds {'nails ' * 15}".strip() for number in range(40)))
        core.host_wrote("s")
        for number in range(8):
            home.write_memory_file(*home.entries(), f"The box {number} holds screws of size {number}.")
            before = home.entries()
            core.host_wrote("s")
            made += home.entries() != before
    return made


CHANGED: list[tuple[str, Any, Observed]] = [
    ("enabled", False, pressed),
    ("half_life_days", 5.0, weight),
    ("protected_times", 1.0, weight),
    ("sink_weight", 0.1, sinks),
    ("most_evicted", 1, idle),
    ("strong_score", 0.9, scored),
    ("weak_adds", 0.7, weighed),
    ("recall_adds", 2.0, found),
    ("pin_share", 0.9, pins),
    ("pointer_chars", 25, pressed),
    ("pointer_share", 0.02, many_pointers),
    ("pointer_rest_days", 30.0, pointers),
    ("most_restored", 1, returned),
    ("promote_days", 0, came_back),
    ("restore_rest_days", 0.01, came_back),
    ("session_idle_minutes", 2.0, session),
    ("room_step", 0.0, refilled),
    ("compress_idle_days", 90.0, told),
    ("compress_chars", 50, told),
    ("pointer_idle_days", 20.0, told),
    ("completed_days", 10.0, completed),
    ("dormant_days", 90.0, told),
    ("redundant_days", 90.0, told),
]


@pytest.mark.parametrize(("name", "value", "observed"), CHANGED, ids=[name for name, *_ in CHANGED])
def test_a_setting_changes_what_happens(tmp_path: Path, name: str, value: object, observed: Observed) -> None:
    usual, changed = BudgetOptions(), replace(BudgetOptions(), **{name: value})  # type: ignore[arg-type]
    assert observed(tmp_path / "usual", usual) != observed(tmp_path / "changed", changed)


def test_no_setting_is_without_its_test() -> None:
    known = {field.name for field in fields(BudgetOptions)}
    assert known == {name for name, *_ in CHANGED} | set(ELSEWHERE)
    for name, module in ELSEWHERE.items():
        assert f"{name}=" in Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(("mark", "chars"), [("soft", 2_000), ("hard", 400), ("aim", 100), ("rule_budget", 2_000)])
def test_a_mark_changes_what_leaves(mark: str, chars: int) -> None:
    states = [entry(f"State {number} ".ljust(100, "s"), days=10, kind="state") for number in range(4)]
    rules = [rule(number, days=50) for number in range(8)]
    marks = replace(MARKS, **{"rule_budget": 300, "aim": 1_100, "hard": 1_500, "soft": 300, mark: chars})
    usual = replace(MARKS, rule_budget=300, aim=1_100, hard=1_500, soft=300)
    one, other = (plan([*states, *rules], ground(limit=3_000, marks=those)) for those in (usual, marks))
    assert gone(one) != gone(other)


def full(home: Home, core: MemoryCore) -> list[str]:
    """Rules that fill MEMORY.md as far as we fill it, all of them months old."""
    texts = [f"Always lock the gate of yard number {number} before you leave the harbour.".ljust(95, "!") for number in
             range(12)]  # fmt: skip
    kept = [text for text in texts if core.remember(Draft(content=text, target="memory"), actor="t")["tier"] == "hot"]
    home.clock.forward(days=100)
    return kept


def small(home: Home, **more: Any) -> Home:
    marks = thresholds_of(1_000)
    home.options = replace(home.options, thresholds={"memory": marks, "user": marks}, **more)
    return home


def test_without_the_budget_states_still_leave_and_no_rule_does(tmp_path: Path) -> None:
    home = small(Home(tmp_path), budget=BudgetOptions(enabled=False))
    state = "On 2026-02-20 the database was moved to the Leeds server; done."
    home.write_memory_file(state, *(rule(number).text for number in range(9)))
    with home.core() as core:
        core.touch()
        home.clock.forward(days=100)
        run = core.overflow("memory")
        assert [item["text"] for item in run["runs"][0]["entries"]] == [state]
        assert run["degraded"]
        core.recall("Leeds server database")
        assert state not in home.entries(), "and nothing comes back"


def test_without_a_log_no_rule_leaves_for_its_weight_and_a_write_has_room_all_the_same(tmp_path: Path) -> None:
    home = small(Home(tmp_path), activity_log=False)
    with home.core() as core:
        full(home, core)
        known = home.entries()
        run = core.overflow("memory")
        assert (run["runs"][0]["entries"], home.entries()) == ([], known)
        assert run["degraded"]
        assert core.remember(Draft(content=LAST, target="memory"), actor="test")["status"] == "stored"
        assert size(home.entries()) <= home.options.thresholds["memory"].hard


@pytest.mark.parametrize(
    "less",
    [
        {"embed": EmbedOptions(model="none")},
        {"embed": EmbedOptions(model="gone", url=FREE_PORT, timeout_s=0.5)},
        {"llm": LlmOptions(model="gone", url=FREE_PORT, timeout_s=0.5)},
    ],
    ids=["no model", "dead embedder", "dead language model"],
)
def test_a_model_that_is_not_there_holds_nothing_up(tmp_path: Path, less: dict[str, Any]) -> None:
    home = small(Home(tmp_path), **less)
    with home.core() as core:
        known = full(home, core)
        answer = core.remember(Draft(content=LAST, target="memory"), actor="test")
        assert (answer["status"], LAST in home.entries()) == ("stored", True)
        core.recall("the gate of yard number 3")
        assert core.overflow("memory")["runs"][0]["errors"] == 0
        assert {str(line["content"]) for line in core.export() if line["state"] == "active"} == {*known, LAST}
