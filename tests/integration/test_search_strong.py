"""Which cold results a question strongly means: of those that left a hot file these come back, and no others do."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.domain.pointer import pointer
from memorycore.domain.retention import fresh
from memorycore.search import SearchRequest
from memorycore.store import standing
from tests.homes import START, Home, fact

RED = "Always paint the garden fence in signal red."
POINTER = pointer(RED, most=40)
OTHERS = ("Always serve oolong tea to visitors from Xiamen.", "Never send the invoice before the parcel has left.")


def retire(core: MemoryCore, text: str, *, weight: float = 1.0) -> str:
    """As eviction leaves a rule: cold, with its pointer known."""
    memory_id = core.remember(Draft(content=text, target="memory"), actor="test").get("id", "")
    memory = core.rooms.any(memory_id)
    stood = replace(fresh(START, resident_days=7), weight=weight, pointer=POINTER, retired_at=START - timedelta(days=1))
    with core.db.write() as c:
        standing.put(c, "default", memory.seq, stood)
        c.execute("UPDATE memory SET residence = 'cold' WHERE seq = ?", (memory.seq,))
    return memory_id


def strong(core: MemoryCore, question: str, *, score: float | None = None) -> list[str]:
    request = SearchRequest(namespaces=core.namespaces, tells_strong=True, strong_score=score)
    result = core.rooms.search(question, request)
    return [hit.id for hit in result.hits if hit.seq in result.strong]


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("paint the garden fence", True),
        ("signal red garden fence", True),
        (POINTER, True),
        (f"what is behind {POINTER} please", True),
        ("who toured the garden centre of Leeds last Monday", False),
        ("printer bought in Leeds", False),
        ("red", False),
    ],
)
@pytest.mark.parametrize("way", ["living", "one-shot", "words only"])
def test_a_rule_that_left_is_strongly_meant_by_who_asks_for_it(
    tmp_path: Path, way: str, question: str, *, meant: bool
) -> None:
    with Home(tmp_path).core(long_lived=way == "living", vectors=way != "words only") as core:
        list(core.remember_many(map(fact, range(12)), actor="test"))
        for text in OTHERS:
            core.remember(Draft(content=text, target="memory"), actor="test")
        memory_id = retire(core, RED)
        core.fill_vectors()
        assert (memory_id in strong(core, question)) is meant


def test_its_id_is_enough_and_what_is_hot_is_not_looked_at(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        memory_id = retire(core, RED)
        other = core.remember(Draft(content=OTHERS[0], target="memory"), actor="test").get("id", "")
        assert strong(core, f"show {memory_id}") == [memory_id]
        assert strong(core, f"show {other}") == []


@pytest.mark.parametrize(("score", "meant"), [(0.3, True), (0.99, False)])
def test_the_threshold_is_a_setting(tmp_path: Path, score: float, *, meant: bool) -> None:
    with Home(tmp_path).core(vectors=True) as core:
        memory_id = retire(core, RED)
        core.fill_vectors()
        assert strong(core, "garden fence colours", score=score) == ([memory_id] if meant else [])


def test_a_rule_among_the_results_does_not_make_way_for_a_likely_one(tmp_path: Path) -> None:
    """Its own place among them counts as one that is kept for such rules."""
    question = "Order the copper kettle for the harbour kitchen"
    facts = [f"The copper kettle of the harbour kitchen number {number} was bought in Leeds." for number in range(6)]
    rules = ("Always order a copper kettle for the harbour in pairs.", "Never paint the kitchen in copper tones.")
    with Home(tmp_path).core() as core:
        list(core.remember_many([Draft(content=text) for text in facts], actor="test"))
        cold = [retire(core, text) for text in (*rules, "Always clean every kettle with lemon.")]
        for top_k in (5, 6, 7, 8, 9):
            request = SearchRequest(namespaces=core.namespaces, top_k=top_k, tells_strong=True)
            plain = core.rooms.search(question, replace(request, tells_strong=False)).hits
            hits = core.rooms.search(question, request).hits
            shown = [hit.id for hit in hits]
            assert {hit.id for hit in plain} & set(cold) <= set(shown)
            assert (len(hits), shown[0]) == (top_k, plain[0].id)
        assert set(cold) <= set(shown)


@pytest.mark.parametrize("used", [0, 3, 7])
def test_of_rules_that_fit_alike_one_that_was_much_used_has_a_place(tmp_path: Path, used: int) -> None:
    question = "Order the copper kettle for the harbour kitchen"
    facts = [f"The copper kettle of the harbour kitchen number {number} was bought in Leeds." for number in range(6)]
    guests = ("a baker", "a diver", "a painter", "a sailor", "a tailor", "a miller", "a potter", "a weaver")
    with Home(tmp_path).core() as core:
        list(core.remember_many([Draft(content=text) for text in facts], actor="test"))
        rules = [
            retire(core, f"Always offer a kettle to {guest}.", weight=6.0 if place == used else 1.0)
            for place, guest in enumerate(guests)
        ]
        hits = core.rooms.search(question, SearchRequest(namespaces=core.namespaces, top_k=5, tells_strong=True)).hits
        shown = [hit.id for hit in hits]
        assert rules[used] in shown
        assert len(set(rules) & set(shown)) == 4
