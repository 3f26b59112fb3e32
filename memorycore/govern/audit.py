"""The health of every hot entry: what it is, why it is here, what comes next. Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Literal, TypedDict

from memorycore import messages
from memorycore.answers import AuditRow, AuditTarget
from memorycore.domain.memory import format_time
from memorycore.domain.retention import days_since
from memorycore.domain.text import entry_hash
from memorycore.govern.overflow.forecast import Coming
from memorycore.govern.overflow.ladder import Entry, is_sinking, weight_of
from memorycore.govern.overflow.sheet import cost, pinned_within, room_of_pins
from memorycore.hot.document import size, why_not_hot
from memorycore.hot.files import Contents
from memorycore.hot.sidecar import EntryMeta
from memorycore.hot.tier import HotTier
from memorycore.options import BudgetOptions, Language, Thresholds
from memorycore.store.intents import How

Plan = Literal["stays", "pointer", "cold", "bin", "folds"]
_PLANS: Mapping[How, Plan] = {"stub": "pointer", "cold": "cold", "bin": "bin"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRules:
    """What the audit's sentences depend on."""

    marks: Thresholds
    budget: BudgetOptions
    language: Language
    timezone: tzinfo


def audit_target(
    tier: HotTier,
    contents: Contents,
    entries: Sequence[Entry],
    coming: Mapping[str, Coming],
    rules: AuditRules,
    now: datetime,
) -> AuditTarget:
    """Audit one file. ``coming`` by entry text; an entry without a row is shown from its sidecar alone."""
    held = pinned_within(entries, limit=tier.limit, share=rules.budget.pin_share)
    listed = [_row(entry, contents, coming.get(entry.text), tier, rules, now) for entry in entries]
    for place, row in enumerate(listed):
        if row["pinned"] and row["type"] != "stub" and place not in held:
            room = room_of_pins(limit=tier.limit, share=rules.budget.pin_share)
            code = "audit.why_pin_too_long" if cost(entries[place].text) > room else "audit.why_pin_over"
            row["why"] = messages.text(code, rules.language)
    chars = size(contents.entries)
    return {
        "target": tier.target,
        "path": str(tier.path),
        "chars": chars,
        "limit": tier.limit,
        "percent": 100 * chars // tier.limit,
        "entries": len(contents.entries),
        "clean": contents.document.clean,
        **_marks(rules.marks),
        "rule_chars": size([entry.text for entry in entries if entry.is_rule]),
        "pointer_chars": size([entry.text for entry in entries if entry.type == "stub"]),
        "lru_sink_candidates": sum(row["sink_candidate"] for row in listed),
        "rows": listed,
    }


def unusable(tier: HotTier, rules: AuditRules, problem: str) -> AuditTarget:
    """The answer for a file that cannot be read now: no rows, and why."""
    return {
        "target": tier.target, "path": str(tier.path), "chars": 0, "limit": tier.limit, "percent": 0, "entries": 0,
        "clean": False, "rule_chars": 0, "pointer_chars": 0, "lru_sink_candidates": 0, "rows": [], "problem": problem,
        **_marks(rules.marks),
    }  # fmt: skip


class _Marks(TypedDict):
    soft: int
    hard: int
    aim: int
    rule_budget_chars: int


def _marks(marks: Thresholds) -> _Marks:
    return {"soft": marks.soft, "hard": marks.hard, "aim": marks.aim, "rule_budget_chars": marks.rule_budget}


def _row(
    entry: Entry, contents: Contents, coming: Coming | None, tier: HotTier, rules: AuditRules, now: datetime
) -> AuditRow:
    key = entry_hash(entry.text)
    meta = _meta(entry, contents.sidecar.entries.get(key), tier, now)
    memory, standing = entry.memory, entry.standing
    updated = meta.updated_at or meta.written_at
    touched = max(standing.touched_at, updated) if standing else meta.last_active_at or updated
    effective = weight_of(entry, now, rules.budget)
    sink = is_sinking(entry, now, rules.budget)
    row: AuditRow = {
        "text": memory.content if memory and entry.is_hidden else entry.text,
        "sha256": key,
        "chars": len(entry.text),
        "id": memory.id if memory else meta.id,
        "type": entry.type if memory or entry.type == "stub" else meta.type,
        "kind": meta.kind or "fact",
        "policy": meta.policy or "rule",
        "protected": bool(meta.protected),
        "origin": meta.origin,
        "importance": 0.5 if meta.importance is None else meta.importance,
        "age_days": int(days_since(meta.written_at, now)),
        "written_at": format_time(meta.written_at) or "",
        "updated_at": format_time(updated) or "",
        "last_active_at": format_time(touched),
        "resident_until": format_time(standing.resident_until if standing else meta.resident_until),
        "pinned": meta.pinned,
        "weight": round(standing.weight if standing else 0.0, 3),
        "effective_weight": round(effective, 3),
        "why": _why(entry, meta, rules.language),
        "next": _next(entry, coming, rules),
        "plan": _plan(entry, coming),
        "sink_candidate": sink,
        "flags": [*filter(None, [why_not_hot(entry.text, limit=tier.limit)]), *(memory.flags if memory else ())],
    }
    if coming is not None:
        row["plan_day"] = coming.at.astimezone(rules.timezone).date().isoformat()
    if sink:
        row["sink_reason"] = "low_weight+inactive"
    return row


def _meta(entry: Entry, known: EntryMeta | None, tier: HotTier, now: datetime) -> EntryMeta:
    """What the sidecar should say: it may be missing or behind for a moment. The row decides, where there is one."""
    if entry.memory is None:
        return known or EntryMeta(type=entry.type, written_at=now)
    return tier.meta_of(entry.memory, now, known)


def _why(entry: Entry, meta: EntryMeta, language: Language) -> str:
    if entry.type == "stub":
        return messages.text("audit.why_pointer" if entry.memory else "audit.why_fold", language)
    if meta.pinned:
        return messages.text("audit.why_pinned", language)
    if meta.protected:
        named = messages.text(f"protected.{meta.protected[0]}", language)
        return messages.text("audit.why_protected", language, what=named)
    if meta.origin == "legacy":
        return messages.text("audit.why_legacy", language)
    if meta.origin == "hermes":
        return messages.text("audit.why_host", language)
    return messages.text("audit.why_state" if meta.type == "state" else "audit.why_rule", language)


def _plan(entry: Entry, coming: Coming | None) -> Plan:
    if coming is None:
        return "stays"
    return "folds" if entry.type == "stub" else _PLANS[coming.how]


def _next(entry: Entry, coming: Coming | None, rules: AuditRules) -> str:
    language = rules.language
    if coming is None:
        return messages.text("audit.stays", language)
    how = _plan(entry, coming)
    day = messages.day(coming.at.astimezone(rules.timezone), language)
    why = messages.text(f"overflow.why_{coming.reason}", language)
    return messages.text(f"audit.next_{how}", language, day=day, why=why)
