"""The values that travel through MemoryCore: a memory, its event, a result."""

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, Literal, get_args

from memorycore.domain.terms import TARGETS, Target
from memorycore.domain.text import entry_hash
from memorycore.errors import InvalidInput, TooLong

Kind = Literal[
    "preference", "rule", "decision", "correction", "identity", "person", "procedure",
    "fact", "event", "insight", "episode_summary", "reference",
]  # fmt: skip
Policy = Literal["core", "rule", "fact", "episode"]
State = Literal["active", "superseded", "expired", "trashed", "purged"]
Residence = Literal["hot", "stub", "cold"]
Scope = Literal["global", "session"]
SourceStatus = Literal["verified", "unverified", "stale", "disputed"]

KINDS: tuple[Kind, ...] = get_args(Kind)
POLICIES: tuple[Policy, ...] = get_args(Policy)
SCOPES: tuple[Scope, ...] = get_args(Scope)
SOURCE_STATUSES: tuple[SourceStatus, ...] = get_args(SourceStatus)

MAX_CONTENT_BYTES = 64 * 1024
SESSION_SCOPE_DAYS = 14
# Why a memory is in the bin when a person did not want it any more: nothing automatic brings such a text back.
WANTED_GONE = frozenset({"user", "host_removed", "undo", "review", "rejected"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a memory was read, when somebody said so."""

    uri: str
    locator: str = ""
    sha256: str = ""
    status: SourceStatus = "unverified"
    checked_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.status not in SOURCE_STATUSES:
            raise InvalidInput(
                field="source", why="unknown value", value=self.status, allowed=", ".join(SOURCE_STATUSES)
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One text that is remembered, hot or cold.

    ``seq`` is the row number in the local store (0 before the first insert), ``refs`` are the
    caller's own references to this text, ``hot_tier`` is set for texts that are or were in a hot file.
    All times are aware and UTC. ``importance``, ``confidence`` and ``surprise`` are 0..1. ``residence``: with ``stub``
    the text is in the store, and a pointer to it in the hot file. ``flags`` are warnings: ``untrusted`` (it gives
    orders that no user gave), ``secret`` and ``pii`` (somebody wrote one into the hot file; here it is masked).
    ``file_hash`` is the hash of the entry as it stands in the file, where that is not the text: masked, or a pointer.
    """

    id: str
    namespace: str
    content: str
    norm_hash: str
    created_at: datetime
    updated_at: datetime
    kind: Kind = "fact"
    policy: Policy = "fact"
    state: State = "active"
    residence: Residence = "cold"
    hot_tier: int | None = None
    target: Target = "memory"
    pinned: bool = False
    protected: tuple[str, ...] = ()
    importance: float = 0.5
    importance_given: bool = False
    confidence: float = 0.8
    surprise: float = 0.0
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    occurred_at: datetime | None = None
    last_used_at: datetime | None = None
    use_count: int = 0
    tags: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    source: Source | None = None
    author: str = ""
    authority: int = 0
    session_id: str = ""
    scope: Scope = "global"
    origin: str = "store_fact"
    trashed_at: datetime | None = None
    trash_reason: str = ""
    flags: tuple[str, ...] = ()
    file_hash: str = ""
    version: int = 1
    change_seq: int = 0
    seq: int = 0

    @property
    def entry_key(self) -> str:
        """The key of its entry in the sidecar of its hot file."""
        return self.file_hash or entry_hash(self.content)

    @property
    def is_wanted_gone(self) -> bool:
        """Whether it is in the bin since somebody wanted it there."""
        return self.state == "trashed" and self.trash_reason in WANTED_GONE

    @property
    def in_file(self) -> bool:
        """Whether an entry of its hot file is its own: its text, or a pointer to it."""
        return self.residence != "cold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a caller asks to remember, checked but not yet judged.

    ``importance`` None means: not given, estimate it. ``ref`` is the caller's own reference.
    """

    content: str
    importance: float | None = None
    scope: Scope = "global"
    target: Target | None = None
    kind: Kind | None = None
    policy: Policy | None = None
    tags: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    occurred_at: datetime | None = None
    session_id: str = ""
    author: str = ""
    source: Source | None = None
    ref: str = ""

    def __post_init__(self) -> None:
        if not self.content.replace("\x00", "").strip():
            raise InvalidInput(field="content", why="empty")
        size_bytes = len(self.content.encode("utf-8", "surrogatepass"))
        if size_bytes > MAX_CONTENT_BYTES:
            raise TooLong(size_bytes=size_bytes, limit_bytes=MAX_CONTENT_BYTES)
        if self.importance is not None and not 0.0 <= self.importance <= 1.0:
            raise InvalidInput(field="importance", why="must be between 0 and 1", value=self.importance)
        for name, value, allowed in (
            ("kind", self.kind, KINDS),
            ("policy", self.policy, POLICIES),
            ("target", self.target, TARGETS),
            ("scope", self.scope, SCOPES),
        ):
            if value is not None and value not in allowed:
                raise InvalidInput(field=name, why="unknown value", value=value, allowed=", ".join(allowed))
        if self.scope == "session" and not self.session_id:
            raise InvalidInput(field="session_id", why="scope session needs a session_id")
        if self.valid_from and self.valid_until and self.valid_until <= self.valid_from:
            raise InvalidInput(field="valid_until", why="must be after valid_from")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of the ledger: what happened to one memory, when, by whom, and why.

    ``run`` joins what one call did; ``automatic``: nobody asked for this very change. ``change`` holds the columns of
    the row that differ, each as [before, after], in the form of the database. ``undone_by`` is the event that took it
    back.
    """

    seq: int
    at: datetime
    action: str
    memory_id: str
    actor: str
    reason: str = ""
    facts: dict[str, object] = field(default_factory=dict[str, object])
    run: str = ""
    automatic: bool = False
    change: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    undone_by: int | None = None


_DATE_ONLY = re.compile(r"\d{4}-\d{2}-\d{2}")


def parse_time(text: str, *, zone: tzinfo = UTC, end_of_day: bool = False, name: str = "time") -> datetime:
    """Read an ISO 8601 time as aware UTC.

    A naive time is read as UTC; a date alone means the whole day in ``zone``: its first moment, or its
    last second with ``end_of_day``.

    Raises:
        InvalidInput: The text is no ISO date or time.
    """
    value = text.strip()
    try:
        if _DATE_ONLY.fullmatch(value):
            day = date.fromisoformat(value)
            start = datetime.combine(day, time(), tzinfo=zone)
            if end_of_day:
                next_day = datetime.combine(day + timedelta(days=1), time(), tzinfo=zone)
                return next_day.astimezone(UTC) - timedelta(seconds=1)
            return start.astimezone(UTC)
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(field=name, why="not an ISO 8601 date or time", value=text) from error


def format_time(moment: datetime | None) -> str | None:
    """ISO 8601 with ``Z``; milliseconds only when there are some; None stays None."""
    if moment is None:
        return None
    utc = moment.astimezone(UTC)
    text = utc.isoformat(timespec="milliseconds" if utc.microsecond else "seconds")
    return text.replace("+00:00", "Z")
