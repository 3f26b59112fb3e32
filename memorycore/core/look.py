"""Verbs that only look: inspect, the bin, audit, usage, status, export."""

import json
from collections.abc import Iterator
from datetime import timedelta

from memorycore import answers, answers_story, messages, overview, reply, reply_overflow, reply_story, transfer
from memorycore.core import history
from memorycore.core.overflow import ground_of
from memorycore.core.rooms import MOST_RESULTS, Rooms
from memorycore.domain.memory import Memory, Target
from memorycore.errors import HotFileError, InvalidInput
from memorycore.govern import audit as audits
from memorycore.govern.overflow.forecast import forecast
from memorycore.govern.overflow.gather import entries_of
from memorycore.hot.tier import HotTier
from memorycore.reply_story import Known
from memorycore.store import edges, memories
from memorycore.store import vectors as vector_rows


def inspect(rooms: Rooms, memory_id: str) -> answers_story.Story:
    """Everything about one memory: fields, how it stands to others, earlier texts, events, vector."""
    rooms.touch()
    memory = rooms.any(memory_id)
    told = history.history(rooms, memory_id=memory.id, limit=MOST_RESULTS)["events"]
    with rooms.db.read() as c:
        joined = edges.of(c, memory.id, rooms.namespaces)
        ends = [(edge, edge.dst if edge.src == memory.id else edge.src) for edge in joined]
        others = {other: memories.by_id(c, other, rooms.namespaces) for _, other in ends}
        known = Known(
            revisions=memories.revisions(c, memory),
            events=memories.events(c, memory.id, rooms.namespaces),
            lines={line["event"]: line for line in told},
            links=[(edge, found) for edge, other in ends if (found := others[other]) and not found.is_wanted_gone],
            vector=vector_rows.state_of(c, memory.seq),
        )
    return reply_story.story(memory, known, rooms.options)


def trash(rooms: Rooms, reason: str = "") -> answers.Bin:
    """What is in the recycle bin, newest first, and until when; with ``reason`` only what is there for that.

    Raises:
        InvalidInput: Nothing is there for this reason, though some are for others.
    """
    rooms.touch()
    with rooms.db.read() as c:
        binned = memories.select(c, "binned_memories", namespaces=json.dumps(rooms.namespaces))
    wanted = [memory for memory in binned if reason in {"", memory.trash_reason}]
    if binned and not wanted:
        known = ", ".join(sorted({memory.trash_reason for memory in binned}))
        raise InvalidInput(field="--reason", why="unknown value", value=reason, allowed=known)
    return reply.binned(wanted, timedelta(days=rooms.options.trash_days))


def audit(rooms: Rooms, target: Target | None) -> answers.Audited:
    """The health of every hot entry."""
    questions = overview.questions(view(rooms))
    return {
        "targets": [_audit(rooms, tier) for name, tier in rooms.tiers.items() if target in {None, name}],
        "questions": questions,
        "degraded": reply_overflow.degraded(rooms.options, no_model=rooms.no_model),
    }


def _audit(rooms: Rooms, tier: HotTier) -> answers.AuditTarget:
    rules = audits.AuditRules(
        marks=tier.marks,
        budget=rooms.options.budget,
        language=rooms.options.language,
        timezone=rooms.options.timezone,
    )
    now = rooms.clock()
    try:
        contents = tier.look()
    except HotFileError as error:
        return audits.unusable(tier, rules, messages.error_text(error, rooms.options.language))
    with rooms.db.read() as c:
        entries = entries_of(c, tier, contents.entries, rooms.options, now)
    coming = forecast(entries, ground_of(rooms, tier))
    return audits.audit_target(tier, contents, entries, coming, rules, now)


def view(rooms: Rooms) -> overview.View:
    """What usage and status look at."""
    rooms.touch()
    return overview.View(
        options=rooms.options,
        namespaces=rooms.namespaces,
        db=rooms.db,
        embedding=rooms.embedding,
        tiers=rooms.tiers,
        problems=rooms.problems,
        now=rooms.clock(),
    )


def export(rooms: Rooms) -> Iterator[dict[str, object]]:
    """Every memory of these namespaces that is not purged, oldest first, as ``store --from`` reads it back."""
    rooms.touch()
    last = 0
    while page := _page_after(rooms, last):
        yield from map(transfer.to_line, page)
        last = page[-1].seq


def _page_after(rooms: Rooms, seq: int) -> list[Memory]:
    with rooms.db.read() as c:
        return memories.select(c, "memories_after", seq=seq, namespaces=json.dumps(rooms.namespaces), limit=1_000)
