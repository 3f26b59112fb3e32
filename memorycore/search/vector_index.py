"""sqlite-vec as an index for processes that do not live long: the nearest of many vectors without reading them all.

sqlite-vec knows distances, not the inner product that ranks here, and residuals differ in length. So each residual r
gets one more number, sqrt(M - |r|²), which makes all of them equally long; then the order of distances to the question
(with 0 there) is the order of ``q·r``. M is fixed: a unit vector minus a mean of unit vectors is never longer than 2.

The table follows the vectors: ``embedding.indexed`` tells which rows it has, the rest is scanned exactly. It is brought
up to date after an answer, when nobody else writes; a reader never waits for that. It belongs to one fingerprint and
calibration, and is made again for another.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import apsw

from memorycore.errors import StoreBusy
from memorycore.search.vectors import residuals
from memorycore.store.engine import vec0_path
from memorycore.store.statements import all_rows, only_row, sql
from memorycore.store.vectors import known_fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from memorycore.domain.scoring import Floats
    from memorycore.embed import Calibration
    from memorycore.store import Database

WORTH_IT_FROM = 5_000  # vectors; fewer are read faster than the extension loads
WORTH_ADDING = 500
BATCH = 2_000
MOST_ADDED = 20_000
CHUNK = 1_024  # vectors for which sqlite-vec makes room at once
EMPTIED_AT_ONCE = 500
FEW_ANSWERS = 64
MOST_ANSWERS = 4_096  # sqlite-vec's own limit
_LONGEST_SQUARED = 4.0


def serves(c: apsw.Connection, fingerprint: str, calibration: Calibration) -> bool:
    """Whether the index can answer for these vectors: made for them, the extension loads, and it has most of them."""
    recipe, exists = only_row(c, "vector_index_recipe")
    if not exists or recipe != _recipe(fingerprint, calibration) or not load(c):
        return False
    known = known_fingerprint(c, fingerprint)
    total, missing = only_row(c, "count_embeddings", {"fingerprint_id": known})
    return total >= WORTH_IT_FROM and 2 * missing <= total


def load(c: apsw.Connection) -> bool:
    """Give this connection sqlite-vec; False where it cannot load."""
    try:
        c.execute("SELECT vec_version()").fetchall()
    except apsw.SQLError:
        pass
    else:
        return True
    try:
        path = vec0_path()
        c.enable_load_extension(True)  # noqa: FBT003 apsw's signature
        try:
            c.load_extension(path)
        finally:
            c.enable_load_extension(False)  # noqa: FBT003 apsw's signature
    except (ImportError, apsw.Error, OSError):
        return False
    return True


def ask(
    c: apsw.Connection,
    question: Floats,
    seqs: Sequence[int],
    *,
    fingerprint_id: int,
    calibration: Calibration,
    count: int,
) -> list[int]:
    """The ``count`` memories (seq) among ``seqs`` that are most like the question, and perhaps some more."""
    wanted = json.dumps(seqs)
    indexed = all_rows(c, "nearest_vectors", {
        "question": _augmented(question[None, :], of_question=True)[0].tobytes(),
        "count": min(count, MOST_ANSWERS), "fingerprint_id": fingerprint_id, "seqs": wanted,
    })  # fmt: skip
    allowed = set(seqs)
    tail = [row for row in _unindexed(c, fingerprint_id, WORTH_ADDING * 100) if row[1] in allowed]
    scores = residuals([row[1:] for row in tail], calibration) @ question
    best_of_tail = sorted(zip(scores.tolist(), (row[1] for row in tail), strict=True), reverse=True)[:count]
    return [int(seq) for (seq,) in indexed] + [seq for _, seq in best_of_tail]


def nearest(
    c: apsw.Connection, parts: Floats, namespace: str, *, fingerprint_id: int, calibration: Calibration
) -> list[int]:
    """Memories (seq) of one namespace that are like any of these residuals ``[k, width]``, whatever their state."""
    found: dict[int, None] = {}
    for part in _augmented(parts, of_question=True):
        for count in (FEW_ANSWERS, MOST_ANSWERS):
            rows = all_rows(c, "nearest_vectors_of_namespace", {
                "question": part.tobytes(), "count": count, "fingerprint_id": fingerprint_id, "namespace": namespace,
            })  # fmt: skip
            if len(rows) * 4 >= FEW_ANSWERS:  # else other namespaces hold most of what is near
                break
        found |= dict.fromkeys(int(seq) for (seq,) in rows[:FEW_ANSWERS])
    tail = _unindexed(c, fingerprint_id, WORTH_ADDING * 100)
    if tail:
        scores = (residuals([row[1:] for row in tail], calibration) @ parts.T).max(axis=1)
        order: list[int] = (-scores).argsort(kind="stable")[:FEW_ANSWERS].tolist()
        found |= dict.fromkeys(tail[place][1] for place in order)
    return list(found)


def catch_up(db: Database, fingerprint: str, calibration: Calibration) -> int:
    """Index what is missing, if that is worth it and nobody writes; how many vectors were added."""
    with db.read() as c:
        known = known_fingerprint(c, fingerprint)
        if known is None:
            return 0
        total, missing = only_row(c, "count_embeddings", {"fingerprint_id": known})
        recipe, exists = only_row(c, "vector_index_recipe")
        current = bool(exists) and recipe == _recipe(fingerprint, calibration)
    if total < WORTH_IT_FROM or (current and missing < WORTH_ADDING):
        return 0
    added = 0
    try:
        while added < MOST_ADDED:
            # A short transaction for each batch, so that writers get their turn.
            with db.write(timeout_ms=0) as c:
                if not load(c):
                    return added
                if not current:
                    _make(c, fingerprint, calibration)
                    current = True
                _sweep(c)
                batch = _add(c, known, calibration)
            added += batch
            if batch < BATCH:
                return added
    except StoreBusy:
        pass
    return added


def is_half_dead(db: Database) -> bool:
    """Whether half of the index's room is that of vectors that are gone, which sqlite-vec does not give back."""
    with db.read() as c:
        _, exists = only_row(c, "vector_index_recipe")
        if not exists:
            return False
        used, room = only_row(c, "vector_index_fill")
    return room > 2 * CHUNK and 2 * used < room


def empty(turn: Callable[[], AbstractContextManager[apsw.Connection]]) -> None:
    """Take everything out of the index, some at a time, and drop it; the vectors themselves stay where they are."""
    while True:
        with turn() as c:
            if not load(c):
                return
            ids = [number for (number,) in all_rows(c, "some_indexed", {"limit": EMPTIED_AT_ONCE})]
            for number in ids:
                c.execute(sql["unindex_vector"], {"id": number})
            c.execute(sql["unmark_some"], {"ids": json.dumps(ids)})
            if len(ids) < EMPTIED_AT_ONCE:
                c.execute(sql["drop_vector_index"])
                c.execute(sql["unmark_indexed"])
                return


def _make(c: apsw.Connection, fingerprint: str, calibration: Calibration) -> None:
    c.execute(sql["drop_vector_index"])
    # A column's width is part of its type and cannot be bound; it is a number that we computed.
    c.execute(f"CREATE VIRTUAL TABLE memory_vector USING vec0 (residual float[{_padded(_width(calibration))}])")
    c.execute(sql["unmark_indexed"])
    c.execute(sql["set_vector_index_recipe"], {"recipe": _recipe(fingerprint, calibration)})


def _sweep(c: apsw.Connection) -> None:
    """Remove rows whose vector is gone, or whose number another vector has now."""
    for (orphan,) in all_rows(c, "orphaned_vectors", {"limit": BATCH}):
        c.execute(sql["unindex_vector"], {"id": orphan})


def _add(c: apsw.Connection, fingerprint_id: int, calibration: Calibration) -> int:
    rows = _unindexed(c, fingerprint_id, BATCH)
    padded = _augmented(residuals([row[1:] for row in rows], calibration), of_question=False)
    for row, residual in zip(rows, padded, strict=True):
        c.execute(sql["index_vector"], {"id": row[0], "residual": residual.tobytes()})
    c.execute(sql["mark_indexed"], {"ids": json.dumps([row[0] for row in rows])})
    return len(rows)


def _unindexed(c: apsw.Connection, fingerprint_id: int, limit: int) -> list[tuple[int, int, bytes, str]]:
    rows = all_rows(c, "unindexed_vectors", {"fingerprint_id": fingerprint_id, "limit": limit})
    return [(int(number), int(seq), bytes(vector), str(text)) for number, seq, vector, text in rows]


def _augmented(rows: Floats, *, of_question: bool) -> Floats:
    """Rows with the number that makes them equally long, padded with zeros to a multiple of 16."""
    import numpy as np

    width = rows.shape[1]
    padded = np.zeros((len(rows), _padded(width)), dtype="<f4")
    padded[:, :width] = rows
    if not of_question:
        padded[:, width] = np.sqrt(np.maximum(_LONGEST_SQUARED - np.square(rows).sum(axis=1), 0.0))
    return padded


def _padded(width: int) -> int:
    return (width + 16) // 16 * 16


def _width(calibration: Calibration) -> int:
    return len(next(iter(calibration.means.values())))


def _recipe(fingerprint: str, calibration: Calibration) -> int:
    """A number for the space and the means that the residuals were made with."""
    digest = hashlib.sha256(fingerprint.encode())
    for name in sorted(calibration.means):
        digest.update(name.encode() + calibration.means[name].tobytes())
    return int.from_bytes(digest.digest()[:7], "big")
