"""The memories that a new text may say again, add to, replace or contradict: nearest by words and by meaning.

Of one namespace and the same scope; hot and cold alike, superseded and binned ones apart, so that the many old values
of a thing never push its present one out. Two steps: ``scout`` looks at all vectors, before a transaction, and
``neighbours`` at the words and at what the transaction itself has written, inside it.
"""

from __future__ import annotations

import json
import math
import threading
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from memorycore.domain.text import query_tokens
from memorycore.search import vector_index
from memorycore.search.alike import likeness_of_cosines, likeness_of_parts, residuals_of
from memorycore.search.vectors import Matrix, residuals
from memorycore.search.words import stems_of
from memorycore.store import memories
from memorycore.store.statements import all_rows, only_row
from memorycore.store.vectors import known_fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import apsw

    from memorycore.domain.memory import Memory
    from memorycore.domain.scoring import Floats
    from memorycore.embed import Calibration
    from memorycore.search.living import LivingIndex
    from memorycore.store import Database

MOST_NEIGHBOURS = 4
MOST_ARCHIVED = 2
# What is looked at more closely, of each kind and found in each way.
LOOKED_AT = 14
MOST_LOOKED_AT = 480  # where other namespaces and sessions hold the same words
ARCHIVED_LOOKED_AT = 7
TELLING_LOOKED_AT = 7  # for the words that hardly any other text has
# A text may have thousands of words; the first ones, and of these the rarest, tell what it is about.
MOST_CHARS = 4_000
MOST_WORDS = 256
WORDS_READ = 16
ALWAYS_READ = 2
COMMON_FROM = 50
STILL_ABOUT = 1.1  # until there are so many times more memories, counts of common words stay as they are
MOST_PLACES = 1_500
# Fewer shared words, or less likeness, and the judge has nothing to compare.
LEAST_WORDS = 0.2
LEAST_LIKENESS = 0.4
# Of those that share no words worth mentioning: in a large store something is always somewhat alike, and each costs a
# verdict. On the public pairs four lose nothing.
MOST_BY_MEANING = 4
# A process that does not live long holds this many vectors in memory at most; beyond, it asks the index.
MOST_HELD = 200_000
_STEM = 6

Way = Literal["words", "meaning", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A memory beside a new text.

    ``likeness``: 0 as like as unrelated texts, 1 as like as two wordings of one statement; None without vectors.
    ``words``: cosine of the rare words that both hold, 0..1.
    """

    memory: Memory
    likeness: float | None
    words: float
    via: Way


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scouted:
    """What all vectors say of some texts: the nearest memories (seq) by text, as of change number ``since``.

    ``residuals`` are those of the texts' vectors, ``[k, width]`` each. Empty without a model: then words alone decide.
    """

    fingerprint: str = ""
    calibration: Calibration | None = None
    since: int = 0
    residuals: Mapping[str, Floats] = field(default_factory=dict[str, "Floats"])
    near: Mapping[str, Sequence[int]] = field(default_factory=dict[str, "Sequence[int]"])
    common: dict[str, int] = field(default_factory=dict[str, int])
    """About how many memories hold each of the common words that were counted so far; it fills while it is used."""


class Scout:
    """Where the nearest of all vectors come from: the living index, vectors held for a batch, or sqlite-vec."""

    def __init__(self, db: Database, index: LivingIndex | None) -> None:
        self._db = db
        self._index = index
        self._lock = threading.Lock()
        self._held: Matrix | None = None
        self._common: dict[str, int] = {}
        self._counted_at = 0

    def look(
        self,
        parts: Mapping[str, Floats],
        namespace: str,
        *,
        fingerprint: str | None,
        calibration: Calibration | None,
        archived: int = ARCHIVED_LOOKED_AT,
    ) -> Scouted:
        """The nearest memories of one namespace for texts with these vectors. Not inside a write transaction.

        ``archived``: so many that are superseded or in the bin as well. Many texts at once cost little more than a few.
        What is written after this look is seen by ``neighbours``, with the connection that it gets.
        """
        with self._db.read() as c:
            (total,) = only_row(c, "newest_row")
            if (total or 0) > self._counted_at * STILL_ABOUT:
                self._common, self._counted_at = {}, total
            if not parts or fingerprint is None or calibration is None:
                return Scouted(common=self._common)
            known = known_fingerprint(c, fingerprint)
            since = int(only_row(c, "newest_change")[0])
            near: dict[str, Sequence[int]] = {}
            moved = {text: residuals_of(text, found, calibration) for text, found in parts.items()}
            if known is not None:
                since, near = self._nearest(c, moved, namespace, (fingerprint, known, calibration), archived)
        return Scouted(
            fingerprint=fingerprint,
            calibration=calibration,
            since=since,
            residuals=moved,
            near=near,
            common=self._common,
        )

    def _nearest(
        self,
        c: apsw.Connection,
        moved: Mapping[str, Floats],
        namespace: str,
        space: tuple[str, int, Calibration],
        archived: int,
    ) -> tuple[int, dict[str, Sequence[int]]]:
        fingerprint, known, calibration = space
        if self._index is not None:
            with self._index.vectors(c, known, calibration) as matrix:
                return matrix.since, _nearest_in(matrix, moved, namespace, archived)
        with self._lock:
            if self._held is None or self._held.fingerprint_id != known:
                total, _ = only_row(c, "count_embeddings", {"fingerprint_id": known})
                few = len(moved) == 1 or total > MOST_HELD
                if few and vector_index.serves(c, fingerprint, calibration):
                    since = int(only_row(c, "newest_change")[0])
                    return since, {
                        text: vector_index.nearest(c, found, namespace, fingerprint_id=known, calibration=calibration)
                        for text, found in moved.items()
                    }
                self._held = Matrix(known, calibration)
            self._held.follow(c)
            return self._held.since, _nearest_in(self._held, moved, namespace, archived)


def _nearest_in(matrix: Matrix, moved: Mapping[str, Floats], namespace: str, archived: int) -> dict[str, Sequence[int]]:
    if len(moved) == 1:
        return {
            text: matrix.nearest(found, namespace, active=LOOKED_AT, archived=archived) for text, found in moved.items()
        }
    found = matrix.nearest_to_each(list(moved.values()), namespace, active=LOOKED_AT, archived=archived)
    return dict(zip(moved, found, strict=True))


def neighbours(
    c: apsw.Connection, memory: Memory, scouted: Scouted, *, limit: int = MOST_NEIGHBOURS, archived: int = MOST_ARCHIVED
) -> list[Neighbour]:
    """The memories nearest to one, which need not be in the store itself.

    At most ``limit`` active ones, nearest first, then at most ``archived`` that are superseded or in the bin. Only of
    its own namespace and scope, and of its session when that is its scope; never itself. Any connection will do: inside
    a write transaction it sees what that has written.
    """
    words = _words_of(c, memory.content, scouted.common)
    by_meaning = [*scouted.near.get(memory.content, ()), *_nearest_of_new(c, memory.content, scouted)]
    active, telling = _by_words(_places(c, words, "places_of_words"))
    binned = _by_words(_places(c, words, "archived_places_of_words"))[0] if archived else []
    found = _comparable(c, memory, [*active[:LOOKED_AT], *telling, *binned[:ARCHIVED_LOOKED_AT], *by_meaning])
    if len(found) < MOST_NEIGHBOURS and len(active) + len(binned) > LOOKED_AT:  # others hold them: look further down
        found = _comparable(c, memory, [*active, *telling, *binned, *by_meaning])
    alike = _likeness(c, memory.content, found, scouted)
    common = {seq: words.weights.keys() & _stems_in(text) for seq, (text, _) in found.items()}
    shared = {seq: _shared(words, common[seq], found[seq][0]) for seq in found}
    ways: dict[int, Way] = {seq: way for seq in found if (way := _way(shared[seq], alike.get(seq))) is not None}
    near = sorted(ways, key=lambda seq: (-_nearness(shared[seq], alike.get(seq)), -seq))
    only_alike = [seq for seq in near if ways[seq] == "meaning"][MOST_BY_MEANING:]
    near = [seq for seq in near if seq not in only_alike]
    in_use = [seq for seq in near if found[seq][1]]
    taken = _of_both(in_use, sorted(in_use, key=lambda seq: _telling(words, common[seq]), reverse=True), limit)
    chosen = [seq for seq in in_use if seq in taken] + [seq for seq in near if not found[seq][1]][:archived]
    rows = memories.by_seq(c, chosen, (memory.namespace,))
    return [
        Neighbour(memory=rows[seq], likeness=alike.get(seq), words=round(shared[seq], 4), via=ways[seq])
        for seq in chosen
    ]


def _of_both(one: Sequence[int], other: Sequence[int], limit: int) -> set[int]:
    """The first of two orders in turn, so many altogether."""
    taken: set[int] = set()
    for pair in zip(one, other, strict=True):
        for seq in pair:
            if len(taken) < limit:
                taken.add(seq)
    return taken


def _comparable(c: apsw.Connection, memory: Memory, seqs: Iterable[int]) -> dict[int, tuple[str, bool]]:
    """Of these memories the ones that the text may meet: the beginning of each, and whether it is active, by seq."""
    wanted = {
        "seqs": json.dumps(list(dict.fromkeys(seqs))), "namespace": memory.namespace, "id": memory.id,
        "scope": memory.scope, "session_id": memory.session_id, "chars": MOST_CHARS,
    }  # fmt: skip
    return {int(seq): (str(text), bool(active)) for seq, text, active in all_rows(c, "comparable_texts", wanted)}


def _nearness(words: float, likeness: float | None) -> float:
    """How near: the better of both ways, and a little for the other one."""
    like = likeness or 0.0
    return max(words, like) + 0.3 * min(words, like)


def _way(words: float, likeness: float | None) -> Way | None:
    if words >= LEAST_WORDS:
        return "both" if likeness is not None and likeness >= LEAST_LIKENESS else "words"
    return "meaning" if likeness is not None and likeness >= LEAST_LIKENESS else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """The words of a text: the weight of each (folded, cut to a stem), and those worth reading with their weights."""

    weights: Mapping[str, float]
    total: float
    read: tuple[tuple[str, float], ...]


def _words_of(c: apsw.Connection, text: str, common: dict[str, int]) -> _Words:
    tokens = query_tokens(text[:MOST_CHARS])[:MOST_WORDS]
    stems = {token: found[-1] for token in tokens if (found := stems_of(c, token))}
    asked = {"stems": json.dumps([stem for stem in dict.fromkeys(stems.values()) if stem not in common])}
    by_stem = {str(stem): int(count) for stem, count in all_rows(c, "texts_with_stems", asked)}
    # To count a word of a thousand texts takes as long as to read it there, and next time they are about as many.
    common |= {stem: count for stem, count in by_stem.items() if count >= COMMON_FROM}
    counts = {token: by_stem.get(stem, common.get(stem, 0)) for token, stem in stems.items()}
    (total,) = only_row(c, "newest_row")
    weight = {token: math.log(1 + (total or 1) / (count + 0.5)) for token, count in counts.items()}
    read: list[tuple[str, float]] = []
    places = 0
    for token in sorted(counts, key=lambda token: (counts[token], token)):
        places += counts[token]
        if len(read) >= WORDS_READ or (places > MOST_PLACES and len(read) >= ALWAYS_READ):
            break
        read.append((token, weight[token]))
    weights: dict[str, float] = {}
    for token, value in weight.items():
        weights[_stem(token)] = max(value, weights.get(_stem(token), 0.0))
    return _Words(weights=weights, total=sum(weights.values()), read=tuple(read))


def _stem(token: str) -> str:
    """Words by their beginning; numbers, and whatever holds a digit, whole."""
    return token[:_STEM] if token.isalpha() else token


@lru_cache(maxsize=2_048)
def _stems_in(text: str) -> frozenset[str]:
    """What one text shares with the next ones that are stored is much the same."""
    return frozenset(map(_stem, query_tokens(text)[:MOST_WORDS]))


def _places(c: apsw.Connection, words: _Words, name: str) -> list[tuple[str | None, float]]:
    """For each word that is worth reading, the rarest first: the memories that hold it, and the word's weight."""
    asked = {"words": json.dumps([f'"{word}"' for word, _ in words.read]), "most": MOST_PLACES}
    return [(rows, weight) for (rows,), (_, weight) in zip(all_rows(c, name, asked), words.read, strict=True)]


def _by_words(places: Sequence[tuple[str | None, float]]) -> tuple[list[int], list[int]]:
    """The memories (seq) that hold most of the words, by weight; and those with the rarest, of these the same first."""
    import numpy as np

    held = [np.fromstring(rows or "", dtype=np.int64, sep=",") for rows, _ in places]
    if not sum(map(len, held)):
        return [], []
    weights = np.repeat([weight for _, weight in places], [len(rows) for rows in held])
    seqs, first, place = np.unique(np.concatenate(held), return_index=True, return_inverse=True)
    total = np.bincount(place, weights)
    most = np.lexsort((first, -total))
    telling = np.lexsort((first, -total, -weights[first]))  # the first word that holds one is the rarest
    return seqs[most[:MOST_LOOKED_AT]].tolist(), seqs[telling[:TELLING_LOOKED_AT]].tolist()


def _shared(words: _Words, common: set[str], text: str) -> float:
    """Cosine of two texts over their words, each weighted by its rarity; a word of the other text only has the mean."""
    if not common:
        return 0.0
    both = sum(words.weights[token] for token in common)
    of_other = both + words.total / len(words.weights) * (len(_stems_in(text)) - len(common))
    return both / math.sqrt(words.total * of_other) if both else 0.0


def _telling(words: _Words, common: set[str]) -> tuple[float, float]:
    """The rarest word that a text shares: of twenty sentences of one pattern it tells the one about its own thing."""
    weights = [words.weights[token] for token in common]
    return max(weights, default=0.0), sum(weights)


def _nearest_of_new(c: apsw.Connection, text: str, scouted: Scouted) -> list[int]:
    """Memories (seq) like the text among those that were written or changed since the look at all vectors."""
    ours = scouted.residuals.get(text)
    if scouted.calibration is None or ours is None:
        return []
    known = known_fingerprint(c, scouted.fingerprint)
    if known is None:
        return []
    found = all_rows(c, "vectors_since", {"fingerprint_id": known, "since": scouted.since})
    if not found:
        return []
    theirs = residuals([(int(seq), bytes(vector), str(said)) for seq, vector, said, *_ in found], scouted.calibration)
    scores = (theirs @ ours.T).max(axis=1)
    order: list[int] = (-scores).argsort(kind="stable")[: LOOKED_AT + ARCHIVED_LOOKED_AT].tolist()
    return [int(found[place][0]) for place in order]


def _likeness(c: apsw.Connection, text: str, others: Iterable[int], scouted: Scouted) -> dict[int, float]:
    """Likeness by seq, from the stored vectors, for those that have some.

    Of texts in several parts: how well each part of either finds its like in the other, the worse side of the two.
    """
    import numpy as np

    calibration = scouted.calibration
    known = known_fingerprint(c, scouted.fingerprint) if scouted.fingerprint else None
    ours = scouted.residuals.get(text)
    if calibration is None or known is None or ours is None:
        return {}
    stored = all_rows(c, "vectors_by_seq", {"fingerprint_id": known, "seqs": json.dumps(list(others))})
    if not stored:
        return {}
    theirs = residuals([(int(seq), bytes(vector), str(said)) for seq, vector, said in stored], calibration)
    theirs = theirs / np.maximum(np.linalg.norm(theirs, axis=1, keepdims=True), np.float32(1e-6))
    scores = np.vecdot(theirs[:, np.newaxis], ours)  # as in ``Matrix.nearest``
    if len(ours) == 1 and len({row[0] for row in stored}) == len(stored):  # of nearly all: one part each
        alike = likeness_of_cosines(scores[:, 0].tolist(), calibration)
        return {int(row[0]): found for row, found in zip(stored, alike, strict=True)}
    places: dict[int, list[int]] = {}
    for place, row in enumerate(stored):
        places.setdefault(int(row[0]), []).append(place)
    return {seq: likeness_of_parts(scores[own], calibration) for seq, own in places.items()}
