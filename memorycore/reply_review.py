"""What waits for a person, as every surface shows it, and what a decision answers; no decisions are made here."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import cast

from memorycore import answers, messages, reply_judge
from memorycore.domain.memory import Memory, format_time
from memorycore.govern.waiting import Counts, Waiting
from memorycore.options import Language

SHOWN_FLAGS = ("secret", "pii", "untrusted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a decision did, or would do. ``gone`` is the text that went, ``until`` when the bin lets go of it."""

    status: str
    memory: Memory
    gone: Memory | None = None
    until: datetime | None = None
    usage: str = ""
    reasons: tuple[str, ...] = ()


def review(items: Iterable[Waiting], counts: Counts, language: Language) -> answers.Review:
    return {
        "counts": counted(counts),
        "items": [_item(one, language) for one in items],
    }


def counted(counts: Counts) -> answers.ReviewCounts:
    return cast("answers.ReviewCounts", asdict(counts))


def summary(counts: Counts, language: Language) -> str:
    """How much waits, in one line; empty when nothing does."""
    parts = (
        messages.text(f"review.count_{name}", language, count=count) for name, count in asdict(counts).items() if count
    )
    return messages.text("review.comma", language).join(parts)


def _item(one: Waiting, language: Language) -> answers.ReviewItem:
    item: answers.ReviewItem = {
        "number": one.number,
        "kind": one.kind,
        "since": format_time(one.since) or "",
        "why": [messages.text(code, language) for code in _why(one)],
        "new": _text(one.new),
        "commands": [
            {"command": command, "does": messages.text(f"review.{code}", language)} for command, code in _ways(one)
        ],
    }
    if one.old is not None and one.edge is not None:
        item["old"] = _text(one.old)
        item["relation"] = (
            "disputes" if one.edge.relation == "contradicts" else cast("answers.Relation", one.edge.relation)
        )
        item["evidence"] = reply_judge.evidence(one.edge.evidence, language)
    return item


def _why(one: Waiting) -> Iterator[str]:
    match one.kind:
        case "dispute":
            yield "review.why_dispute"
        case "proposal":
            relation = one.edge.relation if one.edge else "supersedes"
            yield f"review.why_{relation}"
            yield "review.why_guarded" if one.old and guards(one.old) else "review.why_file"
        case "quarantined":
            yield "review.why_quarantined"
        case "flagged":
            yield from (f"flag.{flag}" for flag in SHOWN_FLAGS if flag in one.new.flags)


def _ways(one: Waiting) -> Iterator[tuple[str, str]]:
    decide = f"memorycore review {one.number}"
    if one.kind in {"dispute", "proposal"}:
        for kept in ("new", "old", "both"):
            yield f"{decide} --keep {kept}", f"does_{kept}"
        return
    if one.kind == "quarantined":
        yield f"{decide} --reject", "does_reject"
        yield f"{decide} --accept", "does_accept"
        yield f"{decide} --accept --trust", "does_trust"
        return
    yield f'memorycore update {one.new.id} --text "…"', "does_reword"
    yield f"memorycore forget {one.new.id}", "does_forget"
    yield f"{decide} --accept", "does_leave"
    if "untrusted" in one.new.flags:
        yield f"{decide} --accept --trust", "does_trust"


def guards(memory: Memory) -> list[str]:
    """Why automation must leave a memory alone, as codes."""
    named = (
        ("pinned", memory.pinned),
        ("core", memory.policy == "core"),
        ("red_line", "red_line" in memory.protected),
    )
    return [code for code, is_set in named if is_set]


def _text(memory: Memory) -> answers.ReviewText:
    text: answers.ReviewText = {
        "id": memory.id,
        "content": memory.content,
        "tier": _tier(memory),
        "created_at": format_time(memory.created_at) or "",
    }
    if memory.residence == "hot" and memory.state == "active":
        text["target"] = memory.target
    if memory.occurred_at:
        text["occurred_at"] = format_time(memory.occurred_at) or ""
    if memory.author:
        text["author"] = memory.author
    if memory.source:
        text["source"] = memory.source.uri
    if found := guards(memory):
        text["guarded"] = found
    if "untrusted" in memory.flags:
        text["untrusted"] = True
    return text


def _tier(memory: Memory) -> answers.Tier:
    if memory.state == "active":
        return "hot" if memory.residence == "hot" else "cold"
    return "bin" if memory.state == "trashed" else "none"


def decided(number: str, outcome: Outcome, language: Language, *, run: str, dry_run: bool) -> answers.Decided:
    memory = outcome.memory
    answer: answers.Decided = {
        "status": cast("answers.DecisionStatus", outcome.status),
        "number": number,
        "id": memory.id,
        "tier": _tier(memory),
        "after": memory.content,
    }
    if memory.residence == "hot":
        answer["target"] = memory.target
    if outcome.gone is not None:
        answer["before"] = outcome.gone.content
    if outcome.until is not None:
        answer["until"] = outcome.until.date().isoformat()
    if outcome.usage:
        answer["usage"] = outcome.usage
    if outcome.reasons:
        answer["reasons"] = [messages.reason(code, language) for code in outcome.reasons]
    if dry_run:
        return {**answer, "dry_run": True}
    return {**answer, "run": run, "undo": f"memorycore undo --run {run}"}
