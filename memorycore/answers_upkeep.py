"""What maintenance and backups answer, and what status says of them."""

from typing import Literal, NotRequired, TypedDict


class Maintained(TypedDict):
    """What overflow and maintenance answer."""

    steps: list[dict[str, object]]
    dry_run: bool
    note: NotRequired[str]


class Scheduled(TypedDict):
    """One step of maintenance. ``every``: ``6h``, ``off``, or five cron fields; ``outcome``: of the last run."""

    step: str
    every: str
    light: bool
    due: bool
    last: NotRequired[str]
    outcome: NotRequired[str]
    next: NotRequired[str]
    held_by: NotRequired[str]
    result: NotRequired[dict[str, object]]


class Missed(TypedDict):
    """Calls that programs got no answer to in time, by program, call and reason, ``since`` a moment of this week."""

    since: str
    counts: dict[str, int]


class BackedUp(TypedDict):
    """One backup. ``files``: how many hot files are in it; ``dropped``: older ones that went; ``problem``: a code."""

    path: str
    bytes: int
    made_at: NotRequired[str]
    memories: NotRequired[int]
    files: NotRequired[int]
    version: NotRequired[str]
    dropped: NotRequired[list[str]]
    problem: NotRequired[str]


class Backups(TypedDict):
    """Named like the command: ``memorycore backup list``."""

    folder: str
    backups: list[BackedUp]


class Restored(TypedDict):
    """``aside``: where the state from before is now. ``files``: the hot files that were put back."""

    status: Literal["restored", "would_restore"]
    path: str
    made_at: str
    memories: int
    files: list[str]
    aside: NotRequired[str]
    verified: NotRequired[bool]


class JobCount(TypedDict):
    waiting: int
    dead: int


class StepAt(TypedDict):
    step: str
    at: str
    due: NotRequired[bool]


class CapacityState(TypedDict):
    """``healthy``: not large, or the last pass found hardly anything to tidy. ``queued``: a pass is under way."""

    level: Literal["normal", "soft", "hard"]
    healthy: bool
    queued: bool


class Upkeep(TypedDict):
    """``jobs`` by kind; ``failed`` and ``running``: steps by name; ``untended_since``: no step has run for a day."""

    jobs: dict[str, JobCount]
    failed: list[str]
    running: list[str]
    capacity: CapacityState
    last: NotRequired[StepAt]
    next: NotRequired[StepAt]
    untended_since: NotRequired[str]
