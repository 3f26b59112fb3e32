"""Retired rules that a question means: they come back into the prompt."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from memorycore.core.overflow import ground_of, leaving
from memorycore.core.rooms import Rooms
from memorycore.domain.memory import Memory, Target
from memorycore.domain.retention import NEW_WEIGHT, Standing, days_since, fresh, used, weight_now
from memorycore.domain.routing import route
from memorycore.errors import Conflict, HotFileError, StoreError
from memorycore.govern.overflow.gather import entries_of
from memorycore.govern.overflow.ladder import RULES
from memorycore.govern.overflow.plan import plan_return
from memorycore.hot.document import why_not_hot
from memorycore.hot.tier import HotTier
from memorycore.lifecycle import hot, retire, turn
from memorycore.lifecycle.rows import Cause
from memorycore.store import edges, memories, standing

_log = logging.getLogger(__name__)
WAIT_MS = 250  # for another writer; a question does not wait longer
STILL_COUNTS = 0.45  # of an earlier day that much weight is left a month later


def come_back(rooms: Rooms, meant: Sequence[Memory], cause: Cause) -> frozenset[str]:
    """Bring cold memories that a question strongly means into their files, as many as may and find room; their ids.

    Nothing waits for it and nothing fails for it: what cannot come back now stays cold.
    """
    budget = rooms.options.budget
    cold = [memory for memory in meant if memory.residence != "hot" and memory.namespace == rooms.options.namespace]
    if not budget.enabled or not cold:
        return frozenset()
    with rooms.db.read() as c:
        known = standing.by_seq(c, rooms.options.namespace, [memory.seq for memory in cold])
        stays = {memory.seq for memory in cold if edges.hands_off(c, memory, memory.norm_hash, now=rooms.clock())}
    wanted: dict[Target, list[tuple[Memory, float]]] = {}
    for memory in cold:
        stood = known.get(memory.seq)
        if memory.seq not in stays and _may_return(rooms, memory, stood) and _belongs(rooms, memory, stood):
            wanted.setdefault(memory.target, []).append((memory, _weight(rooms, memory, stood)))
    back: set[str] = set()
    for target, own in wanted.items():
        try:
            back |= _into(rooms, rooms.tiers[target], own[: budget.most_restored - len(back)], cause)
        except (HotFileError, StoreError) as error:
            _log.info("no rule came back: %s", error.code)
    return frozenset(back)


def come_back_later(rooms: Rooms) -> frozenset[str]:
    """Bring rules back that a host's questions meant, once no session's prompt holds the files; their ids."""
    if not rooms.told_rules or rooms.session_runs():
        return frozenset()
    ids = list(rooms.told_rules)
    rooms.told_rules.clear()  # in place: who reads another language works on the same rooms
    with rooms.db.read() as c:
        told = [memories.by_id(c, memory_id, (rooms.options.namespace,)) for memory_id in ids]
    rules = [memory for memory in told if memory is not None and memory.policy in RULES]
    return come_back(rooms, rules, rooms.cause("recall", "recall"))


def _weight(rooms: Rooms, memory: Memory, known: Standing | None) -> float:
    """What it weighs against the entries that may have to leave for it: as a new rule does, or more."""
    budget = rooms.options.budget
    own = NEW_WEIGHT if known is None else weight_now(known, rooms.clock(), half_life_days=budget.half_life_days)
    is_protected = bool(memory.protected) or memory.policy == "core"
    return max(own, NEW_WEIGHT) * (budget.protected_times if is_protected else 1.0)


def _may_return(rooms: Rooms, memory: Memory, known: Standing | None) -> bool:
    """Whether a cold memory may come into the prompt at all, and now."""
    tier, now, budget = rooms.tiers[memory.target], rooms.clock(), rooms.options.budget
    if memory.state != "active" or memory.residence == "hot" or memory.scope != "global":
        return False
    if "untrusted" in memory.flags or memory.hot_tier not in {None, tier.id}:
        return False
    if (memory.valid_from and memory.valid_from > now) or (memory.valid_until and memory.valid_until <= now):
        return False
    if known is not None and known.restored_at and days_since(known.restored_at, now) < budget.restore_rest_days:
        return False
    return not why_not_hot(memory.content, limit=tier.limit)


def _belongs(rooms: Rooms, memory: Memory, known: Standing | None) -> bool:
    """Whether it belongs there: a rule that left the file or found no room in it, or a fact that is asked for often."""
    if memory.policy in RULES:
        retired = memory.residence == "stub" or (known is not None and known.retired_at is not None)
        return retired or route(memory.content, importance=memory.importance, target=memory.target).route == "hot"
    return (known is not None and known.restored_at is not None) or _is_asked_for_again(rooms, memory, known)


def _is_asked_for_again(rooms: Rooms, memory: Memory, known: Standing | None) -> bool:
    """Count a day on which a fact was asked for; whether these are enough by now."""
    now, budget = rooms.clock(), rooms.options.budget
    if not budget.promote_days:
        return False
    if known is None:
        counted = replace(fresh(now, resident_days=0), weight=1.0)
    elif days_since(known.touched_at, now) < 1:
        return False
    else:
        counted = used(known, now, adds=1.0, half_life_days=budget.half_life_days)
    try:
        with rooms.db.write(timeout_ms=WAIT_MS) as c:
            standing.put(c, memory.namespace, memory.seq, counted)
    except StoreError as error:
        _log.info("a day was not counted: %s", error.code)
    return counted.weight > budget.promote_days - 1 + STILL_COUNTS


def _into(rooms: Rooms, tier: HotTier, wanted: Sequence[tuple[Memory, float]], cause: Cause) -> frozenset[str]:
    ground, contents = ground_of(rooms, tier), tier.look()
    if not contents.exists:  # a folder that was moved or is not mounted; a question makes no new one
        return frozenset()
    with rooms.db.read() as c:
        entries = entries_of(c, tier, contents.entries, rooms.options, ground.now)
    planned = plan_return(entries, wanted, ground)
    begun: list[hot.Begun] = []
    auto = replace(cause, automatic=True, reason="restored_by_recall")
    for memory in planned.coming:
        try:
            with rooms.db.write(timeout_ms=WAIT_MS) as c:
                begun.append(hot.begin(c, tier, turn.claim(c, memory, cause.at), "add", auto))
        except Conflict:
            continue
    if not begun:
        return frozenset()
    done = retire.rearrange(rooms.db, tier, list(map(leaving, planned.moves)), begun, auto, fold=planned.fold)
    return done.placed
