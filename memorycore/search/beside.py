"""What is shown beside the best: the opposites of what is disputed, and memories that the caller asks for by id.

Memories that contradict each other are shown side by side: one alone would pass for the truth.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from memorycore.search.weighing import hits as hits_of
from memorycore.search.weighing import weigh
from memorycore.store import edges
from memorycore.store.statements import all_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memorycore.domain.scoring import Mask
    from memorycore.search.request import Hit
    from memorycore.search.weighing import Sought


def beside_their_opposites(sought: Sought, hits: Sequence[Hit], allowed: Mask) -> Sequence[Hit]:
    """The hits with what they contradict directly beside them, also where it ranked lower or not at all.

    Only open disputes count, and nothing is shown that the caller may not see or did not ask for. What a result stands
    for contradicts with it. A weak result brings nothing with it.
    """
    stands_for = {memory_id: hit.id for hit in hits for memory_id in (*hit.same, hit.id)}
    opposites: dict[str, list[str]] = {}
    for edge in edges.disputes_of(sought.c, list(stands_for), sought.request.namespaces):
        one, other = stands_for.get(edge.src, edge.src), stands_for.get(edge.dst, edge.dst)
        opposites.setdefault(one, []).append(other)
        opposites.setdefault(other, []).append(one)
    if not opposites:
        return hits
    found = {hit.id: hit for hit in hits}
    wanted = {other for hit in hits if not hit.weak for other in opposites.get(hit.id, ())}
    found |= {hit.id: hit for hit in _shown(sought, wanted - found.keys(), allowed)}
    ordered: dict[str, Hit] = {}
    for hit in hits:
        together = [found[one] for one in dict.fromkeys((hit.id, *opposites.get(hit.id, ()))) if one in found]
        for one in _most_standing_first(sought, together):
            if one.id not in ordered:
                others = tuple(dict.fromkeys(other for other in opposites.get(one.id, ()) if other in found))
                ordered[one.id] = replace(one, disputed_with=others)
    return list(ordered.values())


def _most_standing_first(sought: Sought, together: Sequence[Hit]) -> Sequence[Hit]:
    """The hit and what contradicts it. Of things that each happened at its own time, the one that fits best leads."""
    rows, columns = sought.rows.find([hit.seq for hit in together]), sought.rows.columns
    if (columns.happened[rows] != columns.created[rows]).all():
        return together
    return sorted(together, key=lambda one: _standing(sought, one), reverse=True)


def _standing(sought: Sought, hit: Hit) -> tuple[float, int, int]:
    """Of two that contradict each other the more trusted one comes first, of two as trusted the later one.

    Of two of one moment the one that was stored last is the later.
    """
    (row,) = sought.rows.find([hit.seq])
    columns = sought.rows.columns
    return float(columns.trust[row]), int(columns.created[row]), hit.seq


def with_named(sought: Sought, hits: Sequence[Hit], allowed: Mask) -> Sequence[Hit]:
    """The hits, and among them those that the request names, however they rank."""
    missing = set(sought.request.also) - {hit.id for hit in hits}
    if not missing:
        return hits
    return sorted([*hits, *_shown(sought, missing, allowed)], key=lambda hit: (-hit.score, hit.id))


def _shown(sought: Sought, ids: Iterable[str], allowed: Mask) -> Sequence[Hit]:
    """Those of these memories that may be shown, whatever speaks for them."""
    import numpy as np

    named = {"namespaces": json.dumps(sought.request.namespaces), "ids": json.dumps(list(ids)), "ref": ""}
    rows = sought.rows.find(sorted(seq for (seq,) in all_rows(sought.c, "seqs_by_name", named)))
    rows = rows[allowed[rows]]
    return hits_of(sought, weigh(sought, rows), np.arange(len(rows)), beside=True) if len(rows) else ()
