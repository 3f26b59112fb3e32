"""What a question finds in the recycle bin: memories that it means so clearly that they should not be there."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from memorycore.domain.text import fold, norm_hash
from memorycore.search.strong import is_meant
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
MOST_LOOKED_AT = 32
MOST_PLACES = 2_000
EXACTLY = 100.0  # the text itself is asked for


def strongly_meant(
    c: apsw.Connection, question: Question, like: Likeness, *, request: SearchRequest, now: datetime
) -> list[Memory]:
    """Memories in the bin that the question means beyond doubt, likeliest first, if the caller might see them."""
    spaces = json.dumps(request.namespaces)
    if not question.words or first_row(c, "any_binned", {"namespaces": spaces}) is None:
        return []
    scores, strong = like.archived()
    held = _words_held(c, question)
    meant: dict[int, float] = {}
    for seq in scores.keys() | held.keys():
        likeness = scores.get(seq, 0.0) / strong if strong else 0.0
        if is_meant(likeness=likeness, held=held.get(seq, 0), asked=len(question.words)):
            meant[seq] = likeness + held.get(seq, 0) / len(question.words)
    likeliest = sorted(meant, key=lambda seq: (-meant[seq], seq))[:MOST_LOOKED_AT]
    found = memories.select(
        c, "binned_by_seq", namespaces=spaces, seqs=json.dumps(likeliest), norm_hash=norm_hash(question.text)
    )
    shown = [memory for memory in found if _may_be_shown(memory, request, now)]
    return sorted(shown, key=lambda memory: (-meant.get(memory.seq, EXACTLY), memory.seq))[:MOST_FOUND]


def _words_held(c: apsw.Connection, question: Question) -> dict[int, int]:
    """How many words of the question each archived memory (seq) holds."""
    words = ['"' + word.replace('"', '""') + '"' for word in question.words]
    held: Counter[int] = Counter()
    for (found,) in all_rows(c, "archived_places_of_words", {"words": json.dumps(words), "most": MOST_PLACES}):
        held.update(map(int, found.split(",")) if found else ())
    return held


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
