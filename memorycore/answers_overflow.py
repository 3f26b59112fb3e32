"""What overflow answers."""

from typing import Literal, NotRequired, TypedDict


class Left(TypedDict):
    """One entry that left a file, or would. ``to``: pointer, cold or bin, or shorter; ``why`` is a sentence."""

    text: str
    to: Literal["pointer", "cold", "bin", "shorter"]
    reason: str
    why: str
    id: NotRequired[str]
    pointer: NotRequired[str]


class Later(Left):
    """One entry that would leave on a later day, an ISO date, if nobody uses it until then."""

    day: str


class NextWrite(TypedDict):
    """What the very next text of so many code points would push out of a file that is full; whether it then fits."""

    chars: int
    fits: bool
    entries: list[Left]


class OverflowRun(TypedDict):
    """One file. Sizes are code points. The counts have the names of the predecessor.

    ``overflowed``: went cold whole · ``aged_sunk``: states past their time among them · ``stubbed``: became pointers ·
    ``stub_gc``: pointers that went · ``retyped``: old records that had been rules · ``deleted``: went to the bin ·
    ``merged``: entries that say the same as another · ``compressed``: said in fewer words by a language model, not
    taken at its word ``compress_refused`` times; a server asks it later, in the background. ``deferred``: would
    leave, but a session holds the file. ``unconfirmed``: stay until the cold store elsewhere has a copy.
    ``for_next``: it presses only for the entry that a host may write next. ``next_write``, ``later`` and ``note`` stand
    in a preview only.
    """

    target: str
    limit: int
    chars_before: int
    chars_after: int
    usage_before: str
    usage_after: str
    pressure: str
    for_next: NotRequired[bool]
    target_reached: bool
    overflowed: int
    aged_sunk: int
    stubbed: int
    stub_gc: int
    retyped: int
    deleted: int
    merged: int
    compressed: int
    compress_refused: NotRequired[int]
    kept: int
    errors: int
    entries: list[Left]
    deferred: NotRequired[list[Left]]
    unconfirmed: NotRequired[int]
    diff: NotRequired[str]
    next_write: NotRequired[NextWrite]
    later: NotRequired[list[Later]]
    note: NotRequired[str]
    problem: NotRequired[str]
    undo: NotRequired[str]


class Overflown(TypedDict):
    """A run over the hot files. ``degraded``: what the ladder had to do without, as sentences.

    Of a preview of files in another folder: that ``dir``, and when first contact is over (``planned_for``), after so
    many days (``stays_days``).
    """

    runs: list[OverflowRun]
    dry_run: bool
    questions_read: int
    strong_hits: int
    weak_hits: int
    threshold: NotRequired[float]
    degraded: list[str]
    note: NotRequired[str]
    dir: NotRequired[str]
    planned_for: NotRequired[str]
    stays_days: NotRequired[float]
