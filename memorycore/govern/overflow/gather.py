"""What a plan needs to know about the entries of one hot file. Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache

import apsw

from memorycore.domain.memory import Memory, Target
from memorycore.domain.records import is_old_record
from memorycore.domain.retention import Standing
from memorycore.domain.routing import Routing, route
from memorycore.domain.text import entry_hash
from memorycore.govern.overflow.ladder import RULES, Entry
from memorycore.hot.tier import HotTier
from memorycore.options import CoreOptions
from memorycore.store import edges, memories, opinions, standing

MIGHT_BE_NEEDED = frozenset({"yes", "unsure"})


def entries_of(
    c: apsw.Connection, tier: HotTier, texts: Sequence[str], options: CoreOptions, now: datetime
) -> list[Entry]:
    """The entries of a file, in its order, each with its row and standing."""
    rows = memories.select(c, "file_memories", namespace=tier.namespace, hot_tier=tier.id)
    by_key = {memory.entry_key: memory for memory in rows}
    standings = standing.by_seq(c, tier.namespace, [memory.seq for memory in rows])
    twins = _twins(c, tier.namespace, rows, standings)
    needed = _needed(c, tier.namespace, rows, options)
    undone = edges.undone_until(c, tier.namespace, now=now)
    return [
        replace(
            entry,
            needed_until=needed.get(entry.memory.seq),
            undone_until=undone.get((entry.memory.id, entry.memory.norm_hash))
            or undone.get((entry.memory.norm_hash, entry.memory.norm_hash)),
        )
        if entry.memory
        else entry
        for entry in (_entry(text, by_key.get(entry_hash(text)), standings, twins, options, now) for text in texts)
    ]


def _entry(
    text: str,
    memory: Memory | None,
    standings: Mapping[int, Standing],
    twins: Mapping[int, str],
    options: CoreOptions,
    now: datetime,
) -> Entry:
    if memory is None:
        return Entry(text=text, type="stub")
    known = standings.get(memory.seq) or _as_found(memory, options)
    if memory.residence == "stub":
        return Entry(text=text, type="stub", memory=memory, standing=known)
    is_rule = memory.policy in RULES
    by_use = not is_rule and known.restored_at is not None
    routing = None if is_rule else _routing(memory.content, memory.target)
    is_stale = routing is not None and routing.route == "stale"
    is_record = routing is not None and routing.type == "state"
    return Entry(
        text=text,
        type="rule" if is_rule else "state",
        memory=memory,
        standing=known,
        stale=is_stale,
        passing=(is_stale or is_record) and memory.origin == "hermes" and not by_use,
        completed=is_rule and is_old_record(memory.content, now, days=options.budget.completed_days),
        twin=twins.get(memory.seq, ""),
        by_use=by_use,
    )


def _as_found(memory: Memory, options: CoreOptions) -> Standing:
    """The standing of an entry that nobody has written one for."""
    since = max(memory.created_at, memory.updated_at)
    touched = max(since, memory.last_used_at or since)
    return Standing(
        weighed_at=touched, touched_at=touched, resident_until=since + timedelta(days=options.resident_days)
    )


def _needed(c: apsw.Connection, namespace: str, rows: Sequence[Memory], options: CoreOptions) -> dict[int, datetime]:
    """By row number until when a language model's word counts that it might be needed."""
    if not (options.llm.active and options.llm.ask_dormant):
        return {}
    counts = timedelta(days=options.budget.dormant_days)
    told = opinions.by_seq(c, namespace, "needed", [memory.seq for memory in rows])
    return {seq: opinion.at + counts for seq, opinion in told.items() if opinion.answer in MIGHT_BE_NEEDED}


def _twins(
    c: apsw.Connection, namespace: str, rows: Sequence[Memory], standings: Mapping[int, Standing]
) -> dict[int, str]:
    """By row number the id of a cold memory that says the same, where it still does."""
    told: dict[int, str] = {}
    for memory in rows:
        compared, _, twin = standings[memory.seq].compared.partition(" ") if memory.seq in standings else ("", "", "")
        if twin and compared == memory.norm_hash:
            other = memories.by_id(c, twin, (namespace,))
            if other is not None and other.state == "active" and other.residence == "cold":
                told[memory.seq] = twin
    return told


@lru_cache(maxsize=1024)
def _routing(text: str, target: Target) -> Routing:
    return route(text, importance=None, target=target)
