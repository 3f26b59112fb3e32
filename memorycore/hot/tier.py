"""One hot file as the rest of MemoryCore uses it: read, append, replace one entry, remove one entry, stamp.

Nothing here touches the database. Every change re-reads the file under its lock and names the exact entry it means.
"""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from memorycore.domain.memory import Memory, Target
from memorycore.domain.text import entry_hash
from memorycore.errors import Conflict, HotFileError, InvalidInput, Unwritable
from memorycore.hot import files
from memorycore.hot.atomic import why_not_writable
from memorycore.hot.document import DELIMITER, Document, size
from memorycore.hot.files import Contents, Edited
from memorycore.hot.sidecar import EntryMeta

STAMP_TIMEOUT_S = 0.05
SETTLED_AFTER_S = 0.05
SETTLE_LOOKS = 4
FILE_NAMES: dict[Target, str] = {"memory": "MEMORY.md", "user": "USER.md"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What stands in the file after a change, and the SHA-256 of its bytes before and after."""

    present: frozenset[str]
    sha_before: str
    sha_after: str
    usage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HotTier:
    """A hot file and the rules for it. ``id`` is its row in the store; ``limit`` counts code points."""

    id: int
    namespace: str
    target: Target
    path: Path
    limit: int
    snapshots: Path
    resident: timedelta = field(default=timedelta(days=7))
    lock_timeout_s: float = files.LOCK_TIMEOUT_S

    @property
    def directory(self) -> str:
        """The real folder: the key, with the target, under which rows belong to this file."""
        return os.path.realpath(self.path.parent)

    def look(self) -> Contents:
        """The file and its sidecar as they stand, without waiting for the lock."""
        return files.look(self.path)

    def settle(self) -> None:
        """Let an editor that writes in place finish: while the file is changing, its entries are nobody's decision."""
        for _ in range(SETTLE_LOOKS):
            try:
                age_s = time.time() - self.path.stat().st_mtime
            except OSError:
                return
            if not 0 <= age_s < SETTLED_AFTER_S:
                return
            time.sleep(SETTLED_AFTER_S / 2)

    def document(self) -> Document:
        return self.look().document

    def room(self) -> int:
        """Code points that the file can still take, a delimiter before them included; none when it cannot be used."""
        try:
            entries = self.document().entries
        except HotFileError:
            return 0
        return self.limit - size(entries) + (0 if entries else len(DELIMITER))

    def why_not_writable(self) -> Unwritable | None:
        return why_not_writable(self.path)

    def append(self, memories: Sequence[Memory], now: datetime) -> Written:
        """Append those texts that fit, in order, in one write; a text that is there already counts as present."""

        def edit(contents: Contents) -> Edited | None:
            entries = list(contents.entries)
            metas: dict[str, EntryMeta] = {}
            for memory in memories:
                if memory.content in entries:
                    continue
                if size([*entries, memory.content]) <= self.limit:
                    entries.append(memory.content)
                    metas[memory.entry_key] = self.meta_of(memory, now)
            return Edited(entries=tuple(entries), metas=metas) if metas else None

        return self._change(edit, now, again=3)

    def swap(self, memory: Memory, changed: Memory, now: datetime) -> Written:
        """Replace the one entry that is exactly the memory's text by that of the changed memory.

        Raises:
            Conflict: The entry is not in the file any more.
            InvalidInput: The longer text does not fit; a text that makes the file smaller always does.
        """

        def edit(contents: Contents) -> Edited:
            entries = list(contents.entries)
            keys = list(map(entry_hash, entries))
            if memory.entry_key not in keys:
                raise Conflict(id=memory.id, path=str(self.path), why="entry_gone")
            entries[keys.index(memory.entry_key)] = changed.content
            chars = size(entries)
            if chars > self.limit and chars > size(contents.entries):
                raise InvalidInput(field="content", why="no_room", chars=chars, limit=self.limit)
            known = contents.sidecar.entries.get(memory.entry_key)
            return Edited(
                entries=tuple(dict.fromkeys(entries)),
                metas={changed.entry_key: self.meta_of(changed, now, known)},
            )

        return self._change(edit, now)

    def exchange(self, gone: Sequence[Memory], new: Memory | None, now: datetime) -> Written:
        """Put one text in the place of others, in one write. One that does not fit stays out; the others leave.

        Entries that are gone already are no error; then the new text goes to the end.
        """
        keys = {memory.entry_key for memory in gone}

        def edit(contents: Contents) -> Edited | None:
            entries = list(contents.entries)
            places = [place for place, entry in enumerate(entries) if entry_hash(entry) in keys]
            kept = [entry for entry in entries if entry_hash(entry) not in keys]
            metas: dict[str, EntryMeta] = {}
            if new is not None and new.content not in kept and size([*kept, new.content]) <= self.limit:
                kept.insert(places[0] if places else len(kept), new.content)
                metas[new.entry_key] = self.meta_of(new, now)
            return Edited(entries=tuple(kept), metas=metas) if kept != entries else None

        return self._change(edit, now)

    def drop(self, memory: Memory, now: datetime) -> Written:
        """Remove the one entry that is exactly the memory's text; one that is gone already is no error."""

        def edit(contents: Contents) -> Edited | None:
            kept = tuple(entry for entry in contents.entries if entry_hash(entry) != memory.entry_key)
            return Edited(entries=kept) if kept != contents.entries else None

        return self._change(edit, now)

    def prune(self, now: datetime) -> None:
        """Leave nothing in the sidecar of entries that the file does not have any more.

        Raises:
            HotFileError: The file cannot be locked or read now, or the sidecar not written.
        """
        written = files.change(
            self.path,
            lambda contents: Edited(entries=contents.entries),
            snapshots=self.snapshots, now=now, timeout_s=self.lock_timeout_s,
        )  # fmt: skip
        if written.sidecar_error:
            raise written.sidecar_error

    def stamp(self, memories: Sequence[Memory], now: datetime) -> None:
        """Bring the sidecar up to the rows; the entries themselves are not touched.

        It is a companion only, so nobody waits for it and nothing fails for it: where it cannot be written now, it
        stays as it is until the next look.
        """

        def edit(contents: Contents) -> Edited | None:
            known = contents.sidecar.entries
            present = {entry_hash(entry) for entry in contents.entries}
            metas = {
                key: self.meta_of(memory, now, known.get(key))
                for memory in memories
                if (key := memory.entry_key) in present
            }
            stale = contents.sidecar.damaged or any(known.get(key) != meta for key, meta in metas.items())
            return Edited(entries=contents.entries, metas=metas) if stale else None

        with suppress(HotFileError):
            files.change(self.path, edit, snapshots=self.snapshots, now=now, timeout_s=STAMP_TIMEOUT_S)

    def keep_first_state(self, now: datetime) -> None:
        """Snapshot the file as it was found at first contact; that one is kept for ever."""
        contents = self.look()
        if contents.data:
            files.snapshot(self.path, contents.data, folder=self.snapshots, now=now)

    def meta_of(self, memory: Memory, now: datetime, known: EntryMeta | None = None) -> EntryMeta:
        """The sidecar's view of a row. What the sidecar alone keeps, unknown fields too, is taken from ``known``."""
        kept = known or EntryMeta(type="state", written_at=now)
        return replace(
            kept,
            type="rule" if memory.policy in {"core", "rule"} else "state",
            written_at=memory.created_at,
            updated_at=memory.updated_at,
            origin=memory.origin,
            id=memory.id,
            kind=memory.kind,
            policy=memory.policy,
            protected=memory.protected,
            importance=memory.importance,
            last_active_at=memory.last_used_at or kept.last_active_at,
            weight=1.0 if kept.weight is None else kept.weight,
            weight_at=kept.weight_at or now,
            resident_until=kept.resident_until or now + self.resident,
            pinned=memory.pinned,
            session_id=memory.session_id or None,
        )

    def _change(self, edit: files.Edit, now: datetime, *, again: int = 0) -> Written:
        """``again``: how often an edit that may be repeated is put on top of what a writer without the lock left."""
        written = files.change(self.path, edit, snapshots=self.snapshots, now=now, timeout_s=self.lock_timeout_s)
        while written.overtaken and again:
            again -= 1
            written = files.change(self.path, edit, snapshots=self.snapshots, now=now, timeout_s=self.lock_timeout_s)
        return Written(
            present=frozenset(written.after.entries),
            sha_before=written.before.sha256,
            sha_after=written.after.sha256,
            usage=f"{size(written.after.entries)}/{self.limit}",
        )
