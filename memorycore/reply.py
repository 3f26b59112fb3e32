"""Answers of the core, built from rows and results; no decisions are made here."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from memorycore import answers, reply_recall
from memorycore.domain.memory import Memory, format_time

if TYPE_CHECKING:
    from memorycore.search import SearchResult


def changed(
    status: Any,
    before: Memory,
    after: Memory | None,
    *,
    until: datetime | None = None,
    usage: str = "",
    dry_run: bool = False,
) -> answers.Changed:
    """What update, forget and restore answer. ``after`` None: the memory is in the bin. ``usage``: of its hot file."""
    answer: answers.Changed = {"status": status, "id": before.id, "before": before.content}
    if after is None:
        answer["tier"] = "bin"
        answer["undo"] = f"memorycore restore {before.id}"
    else:
        answer["tier"] = "hot" if after.residence == "hot" else "cold"
        if after.residence == "hot":
            answer["target"] = after.target
        if after.content != before.content:
            answer["after"] = after.content
        if status == "restored":
            answer["undo"] = f"memorycore forget {before.id}"
    if until is not None:
        answer["until"] = until.date().isoformat()
    if usage:
        answer["usage"] = usage
    if dry_run:
        answer["dry_run"] = True
    return answer


def candidates(result: "SearchResult", rows: Mapping[int, Memory]) -> answers.Changed:
    """Nothing was changed: these are the memories that the words may have meant."""
    likely: list[answers.Found] = []
    for hit in result.hits:
        if (memory := rows.get(hit.seq)) is not None:
            item = reply_recall.found(memory, hit.score)
            if hit.weak:
                item["weak"] = True
            likely.append(item)
    return {"status": "candidates", "candidates": likely}


def binned(items: Sequence[Memory], keep: timedelta) -> answers.Bin:
    return {
        "items": [
            {
                "id": memory.id,
                "content": memory.content,
                "reason": memory.trash_reason,
                "trashed_at": format_time(memory.trashed_at) or "",
                "until": format_time(memory.trashed_at and memory.trashed_at + keep) or "",
            }
            for memory in items
        ]
    }
