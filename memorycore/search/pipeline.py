"""One question, from its text to its hits: channels → evidence → lifts → prior and trust."""

from __future__ import annotations

import json
import math
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memorycore.domain import scoring
from memorycore.domain.scoring import Tuning
from memorycore.search import exact, vector_index
from memorycore.search.question import read_question, tells_time
from memorycore.search.request import Hit, SearchResult
from memorycore.search.rows import Rows
from memorycore.search.vectors import Matrix, best_rows, debiased, likeness_of
from memorycore.search.words import Words, look_up
from memorycore.store.memories import to_ms
from memorycore.store.statements import all_rows
from memorycore.store.vectors import known_fingerprint

if TYPE_CHECKING:
    from collections.abc import Generator
    from datetime import datetime

    import apsw

    from memorycore.domain.scoring import Floats, Mask
    from memorycore.domain.scoring import Rows as RowNumbers
    from memorycore.embed import Calibration, EmbeddingService
    from memorycore.search.living import LivingIndex
    from memorycore.search.question import Question
    from memorycore.search.request import SearchRequest
    from memorycore.store import Database

LEAST_CANDIDATES = 300
CANDIDATES_PER_RESULT = 4
MOST_RECENT_USES = 8
MOST_READ = 100
DAY_MS = 86_400_000
# A process that lives long answers in time; one that was started for this question waits for the model to load.
WAIT_S = 1.5
PATIENT_WAIT_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """A question with its vector; ``vector`` None: no model, or not in time, and ``why``."""

    question: Question
    vector: Floats | None
    calibration: Calibration | None
    fingerprint: str
    why: str
    model_ms: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """The rows that are scored, ``[m]``, and what speaks for them."""

    rows: RowNumbers
    words: Words
    meant: Floats | None
    evidence: Floats
    lifts: dict[str, Floats]
    exact: Mask


def search(  # noqa: PLR0913 the parts that a core has, each named by its caller
    query: str,
    *,
    db: Database,
    embedding: EmbeddingService | None,
    index: LivingIndex | None,
    request: SearchRequest,
    now: datetime,
    vector_weight: float | None = None,
) -> SearchResult:
    """Find what answers ``query``, best first.

    Hot and cold alike; filters act before ranking. An empty question has no answer. Without a vector of the question
    the words alone decide and ``degraded`` says why. Never writes while it reads, never waits for a writer.

    Raises:
        StoreError: The database cannot be read.
    """
    started = time.perf_counter()
    question = read_question(query)
    if not question.text:
        return SearchResult()
    tuning = Tuning() if vector_weight is None else replace(Tuning(), vector_weight=vector_weight)
    asked = ask_model(question, embedding, wait_s=PATIENT_WAIT_S if index is None else WAIT_S)
    with db.read() as c, _rows(c, index, request) as rows:
        hits = _answer(c, asked, rows, index=index, request=request, now=now, tuning=tuning) if len(rows) else ()
    if index is None and asked.calibration is not None:
        vector_index.catch_up(db, asked.fingerprint, asked.calibration)
    return SearchResult(
        hits=hits,
        degraded=(asked.why,) if asked.why else (),
        took_ms=(time.perf_counter() - started) * 1_000,
        model_ms=asked.model_ms,
    )


def ask_model(question: Question, embedding: EmbeddingService | None, *, wait_s: float) -> Asked:
    """The question's vector, or why there is none."""
    started = time.perf_counter()
    vector = None if embedding is None else embedding.query(question.text, timeout_s=wait_s)
    calibration = fingerprint = why = None
    if embedding is not None and vector is not None:
        calibration, fingerprint = embedding.calibration, embedding.fingerprint(0.0)
    elif embedding is not None:
        why = embedding.why or {"loading": "loading", "off": "no_model"}.get(embedding.state, "timeout")
    usable = calibration is not None and fingerprint is not None
    return Asked(
        question=question,
        vector=vector if usable else None,
        calibration=calibration if usable else None,
        fingerprint=fingerprint or "",
        why=(why or "no_model") if not usable else "",
        model_ms=(time.perf_counter() - started) * 1_000,
    )


@contextmanager
def _rows(c: apsw.Connection, index: LivingIndex | None, request: SearchRequest) -> Generator[Rows]:
    if index is not None:
        with index.current(c, past=request.looks_back) as rows:
            rows.reword(c, request.as_of)
            yield rows
        return
    rows = Rows(request.namespaces, past=request.looks_back)
    rows.follow(c)
    rows.reword(c, request.as_of)
    yield rows


def _answer(  # noqa: PLR0913 what one question is answered from
    c: apsw.Connection,
    asked: Asked,
    rows: Rows,
    *,
    index: LivingIndex | None,
    request: SearchRequest,
    now: datetime,
    tuning: Tuning,
) -> tuple[Hit, ...]:
    import numpy as np

    seen = rows.visible(request, now)
    allowed = seen & rows.matching(request)
    count = max(LEAST_CANDIDATES, CANDIDATES_PER_RESULT * request.top_k)
    words = look_up(c, asked.question, rows, seen, tuning)
    share = np.where(words.share > 0, words.share, np.float32(np.nan))
    named = exact.find(c, asked.question, rows, allowed)
    like = _Likeness(c, asked, rows, index=index, tuning=tuning)
    chosen = np.unique(np.concatenate([best_rows(share, allowed, count), like.best(allowed, count), *named.values()]))
    if not len(chosen):
        return ()
    candidates = _weigh(c, asked.question, rows, chosen, words=words, meant=like.of(chosen), named=named, tuning=tuning)
    relevance = candidates.evidence + sum(candidates.lifts.values())
    prior = _prior(c, rows, chosen, now)
    trust = rows.columns.trust[chosen]
    score = scoring.final(relevance, prior, trust)
    return _hits(c, rows, candidates, score=score, prior=prior, request=request, tuning=tuning)


class _Likeness:
    """Where the vector scores of one question come from: memory, sqlite-vec, or a reading of all vectors."""

    def __init__(
        self, c: apsw.Connection, asked: Asked, rows: Rows, *, index: LivingIndex | None, tuning: Tuning
    ) -> None:
        self._c = c
        self._asked = asked
        self._rows = rows
        self._tuning = tuning
        self._all: Floats | None = None
        self._vector: Floats | None = None
        known = known_fingerprint(c, asked.fingerprint) if asked.fingerprint else None
        if asked.vector is None or asked.calibration is None or known is None:
            return
        self._fingerprint_id = known
        self._calibration = asked.calibration
        self._vector = debiased(asked.vector, asked.calibration, tuning)
        if index is not None:
            self._all = index.matrix(c, known, asked.calibration).likeness(self._vector, rows)
        elif not vector_index.serves(c, asked.fingerprint, asked.calibration):
            matrix = Matrix(known, asked.calibration)
            matrix.follow(c)
            self._all = matrix.likeness(self._vector, rows)
        if self._all is not None and rows.reworded:  # the vector is that of the present wording
            self._all[rows.find(sorted(rows.reworded))] = math.nan

    def best(self, allowed: Mask, count: int) -> RowNumbers:
        import numpy as np

        if self._vector is None:
            return np.zeros(0, dtype=np.int64)
        if self._all is not None:
            return best_rows(self._all, allowed, count)
        seqs = self._rows.columns.seq[allowed].tolist()
        best = vector_index.ask(
            self._c, self._vector, seqs, fingerprint_id=self._fingerprint_id, calibration=self._calibration, count=count
        )
        return self._rows.find(best)

    def of(self, rows: RowNumbers) -> Floats | None:
        """0..1 for these rows, NaN where there is no vector; None without a question's vector."""
        import numpy as np

        if self._vector is None:
            return None
        if self._all is not None:
            raw = self._all[rows]
        else:
            seqs = self._rows.columns.seq[rows].tolist()
            found = likeness_of(self._c, self._vector, seqs, self._fingerprint_id, self._calibration)
            now = [math.nan if seq in self._rows.reworded else found.get(seq, math.nan) for seq in seqs]
            raw = np.array(now, dtype=np.float32)
        return scoring.meaning(raw, self._calibration.floor, self._tuning)


def _weigh(  # noqa: PLR0913 all that speaks for a memory
    c: apsw.Connection,
    question: Question,
    rows: Rows,
    chosen: RowNumbers,
    *,
    words: Words,
    meant: Floats | None,
    named: dict[str, RowNumbers],
    tuning: Tuning,
) -> Candidates:
    """Evidence and lifts of the chosen rows."""
    import numpy as np

    columns = rows.columns
    evidence = scoring.evidence(words.share[chosen], meant, tuning)
    spoken = rows.in_dialogue[chosen]
    at_length = np.minimum(1.0, columns.size[chosen] / tuning.telling_bytes)
    exactly = np.isin(chosen, np.concatenate([*named.values(), chosen[:0]]))
    lifts = {
        "exact": tuning.exact * exactly,
        "speaker": tuning.speaker * np.isin(columns.speaker[chosen], rows.speakers_in(question.names())),
        "date": tuning.date * _in_named_time(question, columns.happened[chosen]),
        "moment": tuning.moment * _tells_time(c, question, rows, chosen, evidence),
        "telling": spoken * (tuning.telling * at_length - tuning.asking * columns.asks[chosen]),
    }
    return Candidates(
        rows=chosen,
        words=words,
        meant=meant,
        evidence=evidence,
        lifts={name: lift.astype(np.float32) for name, lift in lifts.items()},
        exact=exactly,
    )


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


def _tells_time(c: apsw.Connection, question: Question, rows: Rows, chosen: RowNumbers, evidence: Floats) -> Mask:
    """For a question that asks when: which memories tell a time."""
    import numpy as np

    if not question.asks_time:
        return np.zeros(len(chosen), dtype=np.bool_)
    # Reading texts takes time: only where the lift can still decide something.
    best = np.argpartition(-evidence, MOST_READ)[:MOST_READ] if len(chosen) > MOST_READ else np.arange(len(chosen))
    told = np.zeros(len(chosen), dtype=np.bool_)
    texts = exact.texts(c, rows, chosen[best])
    told[best] = [tells_time(texts.get(int(seq), "")) for seq in rows.columns.seq[chosen[best]]]
    return told


def _prior(c: apsw.Connection, rows: Rows, chosen: RowNumbers, now: datetime) -> Floats:
    """Activation of these rows from their uses."""
    import numpy as np

    now_ms = to_ms(now) or 0
    columns = rows.columns
    place = {seq: number for number, seq in enumerate(columns.seq[chosen].tolist())}
    days: dict[int, list[float]] = {}
    for seq, used_ms in all_rows(c, "recent_uses", {"seqs": json.dumps(list(place))}):
        days.setdefault(place[seq], []).append((now_ms - used_ms) / DAY_MS)
    counted = columns.uses[chosen]  # uses that a job has folded into the memory: the last one is known, and how many
    for number in np.flatnonzero(counted).tolist():
        days.setdefault(number, []).append((now_ms - int(columns.last_use[chosen[number]])) / DAY_MS)
    uses = {
        number: (recent[:MOST_RECENT_USES], len(recent[MOST_RECENT_USES:]) + max(0, int(counted[number]) - 1))
        for number, recent in days.items()
    }
    return scoring.activation(((now_ms - columns.created[chosen]) / DAY_MS).astype(np.float32), uses)


def _hits(  # noqa: PLR0913 what a hit is made of
    c: apsw.Connection,
    rows: Rows,
    candidates: Candidates,
    *,
    score: Floats,
    prior: Floats,
    request: SearchRequest,
    tuning: Tuning,
) -> tuple[Hit, ...]:
    """The best ``top_k``, ties by id."""
    import numpy as np

    order = np.argsort(-score, kind="stable")
    order = order[(candidates.evidence[order] > 0) | candidates.exact[order]]
    if len(order) > request.top_k:  # whoever ties with the last one takes part in the decision
        order = order[score[order] >= score[order[request.top_k - 1]]]
    seqs = rows.columns.seq[candidates.rows[order]].tolist()
    parameters = {"seqs": json.dumps(seqs), "namespaces": json.dumps(request.namespaces)}
    ids = {int(seq): str(memory_id) for seq, memory_id in all_rows(c, "ids_by_seq", parameters)}
    best = sorted(
        (-float(score[place]), ids[seq], seq, int(place)) for place, seq in zip(order, seqs, strict=True) if seq in ids
    )
    return tuple(
        Hit(
            seq=seq,
            id=memory_id,
            score=min(1.0, -value),
            weak=bool(candidates.evidence[place] < tuning.floor and not candidates.exact[place]),
            wording=rows.reworded[seq].wording if seq in rows.reworded else None,
            parts=_parts(rows, candidates, place, float(prior[place])) if request.explain else {},
        )
        for value, memory_id, seq, place in best[: request.top_k]
    )


def _parts(rows: Rows, candidates: Candidates, place: int, prior: float) -> dict[str, float | str | list[str]]:
    row = int(candidates.rows[place])
    meant = None if candidates.meant is None else float(candidates.meant[place])
    parts: dict[str, float | str | list[str]] = {
        "words": round(float(candidates.words.share[row]), 3),
        "held": candidates.words.held_by(row),
        "evidence": round(float(candidates.evidence[place]), 3),
        "prior": round(prior, 3),
        "trust": round(float(rows.columns.trust[row]), 3),
    }
    if meant is not None and meant == meant:  # noqa: PLR0124 NaN: no vector
        parts["meaning"] = round(meant, 3)
    return parts | {name: round(float(lift[place]), 3) for name, lift in candidates.lifts.items() if lift[place]}
