"""What a caller asks to remember becomes a candidate: clean, routed, as the row that it would be."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import apsw

from memorycore.domain.gates import MARKER
from memorycore.domain.memory import SESSION_SCOPE_DAYS, Draft, Memory, Target
from memorycore.domain.pointer import is_fold, is_pointer, key_of
from memorycore.domain.routing import Reason, Routing, route
from memorycore.domain.text import norm_hash, sanitise
from memorycore.hot.document import why_not_hot
from memorycore.intake import gate
from memorycore.intake.gate import GateNote
from memorycore.options import GateOptions
from memorycore.store import all_rows, memories

GLOBAL = "global"  # the namespace that every other one sees
QUARANTINED = "quarantined"
POINTER = "pointer"  # a text that only names another one: nothing of its own to keep
RECALLED = "recalled"  # a text that only repeats what memory told: nothing of its own to keep either
REJECTED = "rejected"  # a person has seen it in quarantine, and it stays in the bin


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A draft with its routing, as the row that it would become.

    ``hot``: the hot file is its place. ``refused``: why nothing of it may be kept. ``gates``: what they found.
    ``spare_id``: taken when the row's own id, from an export, is somebody else's. ``repeats``: ids of the memories that
    the text only repeats.
    """

    draft: Draft
    routing: Routing
    memory: Memory
    hot: bool
    reasons: tuple[Reason, ...]
    refused: str = ""
    gates: tuple[GateNote, ...] = ()
    spare_id: str = ""
    repeats: tuple[str, ...] = ()

    @property
    def untrusted(self) -> bool:
        return "untrusted" in self.memory.flags


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where and when candidates are considered."""

    namespace: str
    now: datetime
    limits: Mapping[Target, int]
    gates: GateOptions = field(default_factory=GateOptions)


def consider(draft: Draft, ground: Ground, *, new_id: str) -> Candidate:
    """Decide, without touching anything, what a draft is and where it belongs."""
    storable = _storable(draft)
    reasons: list[Reason] = []
    if storable != replace(draft, content=draft.content.strip()):
        reasons.append(Reason(code="invalid_characters"))
    passed = gate.admit(storable, ground.gates)
    clean = passed.draft
    routing = route(
        MARKER.sub("…", clean.content),  # what stands in the place of a key says nothing of the text
        importance=draft.importance,
        target=draft.target,
        kind=draft.kind,
        policy=draft.policy,
        tags=clean.tags,
    )
    is_hot = routing.route == "hot"
    if passed.untrusted:
        routing, is_hot = as_data(routing), False
    else:
        reasons.extend(routing.reasons)
    if is_hot and draft.scope == "session":
        is_hot = False
        reasons.append(Reason(code="session_scope"))
    elif is_hot and draft.valid_from and draft.valid_from > ground.now:
        is_hot = False
        reasons.append(Reason(code="not_yet"))
    elif is_hot and (obstacle := why_not_hot(clean.content, limit=ground.limits[routing.target])):
        is_hot = False
        reasons.append(_obstacle(obstacle))
    points = not passed.refused and only_points(clean.content)
    memory = _row(clean, routing, passed, new_id=new_id, ground=ground)
    return Candidate(
        draft=clean,
        routing=routing,
        memory=memory,
        hot=is_hot and not points,
        reasons=(*passed.reasons, *reasons),
        refused=POINTER if points else passed.refused,
        gates=passed.notes,
    )


def as_data(routing: Routing) -> Routing:
    """A text that gives orders from elsewhere is data: it guides nobody, and nothing protects it."""
    return replace(
        routing,
        route="cold",
        type=None,
        protected=(),
        kind=routing.kind if routing.kind in {"fact", "event", "reference"} else "fact",
        policy=routing.policy if routing.policy in {"fact", "episode"} else "fact",
        importance=routing.importance,
        reasons=(),
    )


def _storable(draft: Draft) -> Draft:
    """The draft without signs that no store can carry, wherever they stand: one in a tag must not cost a batch."""
    source = draft.source
    return replace(
        draft,
        content=sanitise(draft.content).strip(),
        tags=tuple(map(sanitise, draft.tags)),
        session_id=sanitise(draft.session_id),
        author=sanitise(draft.author),
        ref=sanitise(draft.ref),
        source=source
        and replace(source, uri=sanitise(source.uri), locator=sanitise(source.locator), sha256=sanitise(source.sha256)),
    )


def readmit(memory: Memory, ground: Ground, *, spare_id: str) -> Candidate:
    """An exported memory on its way back: it keeps what it was, and is neither routed nor judged again.

    The gates see it like every text. What another clock dates in the future happened now: a time in the bin that has
    not begun would never end.
    """
    now = ground.now
    passed = gate.admit(
        Draft(
            content=memory.content, tags=memory.tags, author=memory.author, source=memory.source,
            session_id=memory.session_id,
        ),
        ground.gates,
    )  # fmt: skip
    memory = _without_keys(_behind_gates(memory, passed, now), ground.gates, spare_id=spare_id)
    meant_hot = (
        memory.residence == "hot"
        and memory.state == "active"
        and memory.scope == "global"
        and not passed.untrusted
    )  # fmt: skip
    obstacle = why_not_hot(memory.content, limit=ground.limits[memory.target]) if meant_hot else None
    is_hot = meant_hot and obstacle is None
    stale = memory.state == "trashed" and memory.trash_reason == "stale"
    routing = Routing(
        route="hot" if memory.residence == "hot" else "stale" if stale else "cold",
        type=None if memory.residence != "hot" else "rule" if memory.policy in {"core", "rule"} else "state",
        target=memory.target,
        kind=memory.kind,
        policy=memory.policy,
        importance=memory.importance,
        protected=memory.protected,
        reasons=(),
    )
    kept = replace(
        memory,
        namespace=memory.namespace if memory.namespace == GLOBAL else ground.namespace,
        residence="cold",
        hot_tier=None,
        created_at=min(memory.created_at, now),
        updated_at=min(memory.updated_at, now),
        last_used_at=memory.last_used_at and min(memory.last_used_at, now),
        trashed_at=memory.trashed_at and min(memory.trashed_at, now),
    )
    draft = Draft(content=memory.content or "…", ref=memory.refs[0] if memory.refs else "")
    return Candidate(
        draft=draft,
        routing=routing,
        memory=kept,
        hot=is_hot,
        reasons=(*passed.reasons, *([_obstacle(obstacle)] if obstacle else []), Reason(code="imported")),
        refused=_no_way_back(passed),
        gates=passed.notes,
        spare_id=spare_id,
    )


def only_points(text: str) -> bool:
    """Whether a text has the shape of a pointer, or of a line for many: nothing to keep, and taken for one of ours."""
    return is_pointer(text) or is_fold(text)


def _no_way_back(passed: gate.Passed) -> str:
    """Why nothing of an exported text may be kept. What was noise when it came was kept all the same."""
    if not passed.refused and only_points(passed.draft.content):
        return POINTER
    return "" if passed.refused == "noise" else passed.refused


def _without_keys(memory: Memory, rules: GateOptions, *, spare_id: str) -> Memory:
    """An export line may come from anywhere, and hold a key in a field where no store of ours would put one."""
    return replace(
        memory,
        id=memory.id if gate.clean_name(memory.id, rules) == memory.id else spare_id,
        refs=tuple(gate.clean_name(ref, rules) for ref in memory.refs),
        protected=tuple(gate.clean(name, rules) for name in memory.protected),
        origin=gate.clean(memory.origin, rules),
        trash_reason=gate.clean(memory.trash_reason, rules),
    )


def _behind_gates(memory: Memory, passed: gate.Passed, now: datetime) -> Memory:
    content = memory.content if passed.refused == "noise" else passed.draft.content
    memory = replace(
        memory,
        content=content,
        norm_hash=norm_hash(content),
        tags=passed.draft.tags,
        author=passed.draft.author,
        source=passed.draft.source,
        session_id=passed.draft.session_id,
    )
    if not passed.untrusted:
        return memory
    flags = tuple(dict.fromkeys((*memory.flags, "untrusted")))
    memory = replace(memory, flags=flags, protected=(), policy="episode" if memory.policy == "episode" else "fact")
    if passed.quarantined and memory.state == "active":
        return replace(memory, state="trashed", trashed_at=now, trash_reason=QUARANTINED)
    return memory


def _obstacle(code: str) -> Reason:
    rule = code.removeprefix("scanner_")
    return Reason(code=code) if rule == code else Reason(code="scanner", facts=(("rule", rule),))


def _row(draft: Draft, routing: Routing, passed: gate.Passed, *, new_id: str, ground: Ground) -> Memory:
    now, until = ground.now, draft.valid_until
    if draft.scope == "session" and until is None:
        until = now + timedelta(days=SESSION_SCOPE_DAYS)
    binned = QUARANTINED if passed.quarantined else "stale" if routing.route == "stale" else ""
    return Memory(
        id=new_id,
        namespace=ground.namespace,
        content=draft.content,
        norm_hash=norm_hash(draft.content),
        kind=routing.kind,
        policy=routing.policy,
        protected=routing.protected,
        importance=routing.importance,
        importance_given=draft.importance is not None,
        target=routing.target,
        state="trashed" if binned else "active",
        trashed_at=now if binned else None,
        trash_reason=binned,
        flags=("untrusted",) if passed.untrusted else (),
        scope=draft.scope,
        session_id=draft.session_id,
        author=draft.author,
        source=draft.source,
        tags=draft.tags,
        refs=(draft.ref,) if draft.ref else (),
        valid_from=draft.valid_from,
        valid_until=until,
        occurred_at=draft.occurred_at,
        created_at=now,
        updated_at=now,
    )


def known(c: apsw.Connection, memory: Memory) -> Memory | None:
    """The row that already holds this text, by its compared form: active, or a binned status line."""
    where = {"namespace": memory.namespace, "norm_hash": memory.norm_hash}
    if memory.state not in {"active", "trashed"}:
        return None
    active = memories.select(c, "active_by_norm_hash", **where, scope=memory.scope, session_id=memory.session_id)
    if active:
        return active[0]
    if memory.state == "active":
        return None
    binned = memories.select(c, "binned_by_norm_hash", **where)
    return binned[0] if binned and _in_bin_as(binned[0]) == memory.trash_reason else None


def _in_bin_as(memory: Memory) -> str:
    """Why a memory came into the bin; what a person then did not let out is still the same text."""
    return QUARANTINED if memory.trash_reason == REJECTED else memory.trash_reason


def pointed_at(c: apsw.Connection, candidate: Candidate) -> Memory | None:
    """The memory that left its hot file and of which the candidate is the pointer, or the one that it only repeats."""
    if candidate.refused == RECALLED:
        told = (memories.by_id(c, one, (candidate.memory.namespace, GLOBAL)) for one in candidate.repeats)
        return next((memory for memory in told if memory is not None and memory.state == "active"), None)
    if candidate.refused != POINTER:
        return None
    own, key = (candidate.memory.namespace,), key_of(candidate.memory.content)
    found = all_rows(c, "pointers", {"namespaces": json.dumps(own)})
    seqs = [seq for seq, pointer in found if key_of(pointer) == key]
    rows = [memory for memory in memories.by_seq(c, seqs, own).values() if memory.state == "active"]
    return max(rows, key=lambda memory: (memory.residence == "stub", memory.seq), default=None)


def known_before(c: apsw.Connection, candidate: Candidate) -> Memory | None:
    """As ``known``, and for an export that comes back the row with its very id, whatever its text is now."""
    same = known(c, candidate.memory)
    if not candidate.spare_id or (same is not None and same.state == "active"):
        return same
    return memories.by_id(c, candidate.memory.id, (candidate.memory.namespace,)) or same
