"""A process that lets rules leave the hot file and come back, in a loop. Run as a program by ``test_retire_rivals``."""

import json
import random
import sys
import time
from pathlib import Path

from memorycore.core import MemoryCore
from memorycore.domain.pointer import pointer
from memorycore.errors import LockTimeout, StoreBusy, Unwritable
from memorycore.lifecycle import hot, retire, turn
from memorycore.lifecycle.retire import Leaving, Rearranged
from memorycore.store import memories
from tests.homes import Home


def one_round(core: MemoryCore, dice: random.Random) -> Rearranged:
    """Some of those that stand in the file become pointers or go, one that is a pointer comes back."""
    core.touch()
    tier = core.rooms.tiers["memory"]
    cause = core.rooms.cause("retiring", "")
    entries = tier.document().entries
    with core.db.read() as c:
        rows = memories.select(c, "file_memories", namespace=tier.namespace, hot_tier=tier.id)
    texts = [row for row in rows if row.residence == "hot" and not row.file_hash]
    leaving = [
        Leaving(memory=row, how="stub", reason="evicted", pointer=pointer(row.content, taken=entries))
        for row in dice.sample(texts, min(2, len(texts)))
    ]
    begun: list[hot.Begun] = []
    stubs = [row for row in rows if row.residence == "stub"]
    if stubs:
        chosen = dice.choice(stubs)
        with core.db.write() as c:
            turn.check_free(c, chosen.namespace, cause.at, memory_id=chosen.id)
            if not turn.is_changed(c, chosen):
                begun.append(hot.begin(c, tier, chosen, "add", cause))
    return retire.rearrange(core.db, tier, leaving, begun, cause)


def main(root: Path, seed: int, rounds: int) -> None:
    dice = random.Random(seed)
    moved = 0
    with Home(root).core() as core:
        for _ in range(rounds):
            try:
                moved += len(one_round(core, dice).left)
            except (LockTimeout, StoreBusy, Unwritable, turn.Conflict):  # a clear answer: somebody else is at it
                time.sleep(0.01)
    print(json.dumps(moved))  # noqa: T201 the answer of this program


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
