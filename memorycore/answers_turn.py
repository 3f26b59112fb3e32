"""What a host is answered around a turn: what is remembered about a question, and that something was noted."""

from typing import NotRequired, TypedDict

from memorycore.answers import HotUsage


class Offered(TypedDict):
    """One memory for a turn. ``day``: when it happened, or was stored, as ISO date."""

    id: str
    day: str
    content: str


class Prefetched(TypedDict):
    """``text`` is for the prompt, one dated line a memory; empty when there is nothing worth its room.

    ``left_out`` counts candidates by why they were: ``hot`` (in the prompt already), ``given`` (to this session
    before), ``weak``, ``untrusted``, ``more`` (beyond the number or the characters).
    """

    text: str
    items: list[Offered]
    left_out: dict[str, int]
    took_ms: float
    degraded: NotRequired[list[str]]


class HeldBack(TypedDict):
    """What the gates would hold back of texts: the names of secrets, and of personal data where that may not come in.

    ``rules`` are their codes. No value of them is told.
    """

    held: list[str]
    rules: list[str]


class Noted(TypedDict):
    """``session_id`` is at work, or over. ``stored``: texts of a conversation that were kept, which are none."""

    session_id: str
    stored: int


class Counted(TypedDict):
    """How many calls that a host missed were counted."""

    counted: int


class Noticed(TypedDict):
    """How full the hot files are after what the host wrote was looked at and room was made."""

    hot: list[HotUsage]
    problems: NotRequired[list[str]]
