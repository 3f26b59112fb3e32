"""What a language model said of single memories. Functions take the open connection of a transaction."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import apsw

from memorycore.domain.memory import Memory
from memorycore.store.memories import from_ms, to_ms
from memorycore.store.statements import all_rows, sql

Question = Literal["shorten", "needed"]
LONGEST_WAIT = timedelta(hours=1)  # one that has to wait longer was written before the clock went back


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """An answer about a memory as it was in ``version``; empty while no attempt gave one."""

    version: int
    at: datetime
    answer: str = ""
    attempts: int = 0
    not_before: datetime | None = None

    def waits(self, now: datetime) -> bool:
        """Whether another attempt would come too early."""
        return self.not_before is not None and timedelta() < self.not_before - now <= LONGEST_WAIT


def by_seq(c: apsw.Connection, namespace: str, question: Question, seqs: Iterable[int]) -> dict[int, Opinion]:
    """What is known of each of these rows, by row number."""
    wanted = {"namespace": namespace, "question": question, "seqs": json.dumps(list(seqs))}
    return {seq: _opinion(*values) for seq, *values in all_rows(c, "opinions", wanted)}


def put(c: apsw.Connection, memory: Memory, question: Question, opinion: Opinion) -> None:
    """Write what is known of a memory, in the place of what was known."""
    c.execute(sql["put_opinion"], {
        "seq": memory.seq, "question": question, "namespace": memory.namespace, "version": opinion.version,
        "answer": opinion.answer, "at": to_ms(opinion.at), "attempts": opinion.attempts,
        "not_before": to_ms(opinion.not_before) or 0,
    })  # fmt: skip


def _opinion(version: int, answer: str, at: int, attempts: int, not_before: int) -> Opinion:
    moment = from_ms(at)
    assert moment is not None  # noqa: S101 the column holds a number
    return Opinion(version=version, at=moment, answer=answer, attempts=attempts, not_before=from_ms(not_before))
