"""The objects that every surface answers: tool, command and API route alike.

Plain dictionaries with fixed keys, so that they are JSON as they stand. A key that is absent does not apply.
Times are ISO 8601 text with ``Z``. ``reasons`` are strings ``code: sentence``; scripts use what is before the colon.
"""

from typing import Literal, NotRequired, TypedDict

from memorycore.answers_remote import RemoteUsage
from memorycore.answers_upkeep import Missed, Upkeep

Tier = Literal["hot", "cold", "bin", "none"]
Route = Literal["hot", "cold", "stale"]
Relation = Literal["same", "refines", "supersedes", "disputes", "different"]
StoreStatus = Literal[
    "stored",  # in a hot file
    "cold_stored",  # in the cold tier
    "duplicate",  # known already, in a hot file
    "cold_duplicate",  # known already, in the cold tier
    "cold_stored_fallback",  # meant for a hot file that has no room
    "updated",  # it says more than an entry of a hot file, which got its wording
    "cold_updated",  # it says more than a cold memory, which got its wording
    "superseded",  # stored, and an older memory ended for it
    "disputed",  # stored, and it contradicts another memory
    "stale",  # a finished status line: only in the bin
    "quarantined",  # it gives orders to the agent: only in the bin, until somebody decides
    "refused",  # expected refusal: nothing was kept
    "error",  # a fault; the text was not stored
]


class Problem(TypedDict):
    """A refusal or a fault: what happened, whether the text is safe, what to do."""

    ok: Literal[False]
    code: str
    message: str
    retryable: bool


class GateFinding(TypedDict):
    """What one gate found. ``spans`` are exact substrings, and stand in dry runs only."""

    gate: Literal["secret", "pii", "injection", "noise", "quota", "duplicate"]
    action: str
    rules: NotRequired[list[str]]
    spans: list[str]


class Sign(TypedDict):
    """One piece of evidence: a stable code, words of both texts, and a sentence."""

    code: str
    old: str
    new: str
    says: str


class Judgement(TypedDict):
    """How a new text stands to an old one. ``limited``: within limits only; ``undecided``: a model may be asked.

    ``likeness`` 0..1 in meaning, where that could change the verdict.
    """

    relation: Relation
    evidence: list[Sign]
    limited: bool
    undecided: bool
    likeness: NotRequired[float]


class Verdict(TypedDict):
    """How a text stands to the memory with this id. ``limited``: it holds within limits only."""

    id: str
    relation: Relation
    evidence: list[Sign]
    content: NotRequired[str]
    limited: NotRequired[bool]
    proposed: NotRequired[bool]


class MadeRoom(TypedDict):
    """How many entries left a hot file for a text that came in, and the command that brings them back."""

    count: int
    undo: str


class Stored(TypedDict):
    """What a store answers, or would answer.

    ``before`` and ``after``: the texts, where another memory is concerned; ``why``: what the verdict rests on.
    """

    status: StoreStatus
    tier: Tier
    route: Route
    type: Literal["rule", "state"] | None
    protected: bool
    reasons: list[str]
    ref: NotRequired[str]
    id: NotRequired[str]
    target: NotRequired[str]
    pending: NotRequired[list[str]]
    before: NotRequired[str]
    after: NotRequired[str]
    why: NotRequired[list[str]]
    undo: NotRequired[str]
    usage: NotRequired[str]
    made_room: NotRequired[MadeRoom]
    note: NotRequired[str]
    masked: NotRequired[str]
    importance: NotRequired[float]
    gates: NotRequired[list[GateFinding]]
    judge: NotRequired[list[Verdict]]
    dry_run: NotRequired[bool]
    line: NotRequired[int]
    code: NotRequired[str]
    message: NotRequired[str]


class Found(TypedDict):
    """One result of a recall. ``score`` is 0..1; ``weak`` marks results below the noise floor.

    ``version`` counts wordings and fields; it and ``updated_at`` stand there once something was changed. ``state``:
    superseded, which only a look back shows. ``same``: ids of memories that say the same and are left out for that.
    An id ``remote:…`` is of a record that others put into the cold store elsewhere; ``cut``: only its beginning.
    ``disputed_with``: ids of results that contradict it. ``untrusted``: it gives orders that no user gave.
    """

    id: str
    tier: Literal["hot", "cold"]
    score: float
    content: str
    ref: NotRequired[str]
    refs: NotRequired[list[str]]
    weak: NotRequired[bool]
    state: NotRequired[Literal["superseded"]]
    superseded_by: NotRequired[str]
    valid_from: NotRequired[str]
    valid_until: NotRequired[str]
    disputed_with: NotRequired[list[str]]
    same: NotRequired[list[str]]
    untrusted: NotRequired[bool]
    restored: NotRequired[bool]
    revived: NotRequired[bool]
    undo: NotRequired[str]
    kind: NotRequired[str]
    target: NotRequired[str]
    tags: NotRequired[list[str]]
    occurred_at: NotRequired[str]
    created_at: NotRequired[str]
    version: NotRequired[int]
    updated_at: NotRequired[str]
    author: NotRequired[str]
    session_id: NotRequired[str]
    cut_chars: NotRequired[int]
    cut: NotRequired[bool]
    why: NotRequired[dict[str, float | str | list[str]]]


class Recalled(TypedDict):
    results: list[Found]
    ref: NotRequired[str]
    pending: NotRequired[int]  # memories that cannot be found by meaning yet, only by words
    left_out: NotRequired[int]
    degraded: NotRequired[list[str]]
    in_bin: NotRequired[list[str]]
    took_ms: NotRequired[float]
    model_ms: NotRequired[float]
    note: NotRequired[str]


class Changed(TypedDict):
    """What update, forget and restore answer; with ``dry_run`` nothing was changed."""

    status: Literal["updated", "unchanged", "trashed", "restored", "candidates"]
    id: NotRequired[str]
    tier: NotRequired[Tier]
    target: NotRequired[str]
    usage: NotRequired[str]
    before: NotRequired[str]
    after: NotRequired[str]
    undo: NotRequired[str]
    until: NotRequired[str]
    reasons: NotRequired[list[str]]
    pending: NotRequired[list[str]]
    candidates: NotRequired[list[Found]]
    dry_run: NotRequired[bool]


class AuditRow(TypedDict):
    """One entry. ``next`` is a sentence; ``plan`` says the same in a word, and ``plan_day`` when (an ISO date)."""

    text: str
    sha256: str
    chars: int
    id: str | None
    type: Literal["rule", "state", "stub"]
    kind: str
    policy: str
    protected: bool
    origin: str
    importance: float
    age_days: int
    written_at: str
    updated_at: str
    last_active_at: str | None
    resident_until: str | None
    pinned: bool
    weight: float
    effective_weight: float
    why: str
    next: str
    plan: Literal["stays", "pointer", "cold", "bin", "folds"]
    sink_candidate: bool
    flags: list[str]
    plan_day: NotRequired[str]
    sink_reason: NotRequired[str]


class AuditTarget(TypedDict):
    """One file. ``rule_chars`` without pointers, which have ``pointer_chars``; all sizes are code points."""

    target: str
    path: str
    chars: int
    limit: int
    percent: int
    entries: int
    clean: bool
    soft: int
    hard: int
    aim: int
    rule_chars: int
    rule_budget_chars: int
    pointer_chars: int
    lru_sink_candidates: int
    rows: list[AuditRow]
    problem: NotRequired[str]


class QuestionLog(TypedDict):
    """What is known of questions: whether they are noted, how many, since when.

    ``threshold``: the score from which one counts as a use of a rule; None while there is no model.
    """

    noted: bool
    count: int
    oldest: str | None
    threshold: float | None


class Audited(TypedDict):
    """``questions``: what the weights rest on. ``degraded``: what the budget has to do without, as sentences."""

    targets: list[AuditTarget]
    questions: QuestionLog
    degraded: list[str]


class HotUsage(TypedDict):
    """``waiting``: texts that belong in this file and are cold, since it had no room or could not be written."""

    target: str
    path: str
    chars: int
    limit: int
    limit_from: str
    percent: int
    entries: int
    waiting: int
    soft: int
    hard: int
    aim: int
    problem: NotRequired[str]


class ColdUsage(TypedDict):
    backend: str
    total: int
    vectors: int
    pending: int
    failed: int
    remote: NotRequired[RemoteUsage]


class Usage(TypedDict):
    """Both files, the cold counts, thresholds, backlog, degraded parts."""

    hot: list[HotUsage]
    cold: ColdUsage
    binned: int
    questions: QuestionLog
    degraded: list[str]


class Moves(TypedDict):
    """What left the hot files by itself in the last ``days``, and came back; ``undo`` takes the last run of it back."""

    days: int
    left: int
    returned: int
    undo: NotRequired[str]


class Status(TypedDict):
    """``pointers`` stand in the hot files. ``sessions`` are at work, and their prompts hold the files as they were."""

    verdict: str
    level: Literal["ok", "degraded", "needs_you"]
    version: str
    namespace: str
    hot_dir: str
    data_dir: str
    usage: Usage
    model: str
    vector_index: str
    database_bytes: int
    memories: int
    pointers: int
    moves: Moves
    sessions: int
    upkeep: Upkeep
    purge_due: int
    problems: list[str]
    review: "ReviewCounts"
    foreign: list[str]
    missed: NotRequired[Missed]


class Binned(TypedDict):
    id: str
    content: str
    reason: str
    trashed_at: str
    until: str


class Bin(TypedDict):
    """Named like the command: ``memorycore trash``."""

    items: list[Binned]


class HistoryLine(TypedDict):
    """One line of the ledger, for a person. Texts are shortened.

    ``before`` and ``after`` are the wording that went and the one that came, or the older and the newer of two
    memories; ``said`` is a wording that was only counted. ``undo`` is the command, where it can be undone now.
    """

    event: int
    at: str
    action: str
    what: str
    id: str
    actor: str
    automatic: bool
    can_undo: bool
    why: NotRequired[list[str]]
    text: NotRequired[str]
    before: NotRequired[str]
    after: NotRequired[str]
    said: NotRequired[str]
    run: NotRequired[str]
    undone_by: NotRequired[int]
    undo: NotRequired[str]


class History(TypedDict):
    """What happened, the last of it first."""

    events: list[HistoryLine]


UndoStatus = Literal[
    "undone",
    "would_undo",  # with dry_run
    "conflict",  # somebody changed it since; nothing was overwritten
    "nothing_to_undo",  # undone already, or nothing in it can be taken back
]


class UndoneEvent(TypedDict):
    """What became of one event.

    ``before`` is the text as it stood, ``after`` as it is now; in a conflict, as it stands and as it would have been.
    ``made`` is the memory that a wording became, ``by`` the event that undid it already or that is in the way,
    ``other`` the memory that has the text by now.
    """

    event: int
    status: UndoStatus
    what: str
    id: NotRequired[str]
    text: NotRequired[str]
    before: NotRequired[str]
    after: NotRequired[str]
    tier: NotRequired[Tier]
    made: NotRequired[str]
    made_text: NotRequired[str]
    by: NotRequired[int]
    other: NotRequired[str]
    code: NotRequired[str]
    message: NotRequired[str]
    redo: NotRequired[str]


class Undone(TypedDict):
    """What undo answers; ``status`` is ``conflict`` as soon as one event is."""

    status: UndoStatus
    events: list[UndoneEvent]
    pending: NotRequired[list[str]]
    usage: NotRequired[str]
    dry_run: NotRequired[bool]


DecisionStatus = Literal[
    "kept_new",  # the old one ended for the new one
    "kept_old",  # the new one is in the bin
    "kept_both",  # both stay, and nothing is open between them
    "accepted",  # out of quarantine, as data
    "trusted",  # an ordinary memory
    "rejected",  # stays in the bin, and is listed no more
    "left",  # an entry of a hot file stays as it is, and is listed no more
]


class ReviewText(TypedDict):
    """One of the texts that a decision is about. ``guarded``: why automation must leave it alone."""

    id: str
    content: str
    tier: Tier
    target: NotRequired[str]
    created_at: str
    occurred_at: NotRequired[str]
    author: NotRequired[str]
    source: NotRequired[str]
    guarded: NotRequired[list[str]]
    untrusted: NotRequired[bool]


class ReviewCommand(TypedDict):
    """One way to decide, exactly as it is typed, and what it does."""

    command: str
    does: str


class ReviewItem(TypedDict):
    """What waits for a person. ``new`` came later, or is alone; ``relation``: what a proposal would make of the two."""

    number: str
    kind: Literal["dispute", "proposal", "quarantined", "flagged"]
    since: str
    why: list[str]
    new: ReviewText
    old: NotRequired[ReviewText]
    relation: NotRequired[Relation]
    evidence: NotRequired[list[Sign]]
    commands: list[ReviewCommand]


class ReviewCounts(TypedDict):
    disputes: int
    proposals: int
    quarantined: int
    flagged: int


class Review(TypedDict):
    counts: ReviewCounts
    items: list[ReviewItem]


class Decided(TypedDict):
    """What became of a decision. ``before`` is the text that went, ``after`` the one that holds; ``id`` is of that."""

    status: DecisionStatus
    number: str
    id: str
    tier: Tier
    target: NotRequired[str]
    before: NotRequired[str]
    after: NotRequired[str]
    until: NotRequired[str]
    pending: NotRequired[list[str]]
    usage: NotRequired[str]
    reasons: NotRequired[list[str]]
    run: NotRequired[str]
    undo: NotRequired[str]
    dry_run: NotRequired[bool]
