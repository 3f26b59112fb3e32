"""The vector channel: how near the residuals of memories are to a question, with three ways to get at the vectors.

A process that lives long holds all residuals in memory (``Matrix``). One that does not asks sqlite-vec (``ask_index``),
or, where that cannot load or is not worth it, reads the vectors (``Matrix`` again, for one question). Whoever answers,
the best rows get their score from the same stored vectors, so the answers are the same.

``r`` is the vector minus the mean of its script class (see ``embed.calibration``); a memory with several parts is as
like as its best part. The vector of the question is ``Calibration.ranking``, and a score ``ranking · r / sqrt(|r|)``,
between the inner product and the cosine, since either alone ranks worse (benchmarks/RESULTS.md).
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from memorycore.domain.text import script_class
from memorycore.search.leaders import Leaders, products
from memorycore.store.statements import all_rows, only_row, sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw
    import numpy as np
    from numpy.typing import NDArray

    from memorycore.domain.scoring import Floats, Mask
    from memorycore.domain.scoring import Rows as RowNumbers
    from memorycore.embed import Calibration
    from memorycore.search.rows import Rows

_GROWTH = 1.5
_AT_ONCE = 4_096
_SMALLEST_LENGTH = 1e-6
# The scores of so many vectors with all texts of a batch fit into a processor's cache.
_BLOCK = 4_096


def residuals(found: Sequence[tuple[int, bytes, str]], calibration: Calibration) -> Floats:
    """Rows of (seq, vector, text) as residuals ``[n, width]``."""
    import numpy as np

    if not found:
        return np.zeros((0, len(next(iter(calibration.means.values())))), dtype=np.float32)
    vectors = np.frombuffer(b"".join(blob for _, blob, _ in found), dtype="<f4").reshape(len(found), -1)
    return calibration.residuals(vectors, [script_class(text) for _, _, text in found]).astype(np.float32)


class Matrix:
    """All residuals of one fingerprint, in memory, each with the row of its memory.

    Superseded and binned memories are among them; who asks says which it wants. ``since`` is the newest change of the
    store that the matrix knows.
    """

    def __init__(self, fingerprint_id: int, calibration: Calibration) -> None:
        import numpy as np

        self.fingerprint_id = fingerprint_id
        self.calibration = calibration
        self.since = 0
        width = len(next(iter(calibration.means.values())))
        self._residuals = np.zeros((0, width), dtype=np.float32)
        self._length = np.zeros(0, dtype=np.float32)
        self._seq: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._space: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._active: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._used = 0
        self._last_seq = 0  # the highest of which there ever was a vector
        self._archived: RowNumbers | None = None
        self._archived_residuals: Floats | None = None
        self._spaces: dict[str, int] = {}
        # Where the vectors' memories stand in the columns, computed once for each state of both.
        self._places: tuple[NDArray[np.bool_], RowNumbers] | None = None
        self._places_of: tuple[bool, int, int] = (False, -1, -1)

    def follow(self, c: apsw.Connection) -> None:
        """Take over the vectors of what changed. A changed memory without a vector now loses the one it had."""
        import numpy as np

        newest = int(only_row(c, "newest_change")[0])
        if newest == self.since:
            return
        self._places = self._archived = self._archived_residuals = None
        parameters = {"fingerprint_id": self.fingerprint_id, "since": self.since}
        if self.since:
            changed = [seq for (seq,) in all_rows(c, "changed_since", {"since": self.since}) if seq <= self._last_seq]
            if changed:
                self._drop(np.array(changed, dtype=np.int64))
        (count,) = only_row(c, "count_vectors_since", parameters)
        self._make_room(int(count))
        found = iter(c.execute(sql["vectors_since" if self.since else "all_vectors"], parameters))
        # Some at a time: all blobs at once beside the matrix would double the memory.
        while some := list(islice(found, _AT_ONCE)):
            end = self._used + len(some)
            new = slice(self._used, end)
            self._residuals[new] = residuals([_row(row) for row in some], self.calibration)
            self._length[new] = np.linalg.norm(self._residuals[new], axis=1)
            self._seq[new] = np.fromiter((row[0] for row in some), dtype=np.int64, count=len(some))
            self._space[new] = [self._spaces.setdefault(str(row[3]), len(self._spaces)) for row in some]
            self._active[new] = [bool(row[4]) for row in some]
            self._last_seq = max(self._last_seq, int(self._seq[new].max()))
            self._used = end
        self.since = newest

    def likeness(self, question: Floats, rows: Rows) -> Floats:
        """Scores of all rows for the vector of a question, ``[n]``; NaN for a memory that has no vector."""
        import numpy as np

        scores = self._residuals[: self._used] @ question
        scores /= np.sqrt(np.maximum(self._length[: self._used], _SMALLEST_LENGTH))
        likeness = np.full(len(rows), np.nan, dtype=np.float32)
        ours, place = self._standing_in(rows)
        np.fmax.at(likeness, place, scores[ours])
        return likeness

    def archived(self, question: Floats, least: float) -> dict[int, float]:
        """Scores of at least ``least`` of memories (seq), of any namespace, that are superseded or in the bin."""
        import numpy as np

        if self._archived is None:
            self._archived = np.flatnonzero(~self._active[: self._used])
        if self._archived_residuals is None:
            self._archived_residuals = self._residuals[self._archived]
        scores = self._archived_residuals @ question
        high = np.flatnonzero(scores >= least)
        found: dict[int, float] = {}
        for seq, score in zip(self._seq[self._archived[high]].tolist(), scores[high].tolist(), strict=True):
            found[seq] = max(score, found.get(seq, score))
        return found

    def nearest(self, parts: Floats, namespace: str, *, active: int, archived: int) -> list[int]:
        """Memories (seq) of one namespace whose residuals have the highest cosine with any of ``parts`` [k, width].

        So many that are active, nearest first, then so many that are superseded or in the bin.
        """
        import numpy as np

        own = self._space[: self._used] == self._spaces.get(namespace, -1)
        few = np.flatnonzero(own) if own.sum() * 8 < self._used else None  # copying some is cheaper then
        theirs = self._residuals[few] if few is not None else self._residuals[: self._used]
        # Not `@`, which hands this to threads that wait for each other by turning: a busy machine needs 20 ms for it.
        best = np.vecdot(theirs, parts[:, np.newaxis]).max(axis=0)
        best /= np.maximum(self._length[: self._used] if few is None else self._length[few], _SMALLEST_LENGTH)
        found: dict[int, None] = {}
        for state, count in ((True, active), (False, archived)):
            right = self._active[: self._used] == state
            rows = np.flatnonzero(right & own) if few is None else np.flatnonzero(right[few])
            if len(rows) > count:
                rows = rows[np.argpartition(-best[rows], count)[:count]]
            rows = rows[np.argsort(-best[rows], kind="stable")]
            found |= dict.fromkeys(self._seq[rows if few is None else few[rows]].tolist())
        return list(found)

    def nearest_to_each(
        self, texts: Sequence[Floats], namespace: str, *, active: int, archived: int
    ) -> list[list[int]]:
        """``nearest`` for many texts ([k, width] each), for which all vectors are read once."""
        import numpy as np

        own = self._space[: self._used] == self._spaces.get(namespace, -1)
        few = np.flatnonzero(own) if own.sum() * 8 < self._used else None
        columns = np.ascontiguousarray(np.concatenate(texts).T)
        starts = np.cumsum([0, *map(len, texts[:-1])])
        leaders = {state: Leaders(len(texts), most) for state, most in ((True, active), (False, archived)) if most}
        for start in range(0, self._used if few is None else len(few), _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, self._used)) if few is None else few[start : start + _BLOCK]
            here = slice(start, start + len(rows)) if few is None else rows  # a slice copies nothing
            best = products(self._residuals[here], columns)
            if columns.shape[1] > len(texts):  # some have several parts
                best = np.maximum.reduceat(best, starts, axis=1)
            best /= np.maximum(self._length[here], _SMALLEST_LENGTH)[:, np.newaxis]
            for state, leading in leaders.items():
                leading.meet(best, rows, own[here] & (self._active[here] == state))
        found = [leading.in_order() for leading in leaders.values()]
        return [self._seqs(np.concatenate(of_one)) for of_one in zip(*found, strict=True)]

    def _seqs(self, rows: RowNumbers) -> list[int]:
        """Their memories, each once."""
        return list(dict.fromkeys(self._seq[rows].tolist()))

    def _standing_in(self, rows: Rows) -> tuple[NDArray[np.bool_], RowNumbers]:
        import numpy as np

        state = (rows.past, rows.since, len(rows))
        if self._places is None or self._places_of != state:
            seqs, known = self._seq[: self._used], rows.columns.seq
            place = np.minimum(np.searchsorted(known, seqs), max(len(known) - 1, 0))
            ours = known[place] == seqs if len(known) else np.zeros(len(seqs), dtype=np.bool_)
            self._places, self._places_of = (ours, place[ours]), state
        return self._places

    def _columns(self) -> tuple[NDArray[Any], ...]:
        return self._residuals, self._length, self._seq, self._space, self._active

    def _drop(self, seqs: NDArray[np.int64]) -> None:
        """Forget the vectors of these memories; the last ones move into their places."""
        import numpy as np

        gone = np.flatnonzero(np.isin(self._seq[: self._used], seqs))
        if not len(gone):
            return
        count = self._used - len(gone)
        moved = np.setdiff1d(np.arange(count, self._used), gone, assume_unique=True)
        for column in self._columns():
            column[gone[gone < count]] = column[moved]
        self._used = count

    def _make_room(self, count: int) -> None:
        import numpy as np

        needed = self._used + count
        if needed <= len(self._seq):
            return
        size = needed if not self._used else max(needed, int(len(self._seq) * _GROWTH))
        grown = [np.zeros((size, *column.shape[1:]), dtype=column.dtype) for column in self._columns()]
        for new, old in zip(grown, self._columns(), strict=True):
            new[: self._used] = old[: self._used]
        self._residuals, self._length, self._seq, self._space, self._active = grown


def parts_of(
    c: apsw.Connection, seqs: Sequence[int], fingerprint_id: int, calibration: Calibration
) -> tuple[list[int], Floats]:
    """The stored vectors of these memories as residuals, ``[n, width]``, and the memory (seq) of each."""
    parameters = {"fingerprint_id": fingerprint_id, "seqs": json.dumps(seqs)}
    found = [_row(row) for row in all_rows(c, "vectors_by_seq", parameters)]
    return [seq for seq, _, _ in found], residuals(found, calibration)


def best_of_each(seqs: Sequence[int], scores: Floats) -> dict[int, float]:
    """The best score of each memory's parts."""
    best: dict[int, float] = {}
    for seq, score in zip(seqs, scores.tolist(), strict=True):
        best[seq] = max(score, best.get(seq, score))
    return best


def by_root_of_length(rows: Floats) -> Floats:
    """Residuals as ``Matrix.likeness`` scores them."""
    import numpy as np

    return rows / np.sqrt(np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _SMALLEST_LENGTH))


def of_length_one(rows: Floats) -> Floats:
    import numpy as np

    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _SMALLEST_LENGTH)


def _row(row: tuple[Any, ...]) -> tuple[int, bytes, str]:
    seq, vector, text = row[:3]
    return int(seq), vector, text


def best_rows(scores: Floats, allowed: Mask, count: int) -> RowNumbers:
    """The ``count`` allowed rows with the highest scores, in no order, of equal ones the first; NaN counts as none."""
    import numpy as np

    rows = np.flatnonzero(allowed & ~np.isnan(scores))
    if len(rows) <= count:
        return rows
    among = scores[rows]
    last = np.partition(among, len(rows) - count)[len(rows) - count]
    better, equal = rows[among > last], rows[among == last]
    return np.concatenate([better, equal[: count - len(better)]])
