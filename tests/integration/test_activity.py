"""The activity scan: what is asked gives weight to the rules that it is about, once, whatever happens in between."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.domain.retention import Standing
from memorycore.govern import activity
from memorycore.govern.activity import Scanned
from memorycore.options import BudgetOptions, EmbedOptions
from memorycore.store import queries, standing
from memorycore.store.queries import Query
from tests.embedding_stub import good, stub
from tests.homes import START, Home
from tests.loopback import Answer

RED = "Always paint the garden fence in signal red."
TEA = "Always serve oolong tea to visitors from Xiamen."
ROOM = "跟客户开会以前，好的会议室要提前两天预订。"


@contextmanager
def opened(home: Home, *texts: str, vectors: bool = True) -> Generator[MemoryCore]:
    with home.core(vectors=vectors) as core:
        for text in texts or (RED, TEA):
            assert core.remember(Draft(content=text, target="memory"), actor="test")["tier"] == "hot"
        core.fill_vectors()
        scan(core)
        yield core


def scan(core: MemoryCore, timeout_s: float = 5.0) -> Scanned:
    core.rooms.uses.flush()
    return activity.scan(core.db, core.embedding, core.options, core.rooms.clock(), timeout_s=timeout_s)


def of(core: MemoryCore, text: str) -> Standing:
    memory = core.rooms.named(text)
    assert memory is not None
    with core.db.read() as c:
        return standing.by_seq(c, "default", [memory.seq])[memory.seq]


def with_budget(home: Home, **budget: object) -> Home:
    home.options = replace(home.options, budget=replace(BudgetOptions(), **budget))  # type: ignore[arg-type] by name
    return home


def test_a_question_about_a_rule_gives_it_weight_and_the_others_hardly_any(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with opened(home) as core:
        home.clock.forward(days=30)
        core.recall("in what red do we paint the garden fence")
        found = scan(core)
        assert (found.queries, found.strong, found.weak, found.degraded, found.threshold) == (1, 1, 0, False, 0.5)
        assert of(core, RED).weight == pytest.approx(1.5)
        assert of(core, RED).weighed_at == of(core, RED).touched_at == home.clock.now
        assert of(core, TEA).weight == pytest.approx(0.5 + 0.75 / 2), "it was the second result, no more"


def test_each_question_is_read_once_and_a_rule_counts_once_a_scan(tmp_path: Path) -> None:
    with opened(Home(tmp_path)) as core:
        for _ in range(5):
            core.recall("paint the garden fence signal red")
        assert (scan(core).queries, of(core, RED).weight) == (5, 2.0)
        assert (scan(core).queries, of(core, RED).weight) == (0, 2.0)
        core.recall("paint the garden fence signal red")
        scan(core)
        assert of(core, RED).weight == 3.0


def test_a_result_that_the_question_does_not_mean_gets_no_weight(tmp_path: Path) -> None:
    with opened(Home(tmp_path)) as core:
        assert core.recall("who toured the garden centre of Leeds last Monday")["results"]
        assert (scan(core).strong, of(core, RED).weight) == (0, 1.0)


@pytest.mark.parametrize(("mode", "strong"), [("best", 1), ("all", 2)])
def test_the_rule_that_fits_best_counts_or_all_above_the_threshold(
    tmp_path: Path, mode: Literal["best", "all"], strong: int
) -> None:
    home = with_budget(Home(tmp_path), strong_hits=mode)
    with opened(home, RED, "Always paint the garden shed in moss green.") as core:
        core.recall("always paint the garden fence")
        assert scan(core).strong == strong


@pytest.mark.parametrize(("score", "strong"), [(0.2, 1), (0.95, 0)])
def test_the_threshold_is_a_setting(tmp_path: Path, score: float, strong: int) -> None:
    home = with_budget(Home(tmp_path), strong_score=score, strong_hits="all")
    with opened(home) as core:
        core.recall("signal red paint")
        found = scan(core)
        assert (found.strong, found.threshold) == (strong, score)


def test_how_much_a_use_adds_is_a_setting(tmp_path: Path) -> None:
    home = with_budget(Home(tmp_path), strong_adds=2.5)
    with opened(home) as core:
        core.recall("paint the garden fence signal red")
        scan(core)
        assert of(core, RED).weight == 3.5


def test_without_a_model_words_in_common_add_a_little_and_refresh_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with opened(home, vectors=False) as core:
        home.clock.forward(days=3)
        core.recall("what about the garden fence")
        found = scan(core)
        assert (found.queries, found.strong, found.weak, found.why, found.threshold) == (1, 0, 1, "off", None)
        assert (of(core, RED).weight, of(core, RED).weighed_at) == (1.3, START)
        assert of(core, RED).touched_at == home.clock.now
        assert scan(core).queries == 0


@pytest.mark.parametrize("question", ["好的", "好的好的", "好的，谢谢，继续", "这个会", "ok thanks", "always", "red"])
def test_common_words_are_no_evidence(tmp_path: Path, question: str) -> None:  # D34
    with opened(Home(tmp_path), RED, TEA, ROOM, vectors=False) as core:
        core.recall(question)
        found = scan(core)
        assert (found.queries, found.strong, found.weak) == (1, 0, 0)


def test_what_many_entries_have_in_common_is_no_evidence(tmp_path: Path) -> None:
    rules = [f"Always name the harbour master when ship {name} docks." for name in ("Ada", "Bea", "Cy", "Dot")]
    with opened(Home(tmp_path), *rules, vectors=False) as core:
        core.recall("who is the harbour master")
        assert scan(core).weak == 0
        core.recall("harbour master of ship Ada")
        assert scan(core).weak == 0
        core.recall("预订会议室要提前几天")
        assert scan(core).weak == 0


def test_chinese_rules_are_found_by_pairs_of_characters(tmp_path: Path) -> None:
    with opened(Home(tmp_path), RED, ROOM, vectors=False) as core:
        core.recall("会议室怎么预订")
        scan(core)
        assert (of(core, ROOM).weight, of(core, RED).weight) == (1.3, 1.0)


def test_weak_hits_can_be_switched_off(tmp_path: Path) -> None:
    with opened(with_budget(Home(tmp_path), weak_hits="off"), vectors=False) as core:
        core.recall("the garden fence")
        found = scan(core)
        assert (found.queries, found.weak, of(core, RED).weight) == (1, 0, 1.0)


def test_without_a_log_a_scan_rests(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.options = replace(home.options, activity_log=False)
    with opened(home) as core:
        core.recall("paint the garden fence signal red")
        assert scan(core) == Scanned(rests=True)


def test_saying_a_rule_again_and_editing_it_count_as_strong_uses(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with opened(home) as core:
        home.clock.forward(days=30)
        core.remember(Draft(content=RED, target="memory"), actor="test")
        core.update(TEA, content=TEA.replace("visitors", "guests"), actor="test")
        assert scan(core).strong == 2
        assert of(core, RED).weight == pytest.approx(1.5)
        assert scan(core).strong == 0


def test_an_edit_by_hand_in_the_file_counts_as_a_strong_use(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with opened(home) as core:
        home.clock.forward(days=1)
        home.write_memory_file(RED.replace("signal", "brick"), TEA)
        core.touch()
        scan(core)
        assert of(core, RED.replace("signal", "brick")).weighed_at == home.clock.now
        assert of(core, TEA).weighed_at == START


@pytest.mark.parametrize("jump", [timedelta(days=400), timedelta(days=-400)])
def test_a_clock_that_jumps_puts_no_use_into_the_future_and_breaks_no_weight(tmp_path: Path, jump: timedelta) -> None:
    home = Home(tmp_path)
    with opened(home) as core:
        home.clock.now += jump
        core.recall("paint the garden fence signal red")
        home.clock.now = START + timedelta(days=1)
        assert scan(core).strong == 1
        stood = of(core, RED)
        assert START <= stood.weighed_at <= home.clock.now
        assert 1.9 <= stood.weight <= 2.0


def test_two_processes_that_scan_at_once_count_nothing_twice(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with opened(home) as core, home.core(vectors=True) as other:
        core.recall("paint the garden fence signal red")

        class Slow:
            """The model of the one process answers after the other process has scanned."""

            def __getattr__(self, name: str) -> object:
                return getattr(core.embedding, name)

            def queries(self, texts: list[str], *, timeout_s: float) -> object:
                scan(other)
                return core.embedding.queries(texts, timeout_s=timeout_s)

        late = activity.scan(core.db, Slow(), core.options, home.clock(), timeout_s=5.0)  # type: ignore[arg-type]
        assert (late.strong, of(core, RED).weight) == (0, 2.0)


@pytest.fixture
def endpoint(tmp_path: Path) -> Generator[tuple[Home, dict[str, bool]]]:
    """A home whose model is an endpoint that can be switched off for questions."""
    away = {"now": False}
    with stub(lambda body: Answer(status=503, body={}) if away["now"] else good(body)) as served:
        home = Home(tmp_path)
        home.options = replace(home.options, embed=EmbedOptions(model="m", url=served.url, timeout_s=0.5))
        yield home, away


def test_questions_wait_for_a_model_that_is_away_and_count_once_when_it_is_back(
    endpoint: tuple[Home, dict[str, bool]],
) -> None:
    home, away = endpoint
    with home.core() as core:
        for text in (RED, TEA):
            core.remember(Draft(content=text, target="memory"), actor="test")
        core.fill_vectors()
        scan(core)
        away["now"] = True
        core.rooms.uses.note([], Query(text="paint the garden fence signal red", at=START, source="tool"))
        first = scan(core, 0.5)
        assert (first.queries, first.strong, first.weak, first.waiting, first.degraded) == (0, 0, 1, 1, True)
        again = scan(core, 0.5)
        assert (again.queries, again.weak, of(core, RED).weight) == (0, 0, 1.3)
        away["now"] = False
    with home.core() as core:
        core.embedding.wait_ready(5)
        assert (scan(core).queries, of(core, RED).weight) == (1, pytest.approx(2.0))
        assert scan(core).queries == 0


def test_a_model_that_stays_away_holds_nothing_up_for_ever(endpoint: tuple[Home, dict[str, bool]]) -> None:
    home, away = endpoint
    with home.core() as core:
        core.remember(Draft(content=RED, target="memory"), actor="test")
        scan(core)
        away["now"] = True
        core.rooms.uses.note([], Query(text="the garden fence", at=START, source="tool"))
        assert scan(core, 0.3).waiting == 1
        home.clock.forward(days=8)
        found = scan(core, 0.3)
        assert (found.queries, found.waiting, of(core, RED).weight) == (1, 0, 1.3)


def test_a_pointer_gets_weight_as_its_rule_does(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with opened(home) as core:
        memory = core.rooms.named(RED)
        assert memory is not None
        with core.db.write() as c:
            c.execute("UPDATE memory SET residence = 'stub' WHERE seq = ?", (memory.seq,))
        core.recall("paint the garden fence signal red")
        scan(core)
        assert of(core, RED).weight == 2.0


def test_the_questions_of_another_namespace_give_no_weight(tmp_path: Path) -> None:
    home, other = Home(tmp_path), Home(tmp_path)
    other.options = replace(other.options, namespace="other", hot_dir=tmp_path / "elsewhere")
    with opened(home) as core, other.core(vectors=True) as beside:
        beside.recall("paint the garden fence signal red")
        assert (scan(core).queries, of(core, RED).weight) == (0, 1.0)


def test_a_long_backlog_is_read_in_pieces_and_completely(tmp_path: Path) -> None:
    with opened(Home(tmp_path)) as core:
        asked = [Query(text=f"number {place}", at=START, source="tool") for place in range(1_500)]
        with core.db.write() as c:
            queries.note(c, "default", [*asked, Query(text="paint the garden fence red", at=START, source="tool")])
        first, second = scan(core, 30.0), scan(core, 30.0)
        assert (first.queries, first.more, second.queries, second.more) == (1_000, True, 501, False)
        assert of(core, RED).weight == 2.0
