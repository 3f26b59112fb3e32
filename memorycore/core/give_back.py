"""Leaving: whatever once stood in a hot file goes back there as text, and what finds no room into a file beside it.

Only files are written here; the rows follow by reconciling, as they follow everybody who edits a hot file. What does
not fit is written down first, so that a crash leaves a text twice and never nowhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memorycore import messages
from memorycore.core.rooms import Rooms
from memorycore.domain.memory import Memory
from memorycore.domain.pointer import is_fold, is_pointer
from memorycore.domain.text import entry_hash, holds_lines
from memorycore.errors import Conflict, Unreadable
from memorycore.govern.overflow.ladder import RULES
from memorycore.hot import atomic, files
from memorycore.hot.document import DELIMITER, size, why_not_hot
from memorycore.hot.files import Contents, Edited
from memorycore.hot.tier import FILE_NAMES, HotTier
from memorycore.store import memories

RESTORED = "MEMORY.restored.md"
_ATTEMPTS = 3
_FITS = frozenset({None, "over_quarter"})  # Hermes takes longer entries than we do


@dataclass(frozen=True, slots=True, kw_only=True)
class Returns:
    """What becomes of one file.

    ``before`` and ``entries`` are its entries before and after. ``pointers``: how many of them were pointers or lines
    for several. ``back``: texts that stand in the file again. ``aside``: texts that find no room there.
    """

    path: Path
    limit: int
    before: tuple[str, ...]
    entries: tuple[str, ...]
    pointers: int
    back: tuple[str, ...]
    aside: tuple[str, ...]

    @property
    def chars(self) -> int:
        return size(self.entries)


def preview(rooms: Rooms) -> list[Returns]:
    """What ``give_back`` would do now.

    Raises:
        HotFileError: A file cannot be read.
    """
    return [_planned(rooms, tier, tier.look()) for tier in rooms.tiers.values()]


def give_back(rooms: Rooms) -> list[Returns]:
    """Put the texts back: aside first, then into the files; then the rows learn of it.

    Raises:
        Conflict: Somebody keeps changing a file.
        HotFileError: A file cannot be used now. Texts that had been written are there, the others still with us.
    """
    rooms.touch()
    done = [_returned(rooms, tier) for tier in rooms.tiers.values()]
    rooms.touch()
    return done


def _returned(rooms: Rooms, tier: HotTier) -> Returns:
    for _ in range(_ATTEMPTS):
        planned = _planned(rooms, tier, tier.look())
        if planned.aside:
            _set_aside(rooms, tier, planned.aside)
        if planned.entries == planned.before:
            return planned

        def edit(contents: Contents, planned: Returns = planned) -> Edited:
            if contents.entries != planned.before:
                raise Conflict(path=str(tier.path))
            return Edited(entries=planned.entries)

        try:
            written = files.change(
                tier.path, edit, snapshots=tier.snapshots, now=rooms.clock(), timeout_s=tier.lock_timeout_s
            )
        except Conflict:
            continue
        if not written.overtaken:
            return planned
    raise Conflict(path=str(tier.path))


def _planned(rooms: Rooms, tier: HotTier, contents: Contents) -> Returns:
    with rooms.db.read() as c:
        rows = memories.select(c, "file_memories", namespace=tier.namespace, hot_tier=tier.id)
        away = memories.select(
            c, "memories_out_of_file", namespace=tier.namespace, hot_tier=tier.id, target=tier.target
        )  # fmt: skip
    stubs = {memory.entry_key: memory for memory in rows if memory.residence == "stub"}
    slots: list[str | None] = []
    wanted: list[tuple[int, Memory]] = []
    for entry in contents.entries:
        key = entry_hash(entry)
        meta = contents.sidecar.entries.get(key)
        if key in stubs:
            wanted.append((len(slots), stubs[key]))
            slots.append(None)
        elif not is_fold(entry) and not (is_pointer(entry) and meta is not None and meta.type == "stub"):
            slots.append(entry)
    kept = sum(slot is not None for slot in slots)
    for memory in sorted(away, key=_rank):
        wanted.append((len(slots), memory))
        slots.append(None)
    back, aside = _filled(slots, wanted, tier.limit)
    return Returns(
        path=tier.path,
        limit=tier.limit,
        before=contents.entries,
        entries=tuple(slot for slot in slots if slot is not None),
        pointers=len(contents.entries) - kept,
        back=back,
        aside=aside,
    )


def _rank(memory: Memory) -> tuple[bool, bool, int]:
    """Rules before all else, of these the ones at the core first."""
    return (memory.policy not in RULES, memory.policy != "core", memory.seq)


def _filled(
    slots: list[str | None], wanted: Sequence[tuple[int, Memory]], limit: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Fill the places of texts that come back, rules first, as far as they fit: those that do, and the others."""
    back, aside = list[str](), list[str]()
    for at, memory in sorted(wanted, key=lambda one: (one[1].policy not in RULES, one[0])):
        text = memory.content.strip()
        now = [slot for slot in slots if slot is not None]
        if text in now or text in aside:
            continue
        is_rule = memory.policy in RULES or memory.residence == "stub"
        if is_rule and why_not_hot(text, limit=limit) in _FITS and size([*now, text]) <= limit:
            slots[at] = text
            back.append(text)
        else:
            aside.append(text)
    return tuple(back), tuple(aside)


def _set_aside(rooms: Rooms, tier: HotTier, texts: Sequence[str]) -> None:
    """Add texts to the file for what finds no room, below those that it holds already."""
    path = tier.path.with_name(RESTORED)
    with atomic.locked(tier.path.with_name(FILE_NAMES["memory"]), timeout_s=tier.lock_timeout_s):
        before = atomic.read(path) or b""
        try:
            held = before.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Unreadable(path=str(path), why=str(error)) from error
        new = [text for text in texts if not holds_lines(held, text)]
        if not new:
            return
        head = "" if held else messages.text("hermes.restored_head", rooms.options.language) + "\n\n"
        section = f"## {tier.path.name}\n\n" + DELIMITER.join(new) + "\n"
        atomic.replace(path, (held + ("\n" if held else "") + head + section).encode("utf-8"), expected=before)
