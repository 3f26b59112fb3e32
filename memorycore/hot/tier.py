"""One hot file as the rest of MemoryCore uses it: read, rearrange, replace one entry, remove one entry, stamp.

Nothing here touches the database. Every change re-reads the file under its lock and names the exact entry it means.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from memorycore.domain.memory import Memory, Target
from memorycore.domain.pointer import is_fold, is_pointer
from memorycore.domain.retention import NEW_WEIGHT, Standing
from memorycore.domain.text import entry_hash
from memorycore.errors import Conflict, HotFileError, InvalidInput, Unwritable
from memorycore.hot import files
from memorycore.hot.arrange import Arranged, Comes, Leaves, Wish, arrange, without_stale
from memorycore.hot.atomic import read, why_not_writable
from memorycore.hot.document import DELIMITER, Document, size
from memorycore.hot.files import Contents, Edited
from memorycore.hot.sidecar import EntryMeta, sidecar_path
from memorycore.options import LimitFrom, Thresholds

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
class Turn:
    """What shall stand in the file for a memory from now on: its text, a pointer to it, or nothing."""

    memory: Memory
    text: str | None
    standing: Standing | None = None

    @property
    def is_text(self) -> bool:
        return self.text == self.memory.content

    @property
    def after(self) -> Memory:
        """The memory as its row will be when its text, or a pointer, stands in the file."""
        if self.is_text or self.text is None:
            return replace(self.memory, residence="hot", file_hash="")
        return replace(self.memory, residence="stub", file_hash=entry_hash(self.text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """What a rearrangement did.

    ``left``: ids of those whose entry was there and is not any more; ``pointed``: those of whom a pointer that came
    stands there now.
    """

    written: Written
    left: frozenset[str]
    pointed: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What the store knows of a file beside what is to change: rows, and how they stand by their numbers.

    ``stale``: hashes of pointers, each with that of the entry beside which nobody needs it.
    """

    rows: Sequence[Memory] = ()
    standings: Mapping[int, Standing] = field(default_factory=dict[int, Standing])
    stale: Mapping[str, str] = field(default_factory=dict[str, str])


NOTHING = Beside()


@dataclass(frozen=True, slots=True, kw_only=True)
class HotTier:
    """A hot file and the rules for it.

    ``id`` is its row in the store; ``limit`` counts code points, and up to ``ceiling`` of them may be filled by us.
    What a host has filled above that stays, and may become shorter. ``limit_from`` says who set the limit. One that
    ``is_frozen`` is not written to.
    """

    id: int
    namespace: str
    target: Target
    path: Path
    limit: int
    ceiling: int
    snapshots: Path
    marks: Thresholds
    limit_from: LimitFrom = "default"
    resident: timedelta = field(default=timedelta(days=7))
    lock_timeout_s: float = files.LOCK_TIMEOUT_S
    is_frozen: bool = False

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
        """Code points that we may still add, a delimiter before them included; none when the file cannot be used."""
        try:
            entries = self.document().entries
        except HotFileError:
            return 0
        return self.ceiling - size(entries) + (0 if entries else len(DELIMITER))

    def why_not_writable(self) -> Unwritable | None:
        return why_not_writable(self.path)

    def rearrange(
        self,
        turns: Sequence[Turn],
        now: datetime,
        *,
        fold: str | None = None,
        beside: Beside = NOTHING,
    ) -> Turned:
        """Take entries out, let others come, and keep one line for pointers that are none any more, all in one write.

        An entry that is not exactly there any more is left alone. A text goes to the place of its pointer or to the
        end, and stays out where it finds no room; one that is there already counts as present. ``fold`` is that line,
        empty for none.
        """
        leaving, coming = _wishes(turns)
        wish = Wish(
            leaving=leaving,
            coming=coming,
            fold=fold,
            stale=beside.stale,
            ceiling=self.ceiling,
            is_fold=is_fold,
        )
        after = {turn.text: turn for turn in turns if turn.text is not None}
        left, pointed = set[str](), set[str]()
        done = Arranged(entries=[])

        def edit(contents: Contents) -> Edited | None:
            nonlocal done  # what was asked for last is what was written
            done = arrange(contents.entries, wish)
            if (entries := tuple(done.entries)) == contents.entries:
                return None
            came = set(entries).difference(contents.entries)
            metas = self._metas_of(beside, contents, now)
            metas |= {
                entry_hash(text): self.meta_of(turn.after, now, standing=turn.standing)
                for text in came
                if (turn := after.get(text)) is not None
            }
            if fold and fold in came:
                metas[entry_hash(fold)] = nobodys(now)
            return Edited(entries=entries, metas=metas)

        def note() -> None:
            left.update(done.left)
            pointed.update(done.pointed)

        written = self._change(edit, now, again=3, then=note)
        still_there = {turn.memory.id for turn in turns if turn.text in written.present}
        return Turned(written=written, left=frozenset(left), pointed=frozenset(pointed & still_there))

    def swap(self, memory: Memory, changed: Memory, now: datetime, *, most: int | None = None) -> Written:
        """Replace the one entry that is exactly the memory's text by that of the changed memory.

        ``most``: up to how many code points it may make the file longer, if not up to its limit.

        Raises:
            Conflict: The entry is not in the file any more.
            InvalidInput: The longer text does not fit; a text that makes the file smaller always does.
        """
        most = self.limit if most is None else most

        def edit(contents: Contents) -> Edited:
            entries = list(contents.entries)
            keys = list(map(entry_hash, entries))
            if memory.entry_key not in keys:
                raise Conflict(id=memory.id, path=str(self.path), why="entry_gone")
            entries[keys.index(memory.entry_key)] = changed.content
            chars = size(entries)
            if chars > most and chars > size(contents.entries):
                raise InvalidInput(field="content", why="no_room", chars=chars, limit=most)
            known = contents.sidecar.entries.get(memory.entry_key)
            return Edited(
                entries=tuple(dict.fromkeys(entries)),
                metas={changed.entry_key: self.meta_of(changed, now, known)},
            )

        return self._change(edit, now)

    def exchange(
        self,
        gone: Sequence[Memory],
        new: Memory | None,
        now: datetime,
        *,
        beside: Beside = NOTHING,
    ) -> Written:
        """Put one text in the place of others, in one write. One that does not fit stays out; the others leave.

        Entries that are gone already are no error; then the new text goes to the end. Its pointer goes with them.
        """
        keys = {memory.entry_key for memory in gone}
        own = {new.entry_key} if new is not None and new.residence == "stub" else set[str]()

        def edit(contents: Contents) -> Edited | None:
            entries = list(contents.entries)
            places = [place for place, entry in enumerate(entries) if entry_hash(entry) in keys]
            kept = [entry for entry in without_stale(entries, beside.stale) if entry_hash(entry) not in keys]
            metas = self._metas_of(beside, contents, now)
            if new is not None and new.content not in kept:
                rest = [entry for entry in kept if entry_hash(entry) not in own]
                if size([*rest, new.content]) <= max(self.ceiling, size(entries)):
                    kept = rest
                    kept.insert(min(places[0] if places else len(kept), len(kept)), new.content)
                    metas[entry_hash(new.content)] = self.meta_of(Turn(memory=new, text=new.content).after, now)
            return Edited(entries=tuple(kept), metas=metas) if kept != entries else None

        return self._change(edit, now)

    def prune(self, now: datetime) -> None:
        """Leave nothing in the sidecar of entries that the file does not have any more.

        Raises:
            HotFileError: The file cannot be locked or read now, or the sidecar not written.
        """
        written = self._write(
            lambda contents: Edited(entries=contents.entries),
            now, timeout_s=self.lock_timeout_s,
        )  # fmt: skip
        if written.sidecar_error:
            raise written.sidecar_error

    def stamp(self, memories: Sequence[Memory], now: datetime, standings: Mapping[int, Standing] | None = None) -> None:
        """Bring the sidecar up to the rows; the entries themselves are not touched.

        ``standings`` by row number. Without one, what the sidecar says of it stays.

        It is a companion only, so nobody waits for it and nothing fails for it: where it cannot be written now, it
        stays as it is until the next look.
        """

        def edit(contents: Contents) -> Edited | None:
            known = contents.sidecar.entries
            metas = self._metas_of(Beside(rows=memories, standings=standings or {}), contents, now)
            for entry in contents.entries:
                if (
                    (key := entry_hash(entry)) not in metas
                    and key not in known
                    and (is_fold(entry) or is_pointer(entry))
                ):
                    metas[key] = nobodys(now)
            stale = contents.sidecar.damaged or any(known.get(key) != meta for key, meta in metas.items())
            return Edited(entries=contents.entries, metas=metas) if stale else None

        with suppress(HotFileError):
            self._write(edit, now, timeout_s=STAMP_TIMEOUT_S, ahead=True)

    def _metas_of(self, beside: Beside, contents: Contents, now: datetime) -> dict[str, EntryMeta]:
        """What the sidecar shall say of entries that stand in the file and of which the rows are known."""
        known, present = contents.sidecar.entries, set(map(entry_hash, contents.entries))
        return {
            key: self.meta_of(memory, now, known.get(key), standing=beside.standings.get(memory.seq))
            for memory in beside.rows
            if (key := memory.entry_key) in present
        }

    def keep_first_state(self, now: datetime) -> None:
        """Snapshot the file, and what a predecessor wrote beside it, as found at first contact; kept for ever."""
        contents = self.look()
        if contents.data:
            files.snapshot(self.path, contents.data, folder=self.snapshots, now=now)
        beside = sidecar_path(self.path)
        with suppress(HotFileError):  # a companion only
            files.snapshot(beside, read(beside) or b"", folder=self.snapshots, now=now)

    def meta_of(
        self, memory: Memory, now: datetime, known: EntryMeta | None = None, *, standing: Standing | None = None
    ) -> EntryMeta:
        """The sidecar's view of a row. What the sidecar alone keeps, unknown fields too, is taken from ``known``."""
        kept = known or EntryMeta(type="state", written_at=now)
        is_rule, is_stub = memory.policy in {"core", "rule"}, memory.residence == "stub"
        came_back = standing is not None and standing.restored_at is not None
        if standing is not None:
            kept = replace(
                kept,
                last_active_at=standing.touched_at,
                weight=standing.weight,
                weight_at=standing.weighed_at,
                resident_until=standing.resident_until,
            )
        return replace(
            kept,
            type="stub" if is_stub else "rule" if is_rule else "state",
            written_at=memory.created_at,
            updated_at=memory.updated_at,
            origin=memory.origin,
            id=memory.id,
            kind=memory.kind,
            policy=memory.policy,
            protected=memory.protected,
            importance=memory.importance,
            last_active_at=kept.last_active_at,
            weight=NEW_WEIGHT if kept.weight is None else kept.weight,
            weight_at=kept.weight_at or now,
            resident_until=kept.resident_until or now + self.resident,
            pinned=memory.pinned,
            cold_id=memory.id if is_stub or came_back else kept.cold_id,
            session_id=memory.session_id or None,
        )

    def _write(self, edit: files.Edit, now: datetime, *, timeout_s: float, ahead: bool = False) -> files.Written:
        if self.is_frozen:
            raise Unwritable(path=str(self.path), why="looked_at_only", mode="-")
        return files.change(self.path, edit, snapshots=self.snapshots, now=now, timeout_s=timeout_s, ahead=ahead)

    def _change(
        self, edit: files.Edit, now: datetime, *, again: int = 0, then: Callable[[], None] = lambda: None
    ) -> Written:
        """``again``: how often an edit that may be repeated is put on top of what a writer without the lock left.

        ``then`` is called after each time.
        """
        while True:
            written = self._write(edit, now, timeout_s=self.lock_timeout_s, ahead=True)
            then()
            if not (written.overtaken and again):
                break
            again -= 1
        return Written(
            present=frozenset(written.after.entries),
            sha_before=written.before.sha256,
            sha_after=written.after.sha256,
            usage=f"{size(written.after.entries)}/{self.limit}",
        )


def nobodys(now: datetime) -> EntryMeta:
    """The meta of a line that stands for other texts and has no row of its own."""
    return EntryMeta(type="stub", written_at=now, origin="overflow")


def _wishes(turns: Sequence[Turn]) -> tuple[list[Leaves], list[Comes]]:
    leaving: list[Leaves] = []
    coming: list[Comes] = []
    for turn in turns:
        memory, text = turn.memory, turn.text
        if text is not None and (turn.is_text or not memory.in_file):
            own = memory.entry_key if memory.residence == "stub" else ""
            coming.append(Comes(id=memory.id, text=text, instead=own))
        else:
            leaving.append(Leaves(id=memory.id, key=memory.entry_key, pointer=text or ""))
    return leaving, coming
