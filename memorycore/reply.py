"""Answers of the core, built from rows and results; no decisions are made here."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from memorycore import answers, reply_recall
from memorycore.domain.memory import Event, Memory, format_time
from memorycore.store.memories import source_fields

if TYPE_CHECKING:
    from memorycore.search import SearchResult

_TIMES = ("created_at", "updated_at", "occurred_at", "valid_from", "valid_until", "last_used_at", "trashed_at")


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


def story(memory: Memory, revisions: list[dict[str, object]], events: Sequence[Event], vector: str) -> answers.Story:
    return {
        "id": memory.id,
        "content": memory.content,
        "state": memory.state,
        "residence": memory.residence,
        "tier": _tier(memory),
        "fields": fields_of(memory),
        "revisions": revisions,
        "events": [
            {
                "at": format_time(event.at),
                "action": event.action,
                "actor": event.actor,
                "reason": event.reason,
                **event.facts,
            }
            for event in events
        ],
        "vector": vector,
        "refs": list(memory.refs),
    }


def _tier(memory: Memory) -> answers.Tier:
    if memory.state == "active":
        return "hot" if memory.residence == "hot" else "cold"
    return "bin" if memory.state == "trashed" else "none"


def fields_of(memory: Memory) -> dict[str, object]:
    """All fields of a memory as JSON values, without those that are empty."""
    values: dict[str, object] = {
        name: getattr(memory, name)
        for name in (
            "namespace", "kind", "policy", "target", "pinned", "importance", "importance_given", "confidence",
            "surprise", "use_count", "author", "authority", "session_id", "scope", "origin", "trash_reason", "version",
        )
    }  # fmt: skip
    values |= {name: format_time(getattr(memory, name)) for name in _TIMES}
    values |= {"protected": list(memory.protected), "tags": list(memory.tags)}
    if memory.source is not None:
        values["source"] = source_fields(memory.source)
    values = {name: round(value, 4) if isinstance(value, float) else value for name, value in values.items()}
    return {name: value for name, value in values.items() if value not in (None, "", [], False)}


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
