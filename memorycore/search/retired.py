"""A place among the results for a rule that is not in the prompt.

A rule that stands in a hot file works without being asked for. One that left it works only when it is found, and who
wants something done hardly ever says what rule that needs: "add error handling to the downloader" wants the rules for
code. So some of the last places are for the likeliest rules that are cold, those that were much used before others that
fit as well: more places for a task than for a question, which wants facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorycore.domain.retention import weight_now
from memorycore.search.weighing import hits
from memorycore.store import standing

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memorycore.domain.retention import Standing
    from memorycore.domain.scoring import Floats
    from memorycore.search.request import Hit
    from memorycore.search.weighing import Sought, Weighed

FOR_A_TASK = 4
FOR_A_QUESTION = 2
MOST_WEIGHED = 50
OFTEN_USED = 0.03
"""Of a score, each time that a weight grows e-fold: how likely a rule is at all counts beside how well it fits."""
RARELY = 0.3
"""A weight far below that counts as none; one use is 1.0."""
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
    others = others[np.argsort(-weighed.score[others], kind="stable")[:MOST_WEIGHED]]
    uses = np.log1p(_weights(sought, columns.seq[weighed.rows[others]].tolist()) / RARELY)
    likeliest = others[np.argsort(-(weighed.score[others] + OFTEN_USED * uses), kind="stable")[:missing]]
    kept = _without_last(best, len(best) + len(likeliest) - sought.request.top_k, but=placed)
    return [*kept, *hits(sought, weighed, likeliest[: sought.request.top_k - len(kept)])]


def _weights(sought: Sought, seqs: Sequence[int]) -> Floats:
    """What these rules weigh by their uses now, ``[m]``; 0 for one that never stood in a file."""
    import numpy as np

    halves = sought.request.half_life_days
    known: dict[int, Standing] = {}
    for namespace in sought.request.namespaces:
        known |= standing.by_seq(sought.c, namespace, seqs)
    weights = [weight_now(known[seq], sought.now, half_life_days=halves) if seq in known else 0.0 for seq in seqs]
    return np.array(weights, dtype=np.float32)


def _without_last(best: Sequence[Hit], count: int, *, but: Collection[int]) -> list[Hit]:
    """The results without the last ones, so many, but with the best, and with rules (seq) that have such a place."""
    going = [place for place in range(len(best) - 1, 0, -1) if best[place].seq not in but][: max(0, count)]
    return [hit for place, hit in enumerate(best) if place not in going]
