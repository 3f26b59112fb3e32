"""Verdicts that had to wait: for the vector of a memory, or for the opinion of a language model."""

import logging
from contextlib import suppress
from dataclasses import replace

from memorycore.core.relate import relate
from memorycore.core.rooms import Rooms
from memorycore.domain.judge import Relation
from memorycore.domain.memory import Memory
from memorycore.errors import Conflict, HotFileError
from memorycore.govern import verdicts
from memorycore.intake import Decision, Judged, decide
from memorycore.lifecycle.rows import Cause
from memorycore.lifecycle.turn import BEING_CHANGED, in_turn
from memorycore.llm import DESTRUCTIVE, ChatEndpoint
from memorycore.search.neighbours import Scouted, neighbours
from memorycore.store import edges, memories, progress, vectors

_log = logging.getLogger(__name__)
ACTOR = "judge"
BATCH = 8
QUESTIONS = 4  # pairs that the model is asked about in one round
CHANGED = "model_changes"  # the piece of work: how many memories ended by verdicts of the model, since that day began


def judge_waiting(rooms: Rooms, *, limit: int = BATCH) -> int:
    """Judge memories that were stored before their vector was there, now by meaning too; how many were looked at.

    What was stored after one of them could not see its meaning, and is judged against it as well.
    """
    name = rooms.embedding.fingerprint(0)
    if name is None:
        return 0
    with rooms.db.read() as c:
        number = vectors.known_fingerprint(c, name)
        if number is None or not vectors.any_judgement(c):
            return 0
    with rooms.db.write() as c:
        seqs = vectors.due_judgements(c, rooms.options.namespace, number, limit=limit)
        waiting = memories.by_seq(c, seqs, rooms.namespaces)
    looked_at = 0
    for seq in seqs:
        if seq in waiting and not _judge(rooms, waiting[seq], number, name):
            continue  # somebody is at one of the two; the next round looks again
        with rooms.db.write() as c:
            vectors.finish_judgement(c, seq)
        looked_at += 1
    return looked_at


def _judge(rooms: Rooms, memory: Memory, number: int, name: str) -> bool:
    with rooms.db.read() as c:
        parts = vectors.cached_parts(c, memory.content, number)
    if parts is None:
        return True
    scouted = rooms.admission.scout.look(
        {memory.content: parts}, memory.namespace, fingerprint=name, calibration=rooms.embedding.calibration
    )
    return _judge_beside(rooms, memory, scouted)


def judge_now(rooms: Rooms, memory: Memory) -> None:
    """Judge a memory that comes into use late, by its words."""
    _judge_beside(rooms, memory, Scouted())


def _judge_beside(rooms: Rooms, memory: Memory, scouted: Scouted) -> bool:
    """Judge a memory against what came before it, and what came after it against the memory; False: not now."""
    own = {tier.id for tier in rooms.tiers.values()}
    with rooms.db.read() as c:
        joined = {edge.src if edge.dst == memory.id else edge.dst for edge in edges.of(c, memory.id, rooms.namespaces)}
        near = [item for item in neighbours(c, memory, scouted) if item.memory.id not in joined]
        earlier = [(item.memory, item.likeness) for item in near if item.memory.seq < memory.seq]
        decisions = [(memory, decide(c, memory, earlier, untrusted="untrusted" in memory.flags, own_tiers=own))]
        for item in near:
            later = item.memory
            if later.seq > memory.seq and later.state == "active":
                beside = [(memory, item.likeness)]
                untrusted = "untrusted" in later.flags
                decisions.append((later, decide(c, later, beside, untrusted=untrusted, own_tiers=own)))
    drawn = [_draw(rooms, newer, decision) for newer, decision in decisions]
    return all(drawn)


def _draw(rooms: Rooms, memory: Memory, decision: Decision) -> bool:
    """The consequences of a decision on a memory that is in the store already; False: somebody is at one of the two."""
    into = (decision.into,) if decision.into else ()
    for item in (*into, *decision.superseded, *decision.disputed, *decision.proposed):
        cause = replace(
            rooms.cause(ACTOR, item.relation), automatic=True, facts={"evidence": item.evidence(), "later": True}
        )
        try:
            in_turn(relate)(rooms, item.memory.id, memory.id, item.verdict.relation, cause, evidence=item.evidence())
        except (Conflict, HotFileError) as error:  # somebody was faster, or it waits as a proposal
            _log.info("a verdict was not carried out: %s", error.code)
            if error.facts.get("why") == BEING_CHANGED:
                return False
        if item.relation == "same":
            return True
    _ask_about(rooms, memory, decision.undecided)
    return True


def _ask_about(rooms: Rooms, memory: Memory, undecided: tuple[Judged, ...]) -> None:
    if rooms.options.llm.active and undecided:
        now_ms = memories.to_ms(rooms.clock()) or 0
        with rooms.db.write() as c:
            for item in undecided:
                verdicts.queue_pair(c, memory.namespace, memory.id, item.memory.id, now_ms)


def ask_model(rooms: Rooms, endpoint: ChatEndpoint) -> bool:
    """One round of questions to the language model; whether it answered any.

    A model that errs may err in everything: on one day it ends so many memories at most, and undo brings each back.
    """
    left = rooms.options.llm.changes_a_day - _changed_today(rooms)
    if left <= 0:
        return False

    def apply(old_id: str, new_id: str, relation: Relation) -> None:
        facts: dict[str, object] = {"model": rooms.options.llm.model}
        cause = replace(_by_model(rooms, relation), facts=facts)
        if relation != "different" and not _is_decided(rooms, old_id, new_id):
            with suppress(HotFileError):  # it waits as a proposal
                events = in_turn(relate)(
                    rooms, old_id, new_id, relation, cause, evidence=({"code": "model", "old": "", "new": ""},)
                )
                if events and relation in DESTRUCTIVE:
                    _count_change(rooms)

    done = verdicts.settle(
        rooms.db, endpoint, namespaces=(rooms.options.namespace,), clock=rooms.clock, apply=apply,
        limit=min(left, QUESTIONS),
    )  # fmt: skip
    return bool(done.judged or done.failed)


def _changed_today(rooms: Rooms) -> int:
    with rooms.db.read() as c:
        told = progress.of(c, rooms.options.namespace, CHANGED)
    is_of_today = told.at is not None and told.at.date() == rooms.clock().date()
    return int(told.value) if is_of_today else 0


def _count_change(rooms: Rooms) -> None:
    count = _changed_today(rooms) + 1
    with rooms.db.write() as c:
        progress.put(c, rooms.options.namespace, CHANGED, str(count), rooms.clock())


def _is_decided(rooms: Rooms, old_id: str, new_id: str) -> bool:
    """Whether a person has said by now how the two stand to each other."""
    with rooms.db.read() as c:
        joined = (edge for edge in edges.of(c, old_id, rooms.namespaces) if new_id in {edge.src, edge.dst})
        return any(edge.status in {"settled", "rejected"} for edge in joined)


def _by_model(rooms: Rooms, relation: Relation) -> Cause:
    return replace(rooms.cause("llm", relation), automatic=True)
