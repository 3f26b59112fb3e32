"""One of each: several wordings of one statement are one result, so that they leave room for what else there is."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from memorycore.domain.judge import judge
from memorycore.domain.text import normalise_for_compare, query_tokens
from memorycore.search import exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorycore.search.request import Hit
    from memorycore.search.weighing import Sought

LOOKED_AT_PER_RESULT = 3
MOST_LOOKED_AT = 30
MOST_JUDGED = 24  # pairs; a verdict on texts that were never read before takes about a millisecond
LONGEST = 400  # code points
LEAST_OVERLAP = 0.5


def looked_at(top_k: int) -> int:
    """How many results are compared to fill ``top_k``."""
    return max(top_k, min(LOOKED_AT_PER_RESULT * top_k, MOST_LOOKED_AT))


def one_of_each(sought: Sought, hits: Sequence[Hit], top_k: int) -> list[Hit]:
    """The best ``top_k``, without those that only repeat a better one; that one names them (``same``).

    Only the judge's *same* counts; what it calls anything else, the opposite above all, stays. What is weak is compared
    with nothing where it will be dropped.
    """
    if len(hits) < 2 or sought.request.filters.looks_back:  # noqa: PLR2004 one alone repeats nothing
        return list(hits[:top_k])
    texts = exact.texts(sought.c, sought.rows, sought.rows.find([hit.seq for hit in hits]))
    words = {hit.seq: frozenset(query_tokens(text)) for hit in hits if len(text := texts.get(hit.seq, "")) <= LONGEST}
    kept: list[Hit] = []
    left = MOST_JUDGED
    for hit in hits:
        if len(kept) == top_k and not left:
            break
        compared = [] if hit.weak and sought.request.drops_weak else kept
        likely = [
            one for one in compared if {hit.seq, one.seq} <= words.keys() and _alike(words[one.seq], words[hit.seq])
        ]
        likely.sort(key=lambda one: len(words[one.seq] ^ words[hit.seq]))
        repeated = None
        for one in likely[:left]:
            left -= 1
            if judge(texts[one.seq], texts[hit.seq]).relation == "same":
                repeated = one
                break
        if repeated is None:
            kept += [hit] if len(kept) < top_k else []
        else:
            kept[kept.index(repeated)] = replace(repeated, same=(*repeated.same, hit.id))
    return kept


def repeats(text: str, others: Sequence[str]) -> bool:
    """Whether one of these texts holds this one already: in the same words, as a part of it, or as the judge says."""
    same, words = _read(text)
    for other in others:
        normal, found = _read(other)
        if same in normal:
            return True
        may_be = max(len(text), len(other)) <= LONGEST and _alike(found, words)
        if may_be and judge(other, text).relation == "same":
            return True
    return False


@lru_cache(maxsize=1024)
def _read(text: str) -> tuple[str, frozenset[str]]:
    """Asked for each entry of the hot files with each question, and nearly always for the same ones."""
    return normalise_for_compare(text), frozenset(query_tokens(text))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two texts may be one statement: most words shared, and every word with a digit in it."""
    if not one or not other or len(one & other) < LEAST_OVERLAP * min(len(one), len(other)):
        return False
    return not any(any(map(str.isdigit, word)) for word in one ^ other)
