"""One candidate, one transition: what the transaction of a store does, and what it leaves to do in the hot file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import apsw

from memorycore.domain.memory import WANTED_GONE, Memory, Target
from memorycore.domain.routing import Reason
from memorycore.domain.text import norm_hash
from memorycore.errors import HotFileError
from memorycore.hot.document import DELIMITER, why_not_hot
from memorycore.hot.tier import HotTier
from memorycore.intake.candidate import QUARANTINED, REJECTED, Candidate, known_before, pointed_at
from memorycore.intake.judging import Decision, Judged, decide, holds, inherited, is_guarded
from memorycore.lifecycle import hot, relations, rows, turn
from memorycore.lifecycle.rows import Cause
from memorycore.search.neighbours import Scouted, neighbours
from memorycore.store import edges, memories, only_row, pairs, vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Outcome = Literal["hot", "cold", "stale", "known", "fallback", "refused", "quarantined", "updated"]
BY_IMPORTANCE = ("importance",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What recording works with.

    ``importance_share``: of a file's rule budget, what importance alone may protect. ``asks_model``: pairs that the
    rules leave open wait for a language model.
    """

    tiers: Mapping[Target, HotTier]
    scouted: Scouted
    importance_share: float
    quota: int
    asks_model: bool = False
    fingerprint: int | None = None


@dataclass(slots=True, kw_only=True)
class Recorded:
    """What the transaction did: which row holds the text now, and what is still to happen to the hot file.

    ``begun``: the text is to go into it; ``leaving``: entries of memories that it supersedes are to go out;
    ``rewording``: an entry is to get this text, with ``changes`` of its row. ``before`` is the text that it replaces.
    ``events`` are numbers for undo. ``pushed_out``: how many entries left the file to make room for it and for those
    of its batch that follow.
    """

    outcome: Outcome
    memory: Memory
    begun: hot.Begun | None = None
    leaving: list[hot.Begun] = field(default_factory=list[hot.Begun])
    rewording: hot.Begun | None = None
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    vector: bool = True
    decision: Decision = field(default_factory=Decision)
    events: list[int] = field(default_factory=list[int])
    before: str = ""
    pushed_out: int = 0
    reasons: tuple[Reason, ...] = ()


def record(
    c: apsw.Connection, candidate: Candidate, cause: Cause, bench: Bench, parts: "NDArray[np.float32] | None"
) -> Recorded:
    """Do the one transition that a candidate leads to, inside the caller's transaction.

    The text is in the store when this is committed. ``parts`` are its vectors [n, width]; without them a job is queued
    that makes them.
    """
    memory = candidate.memory
    if (same := pointed_at(c, candidate)) is not None:
        return Recorded(outcome="known", memory=same, reasons=(Reason(code="known_already"),))
    if candidate.refused:
        return Recorded(outcome="refused", memory=memory, reasons=(Reason(code=candidate.refused),))
    if (met := _met_before(c, candidate, cause, bench)) is not None:
        return met
    turn.check_free(c, memory.namespace, cause.at, text=memory.content)
    if memories.id_taken(c, memory.id):
        memory = replace(memory, id=candidate.spare_id)
    if memory.state != "active":
        return _bin(c, memory, cause)
    return _judge_in(c, replace(candidate, memory=memory), cause, bench, parts)


def _judge_in(
    c: apsw.Connection, candidate: Candidate, cause: Cause, bench: Bench, parts: "NDArray[np.float32] | None"
) -> Recorded:
    """Add a new text, or put it into the memory that says the same or less."""
    memory = candidate.memory
    decision = judged(c, candidate, bench)
    if (full := over_quota(c, memory, decision, bench)) is not None:
        return Recorded(outcome="refused", memory=memory, reasons=(full,))
    if not candidate.spare_id:
        edges.lift_tombstone(c, memory.namespace, memory.norm_hash)
    if decision.into is None:
        return _add(c, candidate, decision, cause, bench, parts)
    if (merged := _merge(c, candidate, decision, cause, bench, parts)) is not None:
        return merged
    why = _why_not_reworded(bench, decision.into.memory, memory.content)
    decision = replace(decision, into=None, proposed=(*decision.proposed, decision.into))
    added = _add(c, candidate, decision, cause, bench, parts)
    added.reasons = (Reason(code=why), *added.reasons)
    return added


def judged(c: apsw.Connection, candidate: Candidate, bench: Bench, *, archived: int = 0) -> Decision:
    """The decision on a candidate; an export that comes back was judged when it was stored first.

    ``archived``: how many that are superseded or in the bin are looked at too, for somebody who wants to see them:
    nothing follows from these.
    """
    if candidate.spare_id or candidate.memory.state != "active":
        return Decision()
    found = [(near.memory, near.likeness) for near in neighbours(c, candidate.memory, bench.scouted, archived=archived)]
    own = {tier.id for tier in bench.tiers.values()}
    return decide(c, candidate.memory, found, untrusted=candidate.untrusted, own_tiers=own)


def over_quota(c: apsw.Connection, memory: Memory, decision: Decision, bench: Bench) -> Reason | None:
    """Why there is no room for one more memory. What goes into another, or ends another, makes them no more."""
    if memory.state != "active" or decision.into is not None or decision.superseded:
        return None
    if (only_row(c, "newest_row")[0] or 0) < bench.quota:  # so many rows there have never been
        return None
    if only_row(c, "count_active", {"namespace": memory.namespace})[0] < bench.quota:
        return None
    return Reason(code="quota_full", facts=(("limit", bench.quota),))


def _met_before(c: apsw.Connection, candidate: Candidate, cause: Cause, bench: Bench) -> Recorded | None:
    """What becomes of a text that the store has already, or had until a person wanted it gone."""
    same = known_before(c, candidate)
    gone = _wanted_gone(c, candidate, same, cause)
    if gone is None and same is None:
        if (row := sent_again(c, candidate)) is not None:
            reasons = (Reason(code="known_already"), Reason(code="replaced_since"))
            return Recorded(outcome="known", memory=row, reasons=reasons)
        return _in_other_words(c, candidate, cause)
    if gone is not None or same is None or same.state == "purged":
        return gone
    return _known(c, candidate, same, cause, bench)


def _wanted_gone(c: apsw.Connection, candidate: Candidate, same: Memory | None, cause: Cause) -> Recorded | None:
    """An export that would bring back what a person wanted gone stays out, and the ledger says that it came.

    A person's own words are no export: they bring back whatever they say.
    """
    memory = candidate.memory
    if not candidate.spare_id or memory.state != "active" or (same is not None and same.state == "active"):
        return None
    grave = edges.tombstone(c, memory.namespace, memory.norm_hash)
    if same is None and grave is not None:
        same = memories.by_id(c, grave, (memory.namespace,))
    if grave is None and (same is None or same.trash_reason not in WANTED_GONE):
        return None
    if same is None:
        return Recorded(outcome="refused", memory=memory, reasons=(Reason(code="wanted_gone"),))
    rows.record(c, same, same, "kept_away", replace(cause, reason="wanted_gone"))
    facts = (("id", same.id),) if same.state == "trashed" else ()
    return Recorded(outcome="refused", memory=same, reasons=(Reason(code="wanted_gone", facts=facts),))


def _known(c: apsw.Connection, candidate: Candidate, same: Memory, cause: Cause, bench: Bench) -> Recorded:
    turn.check_stays(c, same, cause.at)
    if same.state == "active" and not candidate.spare_id:  # a copy that comes back says nothing new
        return _said_again(c, candidate, same, cause, bench)
    for ref in candidate.memory.refs:
        same = memories.add_ref(c, same, ref)
    if same.state == "active":
        return Recorded(outcome="known", memory=same, reasons=(Reason(code="known_already"),))
    seen = (Reason(code="rejected_before"),) if same.trash_reason == REJECTED else ()
    shut = same.trash_reason in {QUARANTINED, REJECTED}
    return Recorded(outcome="quarantined" if shut else "stale", memory=same, reasons=seen)


def sent_again(c: apsw.Connection, candidate: Candidate) -> Memory | None:
    """The caller's own reference with a text that came under it before: nobody says anything, a list is read again.

    What has taken the place of that text since then stays.
    """
    new = candidate.memory
    if new.state != "active" or candidate.spare_id:
        return None
    for ref in new.refs:
        for row in memories.select(c, "memories_by_ref", namespace=new.namespace, ref=ref):
            said = (row.content, *(str(revision["content"]) for revision in memories.revisions(c, row)))
            if new.norm_hash in map(norm_hash, said):
                return row
    return None


def _in_other_words(c: apsw.Connection, candidate: Candidate, cause: Cause) -> Recorded | None:
    """A wording that is in the bin since another memory says the same: that is what was said again."""
    new = candidate.memory
    binned = memories.select(c, "binned_by_norm_hash", namespace=new.namespace, norm_hash=new.norm_hash)
    if new.state != "active" or candidate.spare_id or not binned or binned[0].trash_reason != "same":
        return None
    told = [event.facts["as"] for event in memories.events(c, binned[0].id, (new.namespace,)) if "as" in event.facts]
    kept = memories.by_id(c, str(told[-1]), (new.namespace,)) if told else None
    if kept is None or not holds(kept, cause.at) or kept.scope != new.scope:
        return None
    if new.scope == "session" and kept.session_id != new.session_id:
        return None
    turn.check_stays(c, kept, cause.at)
    for ref in new.refs:
        kept = memories.add_ref(c, kept, ref)
    said = replace(cause, automatic=True, reason="said_again", facts={**cause.facts, "said": new.content})
    kept = rows.confirm(c, kept, said)
    events = [c.last_insert_rowid()]
    return Recorded(outcome="known", memory=kept, events=events, before=kept.content, reasons=(Reason(code="same"),))


def _said_again(c: apsw.Connection, candidate: Candidate, same: Memory, cause: Cause, bench: Bench) -> Recorded:
    """The same once more: counted, and whatever the caller says beside it holds from now on.

    What was over holds again; what was said in between may contradict it.
    """
    changes = {} if candidate.untrusted or is_guarded(same) else _given(same, candidate)
    is_over = same.valid_until is not None and same.valid_until <= cause.at
    if is_over:
        changes["valid_until"] = candidate.memory.valid_until
    decision = _claimed(c, _against_later(c, candidate, same, bench, is_over=is_over), cause)
    for ref in candidate.memory.refs:
        same = memories.add_ref(c, same, ref)
    recorded = Recorded(outcome="known", memory=same, decision=decision, changes=changes)
    if changes:
        same = rows.revise(c, same, changes, replace(cause, reason="said_again"))
        recorded.events.append(c.last_insert_rowid())
    recorded.memory = rows.confirm(c, same, cause)
    _follow(c, recorded.memory, decision, cause, bench, recorded)
    told = (*(["holds_again"] if is_over else []), *(["taken_over"] if changes.keys() - {"valid_until"} else []))
    recorded.reasons = (Reason(code="known_already"), *(Reason(code=code) for code in told), *recorded.reasons)
    return recorded


def _against_later(c: apsw.Connection, candidate: Candidate, same: Memory, bench: Bench, *, is_over: bool) -> Decision:
    """What a text that is said again means for those that were said in between.

    A sign that it is the newer one ends them once more; that they contradict it is known, unless it was over.
    """
    again = replace(candidate, memory=replace(candidate.memory, id=same.id))
    decision = judged(c, again, bench)
    if is_over:
        return replace(decision, into=None)
    decided = {
        other
        for edge in edges.of(c, same.id, (same.namespace,))
        for other in (edge.src, edge.dst)
        if edge.status in {"settled", "rejected"}
    }
    ended = tuple(item for item in decision.superseded if item.memory.seq > same.seq and item.memory.id not in decided)
    return Decision(judged=decision.judged, superseded=ended)


def _given(same: Memory, candidate: Candidate) -> dict[str, Any]:
    """What a caller says of a text that is known already, beside the text, and that is not so yet."""
    changes = _refinement(same, candidate)
    changes.pop("content", None)
    if candidate.draft.policy is None:  # what protects follows from the text, which is the same
        changes.pop("protected", None)
    return changes


def _claimed(c: apsw.Connection, decision: Decision, cause: Cause) -> Decision:
    """The decision with the rows that will end as they stand now, nobody else at them."""
    now = tuple(replace(item, memory=turn.claim(c, item.memory, cause.at)) for item in decision.superseded)
    return replace(decision, superseded=now)


def _bin(c: apsw.Connection, memory: Memory, cause: Cause) -> Recorded:
    stored = rows.add(c, memory, replace(cause, automatic=True))
    event = c.last_insert_rowid()
    quarantined = stored.trash_reason == QUARANTINED
    if not quarantined:
        vectors.queue_binned(c, stored.namespace, stored.seq, memories.to_ms(cause.at) or 0)
    return Recorded(outcome="quarantined" if quarantined else "stale", memory=stored, events=[event])


def _merge(
    c: apsw.Connection,
    candidate: Candidate,
    decision: Decision,
    cause: Cause,
    bench: Bench,
    parts: "NDArray[np.float32] | None",
) -> Recorded | None:
    """Put the candidate into the memory that says the same or less; None where its entry cannot take the wording."""
    into, new = decision.into, candidate.memory
    if into is None:
        return None
    old = turn.claim(c, into.memory, cause.at, new_text=new.content)
    auto = _because(cause, into)
    if into.relation == "same":
        for ref in new.refs:
            old = memories.add_ref(c, old, ref)
        said = replace(auto, reason="said_again", facts={**auto.facts, "said": new.content})
        old = rows.confirm(c, old, said)
        reasons = (Reason(code="same"),)
        return Recorded(
            outcome="known", memory=old, decision=decision, events=[c.last_insert_rowid()], before=into.memory.content,
            reasons=reasons,
        )  # fmt: skip
    for ref in new.refs:
        old = memories.add_ref(c, old, ref)
    changes = _refinement(old, candidate)
    auto = replace(auto, reason="refined")
    recorded = Recorded(
        outcome="updated", memory=old, decision=decision, before=old.content, changes=changes,
        reasons=(Reason(code="refines"),),
    )  # fmt: skip
    if old.residence == "hot":
        if _why_not_reworded(bench, old, new.content):
            return None
        recorded.rewording = hot.begin(c, bench.tiers[old.target], old, "replace", auto, new_text=new.content)
        return recorded
    recorded.memory = rows.revise(c, old, changes, auto)
    recorded.events = [c.last_insert_rowid()]
    recorded.vector = _attach(c, recorded.memory, bench, parts)
    if candidate.hot and recorded.memory.hot_tier in {None, bench.tiers[recorded.memory.target].id}:
        recorded.begun = hot.begin(c, bench.tiers[recorded.memory.target], recorded.memory, "add", cause)
    return recorded


def _refinement(old: Memory, candidate: Candidate) -> dict[str, Any]:
    """What a memory gets from the wording that says more: that, and whatever the caller said beside it."""
    draft, new = candidate.draft, candidate.memory
    given: dict[str, Any] = {
        "content": new.content,
        "tags": tuple(dict.fromkeys((*old.tags, *new.tags))),
        "kind": draft.kind, "policy": draft.policy, "valid_from": draft.valid_from, "valid_until": draft.valid_until,
        "occurred_at": draft.occurred_at, "importance": draft.importance, "source": draft.source,
        "importance_given": True if draft.importance is not None else None,
        "protected": tuple(dict.fromkeys((*old.protected, *new.protected))),
    }  # fmt: skip
    return {name: value for name, value in given.items() if value is not None and value != getattr(old, name)}


def _why_not_reworded(bench: Bench, old: Memory, content: str) -> str:
    """Why the entry of a memory cannot have this text now; empty when it can."""
    tier = bench.tiers[old.target]
    if why := why_not_hot(content, limit=tier.limit):
        return "scanner" if why.startswith("scanner_") else why
    try:
        tier.document()
    except HotFileError:
        return "file_unusable"
    return "" if len(content) <= tier.ceiling else "no_room"  # room is made when the file is changed


def _add(
    c: apsw.Connection,
    candidate: Candidate,
    decision: Decision,
    cause: Cause,
    bench: Bench,
    parts: "NDArray[np.float32] | None",
) -> Recorded:
    decision = _claimed(c, decision, cause)
    later = _is_later(candidate.memory, cause)
    hot_ones = [item.memory for item in decision.superseded if item.memory.residence == "hot" and not later]
    candidate = _heir(candidate, hot_ones, bench)
    if decision.waits:  # beside what it contradicts, it would be obeyed already
        candidate = replace(candidate, hot=False)
    candidate, reasons = within_share(c, candidate, bench)
    stored = rows.add(c, candidate.memory, cause)
    recorded = Recorded(outcome="hot" if candidate.hot else "cold", memory=stored, decision=decision, reasons=reasons)
    recorded.vector = _attach(c, stored, bench, parts, judge=not candidate.spare_id)
    if candidate.hot:
        recorded.begun = hot.begin(c, bench.tiers[stored.target], stored, "add", cause)
    _follow(c, stored, decision, cause, bench, recorded)
    return recorded


def _is_later(memory: Memory, cause: Cause) -> bool:
    """Whether it begins to hold in the future."""
    return memory.valid_from is not None and memory.valid_from > cause.at


def _follow(
    c: apsw.Connection, stored: Memory, decision: Decision, cause: Cause, bench: Bench, recorded: Recorded
) -> None:
    """What an added memory does to those that it was judged against."""
    later = _is_later(stored, cause)
    reasons: list[Reason] = []
    for item in decision.superseded:
        reasons.append(Reason(code="supersedes"))
        recorded.before = recorded.before or item.memory.content
        auto = _because(cause, item)
        if item.memory.in_file and not later:
            tier = bench.tiers[item.memory.target]
            gone = hot.begin(c, tier, item.memory, "remove", replace(auto, reason="superseded"), by=stored.id)
            recorded.leaving.append(gone)
        else:
            recorded.events.append(relations.supersede(c, item.memory, stored, auto, evidence=item.evidence()))
    for item in decision.disputed:
        reasons.append(Reason(code="disputes"))
        recorded.before = recorded.before or item.memory.content
        recorded.events.append(
            relations.dispute(c, item.memory, stored, _because(cause, item), evidence=item.evidence())
        )
    for item in decision.exceptions:
        reasons.append(Reason(code="exception_to"))
        recorded.events.append(
            relations.allow_exception(c, item.memory, stored, _because(cause, item), evidence=item.evidence())
        )
    for item in decision.proposed:
        reasons.append(Reason(code="proposed"))
        recorded.before = recorded.before or item.memory.content
        wanted: edges.Relation = "refines" if item.relation == "refines" else "supersedes"
        recorded.events.append(
            relations.propose(c, item.memory, stored, wanted, _because(cause, item), evidence=item.evidence())
        )
    if bench.asks_model:
        for item in decision.undecided:
            pairs.queue(c, stored.namespace, stored.id, item.memory.id, memories.to_ms(cause.at) or 0)
    if decision.held_off:
        reasons.append(Reason(code="judged_before"))
    recorded.reasons = (*dict.fromkeys(reasons), *recorded.reasons)


def _because(cause: Cause, item: Judged) -> Cause:
    """A cause for what the judge decided, with its evidence for the ledger."""
    return replace(cause, automatic=True, reason=item.relation, facts={**cause.facts, "evidence": item.evidence()})


def _heir(candidate: Candidate, superseded: list[Memory], bench: Bench) -> Candidate:
    """What takes the place of a hot entry is hot as well, and is what that was, unless the caller said otherwise."""
    memory, draft = candidate.memory, candidate.draft
    if not superseded or memory.scope != "global":
        return candidate
    given = {name for name in ("target", "kind", "policy") if getattr(draft, name) is not None}
    legacy = {name: value for name, value in inherited(superseded[0], memory).items() if name not in given}
    memory = replace(memory, **legacy)
    is_hot = not why_not_hot(memory.content, limit=bench.tiers[memory.target].limit)
    return replace(candidate, memory=memory, hot=is_hot)


def within_share(c: apsw.Connection, candidate: Candidate, bench: Bench) -> tuple[Candidate, tuple[Reason, ...]]:
    """Take the protection of a text that has it for its importance alone, where such texts have their share already."""
    memory = candidate.memory
    if not candidate.hot or memory.protected != BY_IMPORTANCE:
        return candidate, ()
    tier = bench.tiers[memory.target]
    where = {"namespace": tier.namespace, "hot_tier": tier.id, "protected": json.dumps(BY_IMPORTANCE)}
    texts, chars = only_row(c, "protected_alike", where)
    held = chars + texts * len(DELIMITER)
    if held + len(memory.content) <= int(bench.importance_share * tier.marks.rule_budget):
        return candidate, ()
    freed = replace(candidate, memory=replace(memory, protected=()))
    return freed, (Reason(code="importance_share_full"),)


def _attach(
    c: apsw.Connection, memory: Memory, bench: Bench, parts: "NDArray[np.float32] | None", *, judge: bool = True
) -> bool:
    """Store the vectors of a memory, or ask for them, and with ``judge`` for a verdict then; whether they are there."""
    if parts is not None and bench.fingerprint is not None:
        vectors.attach(c, memory.seq, memory.content, bench.fingerprint, parts)
        return True
    now_ms = memories.to_ms(memory.updated_at) or 0
    vectors.queue_job(c, memory.namespace, memory.seq, now_ms)
    if judge:
        vectors.queue_judgement(c, memory.namespace, memory.seq, now_ms)
    return False
