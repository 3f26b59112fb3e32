"""The keyword channel: which memories hold which words of the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import apsw

from memorycore.domain.scoring import coverage, heft, rarity
from memorycore.store.statements import first_row, only_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorycore.domain.scoring import Floats, Mask, Tuning
    from memorycore.domain.scoring import Rows as RowNumbers
    from memorycore.search.question import Question
    from memorycore.search.rows import Rows

FEW_HITS = 20
# Reading where a word stands takes time; a word that half of a large store has tells nothing beside rarer ones.
MOST_HITS = 15_000
ALWAYS_READ = 2
SMALL_STORE = 2_000
MOST_WORDS_KEPT = 1_000
TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2"])


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
    if len(rows.holding) > MOST_WORDS_KEPT or len(rows.counts) > MOST_WORDS_KEPT:
        rows.forget_words()
    words = _worth_reading(c, (*question.words, *question.compounds), rows)
    hits = [_holding(c, word, rows, seen) for word in words]
    if sum(map(len, hits)) < FEW_HITS and (singles := question.single_characters()):
        singles = _worth_reading(c, singles, rows)
        words = (*words, *singles)
        hits += [_holding(c, word, rows, seen) for word in singles]
    weights = rarity(int(seen.sum()), [len(found) for found in hits])
    share = coverage(hits, weights, rows.places, tuning) * heft(rows.columns.size, tuning)
    return Words(words=words, hits=tuple(hits), share=share)


def holding_all(c: apsw.Connection, words: Sequence[str], rows: Rows, seen: Mask) -> RowNumbers:
    """Rows that hold all of these words, in any order."""
    import numpy as np

    found = np.flatnonzero(seen)
    for word in words:
        found = np.intersect1d(found, _holding(c, word, rows, seen), assume_unique=True)
    return found


def _worth_reading(c: apsw.Connection, words: tuple[str, ...], rows: Rows) -> tuple[str, ...]:
    """In a large store, the rare words up to ``MOST_HITS`` places in all; in a small one, all of them."""
    if len(rows) <= SMALL_STORE:
        return words
    counts = {word: _count(c, word, rows) for word in words}
    kept: set[str] = set()
    total = 0
    for word in sorted(words, key=lambda word: (counts[word], word)):
        total += counts[word]
        if total > MOST_HITS and len(kept) >= ALWAYS_READ:
            break
        kept.add(word)
    return tuple(word for word in words if word in kept)


def _count(c: apsw.Connection, word: str, rows: Rows) -> int:
    """In how many texts the index has this word; of a compound, its rarest part."""
    count = rows.counts.get(word)
    if count is None:
        found = [first_row(c, "texts_with_stem", {"stem": stem}) for stem in stems_of(c, word)]
        count = rows.counts[word] = min((0 if row is None else int(row[0]) for row in found), default=0)
    return count


def stems_of(c: apsw.Connection, words: str) -> list[str]:
    """The stems that the index has for some words."""
    cut = c.fts5_tokenizer(*TOKENIZER)
    parts = cut(words.encode("utf-8"), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
    return [str(part[-1]) for part in parts]


def _holding(c: apsw.Connection, word: str, rows: Rows, seen: Mask) -> RowNumbers:
    import numpy as np

    held = rows.holding.get(word)
    if held is None:
        # In quotation marks nothing is an operator. The index cuts and stems the word as it did with the texts.
        asked = {"match": '"' + word.replace('"', '""') + '"'}
        (found,) = only_row(c, "past_rows_with_words" if rows.past else "rows_with_words", asked)
        held = rows.find(np.fromstring(found or "", dtype=np.int64, sep=","))
        if rows.reworded:
            stems = set(stems_of(c, word))
            other = rows.find(sorted(rows.reworded))
            said = rows.find(sorted(seq for seq, then in rows.reworded.items() if stems and stems <= then.stems))
            held = np.union1d(np.setdiff1d(held, other), said)
        rows.holding[word] = held
    return held[seen[held]]
