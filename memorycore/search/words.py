"""The keyword channel: which memories hold which words of the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memorycore.domain.scoring import coverage, heft, rarity
from memorycore.store.statements import only_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from memorycore.domain.scoring import Floats, Mask, Tuning
    from memorycore.domain.scoring import Rows as RowNumbers
    from memorycore.search.question import Question
    from memorycore.search.rows import Rows

FEW_HITS = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Words:
    """How the words of a question lie in the memories: for each word its rows, and for each row its share, ``[n]``."""

    words: tuple[str, ...]
    hits: tuple[RowNumbers, ...]
    share: Floats

    def held_by(self, row: int) -> list[str]:
        """The words of the question that this memory holds itself."""
        return [word for word, rows in zip(self.words, self.hits, strict=True) if (rows == row).any()]


def look_up(c: apsw.Connection, question: Question, rows: Rows, seen: Mask, tuning: Tuning) -> Words:
    """Find the words of the question in the memories that ``seen`` allows.

    A word written together (``docs/plan``) counts as one word more. Single CJK characters are asked for when pairs of
    them find next to nothing.
    """
    words = (*question.words, *question.compounds)
    hits = [_holding(c, word, rows, seen) for word in words]
    if sum(map(len, hits)) < FEW_HITS and (singles := question.single_characters()):
        words = (*words, *singles)
        hits += [_holding(c, word, rows, seen) for word in singles]
    weights = rarity(int(seen.sum()), [len(found) for found in hits])
    share = coverage(hits, weights, rows.places, tuning) * heft(rows.columns.size, tuning)
    return Words(words=words, hits=tuple(hits), share=share)


def holding_phrase(c: apsw.Connection, tokens: Sequence[str], rows: Rows, seen: Mask) -> RowNumbers:
    """Rows that hold all of these words, in any order."""
    import numpy as np

    found = np.flatnonzero(seen)
    for token in tokens:
        found = np.intersect1d(found, _holding(c, token, rows, seen), assume_unique=True)
    return found


def _holding(c: apsw.Connection, word: str, rows: Rows, seen: Mask) -> RowNumbers:
    import numpy as np

    # In quotation marks nothing is an operator. The index cuts and stems the word as it did with the texts.
    (found,) = only_row(c, "rows_with_words", {"match": '"' + word.replace('"', '""') + '"'})
    held = rows.find(np.fromstring(found or "", dtype=np.int64, sep=","))
    return held[seen[held]]
