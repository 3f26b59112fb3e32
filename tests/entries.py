"""Entries of a hot file as overflow sees them, and the ground that a plan for them stands on."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from memorycore.domain.memory import Memory
from memorycore.domain.retention import Standing
from memorycore.govern.overflow.ladder import Entry
from memorycore.govern.overflow.plan import Plan
from memorycore.govern.overflow.sheet import Ground
from memorycore.options import BudgetOptions, Thresholds

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
MARKS = Thresholds(soft=800, hard=900, aim=700, rule_budget=750)
_numbers = count(1)


def entry(text: str, *, days: float = 30, weight: float = 1.0, kind: str = "rule", **memory: Any) -> Entry:
    """An entry that was written, and last used, so many days ago, and resident for the first week."""
    then = NOW - timedelta(days=days)
    number = next(_numbers)
    given: dict[str, Any] = {"policy": "rule" if kind == "rule" else "fact", "residence": "hot", **memory}
    row = Memory(
        id=f"m{number}", namespace="default", content=text, norm_hash=str(number), created_at=then, updated_at=then,
        seq=number, **given,
    )  # fmt: skip
    stands = Standing(weighed_at=then, touched_at=then, resident_until=then + timedelta(days=7), weight=weight)
    return Entry(text=text, type="rule" if kind == "rule" else "state", memory=row, standing=stands)


def rule(number: int, **how: Any) -> Entry:
    """A rule of some 100 code points."""
    text = f"Rule number {number}: invoices of department {number} are checked twice by the team in Lyon. "
    return entry(text.ljust(100, "x"), **how)


def ground(**changes: Any) -> Ground:
    return replace(Ground(now=NOW, limit=1000, marks=MARKS, budget=BudgetOptions(), state_ttl_days=7), **changes)


def gone(planned: Plan) -> list[str]:
    return [move.entry.text for move in planned.moves]
