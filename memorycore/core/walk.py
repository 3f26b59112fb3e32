"""A walk over the memories that nobody compared with the others yet: how each stands to those that are like it.

What came in through admission was judged then, and later ones were judged beside it. What came by another door was not,
and a text that was changed says something else now. The walk only looks; what follows is done by the steps
``conflicts`` and ``consolidate``, from what it found. Each costs a look-up in the index of words and up to four
verdicts; the vectors are read once for many of them.
"""

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from memorycore.core.rooms import Rooms
from memorycore.core.tidy import JUDGED_WHEN_THEY_CAME
from memorycore.domain.memory import Memory
from memorycore.govern.steps.work import Work
from memorycore.intake import Judged, decide
from memorycore.search.neighbours import Neighbour, Scouted, neighbours
from memorycore.store import edges, memories, only_row, pair_finds, progress, vectors
from memorycore.store.pair_finds import Relation
from memorycore.store.upkeep import LONGEST_PAUSE_S

if TYPE_CHECKING:
    import apsw

BATCH = 64
LOOKED_AT_ONCE = 32  # one reading of all vectors serves so many; whoever asks in the same process waits for one
WALKED = "walked"  # how far the walk has come, as a number of the change feed


def walk(rooms: Rooms, work: Work) -> int:
    """Go on from where the last walk stopped; how many memories were looked at. A dry run looks at nothing new."""
    namespace = rooms.options.namespace
    with rooms.db.read() as c:
        after = int(progress.of(c, namespace, WALKED).value or 0)
        until = int(only_row(c, "newest_change")[0])
        where = {"namespace": namespace, "until": until, "judged": json.dumps(sorted(JUDGED_WHEN_THEY_CAME))}
        (total,) = only_row(c, "count_changed", {**where, "after": after})
    looked_at = 0
    while not (work.dry_run or work.out_of_time()):
        with rooms.db.read() as c:
            batch = memories.select(c, "changed_memories", **where, after=after, limit=BATCH)
        found = [
            one
            for start in range(0, len(batch), LOOKED_AT_ONCE)
            for one in _look(rooms, batch[start : start + LOOKED_AT_ONCE])
        ]
        after = batch[-1].change_seq if len(batch) == BATCH else until
        with work.batch() as c:
            for new, item, relation in found:
                pair_finds.put(c, new, item.memory, relation, item.evidence())
            progress.put(c, namespace, WALKED, str(after), rooms.clock())
        looked_at += len(batch)
        work.report(looked_at, max(total, looked_at))
        if len(batch) < BATCH:
            break
    return looked_at


def _look(rooms: Rooms, batch: Sequence[Memory]) -> list[tuple[Memory, Judged, Relation]]:
    """What stands between these memories and their neighbours: the newer one, the verdict on the older one."""
    scouted = _scouted(rooms, batch)
    found: list[tuple[Memory, Judged, Relation]] = []
    with rooms.db.read() as c:
        for memory in batch:
            began_s = time.monotonic()
            joined = {
                edge.src if edge.dst == memory.id else edge.dst for edge in edges.of(c, memory.id, rooms.namespaces)
            }
            near = neighbours(c, memory, scouted, archived=0)
            near = [item for item in near if item.memory.id not in joined]
            # A later one that changed later has its own turn in this walk.
            for newer, older in _pairs(memory, near):
                found += _verdicts(c, rooms, newer, older)
            # Judging is all processor: whoever asks in the same process gets as much of it as this.
            time.sleep(min(time.monotonic() - began_s, LONGEST_PAUSE_S))
    return found


def _pairs(memory: Memory, near: Sequence[Neighbour]) -> list[tuple[Memory, list[tuple[Memory, float | None]]]]:
    earlier = [(item.memory, item.likeness) for item in near if item.memory.seq < memory.seq]
    later = [item for item in near if item.memory.seq > memory.seq and item.memory.change_seq < memory.change_seq]
    return [(memory, earlier), *((item.memory, [(memory, item.likeness)]) for item in later)]


def _verdicts(
    c: "apsw.Connection", rooms: Rooms, newer: Memory, older: list[tuple[Memory, float | None]]
) -> list[tuple[Memory, Judged, Relation]]:
    own = {tier.id for tier in rooms.tiers.values()}
    decision = decide(c, newer, older, untrusted="untrusted" in newer.flags, own_tiers=own)
    items = (decision.into,) if decision.into else (*decision.superseded, *decision.disputed, *decision.proposed)
    kept = {"same", "supersedes", "disputes"}
    return [(newer, item, cast("Relation", item.relation)) for item in items if item.relation in kept]


def _scouted(rooms: Rooms, batch: Sequence[Memory]) -> Scouted:
    """What the vectors say of all of them at once, where there are any."""
    name = rooms.embedding.fingerprint(0)
    with rooms.db.read() as c:
        number = None if name is None else vectors.known_fingerprint(c, name)
        known = {} if number is None else {one.content: vectors.cached_parts(c, one.content, number) for one in batch}
    parts = {text: found for text, found in known.items() if found is not None}
    return rooms.admission.scout.look(
        parts, rooms.options.namespace, fingerprint=name, calibration=rooms.embedding.calibration, archived=0
    )
