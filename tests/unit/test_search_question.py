"""What a question is taken to ask for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorycore.search.question import read_question, tells_time

NONE: set[int] = set()


def test_small_words_are_left_out() -> None:
    assert read_question("What is the name of the new printer?").words == ("name", "new", "printer")
    assert "什么" not in read_question("什么时候交房租").words
    assert "房租" in read_question("什么时候交房租").words


def test_a_question_of_small_words_keeps_them() -> None:
    assert read_question("who is it?").words == ("who", "is", "it")


@pytest.mark.parametrize(
    ("text", "compound"),
    [
        ("where is docs/plan kept", "docs plan"),
        ("the pre-edit hook", "pre edit"),
        ("192.168.7.40", "192 168 7 40"),
        ("don't use tabs", "don t"),
        ("重跑 gen-itgc 后五十条", "gen itgc"),
    ],
)
def test_what_is_written_together_is_one_more_word(text: str, compound: str) -> None:
    assert compound in read_question(text).compounds


def test_quotation_marks_tags_and_ids_are_exact() -> None:
    question = read_question("say “Hello World” and 「你好」 #Home 019adf00-1111-7abc-8def-0123456789ab")
    assert question.phrases == ("hello world", "你好")
    assert question.tags == {"home"}
    assert (question.ids, question.id_ends) == (("019adf00-1111-7abc-8def-0123456789ab",), ())


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("What was 7F3A9C21 about?", ("7f3a9c21",)),
        ("compare [7f3a9c21], '7f3a9c21' and id:0123abcd.", ("7f3a9c21", "0123abcd")),
        ("7f3a9c21是什么？", ("7f3a9c21",)),
        ("7f3a9c21 7f3a9c21", ("7f3a9c21",)),
        ("the commit 7f3a9c2 or 7f3a9c210 or x7f3a9c21", ()),
        ("dead-beefcafe, beefcafe.txt, /srv/beefcafe, beefcafe@host, beefcafe-1", ()),
    ],
)
def test_eight_hexadecimal_digits_of_their_own_may_be_the_end_of_an_id(text: str, ends: tuple[str, ...]) -> None:
    assert read_question(text).id_ends == ends


@pytest.mark.parametrize(
    ("text", "years", "months"),
    [
        ("What happened in May 2023?", {2023}, {5}),
        ("Where did we go in August?", NONE, {8}),
        ("May I come in?", NONE, NONE),
        ("2026 年四月以后从哪家进", {2026}, {4}),
        ("2025年11月的账单", {2025}, {11}),
        ("十二月的会", NONE, {12}),
        ("since 2024-03-09", {2024}, {3}),
        ("room 2010 and port 20231", {2010}, NONE),
    ],
)
def test_times_that_are_named(text: str, years: set[int], months: set[int]) -> None:
    question = read_question(text)
    assert (question.years, question.months) == (years, months)


@pytest.mark.parametrize("text", ["When was it?", "什么时候开会", "How long did it take?", "Wann kommt sie?"])
def test_asking_for_a_time_is_seen(text: str) -> None:
    assert read_question(text).asks_time
    assert not read_question("Who came?").asks_time


def test_a_date_at_the_head_is_not_what_a_memory_tells() -> None:
    assert not tells_time("[8 May 2023] Anna: I like the sea.")
    assert tells_time("[8 May 2023] Anna: I swam yesterday.")
    assert tells_time("昨天换了轮胎")


@given(st.text(max_size=300))
def test_any_text_is_a_question(text: str) -> None:
    question = read_question(text)
    assert len(question.words) <= 48
    assert "" not in question.words
