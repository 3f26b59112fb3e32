"""How well a memory answers a question: evidence, lifts, prior, trust. Pure functions over numpy arrays.

``evidence = w·meaning + (1-w)·words``, ``relevance = evidence + lifts``, ``final = relevance·(0.60 + 0.25·prior +
0.15·trust)``. The constants were found on one half of the conversations of LoCoMo together with two Chinese and mixed
sets, and confirmed on the other half; around them the quality is flat, so none of them is a knob that must be right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Rows = NDArray[np.int64]
    Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The constants of the score.

    Attributes:
        vector_weight: Share of meaning in the evidence; words have the rest.
        words_exponent: Above 1, since one chance word in a question of six says less than a sixth of all six.
        nearness: What a word of the question is worth one step away in the same conversation.
        reach: How many memories before and after count as near.
        full_noises: How many times what chance gives counts as full likeness.
        speaker, date, moment, exact: Lifts for what the question names: who said it, when it was, that a time is
            asked for and told, the very words.
        telling, asking: In a dialogue, a lift for what is said at length and a loss for what is only asked.
        telling_bytes: Length from which a turn counts as told at length.
        long_bytes: Length from which the words of a text count for less: long texts hold many words by chance.
    """

    vector_weight: float = 0.55
    words_exponent: float = 1.75
    nearness: float = 0.8
    reach: int = 4
    full_noises: float = 4.0
    speaker: float = 0.12
    date: float = 0.15
    moment: float = 0.06
    exact: float = 0.30
    telling: float = 0.10
    asking: float = 0.05
    telling_bytes: int = 300
    long_bytes: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places:
    """Where memories stand in their conversations; all arrays ``[n]``.

    ``before`` and ``after`` are the row of the neighbour in the same session, or -1. ``step`` counts along the session,
    but a question and what follows it share a step: the answer says what the question asked for.
    """

    before: Rows
    after: Rows
    step: Rows


def places_of(session: Rows, asks: Mask) -> Places:
    """Neighbours of each memory; rows are in the order of time, ``session`` is -1 for a memory outside any session."""
    import numpy as np

    count = len(session)
    before = np.full(count, -1, dtype=np.int64)
    after = np.full(count, -1, dtype=np.int64)
    step = np.zeros(count, dtype=np.int64)
    inside = np.flatnonzero(session >= 0)
    order = inside[np.argsort(session[inside], kind="stable")]
    if len(order) > 1:
        joined = session[order[:-1]] == session[order[1:]]
        before[order[1:][joined]] = order[:-1][joined]
        after[order[:-1][joined]] = order[1:][joined]
        step[order[1:]] = np.cumsum(~asks[order[:-1]])
    return Places(before=before, after=after, step=step)


def rarity(total: int, holding: Sequence[int]) -> list[float]:
    """What each word says (inverse document frequency), for ``total`` memories of which ``holding`` have it.

    Never nothing, so that a word is worth something in a store of three memories too.
    """
    return [math.log(1 + (total - count + 0.5) / (count + 0.5)) for count in holding]


def coverage(hits: Sequence[Rows], weights: Sequence[float], places: Places, tuning: Tuning) -> Floats:
    """The share of the question's words, by weight, that each memory holds or has near it: ``[n]``, 0..1.

    ``hits`` are, for each word, the rows that hold it. A word counts once for a memory, from where it stands nearest.
    """
    import numpy as np

    found = np.zeros(len(places.before), dtype=np.float32)
    for rows, weight in zip(hits, weights, strict=True):
        if len(rows):
            found += np.float32(weight) * _nearness(rows, places, tuning)
    return found / np.float32(max(sum(weights), 1e-9))


def _nearness(rows: Rows, places: Places, tuning: Tuning) -> Floats:
    import numpy as np

    near = np.zeros(len(places.before), dtype=np.float32)
    near[rows] = 1.0
    for neighbours, shares_steps in ((places.after, True), (places.before, False)):
        source, target = rows, neighbours[rows]
        for distance in range(1, tuning.reach + 1):
            kept = target >= 0
            source, target = source[kept], target[kept]
            if not len(target):
                break
            away = places.step[target] - places.step[source] if shares_steps else distance
            near[target] = np.maximum(near[target], np.float32(tuning.nearness) ** away)
            target = neighbours[target]
    return near


def heft(size_bytes: Rows, tuning: Tuning) -> Floats:
    """How much the words of a text of this size count: 1, and slowly less for long ones."""
    import numpy as np

    return np.minimum(1.0, tuning.long_bytes / np.maximum(size_bytes, 1)).astype(np.float32) ** np.float32(0.2)


def meaning(likeness: Floats, noise: float, tuning: Tuning) -> Floats:
    """Scores of vectors as 0..1, for a model that gives ``noise`` by chance; NaN (without a vector) stays NaN."""
    import numpy as np

    return np.clip(likeness / np.float32(max(noise, 1e-6) * tuning.full_noises), 0.0, 1.0)


def evidence(words: Floats, meant: Floats | None, tuning: Tuning) -> Floats:
    """Words and meaning together, 0..1. What a memory has no vector for leaves the sum, so that it is no verdict."""
    import numpy as np

    told = words ** np.float32(tuning.words_exponent)
    if meant is None:
        return told
    share = np.float32(tuning.vector_weight)
    return np.where(np.isnan(meant), told, share * np.nan_to_num(meant) + (1 - share) * told)


def activation(created_days: Floats, uses: Mapping[int, tuple[Sequence[float], int]]) -> Floats:
    """Prior from recency and frequency, 0..1, about 0.6 for something new and never used.

    ACT-R's base level with decay 0.5 in Petrov's form: the storing counts as one use, ``uses[row]`` are the days since
    each recent use, newest first, and how many earlier ones there were, which count as spread evenly over the time
    before. Less than an hour ago counts as an hour.
    """
    import numpy as np

    hour = 1 / 24
    age = np.maximum(created_days, hour)
    strength = age**-0.5
    for row, (recent, earlier) in uses.items():
        ages = [max(days, hour) for days in recent]
        strength[row] += sum(days**-0.5 for days in ages)
        oldest = ages[-1] if ages else hour
        if earlier and age[row] > oldest:
            strength[row] += earlier * 2 * (age[row] ** 0.5 - oldest**0.5) / (age[row] - oldest)
    return (0.5 + 0.5 * np.tanh(np.log(strength) / 6)).astype(np.float32)


def final(relevance: Floats, prior: Floats, trust: Floats) -> Floats:
    """Prior and trust reorder what is relevant; they cannot lift what is not."""
    return (relevance * (0.60 + 0.25 * prior + 0.15 * trust)).astype("float32")
