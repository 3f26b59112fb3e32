"""The score, part by part."""

from __future__ import annotations

import numpy as np
import pytest

from memorycore.domain import scoring
from memorycore.domain.scoring import Tuning, activation, coverage, evidence, places_of, rarity

TUNING = Tuning()


def rows(*numbers: int) -> scoring.Rows:
    return np.array(numbers, dtype=np.int64)


def floats(*numbers: float) -> scoring.Floats:
    return np.array(numbers, dtype=np.float32)


def asking(marks: str) -> scoring.Mask:
    """``..?..``: the third of five asks."""
    return np.array([mark == "?" for mark in marks], dtype=np.bool_)


def share(session: scoring.Rows, asks: scoring.Mask, *hits: scoring.Rows) -> list[float]:
    found = coverage(hits, [1.0] * len(hits), places_of(session, asks), TUNING)
    return [round(float(value), 3) for value in found]


NOBODY_ASKS = asking(".....")


def test_a_word_counts_less_for_each_step_away_in_the_conversation() -> None:
    assert share(rows(7, 7, 7, 7, 7), NOBODY_ASKS, rows(2)) == [0.64, 0.8, 1.0, 0.8, 0.64]


def test_words_do_not_spread_beyond_their_session() -> None:
    assert share(rows(7, 7, 8, 8, 8), NOBODY_ASKS, rows(2)) == [0, 0, 1.0, 0.8, 0.64]


def test_sessions_that_are_told_in_turns_keep_their_own_order() -> None:
    assert share(rows(7, 8, 7, 8, 7), NOBODY_ASKS, rows(0)) == [1.0, 0, 0.8, 0, 0.64]


def test_memories_outside_a_session_have_no_neighbours() -> None:
    assert share(rows(-1, -1, -1, -1, -1), NOBODY_ASKS, rows(2)) == [0, 0, 1.0, 0, 0]


def test_the_answer_shares_the_words_of_the_question_before_it() -> None:
    asks = asking(".?...")
    assert share(rows(7, 7, 7, 7, 7), asks, rows(1)) == [0.8, 1.0, 1.0, 0.8, 0.64]


def test_words_that_stand_in_different_turns_add_up_once_each() -> None:
    assert share(rows(7, 7, 7, 7, 7), NOBODY_ASKS, rows(1), rows(2), rows(2)) == [0.693, 0.867, 0.933, 0.747, 0.597]


def test_a_word_reaches_no_further_than_the_tuning_says() -> None:
    far = places_of(rows(*[7] * 9), asking("." * 9))
    found = coverage([rows(0)], [1.0], far, TUNING)
    assert np.flatnonzero(found).tolist() == [0, 1, 2, 3, 4]


def test_rare_words_say_more_and_a_word_in_every_memory_says_next_to_nothing() -> None:
    never, rare, common, everywhere = rarity(100, [0, 1, 20, 100])
    assert never > rare > common > everywhere > 0


def test_a_missing_vector_is_no_verdict() -> None:
    found = evidence(floats(1.0, 1.0), floats(np.nan, 0.0), TUNING)
    assert found.tolist() == pytest.approx([1.0, 1.0 - TUNING.vector_weight])


def test_without_a_model_the_words_alone_are_the_evidence() -> None:
    assert evidence(floats(0.0, 0.5, 1.0), None, TUNING).tolist() == pytest.approx([0.0, 0.5**1.75, 1.0])


def test_evidence_stays_between_nothing_and_one() -> None:
    meant = scoring.meaning(floats(-9.0, 0.1, 9.0), 0.05, TUNING)
    assert meant.tolist() == pytest.approx([0.0, 0.5, 1.0])
    assert evidence(floats(1.0, 1.0, 1.0), meant, TUNING).max() <= 1.0


def test_the_words_of_a_very_long_text_count_for_less_but_for_something() -> None:
    short, long, longest = scoring.heft(rows(80, 5_000, 65_536), TUNING).tolist()
    assert short == 1.0
    assert 1.0 > long > longest > 0.4


def test_use_raises_the_prior_and_age_lowers_it_within_bounds() -> None:
    age = floats(0.0, 400.0, 400.0, 400.0, 4_000.0)
    prior = activation(age, {2: ([1.0], 0), 3: ([0.1] * 8, 500)})
    new, old, used, worn, ancient = prior.tolist()
    assert 0 < ancient < old < used < worn < 1
    assert 0.5 < new < 0.7


def test_the_prior_cannot_lift_what_is_not_relevant() -> None:
    relevance = floats(0.0, 0.5, 0.9)
    best_friend = scoring.final(relevance, floats(1.0, 1.0, 0.0), floats(1.0, 1.0, 0.0))
    assert best_friend[0] == 0.0
    assert best_friend[1] < best_friend[2]
