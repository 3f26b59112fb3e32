"""What an import answers: objects as those of ``answers``."""

from typing import Literal, NotRequired, TypedDict

from memorycore import answers

Becomes = Literal["hot", "cold", "pointer", "bin", "past", "quarantined", "question", "known", "refused", "left_out"]


class ImportedRecord(TypedDict):
    """One record. ``ref`` names it in its file, ``becomes`` says what it is here, or would be."""

    path: str
    ref: str
    becomes: Becomes
    text: str
    reasons: list[str]
    id: NotRequired[str]
    gates: NotRequired[list[answers.GateFinding]]


class ImportProblem(TypedDict):
    """Something that could not be read, and what to do about it. The rest was read."""

    path: str
    code: str
    message: str
    where: NotRequired[str]
    fix: NotRequired[str]


class ImportedFile(TypedDict):
    """One file: what it holds, how many records, and how many of them became what."""

    path: str
    what: str
    found: int
    new: int
    counts: dict[str, int]


class Imported(TypedDict):
    """What an import did, or with ``dry_run`` would do."""

    ok: bool
    status: Literal["imported", "nothing_new", "nothing_found", "trial"]
    files: list[ImportedFile]
    problems: list[ImportProblem]
    records: list[ImportedRecord]
    new: int
    dry_run: NotRequired[bool]
    run: NotRequired[str]
    undo: NotRequired[str]
