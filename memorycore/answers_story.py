"""The answer of inspect: the whole story of one memory. As in ``answers``, plain dictionaries with fixed keys."""

from typing import Literal, NotRequired, TypedDict

from memorycore.answers import Tier

Side = Literal["newer", "older"]


class Link(TypedDict):
    """How a memory stands to another one, whose ``id``, ``content`` and ``state`` these are.

    ``side``: whether the memory itself is the newer of the two. ``why``: the evidence of the verdict, in sentences.
    """

    edge: int
    relation: str
    side: Side
    status: str
    what: str
    id: str
    content: str
    state: str
    since: str
    why: NotRequired[list[str]]


class WantedGone(TypedDict):
    by: str
    at: str
    reason: str


class Story(TypedDict):
    """Everything about one memory. ``note``: where it is, if not simply there, and how it comes back."""

    id: str
    content: str
    state: str
    residence: str
    tier: Tier
    fields: dict[str, object]
    links: list[Link]
    revisions: list[dict[str, object]]
    events: list[dict[str, object]]
    vector: str
    refs: list[str]
    wanted_gone: NotRequired[WantedGone]
    note: NotRequired[str]
