"""Texts that come back into a hot file because somebody wants them there: others leave it, as for a new text."""

from collections.abc import Sequence
from dataclasses import dataclass

from memorycore import intake
from memorycore.core.rooms import Rooms
from memorycore.errors import HotFileError
from memorycore.hot.tier import HotTier
from memorycore.lifecycle.hot import Begun
from memorycore.lifecycle.rows import Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """Ids of the memories that stand in the file now, how full it is (``used/limit``), and why another does not.

    ``why``: the code of a reason, ``no_room`` or ``file_unusable``; empty where all of them are in the file.
    """

    ids: frozenset[str] = frozenset()
    usage: str = ""
    why: str = ""

    @property
    def reasons(self) -> tuple[str, ...]:
        return (self.why,) if self.why else ()


def enter(rooms: Rooms, tier: HotTier, begun: Sequence[Begun], cause: Cause) -> Entered:
    """Bring texts into their file, with room made for them. What finds none stays in the store."""
    ids, usage = set[str](), ""
    try:
        for done in intake.bring_in(rooms.db, tier, begun, cause, rooms.admission.make_room):
            ids |= done.placed
            usage = done.usage
    except HotFileError:  # they are remembered all the same, and status names the file
        return Entered(ids=frozenset(ids), usage=usage, why="file_unusable")
    missing = any(item.memory.id not in ids for item in begun)
    return Entered(ids=frozenset(ids), usage=usage, why="no_room" if missing else "")
