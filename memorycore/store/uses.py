"""What is noted while somebody only asks: which memories were answers, the question, and which sessions are at work.

Kept apart from what is read: reading must not rewrite it, and no question waits for a write.
"""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import apsw

from memorycore.errors import StoreError
from memorycore.store import progress, queries, sessions
from memorycore.store.database import Database
from memorycore.store.memories import moment, to_ms
from memorycore.store.queries import Query
from memorycore.store.statements import all_rows, sql

MOST_KEPT = 1_000
MOST_KEPT_ON = 900  # after a write that failed: the next one is tried when there is more to write
SEEN_AGAIN_AFTER = timedelta(minutes=1)  # a session at work is noted no more often


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRules:
    """What of questions may be kept: behind ``gate``, for so many days, in so many kilobytes."""

    gate: Callable[[str], str]
    days: float
    kb: int


@dataclass(slots=True)
class _Notes:
    """What is not written yet: answers, questions as they were asked and gated, sessions.

    Of each answer (row, milliseconds, its place among the answers from 1, twice that if it was hardly meant).
    """

    uses: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    questions: list[Query] = field(default_factory=list[Query])
    gated: list[Query] = field(default_factory=list[Query])
    sessions: dict[str, datetime] = field(default_factory=dict[str, datetime])

    def behind(self, older: "_Notes") -> "_Notes":
        """These after older ones, as many as may be kept."""
        return _Notes(
            (older.uses + self.uses)[-MOST_KEPT_ON:],
            (older.questions + self.questions)[-MOST_KEPT_ON:],
            (older.gated + self.gated)[-MOST_KEPT_ON:],
            older.sessions | self.sessions,
        )


def recent(c: apsw.Connection, seqs: Sequence[int]) -> dict[int, tuple[datetime, ...]]:
    """The uses of memories (seq) that are not folded into their rows yet, newest first."""
    found: dict[int, list[datetime]] = {}
    for seq, used_ms in all_rows(c, "recent_uses", {"seqs": json.dumps(list(seqs))}):
        found.setdefault(int(seq), []).append(moment(used_ms))
    return {seq: tuple(moments) for seq, moments in found.items()}


class Uses:
    """Takes notes; with ``later`` it keeps them until ``flush``, so that a question writes nothing.

    A note that is lost with its process is lost: it only ranks. ``log`` None: questions are not noted.
    """

    def __init__(
        self,
        db: Database,
        clock: Callable[[], datetime],
        *,
        namespace: str,
        log: LogRules | None,
        later: bool,
    ) -> None:
        self._db = db
        self._clock = clock
        self._namespace = namespace
        self._log = log
        self._later = later
        self._lock = threading.Lock()
        self._kept = _Notes()
        self._seen: dict[str, datetime] = {}

    def note(self, seqs: Sequence[int], question: Query | None = None) -> None:
        """These rows were answers just now, the best one first, and this was asked."""
        now = to_ms(self._clock()) or 0
        with self._lock:
            self._kept.uses += [(int(seq), now, place) for place, seq in enumerate(seqs, 1)]
            if question is not None and self._log is not None:
                self._kept.questions.append(question)
            full = max(len(self._kept.uses), len(self._kept.questions) + len(self._kept.gated)) > MOST_KEPT
        if full or not self._later:
            self.flush()

    def seen(self, session_id: str) -> bool:
        """A session is at work; whether that is news, which ought to be flushed soon."""
        now = self._clock()
        with self._lock:
            last = self._seen.get(session_id)
            if last is not None and timedelta(0) <= now - last < SEEN_AGAIN_AFTER:
                return False
            if last is None:  # those that went without a word
                self._seen = {name: at for name, at in self._seen.items() if now - at < sessions.FORGOTTEN_AFTER}
            self._seen[session_id] = self._kept.sessions[session_id] = now
        return last is None

    def ended(self, session_ids: Sequence[str]) -> None:
        """Sessions are over: it is as if they had not been here. Never waits for another writer."""
        if not session_ids:
            return
        with self._lock:
            for session_id in session_ids:
                self._seen.pop(session_id, None)
                self._kept.sessions.pop(session_id, None)
        try:
            with self._db.write(timeout_ms=0) as c:
                for session_id in session_ids:
                    sessions.ended(c, self._namespace, session_id)
        except StoreError:
            return  # it ends by itself when it has not been seen for a while

    def open_sessions(self) -> tuple[str, ...]:
        """The sessions that were seen here and have not ended."""
        with self._lock:
            return tuple(self._seen)

    def at_work(self, idle: timedelta) -> bool:
        """Whether a session was seen here less than ``idle`` ago, be it written down yet or not."""
        now = self._clock()
        with self._lock:
            return any(timedelta(0) <= now - seen < idle for seen in self._seen.values())

    def flush(self) -> None:
        """Write down what was kept. Never waits for another writer; what cannot be written now is kept on."""
        with self._lock:
            kept, self._kept = self._kept, _Notes()
        if not (kept.uses or kept.questions or kept.gated or kept.sessions):
            return
        kept.gated += self._gated(kept.questions)
        kept.questions = []
        try:
            with self._db.write(timeout_ms=0) as c:
                self._write(c, kept)
        except StoreError:
            with self._lock:
                self._kept = self._kept.behind(kept)

    def forget_questions(self) -> None:
        """Let go of questions that are not written yet: one of them may hold a text that is to be erased."""
        with self._lock:
            self._kept.questions.clear()
            self._kept.gated.clear()

    def _gated(self, asked: Sequence[Query]) -> list[Query]:
        if self._log is None:
            return []
        behind_gate = [replace(query, text=self._log.gate(query.text)) for query in asked]
        return [query for query in behind_gate if query.text]

    def _write(self, c: apsw.Connection, kept: _Notes) -> None:
        if kept.uses:
            c.execute(sql["insert_uses"], {"uses": json.dumps(kept.uses)})
        for session_id, at in kept.sessions.items():
            sessions.seen(c, self._namespace, session_id, at)
        if not kept.gated or self._log is None:
            return
        # Another process may have erased a text since somebody asked for it here.
        erased = progress.of(c, queries.ANY, queries.ERASED).at
        queries.note(c, self._namespace, [query for query in kept.gated if erased is None or query.at > erased])
        queries.trim(c, self._clock(), days=self._log.days, kb=self._log.kb)
