"""What a question finds in the recycle bin: memories that it means so clearly that they should not be there.

A model's strong threshold is exceeded by one in a hundred unrelated pairs, and a bin holds hundreds. So it takes
likeness above it and half of the question's words, or twice that likeness, or all of the words; on the public sets
five of six such finds are right, and a question that nothing answers finds nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from memorycore.domain.text import fold, index_tokens, norm_hash
from memorycore.search.words import stems_of
from memorycore.store import memories
from memorycore.store.statements import all_rows, first_row

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    import apsw

    from memorycore.domain.memory import Memory
    from memorycore.search.likeness import Likeness
    from memorycore.search.question import Question
    from memorycore.search.request import SearchRequest

MOST_FOUND = 8
MOST_LOOKED_AT = 64
LEAST_WORDS = 2  # one word alone says too little, if no model knows what it means
SHARE_OF_WORDS = 0.5
BEYOND_DOUBT = 2.0


def strongly_meant(
    c: apsw.Connection, question: Question, like: Likeness, *, request: SearchRequest, now: datetime
) -> list[Memory]:
    """Memories in the bin that the question means beyond doubt, likeliest first, if the caller might see them."""
    if not question.words or first_row(c, "any_binned", {"namespaces": json.dumps(request.namespaces)}) is None:
        return []
    scores, strong = like.archived()
    by_words = _holding_all(c, question)
    strongest = sorted((seq for seq, score in scores.items() if score >= strong), key=lambda seq: (-scores[seq], seq))
    named = {
        "namespaces": json.dumps(request.namespaces), "norm_hash": norm_hash(question.text),
        "seqs": json.dumps([*strongest[:MOST_LOOKED_AT], *by_words]),
    }  # fmt: skip
    found = memories.select(c, "binned_by_seq", **named)
    wanted = set(stems_of(c, " ".join(question.words)))
    ranked: list[tuple[float, int, Memory]] = []
    for memory in found:
        likeness = scores.get(memory.seq, 0.0) / strong if strong else 0.0
        share = len(wanted & set(stems_of(c, index_tokens(memory.content)))) / max(1, len(wanted))
        exact = memory.norm_hash == named["norm_hash"]
        meant = likeness >= BEYOND_DOUBT or (likeness >= 1 and share >= SHARE_OF_WORDS) or memory.seq in by_words
        if (exact or meant) and _may_be_shown(memory, request, now):
            ranked.append((-(2 * exact + share + likeness), memory.seq, memory))
    return [memory for _, _, memory in sorted(ranked, key=lambda item: item[:2])][:MOST_FOUND]


def _holding_all(c: apsw.Connection, question: Question) -> frozenset[int]:
    """Archived memories (seq) that hold every word of the question."""
    if len(question.words) < LEAST_WORDS:
        return frozenset()
    match = " AND ".join('"' + word.replace('"', '""') + '"' for word in question.words)
    return frozenset(seq for (seq,) in all_rows(c, "archived_with_words", {"match": match, "most": MOST_LOOKED_AT}))


def _may_be_shown(memory: Memory, request: SearchRequest, now: datetime) -> bool:
    """Whether it would be a result if it were not in the bin; what was in a hot file comes back cold."""
    wanted = request.filters
    happened = memory.occurred_at or memory.created_at
    asked: Mapping[str, object] = {
        "kind": memory.kind, "policy": memory.policy, "target": memory.target, "author": memory.author,
        "session_id": memory.session_id,
    }  # fmt: skip
    return (
        (memory.scope == "global" or memory.session_id == (request.viewer_session or wanted.session_id))
        and (memory.valid_from is None or memory.valid_from <= now)
        and (memory.valid_until is None or memory.valid_until > now)
        and all(getattr(wanted, name) in {None, "", value} for name, value in asked.items())
        and wanted.tier != "hot"
        and (wanted.since is None or happened >= wanted.since)
        and (wanted.until is None or happened <= wanted.until)
        and {fold(tag) for tag in wanted.tags} <= {fold(tag) for tag in memory.tags}
    )
