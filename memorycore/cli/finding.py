"""One thing that the doctor found: a level, a code and facts.

Its sentence stands in ``messages`` under ``doctor.<code>``, what to do about it under ``doctor.<code>_fix``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Level = Literal["pass", "warn", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    level: Level
    code: str
    facts: Mapping[str, object] = field(default_factory=dict[str, object])
