"""What a recall answers; no decisions are made here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from memorycore import answers, messages
from memorycore.domain.memory import Memory, format_time
from memorycore.options import Language

if TYPE_CHECKING:
    from memorycore.search import Hit, SearchResult, Wording


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What is told beside the results.

    ``revived``: the number of the event that took a memory out of the bin, by id. ``in_bin``: what somebody put there.
    ``heirs``: what took the place of a superseded one. ``waiting``: memories without a vector yet. ``restored``: ids of
    those that came back into a hot file, and ``run``, in which they did.
    """

    revived: Mapping[str, int] = field(default_factory=dict[str, int])
    in_bin: tuple[str, ...] = ()
    heirs: Mapping[str, str] = field(default_factory=dict[str, str])
    waiting: int = 0
    restored: frozenset[str] = frozenset()
    run: str = ""


def recalled(
    result: "SearchResult", rows: Mapping[int, Memory], beside: Beside, *, explain: bool, language: Language
) -> answers.Recalled:
    """Results best first, each with its whole text; surfaces cut."""
    found = [
        _told(hit, memory, beside, explain=explain)
        for hit in result.hits
        if (memory := rows.get(hit.seq)) is not None  # else gone since the search
    ]
    answer: answers.Recalled = {
        "results": found,
        "took_ms": round(result.took_ms, 1),
        "model_ms": round(result.model_ms, 1),
    }
    if result.degraded:
        answer["degraded"] = list(result.degraded)
    if beside.waiting:
        answer["pending"] = beside.waiting
    if beside.in_bin:
        answer["in_bin"] = list(beside.in_bin)
    if note := _note(found, beside, language):
        answer["note"] = note
    return answer


def _note(found: list[answers.Found], beside: Beside, language: Language) -> str:
    notes: list[str] = []
    if any("disputed_with" in item and "weak" not in item for item in found):
        notes.append(messages.text("note.disputed", language))
    events = [beside.revived[item["id"]] for item in found if item["id"] in beside.revived]
    if events:
        commands = ", ".join(f"memorycore undo {event}" for event in events)
        notes.append(messages.text("note.revived", language, count=len(events), commands=commands))
    if back := sum(item["id"] in beside.restored for item in found):
        notes.append(
            messages.text("note.restored", language, count=back, command=f"memorycore undo --run {beside.run}")
        )
    return " ".join(notes)


def _told(hit: "Hit", memory: Memory, beside: Beside, *, explain: bool) -> answers.Found:
    item = found(memory, hit.score, wording=hit.wording)
    if hit.weak:
        item["weak"] = True
    if "untrusted" in memory.flags:
        item["untrusted"] = True
    if hit.disputed_with:
        item["disputed_with"] = list(hit.disputed_with)
    if hit.same:
        item["same"] = list(hit.same)
    if memory.id in beside.heirs:
        item["superseded_by"] = beside.heirs[memory.id]
    if memory.id in beside.revived:
        item["revived"] = True
        item["undo"] = f"memorycore undo {beside.revived[memory.id]}"
    if memory.id in beside.restored:
        item["restored"] = True
    if explain:
        item["why"] = dict(hit.parts)
    return item


def found(memory: Memory, score: float, *, wording: "Wording | None" = None) -> answers.Found:
    """One memory as a result; ``wording``: what it said at the time that was asked for."""
    item: answers.Found = {
        "id": memory.id,
        "tier": "hot" if memory.residence == "hot" else "cold",
        "score": round(score, 4),
        "content": memory.content if wording is None else wording.content,
        "kind": memory.kind,
        "created_at": format_time(memory.created_at) or "",
    }
    version, updated = memory.version, memory.updated_at
    if wording is not None:
        version, updated = wording.version, wording.written_at
    if version > 1:
        item["version"] = version
        item["updated_at"] = format_time(updated) or ""
    if memory.residence == "hot":
        item["target"] = memory.target
    if memory.refs:
        item["ref"] = memory.refs[0]
    told = {
        "state": "superseded" if memory.state == "superseded" else "",
        "valid_from": format_time(memory.valid_from),
        "valid_until": format_time(memory.valid_until),
        "refs": list(memory.refs),
        "tags": list(memory.tags),
        "occurred_at": format_time(memory.occurred_at),
        "author": memory.author,
        "session_id": memory.session_id,
    }
    return cast("answers.Found", {**item, **{name: value for name, value in told.items() if value}})
