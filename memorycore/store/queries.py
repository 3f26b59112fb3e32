"""The query log: what was asked, gated, so that a scan sees what is in use. Functions take an open connection.

It is one log for all namespaces, bounded as a whole by age and size; whoever writes to it trims it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import apsw

from memorycore.domain.telling import telling_words
from memorycore.store import progress, traces
from memorycore.store.database import Database
from memorycore.store.memories import from_ms, to_ms
from memorycore.store.statements import all_rows, first_row, only_row, sql

Source = Literal["tool", "command", "prefetch"]

ANY = ""  # the namespace of what is noted for all of them
ERASED = "questions_erased"  # when questions were erased last
LONGEST_READ = 16_000  # of what somebody asks so much is looked at, in code points
ROW_BYTES = 64  # what a row takes beside its text
LEAST_WORDS = 2
SHARE_OF_WORDS = 0.5
TRIMMED_TO = 0.9  # of the bound: so that not every question has to push one out


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question as the log has it. ``id`` 0: not written yet."""

    text: str
    at: datetime
    source: Source
    session_id: str = ""
    id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """How much of one namespace the log holds."""

    count: int
    oldest: datetime | None


def note(c: apsw.Connection, namespace: str, queries: Sequence[Query]) -> None:
    """Write questions down, in order."""
    for query in queries:
        c.execute(sql["note_query"], _values(namespace, query))


def note_once(c: apsw.Connection, namespace: str, query: Query) -> bool:
    """Write a question down unless it is there, asked at the same moment; whether it is new."""
    return first_row(c, "note_query_once", _values(namespace, query)) is not None


def _values(namespace: str, query: Query) -> dict[str, object]:
    return {
        "namespace": namespace, "at": to_ms(query.at), "query": query.text, "source": query.source,
        "session_id": query.session_id,
    }  # fmt: skip


def trim(c: apsw.Connection, now: datetime, *, days: float, kb: int) -> int:
    """Drop what is older than ``days``, and the oldest beyond ``kb`` kilobytes; how many went.

    What was noted by a clock that ran ahead counts as asked now: else it would outlive its days.
    """
    now_ms = to_ms(now) or 0
    before = now_ms - int(timedelta(days=days).total_seconds() * 1_000)
    went = _drop(c, "drop_old_queries", before=before)
    c.execute(sql["settle_queries"], {"now": now_ms})
    most = kb * 1_024
    (size,) = only_row(c, "size_of_queries", {"row_bytes": ROW_BYTES})
    if size > most:
        went += _drop(c, "drop_first_queries", row_bytes=ROW_BYTES, excess=size - int(most * TRIMMED_TO))
    return went


def since(c: apsw.Connection, namespace: str, after: int, *, limit: int) -> list[Query]:
    """What was asked after the question with the number ``after``, the first of it first."""
    rows = all_rows(c, "queries_after", {"namespace": namespace, "after": after, "limit": limit})
    return [_query(row) for row in rows]


def last(c: apsw.Connection, namespace: str, since: datetime, *, limit: int) -> list[str]:
    """What was asked last, from a moment on, the last of it first."""
    rows = all_rows(c, "last_queries", {"namespace": namespace, "since": to_ms(since), "limit": limit})
    return [str(text) for (text,) in rows]


def kept(c: apsw.Connection, namespace: str) -> Kept:
    count, oldest = only_row(c, "count_queries", {"namespace": namespace})
    return Kept(count=count, oldest=from_ms(oldest))


def forget(c: apsw.Connection, namespace: str) -> int:
    """Drop everything that was asked in a namespace; how many questions that were."""
    return _drop(c, "drop_queries_of", namespace=namespace)


def erase_about(db: Database, texts: Sequence[str], seqs: Sequence[int], now: datetime) -> int:
    """Drop questions, of every namespace, that hold one of ``texts`` or speak of it; how many there were.

    What other processes have noted and not written until now, they will not write any more.
    """
    with db.read() as c:
        numbers, last = about(c, texts, seqs)
    with db.write() as c:
        more, _ = about(c, texts, seqs, after=last)
        progress.put(c, ANY, ERASED, "", now)
        return drop(c, [*numbers, *more])


def about(c: apsw.Connection, texts: Sequence[str], seqs: Sequence[int], *, after: int = 0) -> tuple[list[int], int]:
    """Questions after the one with the number ``after`` that hold one of the texts or speak of it.

    That is: a passage of it, or half of the question's telling words, or a word that no other memory has than those in
    ``seqs``. It is on the safe side: a question that goes with them is missed by nobody.

    Returns:
        Their numbers, and that of the last question that was looked at.
    """
    passages = [piece for text in texts for piece in traces.pieces(text) if traces.is_telling(piece)]
    words = {word for text in texts for word in telling_words(text)}
    own = {word for word in words if not _stands_elsewhere(c, word, seqs)}
    found: list[int] = []
    for number, question in all_rows(c, "all_queries", {"after": after}):
        after = int(number)
        asked = telling_words(question)
        shared = words.intersection(asked)
        if (
            (len(shared) >= LEAST_WORDS and len(shared) >= SHARE_OF_WORDS * len(asked))
            or not own.isdisjoint(shared)
            or any(passage in question for passage in passages)
        ):
            found.append(after)
    return found, after


def _stands_elsewhere(c: apsw.Connection, word: str, seqs: Sequence[int]) -> bool:
    return first_row(c, "word_elsewhere", {"match": f'"{word}"', "seqs": json.dumps(list(seqs))}) is not None


def drop(c: apsw.Connection, numbers: Iterable[int]) -> int:
    """Drop these questions, whoever asked them; how many there were."""
    return _drop(c, "drop_queries", numbers=json.dumps(list(numbers)))


def _drop(c: apsw.Connection, name: str, **where: object) -> int:
    c.execute(sql[name], where)
    return c.changes()


def _query(row: tuple[object, ...]) -> Query:
    number, at, text, source, session_id = row
    return Query(id=int(number), at=from_ms(at), text=text, source=source, session_id=session_id)  # type: ignore[arg-type]
