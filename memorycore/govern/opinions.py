"""Questions to a language model about single memories: which are due, and what follows from a failure.

An answer counts for the wording that was asked about. What fails for a reason that may lie with the text is tried again
with growing pauses, then given up until the text changes; while the model is away, nothing is counted and nobody asks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import apsw

from memorycore.domain.memory import Memory
from memorycore.errors import LlmError
from memorycore.govern.verdicts import ABOUT_THE_PAIR, AWAY_PAUSE, RETRY
from memorycore.store import opinions, progress
from memorycore.store.opinions import LONGEST_WAIT, Opinion, Question

AWAY = "model_away"  # the piece of work that stands still: why, and until when
GIVEN_UP = "given_up"


def is_away(c: apsw.Connection, namespace: str, now: datetime) -> bool:
    """Whether the model was away a moment ago."""
    until = progress.of(c, namespace, AWAY).at
    return until is not None and timedelta() < until - now <= LONGEST_WAIT


def due(
    c: apsw.Connection, namespace: str, question: Question, memories: Sequence[Memory], now: datetime
) -> list[Memory]:
    """Those that nobody has an answer about in their present wording, and none that is to be tried later."""
    known = opinions.by_seq(c, namespace, question, [memory.seq for memory in memories])
    return [memory for memory in memories if _is_open(memory, known, now)]


def _is_open(memory: Memory, known: Mapping[int, Opinion], now: datetime) -> bool:
    told = known.get(memory.seq)
    return told is None or told.version != memory.version or not (told.answer or told.waits(now))


def note(c: apsw.Connection, memory: Memory, question: Question, answer: str, now: datetime) -> None:
    """Write down an answer about the present wording of a memory."""
    opinions.put(c, memory, question, Opinion(version=memory.version, at=now, answer=answer))


def failed(c: apsw.Connection, memory: Memory, question: Question, error: LlmError, now: datetime) -> str:
    """Count a failure against the text, or learn that the model is away: why, else empty."""
    why = str(error.facts.get("why", error.code))
    if why == "closed":  # a process that ends says nothing about the model
        return why
    if why not in ABOUT_THE_PAIR:
        asked_s = error.facts.get("retry_after_s")
        pause = max(AWAY_PAUSE, timedelta(seconds=asked_s)) if isinstance(asked_s, float) else AWAY_PAUSE
        progress.put(c, memory.namespace, AWAY, why, now + min(pause, LONGEST_WAIT))
        return why
    known = opinions.by_seq(c, memory.namespace, question, [memory.seq]).get(memory.seq)
    before = known.attempts if known is not None and known.version == memory.version else 0
    counted = Opinion(version=memory.version, at=now, attempts=before + 1, not_before=now + RETRY.pause(before))
    if counted.attempts >= RETRY.most:
        counted = replace(counted, answer=GIVEN_UP)
    opinions.put(c, memory, question, counted)
    return ""
