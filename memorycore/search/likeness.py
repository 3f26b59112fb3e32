"""The vector of a question, and the vector scores of memories: from memory, sqlite-vec, or a reading of all vectors."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memorycore.domain import scoring
from memorycore.embed.answers import trained_for
from memorycore.search import vector_index
from memorycore.search.vectors import Matrix, best_of_each, best_rows, by_root_of_length, of_length_one, parts_of
from memorycore.store.statements import all_rows
from memorycore.store.vectors import known_fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from memorycore.domain.scoring import Floats, Mask, Tuning
    from memorycore.domain.scoring import Rows as RowNumbers
    from memorycore.embed import Calibration, EmbeddingService
    from memorycore.embed.second import SecondModel
    from memorycore.search.living import LivingIndex
    from memorycore.search.question import Question
    from memorycore.search.rows import Rows

MOST_BINNED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """A question with its vector; ``vector`` None: no model, or not in time, and ``why``."""

    question: Question
    vector: Floats | None
    calibration: Calibration | None
    fingerprint: str
    why: str
    model_ms: float
    second: SecondModel | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Near:
    """How near some rows are to answering a question, ``[m]`` each.

    Attributes:
        answer: Where questions lie near their answers, in terms of the model's noise: 1 is what chance gives.
        asked_for: The cosine of what is asked for and what is told; None where the model does not show it.
        about: The cosine of whom or what both are about; None where the model does not show it.
        paired: The cosine where questions were trained to lie near their answers; None: not trained for the model.
    """

    answer: Floats
    asked_for: Floats | None = None
    about: Floats | None = None
    paired: Floats | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SecondLook:
    """What a second model says of some texts, ``[m]`` each: cosines by its own vectors, and by those of both models."""

    second: Floats
    both: Floats


def ask_model(question: Question, embedding: EmbeddingService | None, *, wait_s: float) -> Asked:
    """The question's vector, or why there is none."""
    started = time.perf_counter()
    vector = None if embedding is None else embedding.query(question.text, timeout_s=wait_s)
    calibration = fingerprint = why = None
    if embedding is not None and vector is not None:
        calibration, fingerprint = embedding.calibration, embedding.fingerprint(0.0)
    elif embedding is not None:
        why = embedding.why or {"loading": "loading", "off": "no_model"}.get(embedding.state, "timeout")
    usable = calibration is not None and fingerprint is not None
    second = embedding.second if usable and embedding is not None else None
    if second is not None and not second.ready:
        second = None
    return Asked(
        question=question,
        vector=vector if usable else None,
        calibration=calibration if usable else None,
        fingerprint=fingerprint or "",
        why=(why or "no_model") if not usable else "",
        model_ms=(time.perf_counter() - started) * 1_000,
        second=second,
    )


class Likeness:
    """The vector scores of one question, from wherever they come soonest."""

    def __init__(
        self, c: apsw.Connection, asked: Asked, rows: Rows, *, index: LivingIndex | None, tuning: Tuning
    ) -> None:
        self._c = c
        self._asked = asked
        self._rows = rows
        self._tuning = tuning
        self._all: Floats | None = None
        self._matrix: Matrix | None = None
        self._vector: Floats | None = None
        self._second_failed = False
        known = known_fingerprint(c, asked.fingerprint) if asked.fingerprint else None
        if asked.vector is None or asked.calibration is None or known is None:
            return
        self._fingerprint_id = known
        self._calibration = asked.calibration
        self._vector = asked.calibration.ranking(asked.vector, asked.question.text)
        if index is not None:
            self._matrix = index.matrix(c, known, asked.calibration)
        elif not vector_index.serves(c, asked.fingerprint, asked.calibration):
            self._matrix = Matrix(known, asked.calibration)
            self._matrix.follow(c)
        if self._matrix is not None and len(rows):
            self._all = self._matrix.likeness(self._vector, rows)
            if rows.reworded:  # the vector is that of the present wording
                self._all[rows.find(sorted(rows.reworded))] = math.nan

    def best(self, allowed: Mask, count: int) -> RowNumbers:
        """The allowed rows that are most like the question."""
        import numpy as np

        if self._vector is None:
            return np.zeros(0, dtype=np.int64)
        if self._all is not None:
            return best_rows(self._all, allowed, count)
        seqs = self._rows.columns.seq[allowed].tolist()
        best = vector_index.ask(
            self._c, self._vector, seqs, fingerprint_id=self._fingerprint_id, calibration=self._calibration, count=count
        )
        return self._rows.find(best)

    def of(self, rows: RowNumbers) -> Floats | None:
        """0..1 for these rows, NaN where there is no vector; None without a question's vector."""
        import numpy as np

        if self._vector is None:
            return None
        if self._all is not None:
            raw = self._all[rows]
        else:
            seqs = self._rows.columns.seq[rows].tolist()
            owners, parts = parts_of(self._c, seqs, self._fingerprint_id, self._calibration)
            found = best_of_each(owners, by_root_of_length(parts) @ self._vector)
            now = [math.nan if seq in self._rows.reworded else found.get(seq, math.nan) for seq in seqs]
            raw = np.array(now, dtype=np.float32)
        return scoring.meaning(raw, self._calibration.chance, self._tuning)

    def answering(self, rows: RowNumbers) -> Near | None:
        """How near these rows are to answering the question.

        NaN where there is no vector; None without a question's vector. The vectors are read, so it is for a few rows.
        """
        import numpy as np

        if self._vector is None or self._asked.vector is None:
            return None
        calibration, seqs = self._calibration, self._rows.columns.seq[rows].tolist()
        owners, parts = parts_of(self._c, seqs, self._fingerprint_id, calibration)

        def best(question: Floats, told: Floats) -> Floats:
            found = best_of_each(owners, of_length_one(told) @ question)
            now = [math.nan if seq in self._rows.reworded else found.get(seq, math.nan) for seq in seqs]
            return np.array(now, dtype=np.float32)

        mapped = calibration.asking(self._asked.vector, self._asked.question.text)
        answer = best(mapped, calibration.telling(parts)) / np.float32(calibration.noise)
        centred = calibration.centred(self._asked.vector, self._asked.question.text)
        asked_for = about = paired = None
        if calibration.aspects is not None:
            asked_for, about = (best(_unit(centred @ seen), parts @ seen) for seen in calibration.aspects)
        if self._asked.second is not None and (trained := trained_for(self._asked.fingerprint)) is not None:
            maps = trained.first
            paired = best(_unit(centred @ maps.asking), of_length_one(parts) @ maps.telling)
        return Near(answer=answer, asked_for=asked_for, about=about, paired=paired)

    def second_look(self, rows: RowNumbers, texts: Sequence[str]) -> SecondLook | None:
        """What the second model says of these rows with these texts; None where there is none, or none yet.

        NaN where there is no vector of the first model. A text takes a millisecond, so it is for a few rows.
        """
        import numpy as np

        trained, second = trained_for(self._asked.fingerprint), self._asked.second
        if self._vector is None or self._asked.vector is None or trained is None or second is None:
            return None
        question = self._asked.question.text
        vectors = second.vectors([question, *texts])
        if vectors is None:
            self._second_failed = True
            return None
        seqs: list[int] = self._rows.columns.seq[rows].tolist()
        owners, parts = parts_of(self._c, seqs, self._fingerprint_id, self._calibration)
        place = {seq: number for number, seq in enumerate(seqs, start=1)}
        beside = np.concatenate([of_length_one(parts), vectors[[place[owner] for owner in owners]]], axis=1)
        asked = np.concatenate([self._calibration.centred(self._asked.vector, question), vectors[0]])
        found = best_of_each(owners, trained.both.cosines(asked, beside))
        both = [math.nan if seq in self._rows.reworded else found.get(seq, math.nan) for seq in seqs]
        return SecondLook(second=trained.second.cosines(vectors[0], vectors[1:]), both=np.array(both, dtype=np.float32))

    @property
    def has_second(self) -> bool:
        """Whether a second model can be asked: it was there when the question came, and has not failed since."""
        return self._vector is not None and self._asked.second is not None and not self._second_failed

    def mapped(self, seqs: Sequence[int]) -> tuple[list[int], Floats]:
        """The vectors of these memories where questions lie near their answers, of length 1; and the memory of each."""
        owners, parts = parts_of(self._c, seqs, self._fingerprint_id, self._calibration)
        return owners, of_length_one(self._calibration.telling(parts))

    def plainly(self, seqs: Sequence[int], strong: float | None) -> tuple[dict[int, float], float]:
        """Scores of these memories (seq) as the strong threshold is measured, without the lifts of a ranking; and it.

        ``strong``: a threshold in place of the model's own. Nothing and 0 without a question's vector.
        """
        if self._vector is None or self._asked.vector is None:
            return {}, 0.0
        owners, parts = parts_of(self._c, seqs, self._fingerprint_id, self._calibration)
        scores = best_of_each(owners, parts @ self._asked.vector)
        return scores, self._calibration.strong if strong is None else strong

    def archived(self) -> tuple[dict[int, float], float]:
        """Superseded and binned memories (seq) that the question strongly means, with their scores; and the threshold.

        Without an index in memory only the newest ones in the bin are looked at.
        """
        if self._vector is None or self._asked.vector is None:
            return {}, 0.0
        calibration, strong = self._calibration, self._calibration.strong
        if self._matrix is not None:
            return self._matrix.archived(self._asked.vector, strong), strong
        spaces = json.dumps(self._rows.namespaces)
        newest = [seq for (seq,) in all_rows(self._c, "newest_binned", {"namespaces": spaces, "most": MOST_BINNED})]
        owners, parts = parts_of(self._c, newest, self._fingerprint_id, calibration)
        scores = best_of_each(owners, parts @ self._asked.vector)
        return {seq: score for seq, score in scores.items() if score >= strong}, strong


def _unit(vector: Floats) -> Floats:
    return of_length_one(vector[None, :])[0]
