"""The activity scan: which texts of the hot files are in use, as the questions since the last scan show.

Each question is read once. One that has no vector yet, since the model is slow or away, waits for a later scan; until
then its words count a little, and what they gave is taken off when its vector is there. So nothing counts twice, and
nothing is lost.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from memorycore.domain.pointer import asked_for
from memorycore.domain.retention import brushed, fresh, used
from memorycore.embed.contract import FAILS_FOR_GOOD, why_of
from memorycore.errors import EmbeddingError
from memorycore.govern import evidence
from memorycore.search.vectors import residuals
from memorycore.store import all_rows, only_row, progress, queries, standing, vectors
from memorycore.store.memories import from_ms, to_ms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    import apsw

    from memorycore.embed import EmbeddingService
    from memorycore.embed.contract import Vectors
    from memorycore.govern.evidence import Hits, Scores
    from memorycore.options import CoreOptions
    from memorycore.store import Database
    from memorycore.store.queries import Query

    Answers: TypeAlias = Mapping[str, Vectors | EmbeddingError]

SCAN = "scan"
MOST_READ = 1_000  # questions in one scan; what is left is for the next one
_NEVER = datetime.fromtimestamp(0, tz=UTC)
WAITS = timedelta(days=7)  # so long a question waits for a model that is away; then its words have to do


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """What a scan found.

    ``queries`` were read; so many texts got weight for a ``strong`` or a ``weak`` use. ``threshold``: the score from
    which a question means a text; None without a model. ``why``: a code, why some questions had no vector; ``waiting``
    of them wait for it. ``more``: there are further questions to read. ``rests``: there is no query log, so nothing
    was done.
    """

    queries: int = 0
    strong: int = 0
    weak: int = 0
    threshold: float | None = None
    why: str = ""
    waiting: int = 0
    more: bool = False
    rests: bool = False

    @property
    def degraded(self) -> bool:
        """Whether some questions were read by their words only, or not yet."""
        return bool(self.why)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cursor:
    """The last question that was read by its meaning and by its words, and the last line of the ledger."""

    read: int = 0
    by_words: int = 0
    event: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """What a scan starts from.

    ``said_again``: when somebody confirmed or edited an entry (seq) since the last one. ``results``: when an entry, or
    one that left, was the result of a recall since then, and its best place, from 1.
    """

    cursor: _Cursor
    queries: Sequence[Query]
    seqs: Sequence[int]
    texts: Sequence[str]
    said_again: Mapping[int, datetime]
    last_event: int
    results: Mapping[int, tuple[datetime, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Means:
    """The texts (seq) that each question means: by its vector, if it has one; by its words, where that must do.

    ``said``: by its words as they were read while it had no vector.
    """

    strong: Mapping[str, Sequence[int]]
    weak: Mapping[str, Sequence[int]]
    said: Mapping[str, Sequence[int]]


@dataclass(slots=True, kw_only=True)
class _Found:
    """When each text (seq) was last used, strongly or weakly, and which of them had weight from words before."""

    strong: dict[int, datetime] = field(default_factory=dict[int, datetime])
    weak: dict[int, datetime] = field(default_factory=dict[int, datetime])
    had: set[int] = field(default_factory=set[int])
    results: Mapping[int, tuple[datetime, int]] = field(default_factory=dict[int, tuple[datetime, int]])


def threshold(embedding: EmbeddingService, options: CoreOptions) -> float | None:
    """The score from which a question means a text: the setting, else that of the loaded model; None without one."""
    if embedding.calibration is None:
        return None
    chosen = options.budget.strong_score
    return embedding.calibration.strong if chosen is None else chosen


def scan(
    db: Database, embedding: EmbeddingService, options: CoreOptions, now: datetime, *, timeout_s: float
) -> Scanned:
    """Read what was asked since the last scan, and give weight to what it was about; once a scan for each text.

    Takes ``timeout_s`` at most for the model. Two processes that scan at once count nothing twice.

    Raises:
        StoreError: The database cannot be read or written now.
    """
    if not options.activity_log:
        return Scanned(rests=True)
    with db.read() as c:
        ground = _ground(c, options.namespace, has_model=embedding.calibration is not None)
    if not ground.queries and not ground.results and ground.last_event == ground.cursor.event:
        return Scanned(threshold=threshold(embedding, options))
    asked = list(dict.fromkeys(asked_for(query.text) for query in ground.queries))
    answers = dict(zip(asked, embedding.queries(asked, timeout_s=timeout_s), strict=True)) if asked else {}
    done = _readable(ground.queries, answers, now, model_is_off=embedding.state == "off")
    with db.read() as c:
        found = _uses(ground, done, _means(c, ground, answers, embedding, options))
    cursor = _Cursor(
        read=max([ground.cursor.read, *(query.id for query in ground.queries[:done])]),
        by_words=max([ground.cursor.by_words, *(query.id for query in ground.queries)]),
        event=ground.last_event,
    )
    with db.write() as c:
        if _cursor(c, options.namespace) != ground.cursor:  # somebody else has read them meanwhile
            return Scanned(threshold=threshold(embedding, options))
        _weigh(c, found, options, now)
        progress.put(c, options.namespace, SCAN, json.dumps(asdict(cursor)), now)
    failures = [why_of(answer) for answer in answers.values() if isinstance(answer, EmbeddingError)]
    return Scanned(
        queries=done,
        strong=len(found.strong),
        weak=len(found.weak.keys() - found.strong.keys()),
        threshold=threshold(embedding, options),
        why=failures[0] if failures else "",
        waiting=len(ground.queries) - done,
        more=len(ground.queries) == MOST_READ,
    )


def _cursor(c: apsw.Connection, namespace: str) -> _Cursor:
    value = progress.of(c, namespace, SCAN).value
    return _Cursor(**json.loads(value)) if value else _Cursor()


def _ground(c: apsw.Connection, namespace: str, *, has_model: bool) -> _Ground:
    cursor = _cursor(c, namespace)
    (last,) = only_row(c, "newest_event")
    # The first scan of all looks at no line of the ledger: what weight an entry has by then has come from them.
    lines = {"namespace": namespace, "after": last if cursor.event is None else cursor.event, "last": last}
    rows = all_rows(c, "texts_in_files", {"namespace": namespace})
    return _Ground(
        cursor=cursor,
        queries=queries.since(c, namespace, cursor.read, limit=MOST_READ),
        seqs=[int(seq) for seq, _ in rows],
        texts=[str(text) for _, text in rows],
        said_again={int(seq): from_ms(at) or _NEVER for seq, at in all_rows(c, "said_again", lines)},
        last_event=last,
        results=_results(c, namespace) if has_model else {},
    )


def _results(c: apsw.Connection, namespace: str) -> dict[int, tuple[datetime, int]]:
    since = to_ms(progress.of(c, namespace, SCAN).at) or 0
    found = all_rows(c, "found_since", {"namespace": namespace, "since": since})
    return {int(seq): (from_ms(at) or _NEVER, int(place)) for seq, at, place in found}


def _readable(asked: Sequence[Query], answers: Answers, now: datetime, *, model_is_off: bool) -> int:
    """How many questions, from the first on, can be read now: not those behind one whose vector may still come."""
    for place, query in enumerate(asked):
        answer = answers[asked_for(query.text)]
        if not isinstance(answer, EmbeddingError) or why_of(answer) in FAILS_FOR_GOOD or model_is_off:
            continue
        if now - query.at < WAITS:
            return place
    return len(asked)


def _means(
    c: apsw.Connection, ground: _Ground, answers: Answers, embedding: EmbeddingService, options: CoreOptions
) -> _Means:
    """What each question means. One that has a vector is read by its words only for texts that have none yet."""
    import numpy as np

    asked = list(answers)
    words = evidence.words_shared(c, asked, ground.texts)
    found = {place: answer for place, answer in enumerate(answers.values()) if not isinstance(answer, EmbeddingError)}
    likeness = np.full(words.shape, np.nan, dtype=np.float32)
    if found and ground.seqs:
        likeness[list(found)] = _likeness(c, ground.seqs, np.stack(list(found.values())), embedding, options)
    known = np.nan_to_num(likeness, nan=0.0)
    strong = evidence.best(known, words) if options.budget.strong_hits == "best" else evidence.above(known)
    said = evidence.by_words(words) & (options.budget.weak_hits != "off")
    weak = said & np.isnan(likeness)
    return _Means(
        strong={asked[place]: _picked(ground.seqs, strong[place]) for place in found},
        weak={text: _picked(ground.seqs, row) for text, row in zip(asked, weak, strict=True)},
        said={text: _picked(ground.seqs, row) for text, row in zip(asked, said, strict=True)},
    )


def _picked(seqs: Sequence[int], hits: Hits) -> list[int]:
    return [seq for seq, hit in zip(seqs, hits.tolist(), strict=True) if hit]


def _likeness(
    c: apsw.Connection, seqs: Sequence[int], asked: Vectors, embedding: EmbeddingService, options: CoreOptions
) -> Scores:
    """``q·r`` in terms of the threshold, ``[questions, texts]``; NaN for a text without a vector of this model."""
    import numpy as np

    least, calibration, name = threshold(embedding, options), embedding.calibration, embedding.fingerprint(0.0)
    found = np.full((len(asked), len(seqs)), np.nan, dtype=np.float32)
    number = vectors.known_fingerprint(c, name) if name else None
    if number is None or least is None or calibration is None:
        return found
    parts = all_rows(c, "vectors_by_seq", {"fingerprint_id": number, "seqs": json.dumps(list(seqs))})
    scores = asked @ residuals([(seq, vector, text) for seq, vector, text in parts], calibration).T
    place = {seq: column for column, seq in enumerate(seqs)}
    for part, (seq, _, _) in enumerate(parts):
        found[:, place[seq]] = np.fmax(found[:, place[seq]], scores[:, part])
    return found / least if least > 0 else 1 + found - least


def _uses(ground: _Ground, done: int, means: _Means) -> _Found:
    """When each text was last used, by the questions that are read and, beyond them, by words that are new."""
    found = _Found(strong=dict(ground.said_again), results=ground.results)
    for place, query in enumerate(ground.queries):
        text = asked_for(query.text)
        is_new = query.id > ground.cursor.by_words
        if place < done and text in means.strong:
            _note(found.strong, means.strong[text], query.at)
            if not is_new:
                found.had.update(means.said[text])
        if is_new:
            _note(found.weak, means.weak[text], query.at)
    return found


def _note(times: dict[int, datetime], seqs: Sequence[int], at: datetime) -> None:
    for seq in seqs:
        times[seq] = max(at, times.get(seq, at))


def _weigh(c: apsw.Connection, found: _Found, options: CoreOptions, now: datetime) -> None:
    """Give the texts their weight. What a question was noted at by a clock that ran ahead counts as now."""
    budget = options.budget
    touched_ones = found.strong.keys() | found.weak.keys() | found.results.keys()
    known = standing.by_seq(c, options.namespace, touched_ones)
    for seq in touched_ones:
        stood = known.get(seq) or fresh(now, resident_days=options.resident_days)
        if seq in found.strong:
            adds = budget.strong_adds - (budget.weak_adds if seq in found.had else 0.0)
            at = _moment(found.strong[seq], stood.weighed_at, now)
            after = used(stood, at, adds=max(0.0, adds), half_life_days=budget.half_life_days)
        elif seq in found.results:
            at, place = found.results[seq]
            at = _moment(at, stood.weighed_at, now)
            after = used(stood, at, adds=budget.recall_adds / place, half_life_days=budget.half_life_days)
        else:
            after = brushed(stood, _moment(found.weak[seq], stood.touched_at, now), adds=budget.weak_adds)
        touched = _moment(after.touched_at, stood.touched_at, now)
        standing.put(c, options.namespace, seq, replace(after, touched_at=touched))


def _moment(at: datetime, last: datetime, now: datetime) -> datetime:
    """When something happened: not before the last time, and not in the future."""
    return min(now, max(at, last))
