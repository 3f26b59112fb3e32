"""What is found in files that may be imported, as values; nothing is decided here."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Literal
from uuid import UUID, uuid5

from memorycore.domain.memory import Memory, Target
from memorycore.hot.sidecar import EntryMeta
from memorycore.store.queries import Query

What = Literal["hot", "store", "bin", "questions", "lines", "unread"]
ORIGIN = "import"
# So that whatever is imported once more has the id that it got the first time.
_IDS = UUID("6d0f1a52-93c4-5f0e-9f7a-2b1f5c8e4d37")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Now, the zone in which the predecessor wrote times without one, and how many days bin and log keep things."""

    now: datetime
    zone: tzinfo = UTC
    trash_days: int = 30
    log_days: float = 45.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that was found.

    ``ref`` names it there. ``memory`` or ``question``: what it becomes, if the gates let it. ``left_out``: a code, why
    nothing becomes of it; ``notes``: codes that somebody may want to know of. ``meta``: what a sidecar knows of it.
    """

    ref: str
    memory: Memory | None = None
    question: Query | None = None
    left_out: str = ""
    notes: tuple[str, ...] = ()
    meta: EntryMeta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OldPointer:
    """The line that the predecessor left in a hot file for a rule, and what of it tells which text is meant.

    That is the id of the text, or the beginning of its SHA-256, or how it begins, by the version that wrote it.
    ``is_ours``: it stands in a file that we look after, and stays there.
    """

    target: Target
    text: str
    topic: str
    cold_id: str = ""
    fingerprint: str = ""
    written_at: datetime | None = None
    is_ours: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that could not be read: where, and a code with its facts. The rest goes on."""

    path: Path
    code: str
    where: str = ""
    facts: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One file with what is in it."""

    path: Path
    what: What
    items: tuple[Item, ...] = ()
    pointers: tuple[OldPointer, ...] = ()
    problems: tuple[Problem, ...] = ()


def derived_id(key: str) -> str:
    """The id of an imported memory: the same for the same key."""
    return str(uuid5(_IDS, key))


def moment(value: object, zone: tzinfo) -> datetime | None:
    """A time as another program wrote it, aware and UTC; None where nothing can be made of it.

    Text in ISO 8601, without a zone in ``zone``; or seconds since 1970.
    """
    try:
        if isinstance(value, bool):
            return None
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, tz=UTC)
        if not isinstance(value, str) or not value.strip():
            return None
        read = datetime.fromisoformat(value.strip())
        return (read if read.tzinfo else read.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def not_later(memory: Memory, now: datetime) -> Memory:
    """The memory with no time in the future: another clock ran ahead."""
    return replace(
        memory,
        created_at=min(memory.created_at, now),
        updated_at=min(max(memory.updated_at, memory.created_at), now),
        last_used_at=memory.last_used_at and min(memory.last_used_at, now),
        trashed_at=memory.trashed_at and min(memory.trashed_at, now),
    )
