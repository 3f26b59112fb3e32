"""What a search is asked and what it answers."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from memorycore.domain.memory import Kind, Memory, Policy, Target

Past = Literal["superseded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallFilters:
    """Only memories that match all of these; empty means any.

    ``tags``: all of them. ``since``, ``until``: when it occurred, or was stored where nobody said when. ``as_of``: what
    was valid then, in the wording of that time. ``include``: what was superseded too.
    """

    kind: Kind | None = None
    policy: Policy | None = None
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    tier: Literal["hot", "cold"] | None = None
    target: Target | None = None
    session_id: str = ""
    author: str = ""
    as_of: datetime | None = None
    include: tuple[Past, ...] = ()

    @property
    def looks_back(self) -> bool:
        """Whether superseded memories may be among the answers."""
        return self.as_of is not None or "superseded" in self.include


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What is asked for.

    ``viewer_session``: the session that asks; memories of one session only are shown to it alone. ``also``: ids of
    memories that are shown if they may be, however they rank. ``seeks_bin``: look into the bin for what is strongly
    meant. ``every_wording``: memories that say the same are all results, for somebody who has to choose one.
    ``tells_strong``: say which cold results are strongly meant, by ``strong_score`` or else the model's own threshold,
    and keep a place for rules among them; ``marks_strong``: only say so. ``drops_weak``: whoever asks drops what is
    weak, so that several wordings of it are no matter. ``model_wait_s``: how long a process that lives long waits for
    the question's vector; None: as long as usual. ``half_life_days``: of what a rule weighs by its uses.
    """

    namespaces: tuple[str, ...]
    top_k: int = 5
    filters: RecallFilters = RecallFilters()
    viewer_session: str = ""
    explain: bool = False
    also: tuple[str, ...] = ()
    seeks_bin: bool = False
    every_wording: bool = False
    tells_strong: bool = False
    marks_strong: bool = False
    drops_weak: bool = False
    model_wait_s: float | None = None
    strong_score: float | None = None
    half_life_days: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What a memory said until it was reworded: as version ``version``, written at ``written_at``."""

    content: str
    version: int
    written_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result: row number, score 0..1, whether it lies below the noise floor, and what the score is made of.

    ``odds``: of its answering, above 0 for more than even, before the whole question was looked at; ``named``: the
    question names it exactly.
    ``wording``: what it said at the time that was asked for, if that was something else. ``disputed_with``: the ids of
    the results that contradict it. ``same``: the ids of memories that say the same and are no results for that.
    """

    seq: int
    id: str
    score: float
    weak: bool = False
    odds: float = 0.0
    named: bool = False
    wording: Wording | None = None
    disputed_with: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    parts: dict[str, float | str | list[str]] = field(default_factory=dict[str, float | str | list[str]])


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Hits best first. ``degraded``: codes of channels that were down. Times in milliseconds.

    ``strong``: the cold results (seq) that the question strongly means, when that was asked; ``binned``: memories in
    the bin that it strongly means.
    """

    hits: tuple[Hit, ...] = ()
    strong: frozenset[int] = frozenset()
    binned: tuple[Memory, ...] = ()
    degraded: tuple[str, ...] = ()
    took_ms: float = 0.0
    model_ms: float = 0.0
