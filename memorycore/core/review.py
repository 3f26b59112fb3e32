"""What waits for a person, and what becomes of it when one has decided. Every decision can be undone."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal, get_args

from memorycore import answers, reply_review
from memorycore.core import entering, second_look
from memorycore.core.change import check_unknown
from memorycore.core.entering import Entered
from memorycore.core.relate import may_be_hot, relate
from memorycore.core.rooms import Rooms
from memorycore.domain.memory import Memory
from memorycore.domain.routing import Routing, route
from memorycore.errors import InvalidInput
from memorycore.govern import waiting
from memorycore.govern.waiting import Waiting
from memorycore.hot.document import why_not_hot
from memorycore.lifecycle import hot, relations, rows, turn
from memorycore.lifecycle.rows import Cause
from memorycore.lifecycle.turn import in_turn
from memorycore.reply_review import Outcome
from memorycore.store import edges, memories, vectors

Choice = Literal["new", "old", "both", "accept", "trust", "reject"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
LEFT = "left"  # the flag of an entry that a person has seen and left as it is
_OF_TWO: Mapping[str, str] = {"new": "--keep new", "old": "--keep old", "both": "--keep both"}
_OF_A_TEXT: Mapping[str, str] = {"reject": "--reject", "accept": "--accept", "trust": "--accept --trust"}


def review(rooms: Rooms) -> answers.Review:
    """Everything that waits, with the exact commands that decide it."""
    rooms.touch()
    with rooms.db.read() as c:
        items = list(waiting.everything(c, rooms.namespaces))
        counts = waiting.counts(c, rooms.namespaces)
    return reply_review.review(items, counts, rooms.options.language)


@in_turn
def decide(rooms: Rooms, number: str, choice: Choice, *, actor: str, dry_run: bool = False) -> answers.Decided:
    """Do what somebody decided about one thing that waits."""
    rooms.touch()
    with rooms.db.read() as c:
        one = waiting.by_number(c, number, rooms.namespaces)
    if one is None:
        raise InvalidInput(field="NUMBER", why="nothing_waits", value=number)
    ways = _ways(one)
    if choice not in ways:
        raise InvalidInput(field=one.number, why="decided_with", ways=", ".join(ways.values()))
    facts: dict[str, object] = {"review": one.number}
    if one.edge is not None:
        facts["reopens"] = {str(one.edge.id): one.edge.status}
    cause = replace(rooms.cause(actor, "review"), facts=facts)
    outcome = _would_be(rooms, one, choice) if dry_run else _carried_out(rooms, one, choice, cause)
    return reply_review.decided(one.number, outcome, rooms.options.language, run=cause.run, dry_run=dry_run)


def _ways(one: Waiting) -> Mapping[str, str]:
    if one.old is not None:
        return _OF_TWO
    left_out = set[str]()
    if one.kind == "flagged":
        left_out = {"reject"} if "untrusted" in one.new.flags else {"reject", "trust"}
    return {choice: way for choice, way in _OF_A_TEXT.items() if choice not in left_out}


def _carried_out(rooms: Rooms, one: Waiting, choice: Choice, cause: Cause) -> Outcome:
    match choice:
        case "new":
            return _keep_new(rooms, one, cause)
        case "old":
            return _keep_old(rooms, one, cause)
        case "both":
            return _keep_both(rooms, one, cause)
        case "accept":
            return _leave(rooms, one, cause) if one.kind == "flagged" else _accept(rooms, one, cause)
        case "trust":
            return _trust(rooms, one, cause)
        case "reject":
            return _reject(rooms, one, cause)


def _keep_new(rooms: Rooms, one: Waiting, cause: Cause) -> Outcome:
    """The old one ends, also where automation must leave it alone: a person decides."""
    old, edge = _pair(one)
    relation = "refines" if edge.relation == "refines" else "supersedes"
    relate(rooms, old.id, one.new.id, relation, cause, evidence=edge.evidence)
    _close(rooms, edge, cause)
    rooms.catch_up()
    now = rooms.any(one.new.id)
    lost_place = old.residence == "hot" and now.residence != "hot"
    return Outcome(status="kept_new", memory=now, gone=old, reasons=("stays_cold",) if lost_place else ())


def _keep_old(rooms: Rooms, one: Waiting, cause: Cause) -> Outcome:
    old, edge = _pair(one)
    tier = rooms.tier_of(one.new) if one.new.in_file else None
    against = replace(cause, facts={**cause.facts, "against": old.id})
    with rooms.db.write() as c:
        new = turn.claim(c, one.new, cause.at)
        begun = hot.begin(c, tier, new, "remove", against) if tier else None
        done = hot.Done(memory=new if begun else rows.trash(c, new, against))
    if tier and begun:
        done = hot.discard(rooms.db, tier, begun, against)
    _close(rooms, edge, cause)
    until = cause.at + timedelta(days=rooms.options.trash_days)
    return Outcome(status="kept_old", memory=old, gone=one.new, until=until, usage=done.usage)


def _keep_both(rooms: Rooms, one: Waiting, cause: Cause) -> Outcome:
    old, edge = _pair(one)
    with rooms.db.write() as c:
        new = turn.claim(c, one.new, cause.at)
        relations.settle(c, turn.claim(c, old, cause.at), new, edge, cause)
        routing, _ = _as_own(new)
        tier = rooms.tiers[routing.target]
        kept_out = one.kind == "proposal" and new.residence != "hot" and "untrusted" not in new.flags
        to_hot = kept_out and _goes_hot(rooms, new, routing)
        begun = hot.begin(c, tier, new, "add", cause) if to_hot else None
    entered = entering.enter(rooms, tier, [begun], cause) if begun else Entered()
    return Outcome(status="kept_both", memory=rooms.any(new.id), gone=old, reasons=entered.reasons)


def _close(rooms: Rooms, edge: edges.Edge, cause: Cause) -> None:
    """Close what was open, unless the decision has made another thing of it already."""
    with rooms.db.write() as c:
        now = edges.by_number(c, edge.id, rooms.namespaces)
        if now is not None and now.status in edges.WAITING:
            edges.settle(c, now, "settled", by=cause.actor, at=cause.at)


def _accept(rooms: Rooms, one: Waiting, cause: Cause) -> Outcome:
    """Out of quarantine, as data from elsewhere: found when asked for, never in the prompt."""
    check_unknown(rooms, replace(one.new, state="active"), field="NUMBER")
    with rooms.db.write() as c:
        memory = _back(c, one.new, cause)
    return Outcome(status="accepted", memory=_compared(rooms, memory))


def _back(c: Any, memory: Memory, cause: Cause) -> Memory:
    found = turn.claim(c, memory, cause.at, new_text=memory.content)
    restored = rows.restore(c, found, replace(cause, reason="accepted"))
    vectors.queue_judgement(c, restored.namespace, restored.seq, memories.to_ms(cause.at) or 0)
    return restored


def _compared(rooms: Rooms, memory: Memory) -> Memory:
    """A text that comes in late is judged like every other: by its words now, by its meaning with its vector."""
    second_look.judge_now(rooms, memory)
    rooms.catch_up()
    return rooms.any(memory.id)


def _trust(rooms: Rooms, one: Waiting, cause: Cause) -> Outcome:
    """A text that only reads like an order from elsewhere becomes what it would have been as the user's own."""
    memory, in_bin = one.new, one.new.state == "trashed"
    routing, changes = _as_own(memory)
    if in_bin:
        check_unknown(rooms, replace(memory, state="active"), field="NUMBER")
    tier = rooms.tier_of(memory) if memory.residence == "hot" else rooms.tiers[routing.target]
    begun, entered = None, Entered()
    with rooms.db.write() as c:
        memory = _back(c, memory, cause) if in_bin else turn.claim(c, memory, cause.at)
        memory = rows.revise(c, memory, changes, replace(cause, reason="trusted"))
        if in_bin and _goes_hot(rooms, memory, routing):
            begun = hot.begin(c, tier, memory, "add", cause)
    if begun:
        entered = entering.enter(rooms, tier, [begun], cause)
    elif memory.residence == "hot":
        tier.stamp([memory], cause.at)
    return Outcome(status="trusted", memory=_compared(rooms, memory), reasons=entered.reasons)


def _as_own(memory: Memory) -> tuple[Routing, dict[str, Any]]:
    """Where a text belongs if the user said it, and what changes in its row then."""
    routing = route(
        memory.content,
        importance=memory.importance if memory.importance_given else None,
        target=memory.target, kind=None, policy=None, tags=memory.tags,
    )  # fmt: skip
    wanted: dict[str, Any] = {
        "flags": tuple(flag for flag in memory.flags if flag not in {"untrusted", LEFT}),
        "kind": routing.kind, "policy": routing.policy, "protected": routing.protected,
        "importance": routing.importance,
    }  # fmt: skip
    return routing, {name: value for name, value in wanted.items() if value != getattr(memory, name)}


def _goes_hot(rooms: Rooms, memory: Memory, routing: Routing) -> bool:
    limit = rooms.tiers[routing.target].limit
    return routing.route == "hot" and memory.scope == "global" and not why_not_hot(memory.content, limit=limit)


def _reject(rooms: Rooms, one: Waiting, cause: Cause) -> Outcome:
    with rooms.db.write() as c:
        memory = rows.reject(c, turn.claim(c, one.new, cause.at), replace(cause, reason="rejected"))
    return Outcome(status="rejected", memory=memory, until=_until(rooms, memory))


def _leave(rooms: Rooms, one: Waiting, cause: Cause) -> Outcome:
    with rooms.db.write() as c:
        found = turn.claim(c, one.new, cause.at)
        memory = rows.revise(c, found, {"flags": (*found.flags, LEFT)}, replace(cause, reason=LEFT))
    return Outcome(status=LEFT, memory=memory)


def _until(rooms: Rooms, memory: Memory) -> Any:
    return (memory.trashed_at or memory.updated_at) + timedelta(days=rooms.options.trash_days)


def _would_be(rooms: Rooms, one: Waiting, choice: Choice) -> Outcome:
    """What a decision would lead to; room in the files is not looked at."""
    new, until = one.new, rooms.clock() + timedelta(days=rooms.options.trash_days)
    match choice:
        case "new":
            old, _ = _pair(one)
            to_hot = old.residence == "hot" and may_be_hot(new, rooms.tier_of(old))
            return Outcome(status="kept_new", memory=replace(new, residence="hot") if to_hot else new, gone=old)
        case "old":
            return Outcome(status="kept_old", memory=_pair(one)[0], gone=new, until=until)
        case "both":
            return Outcome(status="kept_both", memory=new, gone=_pair(one)[0])
        case "accept":
            status = LEFT if one.kind == "flagged" else "accepted"
            return Outcome(status=status, memory=replace(new, state="active"))
        case "trust":
            routing, _ = _as_own(new)
            to_hot = new.residence == "hot" or _goes_hot(rooms, new, routing)
            active = replace(new, state="active", residence="hot" if to_hot else "cold", target=routing.target)
            return Outcome(status="trusted", memory=active)
        case "reject":
            return Outcome(status="rejected", memory=new, until=_until(rooms, new))


def _pair(one: Waiting) -> tuple[Memory, edges.Edge]:
    """The older one of two, and what is between them.

    Raises:
        InvalidInput: It is a text alone.
    """
    if one.old is None or one.edge is None:
        raise InvalidInput(field=one.number, why="decided_with", ways=", ".join(_ways(one).values()))
    return one.old, one.edge
