"""A place among the results for a rule that is not in the prompt.

A rule that stands in a hot file works without being asked for. One that left it works only when it is found, and who
wants something done hardly ever says what rule that needs: "add error handling to the downloader" wants the rules for
code. So some of the last places are for the likeliest rules that are cold: more of them for a task than for a question,
which wants facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorycore.search.weighing import hits

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memorycore.search.request import Hit
    from memorycore.search.weighing import Sought, Weighed

FOR_A_TASK = 4
FOR_A_QUESTION = 2
LEAST_RESULTS = 5  # of fewer none is given away
RULES = ("core", "rule")


def with_a_rule(sought: Sought, weighed: Weighed, best: Sequence[Hit]) -> list[Hit]:
    """The results, with the likeliest cold rules in the last places, unless enough are among them."""
    import numpy as np

    columns = sought.rows.columns
    policies = [sought.rows.known_code(name) for name in RULES]
    is_rule = np.isin(columns.policy, policies) & ~columns.hot & ~columns.superseded
    shown = sought.rows.find([hit.seq for hit in best])
    places = FOR_A_QUESTION if sought.question.asks_for_a_fact else FOR_A_TASK
    placed = frozenset(columns.seq[shown[is_rule[shown]]].tolist())
    missing = places - len(placed)
    if missing <= 0 or sought.request.top_k < LEAST_RESULTS:
        return list(best)
    others = np.flatnonzero(is_rule[weighed.rows] & (weighed.evidence > 0) & ~np.isin(weighed.rows, shown))
    likeliest = others[np.argsort(-weighed.score[others], kind="stable")[:missing]]
    kept = _without_last(best, len(best) + len(likeliest) - sought.request.top_k, but=placed)
    return [*kept, *hits(sought, weighed, likeliest[: sought.request.top_k - len(kept)])]


def _without_last(best: Sequence[Hit], count: int, *, but: Collection[int]) -> list[Hit]:
    """The results without the last ones, so many, but with the best, and with rules (seq) that have such a place."""
    going = [place for place in range(len(best) - 1, 0, -1) if best[place].seq not in but][: max(0, count)]
    return [hit for place, hit in enumerate(best) if place not in going]
