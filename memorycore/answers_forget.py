"""What forgetting many at once and erasing for good answer: objects as those of ``answers``."""

from typing import Literal, NotRequired, TypedDict

from memorycore import answers


class Forgotten(TypedDict):
    """One memory among several that went, or would go."""

    id: str
    content: str
    tier: answers.Tier
    target: NotRequired[str]


class Skipped(TypedDict):
    """One that could not go now, and why; the others went."""

    id: str
    code: str
    message: str


class ForgottenMany(TypedDict):
    """What forgetting everything that matches answers. ``run`` names it in the ledger."""

    status: Literal["trashed", "nothing"]
    count: int
    items: list[Forgotten]
    skipped: NotRequired[list[Skipped]]
    until: NotRequired[str]
    run: NotRequired[str]
    undo: NotRequired[str]
    dry_run: NotRequired[bool]


class Remaining(TypedDict):
    """A file in which an erased text was found, and in which form it stands there."""

    file: str
    form: Literal["text", "utf-16", "json", "words", "vector"]


class Holding(TypedDict):
    """Another memory that has the text, or has it as a part."""

    id: str
    state: str


class RemoteCopy(TypedDict):
    """A copy at a service that could not be reached: its address, and the id there."""

    store: str
    id: str


class Searched(TypedDict):
    files: int
    bytes: int


class Erased(TypedDict):
    """The receipt of an erasure.

    ``pending``: it is out of every answer, but something still keeps it on the disk; ``finish`` is the command to
    repeat then. ``items`` stand in a dry run only. ``removed`` counts what went, by place. ``also``: rows out of use
    that had the same text. ``remaining`` and ``unread``: files that still hold it, or could not be looked into.
    ``remote``: copies in the cold store elsewhere. ``held_by``: memories that keep the text for themselves;
    ``elsewhere`` counts those of other namespaces.
    """

    status: Literal["erased", "pending", "candidates", "nothing"]
    erased: bool
    id: NotRequired[str]
    ids: NotRequired[list[str]]
    items: NotRequired[list[Forgotten]]
    removed: NotRequired[dict[str, int]]
    also: NotRequired[list[str]]
    searched: NotRequired[Searched]
    remaining: NotRequired[list[Remaining]]
    unread: NotRequired[list[str]]
    remote: NotRequired[list[RemoteCopy]]
    held_by: NotRequired[list[Holding]]
    elsewhere: NotRequired[int]
    reasons: NotRequired[list[str]]
    finish: NotRequired[str]
    candidates: NotRequired[list[answers.Found]]
    dry_run: NotRequired[bool]
