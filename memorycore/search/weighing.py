"""What speaks for the memories that the channels found: evidence → lifts → prior and trust → score."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memorycore.domain import scoring
from memorycore.search import exact
from memorycore.search.floor import noise, signs
from memorycore.search.question import tells_time
from memorycore.search.request import Hit
from memorycore.store.memories import to_ms
from memorycore.store.statements import all_rows

if TYPE_CHECKING:
    from datetime import datetime

    import apsw

    from memorycore.domain.scoring import Floats, Mask, Tuning
    from memorycore.domain.scoring import Rows as RowNumbers
    from memorycore.search.floor import Signs
    from memorycore.search.likeness import Likeness
    from memorycore.search.question import Question
    from memorycore.search.request import SearchRequest
    from memorycore.search.rows import Rows
    from memorycore.search.words import Words

MOST_RECENT_USES = 8
MOST_READ = 100
DAY_MS = 86_400_000
ENDED = 0.8  # what has ended stands behind what holds and is as near to the question


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sought:
    """A question on the rows that it is asked of, with what the channels found."""

    c: apsw.Connection
    question: Question
    rows: Rows
    words: Words
    named: dict[str, RowNumbers]
    like: Likeness
    request: SearchRequest
    now: datetime
    tuning: Tuning


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weighed:
    """The rows that are scored, ``[m]``, and what speaks for them."""

    rows: RowNumbers
    meant: Floats | None
    evidence: Floats
    lifts: dict[str, Floats]
    exact: Mask
    prior: Floats
    score: Floats


def weigh(sought: Sought, chosen: RowNumbers) -> Weighed:
    """Evidence, lifts and score of the chosen rows."""
    import numpy as np

    question, rows, tuning = sought.question, sought.rows, sought.tuning
    columns = rows.columns
    meant = sought.like.of(chosen)
    evidence = scoring.evidence(sought.words.share[chosen], meant, tuning)
    spoken = rows.in_dialogue[chosen]
    at_length = np.minimum(1.0, columns.size[chosen] / tuning.telling_bytes)
    exactly = np.isin(chosen, np.concatenate([*sought.named.values(), chosen[:0]]))
    lifts = {
        "exact": tuning.exact * exactly,
        "speaker": tuning.speaker * np.isin(columns.speaker[chosen], rows.speakers_in(question.names())),
        "date": tuning.date * _in_named_time(question, columns.happened[chosen]),
        "moment": tuning.moment * _tells_time(sought, chosen, evidence),
        "telling": spoken * (tuning.telling * at_length - tuning.asking * columns.asks[chosen]),
    }
    lifts = {name: lift.astype(np.float32) for name, lift in lifts.items()}
    prior = _prior(sought, chosen)
    score = scoring.final(evidence + sum(lifts.values()), prior, columns.trust[chosen])
    if sought.request.filters.as_of is None:
        score = np.where(columns.superseded[chosen], np.float32(ENDED) * score, score)
    return Weighed(rows=chosen, meant=meant, evidence=evidence, lifts=lifts, exact=exactly, prior=prior, score=score)


def _in_named_time(question: Question, happened_ms: RowNumbers) -> Mask:
    """Whether each time lies in a year and month that the question names; none if it names none."""
    import numpy as np

    if not question.years and not question.months:
        return np.zeros(len(happened_ms), dtype=np.bool_)
    months = happened_ms.astype("datetime64[ms]").astype("datetime64[M]").astype(np.int64)
    inside = np.ones(len(happened_ms), dtype=np.bool_)
    if question.years:
        inside &= np.isin(months // 12 + 1970, list(question.years))
    if question.months:
        inside &= np.isin(months % 12 + 1, list(question.months))
    return inside


def _tells_time(sought: Sought, chosen: RowNumbers, evidence: Floats) -> Mask:
    """For a question that asks when: which memories tell a time."""
    import numpy as np

    told = np.zeros(len(chosen), dtype=np.bool_)
    if not sought.question.asks_time:
        return told
    # Reading texts takes time: only where the lift can still decide something.
    best = np.argpartition(-evidence, MOST_READ)[:MOST_READ] if len(chosen) > MOST_READ else np.arange(len(chosen))
    texts = exact.texts(sought.c, sought.rows, chosen[best])
    told[best] = [tells_time(texts.get(int(seq), "")) for seq in sought.rows.columns.seq[chosen[best]]]
    return told


def _prior(sought: Sought, chosen: RowNumbers) -> Floats:
    """Activation of these rows from their uses."""
    import numpy as np

    now_ms = to_ms(sought.now) or 0
    columns = sought.rows.columns
    place = {seq: number for number, seq in enumerate(columns.seq[chosen].tolist())}
    days: dict[int, list[float]] = {}
    for seq, used_ms in all_rows(sought.c, "recent_uses", {"seqs": json.dumps(list(place))}):
        days.setdefault(place[seq], []).append((now_ms - used_ms) / DAY_MS)
    counted = columns.uses[chosen]  # uses that a job has folded into the memory: the last one is known, and how many
    for number in np.flatnonzero(counted).tolist():
        days.setdefault(number, []).append((now_ms - int(columns.last_use[chosen[number]])) / DAY_MS)
    uses = {
        number: (recent[:MOST_RECENT_USES], len(recent[MOST_RECENT_USES:]) + max(0, int(counted[number]) - 1))
        for number, recent in days.items()
    }
    return scoring.activation(((now_ms - columns.created[chosen]) / DAY_MS).astype(np.float32), uses)


def best_hits(sought: Sought, weighed: Weighed, *, most: int) -> list[Hit]:
    """The best ``most`` rows that anything speaks for, ties by id."""
    import numpy as np

    score = weighed.score
    order = np.argsort(-score, kind="stable")
    order = order[(weighed.evidence[order] > 0) | weighed.exact[order]]
    if len(order) > most:  # whoever ties with the last one takes part in the decision
        order = order[score[order] >= score[order[most - 1]]]
    return hits(sought, weighed, order)[:most]


def hits(sought: Sought, weighed: Weighed, places: RowNumbers, *, beside: bool = False) -> list[Hit]:
    """These of the weighed rows as results, best first, ties by id; ``beside``: they are shown beside others."""
    rows, request = sought.rows, sought.request
    seen = signs(sought, weighed.rows[places])
    noisy = noise(seen, weighed.exact[places], beside=beside)
    number = {int(place): at for at, place in enumerate(places)}
    seqs = rows.columns.seq[weighed.rows[places]].tolist()
    parameters = {"seqs": json.dumps(seqs), "namespaces": json.dumps(request.namespaces)}
    ids = {int(seq): str(memory_id) for seq, memory_id in all_rows(sought.c, "ids_by_seq", parameters)}
    best = sorted(
        (-float(weighed.score[place]), ids[seq], seq, int(place))
        for place, seq in zip(places, seqs, strict=True)
        if seq in ids
    )
    return [
        Hit(
            seq=seq,
            id=memory_id,
            score=min(1.0, -value),
            weak=bool(noisy[number[place]]),
            odds=float(seen.odds[number[place]]),
            named=bool(weighed.exact[place]),
            wording=rows.reworded[seq].wording if seq in rows.reworded else None,
            parts=_parts(sought, weighed, place, seen, number[place]) if request.explain else {},
        )
        for value, memory_id, seq, place in best
    ]


def _parts(sought: Sought, weighed: Weighed, place: int, seen: Signs, at: int) -> dict[str, float | str | list[str]]:
    row = int(weighed.rows[place])
    meant = None if weighed.meant is None else float(weighed.meant[place])
    parts: dict[str, float | str | list[str]] = {
        "words": round(float(sought.words.share[row]), 3),
        "held": sought.words.held_by(row),
        "share": round(float(seen.share[at]), 3),
        "evidence": round(float(weighed.evidence[place]), 3),
        "prior": round(float(weighed.prior[place]), 3),
        "trust": round(float(sought.rows.columns.trust[row]), 3),
    }
    if meant is not None and meant == meant:  # noqa: PLR0124 NaN: no vector
        parts["meaning"] = round(meant, 3)
        parts["nearness"] = round(float(seen.nearness[at]), 3)
    return parts | {name: round(float(lift[place]), 3) for name, lift in weighed.lifts.items() if lift[place]}
