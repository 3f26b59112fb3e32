"""The pressure ladder: signals say which entry may go, pressure says whether any has to.

Each signal looks at one thing only. What has none goes by its weight alone.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memorycore.domain.memory import Memory
from memorycore.domain.retention import Standing, days_since, effective_weight
from memorycore.hot.sidecar import EntryType
from memorycore.options import BudgetOptions, Thresholds

Pressure = Literal["none", "soft", "hard"]
Signal = Literal[
    "compressible",  # S1: long, and not used for a month
    "idle",  # S1: not used for a month and a half
    "completed",  # S2: a record of something that was done long ago, typed as a rule
    "dormant",  # S4: no question of the last month was about it
    "redundant",  # S5: the cold tier says the same, and nobody used it for a month
]
FOR_PROTECTED: frozenset[Signal] = frozenset({"compressible", "idle"})
UNUSED: frozenset[Signal] = frozenset({"idle", "dormant"})
RULES = frozenset({"core", "rule"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a hot file, as overflow sees it.

    ``memory`` None: a text without a row (a folded line), which nothing here moves. ``stale``: a finished status line.
    ``passing``: such a line, or a dated record, that a host wrote: it stays as long as a session holds it.
    ``completed``: an old record with two marks of completion and no directive. ``twin``: the id of a cold memory that
    says the same. ``by_use``: a fact that came in since it was asked for again and again. ``needed_until``: till then a
    language model's word counts that what was asked lately could need it. ``undone_until``: till then it stays, since
    somebody took its leaving back.
    """

    text: str
    type: EntryType
    memory: Memory | None = None
    standing: Standing | None = None
    stale: bool = False
    passing: bool = False
    completed: bool = False
    twin: str = ""
    by_use: bool = False
    needed_until: datetime | None = None
    undone_until: datetime | None = None

    @property
    def is_rule(self) -> bool:
        """Whether its weight decides how long it stays; a state has its time instead."""
        return self.type == "rule" or (self.by_use and self.type == "state")

    @property
    def is_state(self) -> bool:
        return self.type == "state" and not self.by_use

    @property
    def protected(self) -> bool:
        return self.memory is not None and (bool(self.memory.protected) or self.memory.policy == "core")

    @property
    def is_hidden(self) -> bool:
        """Whether the store has the text only masked: the file is the one place that has it whole."""
        return self.memory is not None and self.memory.residence == "hot" and bool(self.memory.file_hash)


def pressure_of(chars: int, marks: Thresholds) -> Pressure:
    """How hard a file presses that would hold so many code points."""
    return "hard" if chars > marks.hard else "soft" if chars > marks.soft else "none"


def signals(entry: Entry, now: datetime, budget: BudgetOptions, *, log_on: bool) -> frozenset[Signal]:
    """What speaks for an entry's leaving. A protected one has the signals of idleness only.

    Without a log of questions nothing is known to be dormant; idle is then what nobody confirmed or edited. What might
    be needed is neither.
    """
    if entry.memory is None or entry.standing is None or not entry.is_rule:
        return frozenset()
    idle_days = days_since(entry.standing.touched_at, now)
    is_needed = entry.needed_until is not None and now < entry.needed_until
    told: dict[Signal, bool] = {
        "compressible": idle_days >= budget.compress_idle_days and len(entry.text) > budget.compress_chars,
        "idle": idle_days >= budget.pointer_idle_days and not is_needed,
        "completed": entry.completed,
        "dormant": log_on and idle_days >= budget.dormant_days and not is_needed,
        "redundant": bool(entry.twin) and idle_days >= budget.redundant_days,
    }
    found: frozenset[Signal] = frozenset(name for name, holds in told.items() if holds)
    return found & FOR_PROTECTED if entry.protected else found


def is_sinking(entry: Entry, now: datetime, budget: BudgetOptions) -> bool:
    """Whether a rule leaves without hard pressure: light, and unused for as long as makes it dormant."""
    if not entry.is_rule or entry.protected or entry.standing is None:
        return False
    idle_days = days_since(entry.standing.touched_at, now)
    return weight_of(entry, now, budget) < budget.sink_weight and idle_days > budget.dormant_days


def weight_of(entry: Entry, now: datetime, budget: BudgetOptions) -> float:
    """The effective weight of an entry; nothing without a standing."""
    if entry.standing is None:
        return 0.0
    return effective_weight(
        entry.standing,
        now,
        protected=entry.protected,
        half_life_days=budget.half_life_days,
        protected_times=budget.protected_times,
    )
