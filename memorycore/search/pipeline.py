"""One question, from its text to its hits: channels → candidates → weighing → what belongs together."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from memorycore.domain.scoring import Tuning
from memorycore.search import exact, vector_index
from memorycore.search.beside import beside_their_opposites, with_named
from memorycore.search.binned import strongly_meant
from memorycore.search.floor import Doubt, doubt, settled
from memorycore.search.likeness import Asked, Likeness, ask_model
from memorycore.search.question import read_question
from memorycore.search.request import SearchResult
from memorycore.search.retired import with_a_rule
from memorycore.search.rows import Rows
from memorycore.search.same import looked_at, one_of_each
from memorycore.search.strong import meant
from memorycore.search.vectors import best_rows
from memorycore.search.weighing import Sought, best_hits, weigh
from memorycore.search.words import look_up

if TYPE_CHECKING:
    from collections.abc import Generator
    from datetime import datetime

    import apsw

    from memorycore.domain.memory import Memory
    from memorycore.embed import EmbeddingService
    from memorycore.search.living import LivingIndex
    from memorycore.search.request import Hit, SearchRequest
    from memorycore.store import Database

LEAST_CANDIDATES = 300
CANDIDATES_PER_RESULT = 4
# A process that lives long answers in time; one that was started for this question waits for the model to load, and for
# one that has been loading so long already no more than any other.
WAIT_S = 1.5
PATIENT_WAIT_S = 20.0
LOADING_WAIT_S = 10.0


def patience(loading_s: float) -> float:
    """How long a process that was started for one question waits for its vector; ``loading_s``: the model so far."""
    return max(WAIT_S, LOADING_WAIT_S - loading_s) if loading_s else PATIENT_WAIT_S


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
    wait_s = WAIT_S if request.model_wait_s is None else request.model_wait_s
    if index is None:
        wait_s = patience(0.0 if embedding is None else embedding.loading_s)
    asked = ask_model(question, embedding, wait_s=wait_s)
    model_ms = asked.model_ms
    hits: tuple[Hit, ...] = ()
    strong: frozenset[int] = frozenset()
    doubted: Doubt | None = None
    binned: list[Memory] = []
    with db.read() as c, _rows(c, index, request) as rows:
        like = Likeness(c, asked, rows, index=index, tuning=tuning)
        if len(rows):
            hits, strong, doubted = _answer(c, asked, rows, like=like, request=request, now=now, tuning=tuning)
        if request.seeks_bin:
            binned = strongly_meant(c, asked.question, like, request=request, now=now)
    # Nobody else's question waits for the model to look again, and no host that counts the moments.
    if doubted is not None and embedding is not None and request.model_wait_s is None:
        before = time.perf_counter()
        hits = tuple(settled(hits, doubted, asked, embedding))
        model_ms += (time.perf_counter() - before) * 1_000
    if index is None and asked.calibration is not None:
        vector_index.catch_up(db, asked.fingerprint, asked.calibration)
    return SearchResult(
        hits=hits,
        strong=strong,
        binned=tuple(binned),
        degraded=(asked.why,) if asked.why else (),
        took_ms=(time.perf_counter() - started) * 1_000,
        model_ms=model_ms,
    )


@contextmanager
def _rows(c: apsw.Connection, index: LivingIndex | None, request: SearchRequest) -> Generator[Rows]:
    if index is not None:
        with index.current(c, past=request.filters.looks_back) as rows:
            rows.reword(c, request.filters.as_of)
            yield rows
        return
    rows = Rows(request.namespaces, past=request.filters.looks_back)
    rows.follow(c)
    rows.reword(c, request.filters.as_of)
    yield rows


def _answer(  # noqa: PLR0913 what one question is answered from
    c: apsw.Connection,
    asked: Asked,
    rows: Rows,
    *,
    like: Likeness,
    request: SearchRequest,
    now: datetime,
    tuning: Tuning,
) -> tuple[tuple[Hit, ...], frozenset[int], Doubt | None]:
    """The hits, which of them are strongly meant, and what is still to be looked at."""
    import numpy as np

    seen = rows.visible(request, now)
    allowed = seen & rows.matching(request)
    count = max(LEAST_CANDIDATES, CANDIDATES_PER_RESULT * request.top_k)
    words = look_up(c, asked.question, rows, seen, tuning)
    share = np.where(words.share > 0, words.share, np.float32(np.nan))
    named = exact.find(c, asked.question, rows, allowed)
    chosen = np.unique(np.concatenate([best_rows(share, allowed, count), like.best(allowed, count), *named.values()]))
    if not len(chosen) and not request.also:
        return (), frozenset(), None
    sought = Sought(
        c=c, question=asked.question, rows=rows, words=words, named=named, like=like, request=request, now=now,
        tuning=tuning,
    )  # fmt: skip
    weighed = weigh(sought, chosen)
    best = best_hits(sought, weighed, most=looked_at(request.top_k))
    best = best[: request.top_k] if request.every_wording else one_of_each(sought, best, request.top_k)
    if request.tells_strong:
        best = with_a_rule(sought, weighed, best)
    hits = tuple(beside_their_opposites(sought, with_named(sought, best, allowed), allowed))
    strong = meant(sought, hits) if request.tells_strong or request.marks_strong else frozenset[int]()
    return hits, strong, doubt(sought, hits)
