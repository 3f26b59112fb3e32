"""The health of every hot entry: what it is, why it is here, what comes next. Reads only."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from memorycore import messages
from memorycore.answers import AuditRow, AuditTarget
from memorycore.domain.memory import Memory, format_time
from memorycore.domain.text import entry_hash
from memorycore.hot.document import size, why_not_hot
from memorycore.hot.files import Contents
from memorycore.hot.sidecar import EntryMeta
from memorycore.hot.tier import HotTier
from memorycore.options import Language

HALF_LIFE_DAYS = 30
PROTECTED_TIMES = 3.0
SINK_WEIGHT = 1.5
SINK_IDLE_DAYS = 30
DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRules:
    """Settings that the audit's sentences depend on."""

    rule_budget: int
    state_ttl_days: int
    language: Language


def audit_target(
    tier: HotTier, contents: Contents, rows: Mapping[str, Memory], rules: AuditRules, now: datetime
) -> AuditTarget:
    """Audit one file. ``rows`` by entry hash; an entry without a row is shown from its sidecar alone."""
    listed = [_row(text, rows.get(entry_hash(text)), contents, tier, rules, now) for text in contents.entries]
    chars = size(contents.entries)
    return {
        "target": tier.target,
        "path": str(tier.path),
        "chars": chars,
        "limit": tier.limit,
        "percent": 100 * chars // tier.limit,
        "entries": len(contents.entries),
        "clean": contents.document.clean,
        "rule_chars": sum(row["chars"] for row in listed if row["type"] != "state"),
        "rule_budget_chars": rules.rule_budget,
        "lru_sink_candidates": sum(row["sink_candidate"] for row in listed),
        "rows": listed,
    }


def unusable(tier: HotTier, rules: AuditRules, problem: str) -> AuditTarget:
    """The answer for a file that cannot be read now: no rows, and why."""
    return {
        "target": tier.target, "path": str(tier.path), "chars": 0, "limit": tier.limit, "percent": 0, "entries": 0,
        "clean": False, "rule_chars": 0, "rule_budget_chars": rules.rule_budget, "lru_sink_candidates": 0, "rows": [],
        "problem": problem,
    }  # fmt: skip


def _row(
    text: str, memory: Memory | None, contents: Contents, tier: HotTier, rules: AuditRules, now: datetime
) -> AuditRow:
    meta = _meta(memory, contents.sidecar.entries.get(entry_hash(text)), tier, now)
    updated = meta.updated_at or meta.written_at
    active = max(meta.last_active_at or updated, updated)
    idle_days = max(0.0, (now - active).total_seconds() / DAY_S)
    weight = 1.0 if meta.weight is None else meta.weight
    effective = weight * 0.5 ** (idle_days / HALF_LIFE_DAYS) * (PROTECTED_TIMES if meta.protected else 1.0)
    sink = meta.type == "rule" and effective < SINK_WEIGHT and idle_days > SINK_IDLE_DAYS and not meta.protected
    flags = list(filter(None, [why_not_hot(text, limit=tier.limit), *(memory.flags if memory else ())]))
    age_days = max(0, int((now - meta.written_at).total_seconds() // DAY_S))
    return {
        "text": memory.content if memory and memory.file_hash else text,
        "sha256": entry_hash(text),
        "chars": len(text),
        "id": memory.id if memory else meta.id,
        "type": meta.type,
        "kind": meta.kind or "fact",
        "policy": meta.policy or "rule",
        "protected": bool(meta.protected),
        "origin": meta.origin,
        "importance": 0.5 if meta.importance is None else meta.importance,
        "age_days": age_days,
        "written_at": format_time(meta.written_at) or "",
        "updated_at": format_time(updated) or "",
        "last_active_at": format_time(meta.last_active_at),
        "resident_until": format_time(meta.resident_until),
        "pinned": meta.pinned,
        "weight": round(weight, 3),
        "effective_weight": round(effective, 3),
        "why": _why(meta, rules.language),
        "next": messages.text("audit.stays", rules.language),
        "sink_candidate": sink,
        "flags": flags,
    }


def _meta(memory: Memory | None, known: EntryMeta | None, tier: HotTier, now: datetime) -> EntryMeta:
    """What the sidecar should say: it may be missing or behind for a moment. The row decides, where there is one."""
    if memory is None:
        return known or EntryMeta(type="rule", written_at=now)
    return tier.meta_of(memory, now, known)


def _why(meta: EntryMeta, language: Language) -> str:
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
