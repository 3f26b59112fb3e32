"""Search (first version, keyword only, so that the rooms above can be built; the search room replaces it)."""

import json
import time
from datetime import datetime
from typing import Any

from memorycore.domain.text import query_tokens
from memorycore.search.request import Hit, RecallFilters, SearchRequest, SearchResult
from memorycore.store import Database


class LivingIndex:
    def __init__(self, db: Database, embedding: Any, *, namespaces: tuple[str, ...]) -> None:
        self.db = db


def search(
    query: str,
    *,
    db: Database,
    embedding: Any,
    index: LivingIndex | None,
    request: SearchRequest,
    now: datetime,
    vector_weight: float | None = None,
) -> SearchResult:
    started = time.perf_counter()
    tokens = query_tokens(query)
    if not tokens:
        return SearchResult()
    match = " OR ".join(f'"{token}"' for token in tokens[:64])
    tier = request.filters.tier
    where = "" if tier is None else (" AND m.residence = 'hot'" if tier == "hot" else " AND m.residence <> 'hot'")
    with db.read() as c:
        rows = c.execute(
            "SELECT m.seq, m.id, bm25(memory_text) FROM memory_text JOIN memory m ON m.seq = memory_text.rowid WHERE memory_text MATCH ? "
            f"AND m.namespace IN (SELECT value FROM json_each(?)) AND m.state = 'active'{where} ORDER BY 3, 2 LIMIT ?",
            (match, json.dumps(request.namespaces), request.top_k),
        ).fetchall()
    hits = tuple(Hit(seq=seq, id=mid, score=min(1.0, -score)) for seq, mid, score in rows)
    return SearchResult(hits=hits, took_ms=(time.perf_counter() - started) * 1000)


__all__ = ["Hit", "LivingIndex", "RecallFilters", "SearchRequest", "SearchResult", "search"]
