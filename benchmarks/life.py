"""A simulated life: what is written, asked, and changed by hand, day by day; and what its keys mean at each moment."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from memorycore.domain.memory import Target

FIRST_DAY = datetime(2026, 1, 5, tzinfo=UTC)
RULE = "r"  # how the key of a rule begins

Op = Literal["write", "query", "host_edit", "host_remove"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of a life. ``day`` counts from ``FIRST_DAY``; ``needs`` are keys whose current text answers a query.

    ``content`` is the text, or the question of a query; ``old`` is what a host edit replaces.
    """

    id: str
    day: float
    op: Op
    content: str
    target: Target = "memory"
    key: str = ""
    importance: float | None = None
    needs: tuple[str, ...] = ()
    old: str = ""

    @property
    def is_rule(self) -> bool:
        return self.key.startswith(RULE)


@dataclass(slots=True)
class Keys:
    """What each key says now and said before, as the life goes on. ``texts`` are all that were ever written."""

    now: dict[str, str] = field(default_factory=dict[str, str])
    before: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    texts: set[str] = field(default_factory=set[str])

    def say(self, key: str, text: str) -> None:
        old = self.now.get(key)
        earlier = self.before.setdefault(key, set())
        if old is not None and old != text:
            earlier.add(old)
        earlier.discard(text)  # what is said again holds again
        self.now[key] = text
        self.texts.add(text)

    def end(self, key: str) -> None:
        self.before.setdefault(key, set()).add(self.now.pop(key))


def read(path: Path) -> list[Step]:
    """The steps of a file of JSON lines, in order of their day."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return sorted(map(_step, rows), key=lambda step: step.day)


def _step(row: Mapping[str, Any]) -> Step:
    return Step(
        id=row["id"],
        day=float(row["day"]),
        op=row["op"],
        content=row["query"] if row["op"] == "query" else row["content"],
        target=row.get("target") or "memory",
        key=row.get("key") or "",
        importance=row.get("importance"),
        needs=tuple(row.get("needs") or ()),
        old=row.get("old") or "",
    )


def moment(day: float) -> datetime:
    return FIRST_DAY + timedelta(days=day)


def days_of(life: Sequence[Step]) -> int:
    """How many days it has, the first and the last included."""
    return int(life[-1].day) + 1 if life else 0
