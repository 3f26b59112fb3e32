"""Long rules that nobody used for a while, in fewer words: those of a language model, if they stand the test.

Nobody waits for it. What the model says is compared with the text (``domain.shortening``), and what is taken is a
change like any other: the longer text stays in the history of the memory, and undo brings it back for good.
"""

import logging
import time
from dataclasses import dataclass

from memorycore import intake
from memorycore.core.rooms import Rooms
from memorycore.domain.memory import Memory
from memorycore.domain.shortening import fault_of, is_readable
from memorycore.errors import Conflict, HotFileError, InvalidInput, LlmError, NotFound
from memorycore.govern import opinions
from memorycore.govern.overflow.gather import entries_of
from memorycore.govern.overflow.ladder import Entry, signals
from memorycore.hot.document import size, why_not_hot
from memorycore.hot.tier import HotTier
from memorycore.lifecycle import hot, rows, turn
from memorycore.lifecycle.rows import Cause
from memorycore.lifecycle.way_back import COMPRESSED
from memorycore.llm import ChatEndpoint, ask_shorter, shown_alone
from memorycore.store import edges, standing
from memorycore.store import opinions as told

_log = logging.getLogger(__name__)
MOST_ASKED = 3
TAKEN, REFUSED = "taken", "refused"


@dataclass(slots=True, kw_only=True)
class Shortened:
    """One round over one file: memories as they were and as they are; answers that were not taken, and none at all.

    ``away``: why the model cannot be asked now. ``usage`` of the file (``used/limit``) after the last change.
    """

    done: list[tuple[Memory, Memory]]
    refused: int = 0
    failed: int = 0
    away: str = ""
    usage: str = ""


def shorten(rooms: Rooms, tier: HotTier, endpoint: ChatEndpoint, cause: Cause, *, ends_at: float) -> Shortened:
    """Ask about the rules that were idle longest, at most ``MOST_ASKED``, each once, while the file is above its aim.

    ``ends_at`` (``time.monotonic``): no question is begun later. Nothing happens while a session holds the file.

    Raises:
        HotFileError: The file cannot be read now.
    """
    found = Shortened(done=[])
    for entry in _long_ones(rooms, tier)[:MOST_ASKED]:
        memory = entry.memory
        if memory is None or found.away or time.monotonic() >= ends_at:
            break
        try:
            said = ask_shorter(endpoint, memory.content)
        except LlmError as error:
            with rooms.db.write() as c:
                found.away = opinions.failed(c, memory, "shorten", error, rooms.clock())
            found.failed += 1
            continue
        _weigh(rooms, tier, entry, said, cause, found)
    return found


def _long_ones(rooms: Rooms, tier: HotTier) -> list[Entry]:
    """Entries that may be asked about, those first that were idle longest."""
    now, budget = rooms.clock(), rooms.options.budget
    texts = tier.document().entries
    if size(texts) <= tier.marks.aim or rooms.session_runs():
        return []
    with rooms.db.read() as c:
        entries = {
            entry.memory.id: entry
            for entry in entries_of(c, tier, texts, rooms.options, now)
            if "compressible" in signals(entry, now, budget, log_on=rooms.options.activity_log) and entry.memory
        }
        open_ones = [entry.memory for entry in entries.values() if entry.memory and _may_change(rooms, entry.memory)]
        due = opinions.due(c, tier.namespace, "shorten", open_ones, now)
        allowed = [memory for memory in due if not edges.hands_off(c, memory, COMPRESSED, now=now)]
    may_be_sent = (entries[one.id] for one in allowed if shown_alone(one.content) and is_readable(one.content))
    return sorted(
        may_be_sent, key=lambda entry: (entry.standing.touched_at if entry.standing else now, -len(entry.text))
    )


def _may_change(rooms: Rooms, memory: Memory) -> bool:
    own = {tier.id for tier in rooms.tiers.values()}
    return memory.state == "active" and not intake.is_for_a_person(memory, own)


def _weigh(rooms: Rooms, tier: HotTier, entry: Entry, said: str, cause: Cause, found: Shortened) -> None:
    """Take an answer or not; which of it is remembered, so that nobody asks again about this wording."""
    memory = entry.memory
    assert memory is not None  # noqa: S101 only memories are asked about
    fault = fault_of(memory.content, said, target=tier.target) or why_not_hot(said, limit=tier.limit)
    if fault:
        _log.info("a shorter text was not taken: %s", fault)
        _refuse(rooms, memory, found)
        return
    try:
        done = _put(rooms, tier, entry, said, cause)
    except (Conflict, HotFileError, InvalidInput, NotFound) as error:  # somebody was at it while the model thought
        _log.info("a shorter text came too late: %s", error.code)
        return
    if done is None:
        _refuse(rooms, memory, found)
        return
    found.done.append((memory, done.memory))
    found.usage = done.usage


def _refuse(rooms: Rooms, memory: Memory, found: Shortened) -> None:
    with rooms.db.write() as c:
        opinions.note(c, memory, "shorten", REFUSED, rooms.clock())
    found.refused += 1


def _put(rooms: Rooms, tier: HotTier, entry: Entry, text: str, cause: Cause) -> hot.Done | None:
    """Put the shorter text in the place of the longer one; None where a memory has it, or somebody wanted it gone.

    Raises:
        Conflict: The memory or its entry is not as it was when the model was asked; nothing changed.
        HotFileError: The file cannot be used now; nothing changed.
    """
    memory = entry.memory
    assert memory is not None  # noqa: S101 as above
    rooms.touch()
    if rooms.session_runs():
        raise Conflict(id=memory.id, why=turn.BEING_CHANGED)
    changes = {"content": text}
    with rooms.db.write() as c:
        now = turn.claim(c, memory, cause.at, new_text=text)
        if not _may_change(rooms, now):
            raise Conflict(id=memory.id)
        after = rows.after(now, changes)
        if intake.known(c, after) is not None or edges.tombstone(c, now.namespace, after.norm_hash):
            return None
        if entry.standing is not None and standing.of(c, now) is None:
            standing.put(c, now.namespace, now.seq, entry.standing)  # else the change would count as a use
        # Before the change, for the version that comes of it: who dies in between must not shorten it once more.
        told.put(c, now, "shorten", told.Opinion(version=now.version + 1, at=cause.at, answer=TAKEN))
        begun = hot.begin(c, tier, now, "replace", cause, new_text=text)
    return hot.rewrite(rooms.db, tier, begun, changes, cause)
