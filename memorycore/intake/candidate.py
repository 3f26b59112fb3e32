"""What a caller asks to remember becomes a candidate, and the candidate one transition.

Gates and the judge of neighbours join between routing and the transition.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

import apsw

from memorycore.domain.memory import SESSION_SCOPE_DAYS, Draft, Memory, Target
from memorycore.domain.routing import Reason, Routing, route
from memorycore.domain.text import norm_hash, sanitise
from memorycore.hot.document import why_not_hot
from memorycore.hot.tier import HotTier
from memorycore.lifecycle import hot, rows, turn
from memorycore.lifecycle.rows import Cause
from memorycore.store import memories, vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GLOBAL = "global"  # the namespace that every other one sees
Outcome = Literal["hot", "cold", "stale", "known", "fallback"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A draft with its routing, as the row that it would become.

    ``hot``: the hot file is its place. ``spare_id``: taken when the row's own id, from an export, is somebody else's.
    """

    draft: Draft
    routing: Routing
    memory: Memory
    hot: bool
    reasons: tuple[Reason, ...]
    spare_id: str = ""


@dataclass(slots=True, kw_only=True)
class Recorded:
    """What the transaction did: which row holds the text now, and what is still to happen to the hot file."""

    outcome: Outcome
    memory: Memory
    begun: hot.Begun | None = None
    vector: bool = False


def consider(draft: Draft, *, new_id: str, namespace: str, now: datetime, limits: Mapping[Target, int]) -> Candidate:
    """Decide, without touching anything, what a draft is and where it belongs."""
    clean = _storable(draft)
    content = clean.content
    reasons: list[Reason] = []
    if clean != replace(draft, content=draft.content.strip()):
        reasons.append(Reason(code="invalid_characters"))
    routing = route(
        content, importance=draft.importance, target=draft.target, kind=draft.kind, policy=draft.policy, tags=clean.tags
    )
    reasons.extend(routing.reasons)
    is_hot = routing.route == "hot"
    if is_hot and draft.scope == "session":
        is_hot = False
        reasons.append(Reason(code="session_scope"))
    elif is_hot and (obstacle := why_not_hot(content, limit=limits[routing.target])):
        is_hot = False
        reasons.append(_obstacle(obstacle))
    memory = _row(clean, routing, new_id=new_id, namespace=namespace, now=now)
    return Candidate(draft=clean, routing=routing, memory=memory, hot=is_hot, reasons=tuple(reasons))


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


def readmit(memory: Memory, *, spare_id: str, namespace: str, now: datetime, limits: Mapping[Target, int]) -> Candidate:
    """An exported memory on its way back: it keeps what it was, and is not routed again.

    What another clock dates in the future happened now: a time in the bin that has not begun would never end.
    """
    is_hot = (
        memory.residence == "hot"
        and memory.state == "active"
        and memory.scope == "global"
        and not why_not_hot(memory.content, limit=limits[memory.target])
    )
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
        namespace=memory.namespace if memory.namespace == GLOBAL else namespace,
        residence="cold",
        hot_tier=None,
        created_at=min(memory.created_at, now),
        updated_at=min(memory.updated_at, now),
        last_used_at=memory.last_used_at and min(memory.last_used_at, now),
        trashed_at=memory.trashed_at and min(memory.trashed_at, now),
    )
    draft = Draft(content=memory.content, ref=memory.refs[0] if memory.refs else "")
    return Candidate(
        draft=draft, routing=routing, memory=kept, hot=is_hot, reasons=(Reason(code="imported"),), spare_id=spare_id
    )


def _obstacle(code: str) -> Reason:
    rule = code.removeprefix("scanner_")
    return Reason(code=code) if rule == code else Reason(code="scanner", facts=(("rule", rule),))


def _row(draft: Draft, routing: Routing, *, new_id: str, namespace: str, now: datetime) -> Memory:
    until = draft.valid_until
    if draft.scope == "session" and until is None:
        until = now + timedelta(days=SESSION_SCOPE_DAYS)
    stale = routing.route == "stale"
    return Memory(
        id=new_id,
        namespace=namespace,
        content=draft.content,
        norm_hash=norm_hash(draft.content),
        kind=routing.kind,
        policy=routing.policy,
        protected=routing.protected,
        importance=routing.importance,
        importance_given=draft.importance is not None,
        target=routing.target,
        state="trashed" if stale else "active",
        trashed_at=now if stale else None,
        trash_reason="stale" if stale else "",
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
    return binned[0] if binned and binned[0].trash_reason == memory.trash_reason else None


def known_before(c: apsw.Connection, candidate: Candidate) -> Memory | None:
    """As ``known``, and for an export that comes back the row with its very id, whatever its text is now."""
    own = memories.by_id(c, candidate.memory.id, (candidate.memory.namespace,)) if candidate.spare_id else None
    return own or known(c, candidate.memory)


def record(
    c: apsw.Connection,
    candidate: Candidate,
    cause: Cause,
    *,
    tier: HotTier,
    fingerprint: int | None,
    parts: "NDArray[np.float32] | None",
) -> Recorded:
    """Do the one transition that a candidate leads to, inside the caller's transaction.

    The text is in the store when this is committed; a hot one still has to go to its file (``begun``).
    ``parts`` are its vectors [n, width]; without them a job is queued that makes them.
    """
    memory = candidate.memory
    if (same := known_before(c, candidate)) is not None:
        for ref in memory.refs:
            same = memories.add_ref(c, same, ref)
        if same.state == "active" and not candidate.spare_id:  # a copy that comes back says nothing new
            same = rows.confirm(c, same, cause)
        return Recorded(outcome="known" if same.state == "active" else "stale", memory=same, vector=True)
    turn.check_free(c, memory.namespace, cause.at, text=memory.content)
    if memories.id_taken(c, memory.id):
        memory = replace(memory, id=candidate.spare_id)
    stored = rows.add(c, memory, cause)
    if stored.state != "active":
        return Recorded(outcome="stale", memory=stored)
    if parts is not None and fingerprint is not None:
        vectors.attach(c, stored.seq, stored.content, fingerprint, parts)
    else:
        vectors.queue_job(c, stored.namespace, stored.seq, memories.to_ms(cause.at) or 0)
    begun = hot.begin(c, tier, stored, "add", cause) if candidate.hot else None
    return Recorded(outcome="hot" if candidate.hot else "cold", memory=stored, begun=begun, vector=parts is not None)
