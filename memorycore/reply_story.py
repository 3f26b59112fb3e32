"""The whole story of one memory; no decisions are made here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from memorycore import answers, answers_story, messages
from memorycore.domain.memory import WANTED_GONE, Event, Memory, format_time
from memorycore.lifecycle.revival import STAYS
from memorycore.options import CoreOptions
from memorycore.store.edges import Edge
from memorycore.store.memories import source_fields

FILES = {"memory": "MEMORY.md", "user": "USER.md"}
_TIMES = ("created_at", "updated_at", "occurred_at", "valid_from", "valid_until", "last_used_at", "trashed_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the store has of one memory: earlier wordings, events with their sentences, edges and the other ends."""

    revisions: list[dict[str, object]]
    events: Sequence[Event]
    lines: Mapping[int, answers.HistoryLine]
    links: Sequence[tuple[Edge, Memory]]
    vector: str


def story(memory: Memory, known: Known, options: CoreOptions) -> answers_story.Story:
    answer: answers_story.Story = {
        "id": memory.id,
        "content": memory.content,
        "state": memory.state,
        "residence": memory.residence,
        "tier": _tier(memory),
        "fields": fields_of(memory),
        "links": [_link(edge, other, memory.id, options) for edge, other in known.links],
        "revisions": known.revisions,
        "events": [_event(event, known.lines.get(event.seq)) for event in known.events],
        "vector": known.vector,
        "refs": list(memory.refs),
    }
    removal = _last_removal(memory, known.events)
    if removal is not None and memory.is_wanted_gone:
        answer["wanted_gone"] = {
            "by": removal.actor, "at": format_time(removal.at) or "", "reason": memory.trash_reason,
        }  # fmt: skip
    if note := _note(memory, removal, options):
        answer["note"] = note
    return answer


def _event(event: Event, line: answers.HistoryLine | None) -> dict[str, object]:
    """What happened, for scripts and, where there is a sentence for it, for people."""
    told: dict[str, object] = {
        "event": event.seq,
        "at": format_time(event.at),
        "action": event.action,
        "actor": event.actor,
        "reason": event.reason,
        "automatic": event.automatic,
        **event.facts,
    }
    if line is not None:
        wanted = ("what", "why", "text", "before", "after", "said", "undone_by", "undo")
        told |= {name: value for name, value in line.items() if name in wanted}
    return told


def _link(edge: Edge, other: Memory, own_id: str, options: CoreOptions) -> answers_story.Link:
    """An edge as it is seen from one of its ends."""
    side: answers_story.Side = "newer" if edge.src == own_id else "older"
    link: answers_story.Link = {
        "edge": edge.id,
        "relation": edge.relation,
        "side": side,
        "status": edge.status,
        "what": messages.text(f"link.{edge.relation}_{side}", options.language),
        "id": other.id,
        "content": other.content,
        "state": other.state,
        "since": format_time(edge.created_at) or "",
    }
    if why := list(_signs(edge.evidence, options)):
        link["why"] = why
    return link


def _signs(evidence: Iterable[Mapping[str, str]], options: CoreOptions) -> Iterable[str]:
    for sign in evidence:
        code = f"evidence.{sign.get('code')}"
        if messages.has(code, options.language):
            yield messages.text(code, options.language, old=sign.get("old"), new=sign.get("new"))


def _last_removal(memory: Memory, events: Sequence[Event]) -> Event | None:
    if memory.state != "trashed":
        return None
    return next((event for event in reversed(events) if event.action in {"trashed", "quarantined"}), None)


def _note(memory: Memory, removal: Event | None, options: CoreOptions) -> str:
    """Where it is, if it is not simply there, and how it comes back."""
    if memory.state == "superseded":
        return messages.text("story.superseded", options.language, date=_day(memory.valid_until))
    if memory.state != "trashed":
        return ""
    if memory.trash_reason in WANTED_GONE:
        code = f"story.{memory.trash_reason}"
    else:
        code = "story.stays" if memory.trash_reason in STAYS else "story.by_itself"
    until = (memory.trashed_at or memory.updated_at) + timedelta(days=options.trash_days)
    return messages.text(
        code,
        options.language,
        by=removal.actor if removal else None,
        date=_day(memory.trashed_at),
        file=FILES[memory.target],
        why=messages.text(f"bin.{memory.trash_reason}", options.language),
        command=f"memorycore restore {memory.id}",
        until=_day(until),
    )


def _day(moment: object) -> str | None:
    return None if moment is None else str(moment)[:10]


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
    values |= {"protected": list(memory.protected), "tags": list(memory.tags), "flags": list(memory.flags)}
    if memory.source is not None:
        values["source"] = source_fields(memory.source)
    values = {name: round(value, 4) if isinstance(value, float) else value for name, value in values.items()}
    return {name: value for name, value in values.items() if value not in (None, "", [], False)}
