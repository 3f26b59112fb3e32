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
from memorycore.llm import ChatEndpoint
from memorycore.search.neighbours import Scouted, neighbours
from memorycore.store import edges, memories, vectors

_log = logging.getLogger(__name__)
ACTOR = "judge"
BATCH = 8


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
    for seq in seqs:
        if seq in waiting:
            _judge(rooms, waiting[seq], number, name)
        with rooms.db.write() as c:
            vectors.finish_judgement(c, seq)
    return len(seqs)


def _judge(rooms: Rooms, memory: Memory, number: int, name: str) -> None:
    with rooms.db.read() as c:
        parts = vectors.cached_parts(c, memory.content, number)
    if parts is None:
        return
    scouted = rooms.admission.scout.look(
        {memory.content: parts}, memory.namespace, fingerprint=name, calibration=rooms.embedding.calibration
    )
    _judge_beside(rooms, memory, scouted)


def judge_now(rooms: Rooms, memory: Memory) -> None:
    """Judge a memory that comes into use late, by its words."""
    _judge_beside(rooms, memory, Scouted())


def _judge_beside(rooms: Rooms, memory: Memory, scouted: Scouted) -> None:
    """Judge a memory against what came before it, and what came after it against the memory."""
    with rooms.db.read() as c:
        joined = {edge.src if edge.dst == memory.id else edge.dst for edge in edges.of(c, memory.id, rooms.namespaces)}
        near = [item for item in neighbours(c, memory, scouted) if item.memory.id not in joined]
        earlier = [(item.memory, item.likeness) for item in near if item.memory.seq < memory.seq]
        decisions = [(memory, decide(c, memory, earlier, untrusted="untrusted" in memory.flags))]
        for item in near:
            later = item.memory
            if later.seq > memory.seq and later.state == "active":
                beside = [(memory, item.likeness)]
                decisions.append((later, decide(c, later, beside, untrusted="untrusted" in later.flags)))
    for newer, decision in decisions:
        _draw(rooms, newer, decision)


def _draw(rooms: Rooms, memory: Memory, decision: Decision) -> None:
    """The consequences of a decision on a memory that is in the store already."""
    into = (decision.into,) if decision.into else ()
    for item in (*into, *decision.superseded, *decision.disputed, *decision.proposed):
        cause = replace(
            rooms.cause(ACTOR, item.relation), automatic=True, facts={"evidence": item.evidence(), "later": True}
        )
        try:
            relate(rooms, item.memory.id, memory.id, item.verdict.relation, cause, evidence=item.evidence())
        except (Conflict, HotFileError) as error:  # somebody was faster, or it waits as a proposal
            _log.info("a verdict was not carried out: %s", error.code)
        if item.relation == "same":
            return
    _ask_about(rooms, memory, decision.undecided)


def _ask_about(rooms: Rooms, memory: Memory, undecided: tuple[Judged, ...]) -> None:
    if rooms.options.llm.active and undecided:
        now_ms = memories.to_ms(rooms.clock()) or 0
        with rooms.db.write() as c:
            for item in undecided:
                verdicts.queue_pair(c, memory.namespace, memory.id, item.memory.id, now_ms)


def ask_model(rooms: Rooms, endpoint: ChatEndpoint) -> bool:
    """One round of questions to the language model; whether it answered any."""

    def apply(old_id: str, new_id: str, relation: Relation) -> None:
        facts: dict[str, object] = {"model": rooms.options.llm.model}
        cause = replace(_by_model(rooms, relation), facts=facts)
        if relation != "different" and not _is_decided(rooms, old_id, new_id):
            with suppress(HotFileError):  # it waits as a proposal
                relate(rooms, old_id, new_id, relation, cause, evidence=({"code": "model", "old": "", "new": ""},))

    done = verdicts.settle(rooms.db, endpoint, namespaces=(rooms.options.namespace,), clock=rooms.clock, apply=apply)
    return bool(done.judged or done.failed)


def _is_decided(rooms: Rooms, old_id: str, new_id: str) -> bool:
    """Whether a person has said by now how the two stand to each other."""
    with rooms.db.read() as c:
        joined = (edge for edge in edges.of(c, old_id, rooms.namespaces) if new_id in {edge.src, edge.dst})
        return any(edge.status in {"settled", "rejected"} for edge in joined)


def _by_model(rooms: Rooms, relation: Relation) -> Cause:
    return replace(rooms.cause("llm", relation), automatic=True)
