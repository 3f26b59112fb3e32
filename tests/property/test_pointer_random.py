"""Pointers of generated texts: what holds whatever a rule says."""

import json
import unicodedata
from itertools import combinations
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from memorycore.domain.judge import judge
from memorycore.domain.pointer import asked_for, fold, is_fold, is_pointer, key_of, pointer, topics
from memorycore.domain.routing import route
from memorycore.domain.topics import letters_of
from memorycore.hot.document import why_not_hot

DATA = Path(__file__).parents[1] / "data"
RULES = [
    json.loads(line)["content"]
    for name in ("routing.jsonl", "routing_more.jsonl", "routing_other.jsonl")
    for line in (DATA / name).read_text(encoding="utf-8").splitlines()
]
PIECES = [
    *" ,.;:!?·・、§#[]+\n", "never", "don't", "must", "the", "to", "branch", "review", "push", "不要", "必须", "主分支",
    "レビュー", "브랜치에", "금지", "sans", "la", "facture", "ohne", "Rechnung",
    "[recall]", "[secret: token]", "👩‍💻", "e\u0301",
]  # fmt: skip

unhurried = settings(deadline=None, max_examples=40)  # the first example reads the vocabulary
mixed = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=14).map(" ".join)
texts = st.sampled_from(RULES) | mixed | st.text(max_size=120)


@unhurried
@given(texts, st.integers(16, 60))
def test_a_pointer_is_short_whole_and_known_by_its_shape(text: str, most: int) -> None:
    line = pointer(text, most=most)
    assert len(line) <= most
    assert is_pointer(line)
    assert not is_fold(line)
    assert line == pointer(text, most=most)
    assert why_not_hot(line, limit=2200) is None


@unhurried
@given(texts)
def test_a_pointer_says_nothing_of_its_rule(text: str) -> None:
    line = pointer(text)
    assert route(line).route != "hot"
    assert judge(text, line).relation not in {"same", "refines", "supersedes"} or is_pointer(text)


@unhurried
@given(texts)
def test_topics_stand_in_the_text_and_not_side_by_side(text: str) -> None:
    named = topics(pointer(text))
    composed, letters = unicodedata.normalize("NFC", text), letters_of(text)
    assert all(word in composed for word in named)
    for one, other in combinations(map(letters_of, named), 2):
        assert one + other not in letters
        assert other + one not in letters


@unhurried
@given(st.lists(texts, min_size=2, max_size=6))
def test_pointers_of_one_file_differ(rules: list[str]) -> None:
    made: list[str] = []
    for rule in rules:
        made.append(pointer(rule, taken=[*rules, *made]))
    assert len({key_of(line) for line in made}) == len(made)


@unhurried
@given(st.lists(texts, min_size=1, max_size=4), st.integers(20, 60))
def test_a_fold_stands_for_any_pointers(rules: list[str], most: int) -> None:
    line = fold([pointer(rule) for rule in rules], most=most)
    assert len(line) <= most
    assert is_fold(line)
    assert route(line).route != "hot"
    assert not is_pointer(line)


@unhurried
@given(texts)
def test_a_copied_pointer_leaves_its_topics_to_ask_for(text: str) -> None:
    line = pointer(text)
    assert asked_for(line).strip()
    assert asked_for(line).split()[: len(topics(line))] == list(topics(line))
