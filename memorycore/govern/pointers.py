"""What a host did to the pointers of a hot file, and what becomes of the memories that they stand for.

A pointer is an entry of the file like any other, but the text that it stands for is in the store. So whoever removes it
has removed a pointer and no memory; whoever words it anew has one that points as before, unless the words are those of
the memory itself.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import apsw
from rapidfuzz import fuzz

from memorycore.domain.memory import Memory
from memorycore.domain.pointer import is_fold, is_marked, is_pointer, key_of, topics
from memorycore.domain.text import entry_hash, fold, holds_lines, norm_hash
from memorycore.hot.sidecar import Sidecar
from memorycore.hot.tier import HotTier
from memorycore.lifecycle import rows
from memorycore.lifecycle.rows import Cause
from memorycore.store import all_rows, memories, standing

# From this share of common words on, a pointer is another wording of one that is gone.
REWORDED = 60.0
# And from this one, so is a text that has not the shape of a pointer any more.
MANGLED = 80.0
LEAST_TOPICS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a look at the file found: stubs as the rows have them, hashes of its entries, texts that no row knows.

    ``gone``: those whose own text stood in the file by their rows, and does not. ``as_known`` gives a text as rows know
    it, masked.
    """

    stubs: Sequence[Memory]
    gone: Sequence[Memory]
    present: frozenset[str]
    new: Sequence[str]
    sidecar: Sidecar
    as_known: Callable[[str], str]


@dataclass(slots=True, kw_only=True)
class Pointers:
    """What became of the pointers.

    ``returned``: stubs whose own text stands in the file. ``pointed``: memories with the pointer that stands there now.
    ``stale``: pointers to texts that stand in the file themselves. ``gone``: pointers that are not there any more, by
    the id of the memory; one of the other texts may be what became of it. ``settled``: hashes of entries of which
    nothing is left to find out.
    """

    returned: list[tuple[Memory, str]] = field(default_factory=list[tuple[Memory, str]])
    pointed: list[tuple[Memory, str]] = field(default_factory=list[tuple[Memory, str]])
    stale: list[tuple[Memory, str]] = field(default_factory=list[tuple[Memory, str]])
    gone: dict[str, str] = field(default_factory=dict[str, str])
    settled: set[str] = field(default_factory=set[str])

    @property
    def count(self) -> int:
        return len(self.pointed)

    def is_of(self, memory: Memory, text: str) -> bool | None:
        """Whether a text that came is what became of the pointer of a stub; None: its words may tell."""
        if memory.residence != "stub":
            return None
        pointer = self.gone.get(memory.id, "")
        if pointer and holds_lines(text, pointer):  # somebody wrote below it, and no rule is made of that
            return False
        if len(self.gone) > 1:
            return None
        named = [fold(topic) for topic in topics(pointer)]
        return True if len(named) >= LEAST_TOPICS and all(topic in fold(text) for topic in named) else None


def look(c: apsw.Connection, tier: HotTier, seen: Seen) -> Pointers:
    """Find the memories of pointers that changed, came back or are gone. Changes nothing."""
    found = Pointers()
    found.settled |= {entry_hash(text) for text in seen.new if is_fold(text)} | _stale(c, tier, seen)
    stood = standing.by_seq(c, tier.namespace, [memory.seq for memory in seen.stubs])
    pointers = {memory.id: stood[memory.seq].pointer for memory in seen.stubs if memory.seq in stood}
    left = _without_returned(seen, pointers, found)
    missing = {memory.id for memory in (*left, *seen.gone)}
    shaped = [text for text in seen.new if is_pointer(text) and entry_hash(text) not in found.settled]
    owners = _owners(c, tier) if shaped or found.stale else dict[str, list[Memory]]()
    for memory, text in found.stale[:]:
        owner = next((one for one in owners.get(key_of(text), []) if one.id in missing), None)
        if owner is not None:
            found.stale.remove((memory, text))
            missing.discard(_point(found, owner, text))
    for text in shaped:
        owner = _owner(c, tier, text, seen.sidecar, owners.get(key_of(text), []), missing)
        if owner is None or (owner.residence == "stub" and owner.id not in missing):
            continue
        if any(one.norm_hash == owner.norm_hash for one, _ in found.pointed):
            continue
        if owner.residence == "hot" and owner.entry_key in seen.present:
            found.stale.append((owner, text))
            found.settled.add(entry_hash(text))
        else:
            missing.discard(_point(found, owner, text))
    left = [memory for memory in left if memory.id in missing]
    for text in seen.new:
        if left and entry_hash(text) not in found.settled and (memory := _reworded(text, left, pointers)) is not None:
            _point(found, memory, text)
            left.remove(memory)
    found.gone = {memory.id: pointers.get(memory.id, "") for memory in left}
    return found


def _stale(c: apsw.Connection, tier: HotTier, seen: Seen) -> set[str]:
    """Hashes of pointers that are known to stand beside the text itself."""
    found = all_rows(c, "stale_pointers", {"namespace": tier.namespace, "hot_tier": tier.id})
    return {entry_hash(pointer) for _, key, pointer in found if key in seen.present}


def _without_returned(seen: Seen, pointers: Mapping[str, str], found: Pointers) -> list[Memory]:
    """The stubs whose pointer is gone, and whose own text is not there instead."""
    by_norm = {norm_hash(seen.as_known(text)): text for text in reversed(seen.new)} if seen.stubs else {}
    left: list[Memory] = []
    for memory in seen.stubs:
        text = by_norm.get(memory.norm_hash)
        if text is not None:
            found.returned.append((memory, text))
            found.settled |= {entry_hash(text), memory.entry_key}
            if memory.entry_key in seen.present:
                found.stale.append((memory, pointers.get(memory.id, "")))
        elif memory.entry_key not in seen.present:
            left.append(memory)
    return left


def _point(found: Pointers, memory: Memory, text: str) -> str:
    """The id of the memory."""
    found.pointed.append((memory, text))
    found.settled |= {entry_hash(text), memory.entry_key}
    return memory.id


def _owners(c: apsw.Connection, tier: HotTier) -> Mapping[str, list[Memory]]:
    """By the compared form of a pointer the memories for which it stands, or once stood, the last one first.

    One line may have stood for many: it is free again when the text of its memory is back.
    """
    where = {"namespace": tier.namespace, "hot_tier": tier.id}
    found = [*all_rows(c, "pointers_in_use", where)[::-1], *all_rows(c, "pointers_once_in_use", where)[::-1]]
    known = memories.by_seq(c, {seq for seq, _ in found}, (tier.namespace,))
    owners: dict[str, dict[str, Memory]] = {}
    for seq, pointer in found:
        owners.setdefault(key_of(pointer), {}).setdefault(known[seq].id, known[seq])
    return {key: list(several.values()) for key, several in owners.items()}


def _owner(
    c: apsw.Connection,
    tier: HotTier,
    text: str,
    sidecar: Sidecar,
    owners: Sequence[Memory],
    missing: Collection[str],
) -> Memory | None:
    """Whose pointer a text is: of a memory whose entry is ``missing``, else as the sidecar says or the store remembers.

    Somebody may have written an older state of the file over a newer one. So what went to the bin since it was taken
    out of the file comes back with its pointer, unless its text was stored anew; nothing else does that is not in use.
    """
    meta = sidecar.entries.get(entry_hash(text))
    named = memories.by_id(c, meta.cold_id, (tier.namespace,)) if meta is not None and meta.cold_id else None
    several = [*([named] if named else []), *owners]
    if owner := next((one for one in several if one.id in missing), None):
        return owner
    binned = [one for one in several[:1] if one.state == "trashed" and one.trash_reason == "host_removed"]
    anew = [one for old in binned for one in _active_with_text_of(c, old)]
    last = next((one for one in (*anew, *binned, *several) if one.state == "active" or one in binned), None)
    if last is None or last.scope != "global" or last.hot_tier not in {None, tier.id}:
        return None
    return last


def _active_with_text_of(c: apsw.Connection, memory: Memory) -> list[Memory]:
    return memories.select(
        c, "active_by_norm_hash", namespace=memory.namespace, norm_hash=memory.norm_hash, scope="global", session_id=""
    )


def _reworded(text: str, left: Sequence[Memory], pointers: Mapping[str, str]) -> Memory | None:
    """The stub of which a text is the pointer in other words."""
    is_shaped = is_pointer(text) or is_marked(text)
    if is_shaped and len(left) == 1:
        return left[0]
    least = REWORDED if is_shaped else MANGLED
    likest = max(left, key=lambda memory: _likeness(text, pointers.get(memory.id, "")))
    pointer = pointers.get(likest.id, "")
    alike = _likeness(text, pointer)
    if alike < least or alike <= _likeness(text, likest.content) or holds_lines(text, pointer):
        return None
    return likest


def _likeness(one: str, other: str) -> float:
    return fuzz.ratio(key_of(one), key_of(other))


def apply(c: apsw.Connection, tier: HotTier, found: Pointers, cause: Cause) -> None:
    """Let the rows follow the pointers that stand in the file."""
    for memory, text in found.stale:
        stood = standing.of(c, memory)
        if stood is not None and stood.pointer != text:
            standing.put(c, memory.namespace, memory.seq, replace(stood, pointer=text))
    for memory, text in found.pointed:
        why = replace(cause, reason="pointer_edited" if memory.residence == "stub" else "pointer_returned")
        back = replace(cause, reason="host_added")
        inside = rows.restore(c, memory, back) if memory.state == "trashed" else memory
        rows.move(c, inside, "stub", why, tier=tier, pointer=text)


def drop(c: apsw.Connection, gone: Iterable[Memory], cause: Cause) -> None:
    """Let memories be cold whose pointer somebody removed: that is all that was removed."""
    for memory in gone:
        rows.move(c, memory, "cold", replace(cause, reason="pointer_removed"))
