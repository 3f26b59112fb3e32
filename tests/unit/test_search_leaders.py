"""The best rows for many texts at once are those that each would find by itself."""

import numpy as np
import pytest

from memorycore.search.leaders import Leaders, products

DICE = np.random.default_rng(5)


@pytest.mark.parametrize("count", [0, 3, 8, 203])
def test_products_are_those_of_the_whole(count: int) -> None:
    rows = DICE.standard_normal((count, 24)).astype(np.float32)
    columns = DICE.standard_normal((24, 5)).astype(np.float32)
    assert np.allclose(products(rows, columns), rows @ columns, atol=1e-5)


def test_blocks_give_what_one_sorting_of_all_gives() -> None:
    scores = DICE.permutation(3 * 400).reshape(400, 3).astype(np.float32)
    allowed = DICE.random(400) < 0.7
    leaders = Leaders(3, 14)
    for start in range(0, 400, 64):
        block = slice(start, start + 64)
        leaders.meet(scores[block], np.arange(400)[block], allowed[block])
    ranked = np.argsort(-np.where(allowed[:, None], scores, -1), axis=0)[:14].T
    assert [found.tolist() for found in leaders.in_order()] == ranked.tolist()


def test_where_fewer_are_allowed_all_of_them_are_found_and_nan_is_none() -> None:
    leaders = Leaders(1, 4)
    scores = np.array([[0.5], [0.9], [np.nan], [0.7]], dtype=np.float32)
    leaders.meet(scores, np.arange(4), np.array([True, True, True, False]))
    assert [found.tolist() for found in leaders.in_order()] == [[1, 0]]
