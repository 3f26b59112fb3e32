"""What search must know of every live memory, as columns in memory: who may see it, where it stands, who said it.

A hundred bytes or so for each row, never the texts. Which row may be shown is decided here and nowhere else.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from memorycore.domain.scoring import Places, places_of
from memorycore.domain.text import fold
from memorycore.search.wordings import Reworded, wordings_at
from memorycore.store.memories import to_ms
from memorycore.store.statements import all_rows, only_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    import apsw
    import numpy as np
    from numpy.typing import NDArray

    from memorycore.domain.scoring import Mask
    from memorycore.domain.scoring import Rows as RowNumbers
    from memorycore.search.request import SearchRequest

    Integers = NDArray[np.int64]

# "[8 May 2023] Caroline: …" or "Caroline: …", a line of a transcript: who speaks, and in brackets the conversation, for
# a memory that names no session.
_LINE = re.compile(
    r"\s*(?:(\[[^\]\n]{1,60}\])\s*)?([^\W\d_][^:：\n\[\]<>{}/\\\"。，,;；!?！？]{0,39}?)\s*[:：](?=\s|[^\x00-\x7f])"
)
_MOST_NAME_WORDS = 3
NEVER_BEGAN = -9223372036854775807  # a valid_from that nobody gave
OWN_WORD = "own word"  # said to us, and not read anywhere: what a page says that nobody checked counts for less
_TRUST = {OWN_WORD: 1.0, "verified": 1.0, "unverified": 0.95, "stale": 0.7, "disputed": 0.5}


@dataclass(slots=True, kw_only=True, eq=False)
class Columns:
    """One value for each memory, ``[n]`` each. Texts are numbers of ``Rows.known_code``; times are milliseconds UTC."""

    seq: Integers
    alive: Mask
    superseded: Mask
    namespace: Integers
    kind: Integers
    policy: Integers
    target: Integers
    hot: Mask
    private: Mask
    session: Integers
    author: Integers
    speaker: Integers
    valid_from: Integers
    valid_until: Integers
    created: Integers
    happened: Integers
    trust: NDArray[np.float32]
    uses: Integers
    last_use: Integers
    size: Integers
    asks: Mask


class _Codes(dict[str, int]):
    """A number for every text that was ever asked for."""

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self)
        return number


class Rows:
    """The columns of all live memories of some namespaces; ``follow`` brings them up to date.

    ``past``: superseded memories live too.
    """

    def __init__(self, namespaces: Sequence[str], *, past: bool = False) -> None:
        self.namespaces = tuple(namespaces)
        self.past = past
        # What was worded otherwise at the time that the question is about.
        self.reworded: dict[int, Reworded] = {}
        self.since = 0
        self.tags: dict[int, frozenset[str]] = {}
        # What the keyword channel found out about words, until something changes: questions have many in common.
        self.holding: dict[str, RowNumbers] = {}
        self.counts: dict[str, int] = {}
        self._codes = _Codes({"": 0})
        self._columns: Columns | None = None
        self._places: Places | None = None
        self._in_dialogue: Mask | None = None

    def __len__(self) -> int:
        return 0 if self._columns is None else len(self._columns.seq)

    @property
    def columns(self) -> Columns:
        if self._columns is None:
            raise LookupError
        return self._columns

    @property
    def places(self) -> Places:
        """Neighbours in the same session of the same namespace."""
        import numpy as np

        if self._places is None:
            columns = self.columns
            session = np.where(columns.alive, columns.session, 0)
            self._places = places_of(np.where(session > 0, session, -1), columns.asks)
        return self._places

    @property
    def in_dialogue(self) -> Mask:
        """Which memories are turns of a dialogue: somebody else speaks just before or after."""
        import numpy as np

        mask = self._in_dialogue
        if mask is None:
            speaker = np.append(self.columns.speaker, 0)
            mask = np.zeros(len(self), dtype=np.bool_)
            for neighbours in (self.places.before, self.places.after):
                other = speaker[neighbours]
                mask |= (neighbours >= 0) & (other > 0) & (speaker[:-1] > 0) & (other != speaker[:-1])
            self._in_dialogue = mask
        return mask

    def known_code(self, text: str) -> int:
        """The number of a text, 0 for the empty one, -1 for one that no memory has."""
        return self._codes.get(text, -1)

    def speakers_in(self, names: Iterable[str]) -> RowNumbers:
        """The numbers of those names that somebody speaks under."""
        import numpy as np

        found = {self._codes.get(f"speaker\0{name}", -1) for name in names}
        return np.array(sorted(found - {-1}), dtype=np.int64)

    def follow(self, c: apsw.Connection) -> None:
        """Read what has changed since the last call.

        A memory that came back to life with a number from the middle makes everything be read again.
        """
        newest = int(only_row(c, "newest_change")[0])
        if newest == self.since and self._columns is not None:
            return
        self.forget_words()
        changed = self._read(c, self.since)
        if self._columns is None:
            self._columns = changed
        elif not self._merge(changed):
            self._columns = self._read(c, 0)
        self.since, self._places, self._in_dialogue = newest, None, None

    def forget_words(self) -> None:
        """Drop what is known about words: the memories have changed, or it has become too much."""
        self.holding.clear()
        self.counts.clear()

    def reword(self, c: apsw.Connection, at: datetime | None) -> None:
        """Go back to the wordings of a time; None: to the present ones."""
        if at is not None or self.reworded:
            self.forget_words()
        self.reworded = {} if at is None else wordings_at(c, at, self.namespaces)

    def find(self, seqs: Sequence[int] | Integers) -> RowNumbers:
        """Row numbers of these memories; unknown and dead ones are left out."""
        import numpy as np

        wanted = np.asarray(seqs, dtype=np.int64)
        columns = self.columns
        if not len(wanted) or not len(columns.seq):
            return wanted[:0]
        rows = np.minimum(np.searchsorted(columns.seq, wanted), len(columns.seq) - 1)
        return rows[(columns.seq[rows] == wanted) & columns.alive[rows]]

    def visible(self, request: SearchRequest, now: datetime) -> Mask:
        """Live memories that this caller may see now, whatever the filters."""
        import numpy as np

        columns = self.columns
        spaces = np.array([self.known_code(name) for name in request.namespaces], dtype=np.int64)
        viewer = request.viewer_session or request.filters.session_id
        own = self._session_codes(viewer, request.namespaces)
        return (
            columns.alive
            & np.isin(columns.namespace, spaces)
            & self._valid(request, to_ms(now) or 0)
            & (~columns.private | np.isin(columns.session, own))
        )

    def _valid(self, request: SearchRequest, now_ms: int) -> Mask:
        """Memories whose time it is, or was.

        Looking back, one begins with the time that somebody gave it, else when it happened or was stored, whichever is
        earlier: what is stored today may have been so for years.
        """
        import numpy as np

        columns = self.columns
        if request.filters.as_of is None:
            begun = columns.valid_from <= now_ms
            valid = begun & (columns.valid_until > now_ms) & ~columns.superseded
        else:
            at_ms = to_ms(request.filters.as_of) or 0
            earliest = np.minimum(columns.created, columns.happened)
            begun = np.where(columns.valid_from > NEVER_BEGAN, columns.valid_from, earliest) <= at_ms
            valid = begun & (columns.valid_until > at_ms)
        return valid | (begun & columns.superseded) if "superseded" in request.filters.include else valid

    def matching(self, request: SearchRequest) -> Mask:
        """Memories that pass the filters of the request."""
        import numpy as np

        columns, wanted = self.columns, request.filters
        mask = np.ones(len(self), dtype=np.bool_)
        for column, text in (
            (columns.kind, wanted.kind), (columns.policy, wanted.policy), (columns.target, wanted.target),
            (columns.author, wanted.author),
        ):  # fmt: skip
            if text:
                mask &= column == self.known_code(text)
        if wanted.session_id:
            mask &= np.isin(columns.session, self._session_codes(wanted.session_id, request.namespaces))
        if wanted.tier:
            mask &= columns.hot == (wanted.tier == "hot")
        if wanted.since:
            mask &= columns.happened >= (to_ms(wanted.since) or 0)
        if wanted.until:
            mask &= columns.happened <= (to_ms(wanted.until) or 0)
        if wanted.tags:
            tagged = self.tagged({fold(tag) for tag in wanted.tags}, all_of_them=True)
            mask &= np.isin(np.arange(len(self)), tagged)
        return mask

    def tagged(self, tags: set[str] | frozenset[str], *, all_of_them: bool) -> RowNumbers:
        """Rows that carry these (folded) tags, all or any of them."""
        found = [seq for seq, own in self.tags.items() if (tags <= own if all_of_them else tags & own)]
        return self.find(sorted(found))

    def _session_codes(self, session_id: str, namespaces: Sequence[str]) -> Integers:
        import numpy as np

        codes = [self.known_code(_session_name(name, session_id)) for name in namespaces] if session_id else []
        return np.array([code for code in codes if code > 0], dtype=np.int64)

    def _read(self, c: apsw.Connection, since: int) -> Columns:
        import numpy as np

        asked = {"since": since, "namespaces": json.dumps(self.namespaces), "past": self.past}
        rows = all_rows(c, "rows_for_search", asked)
        given: list[tuple[Any, ...]] = list(zip(*rows, strict=True)) or [()] * 23
        (seq, space, alive, superseded, kind, policy, target, hot, private, session, author, start, end, created,
         happened, confidence, checked, uses, last, tags, size, head, asks) = given  # fmt: skip
        for number, own in zip(seq, tags, strict=True):
            if own != "[]":
                self.tags[number] = frozenset(fold(tag) for tag in json.loads(own))
            else:
                self.tags.pop(number, None)

        def whole(values: Iterable[int]) -> Integers:
            return np.fromiter(values, dtype=np.int64, count=len(rows))

        def coded(values: Iterable[str]) -> Integers:
            return whole(map(self._codes.__getitem__, values))

        def flags(values: Iterable[int]) -> Mask:
            return np.fromiter(values, dtype=np.bool_, count=len(rows))

        trust = (
            value * _TRUST.get(status or OWN_WORD, 0.95) for value, status in zip(confidence, checked, strict=True)
        )
        talks = [_place_in_talk(*told) for told in zip(space, session, head, author, strict=True)]
        return Columns(
            seq=whole(seq), alive=flags(alive), superseded=flags(superseded),
            namespace=coded(space), kind=coded(kind), policy=coded(policy),
            target=coded(target), hot=flags(hot), private=flags(private),
            session=coded(talk for talk, _ in talks),
            author=coded(author),
            speaker=coded(speaker for _, speaker in talks),
            valid_from=whole(start), valid_until=whole(end), created=whole(created), happened=whole(happened),
            trust=np.fromiter(trust, dtype=np.float32, count=len(rows)),
            uses=whole(uses), last_use=whole(value or 0 for value in last), size=whole(size), asks=flags(asks),
        )  # fmt: skip

    def _merge(self, changed: Columns) -> bool:
        """Take changed rows over. False when one of them belongs into the middle."""
        import numpy as np

        own = self.columns
        fresh = changed.seq > (own.seq[-1] if len(own.seq) else 0)
        earlier = changed.seq[~fresh]
        place = np.searchsorted(own.seq, earlier)
        known = own.seq[place] == earlier
        if (changed.alive[~fresh] & ~known).any():
            return False
        for column in fields(Columns):
            mine, theirs = getattr(own, column.name), getattr(changed, column.name)
            mine[place[known]] = theirs[~fresh][known]
            setattr(own, column.name, np.concatenate([mine, theirs[fresh]]))
        return True


def _session_name(namespace: str, session_id: str) -> str:
    return f"session\0{namespace}\0{session_id}"


def _place_in_talk(namespace: str, session_id: str, head: str, author: str) -> tuple[str, str]:
    """Session and speaker of a memory, as ``Rows`` codes them; empty for none."""
    match = _LINE.match(head) if ":" in head or "：" in head else None
    line = match if match and len(match.group(2).split()) <= _MOST_NAME_WORDS else None
    name = fold(line.group(2) if line else author).strip()
    session = _session_name(namespace, session_id) if session_id else ""
    if line and line.group(1) and not session_id:
        session = f"transcript\0{namespace}\0{line.group(1)}"
    return session, f"speaker\0{name}" if name else ""
