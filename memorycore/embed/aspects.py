"""Directions in which a model tells what is asked for, and directions in which it tells whom or what it is about.

"How old is Noor?" lies as near to "Noor is the lab manager" as to "My daughter is nine": one shares the subject, the
other what is asked. Apart, the two likenesses say that neither answers. Found by discriminant analysis: on questions
and statements that are sorted by what they ask or tell, and once more sorted by their subject.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple, cast

from memorycore.domain.text import script_class

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memorycore.embed.contract import Embedder, Vectors

    Forms = Sequence[Sequence[str]]

ASKED_WIDTH = 60
SUBJECT_WIDTH = 52
_DISTRUST = 1.0
_SMALLEST_LENGTH = 1e-6


class Saying(NamedTuple):
    """A question or a statement, the number of what it asks or tells, and the number of its subject."""

    text: str
    is_question: bool
    asked: int
    subject: int


def sayings() -> list[Saying]:
    """Some six thousand questions and statements, each subject with half of all wordings."""
    return list(_combined(tomllib.loads((files("memorycore.embed") / "aspects.toml").read_text(encoding="utf-8"))))


def maps(embedder: Embedder, means: Mapping[str, Vectors], asked: Mapping[str, Vectors]) -> tuple[Vectors, Vectors]:
    """Two matrices for centred questions and residuals, ``[width, ASKED_WIDTH]`` and ``[width, SUBJECT_WIDTH]``.

    Raises:
        EmbeddingError: The model refuses one of the sentences.
    """
    import numpy as np

    said = sayings()
    rows: list[Vectors] = []
    for saying in said:
        embed, general = (embedder.embed_queries, asked) if saying.is_question else (embedder.embed_passages, means)
        row = embed([saying.text])[0] - general[script_class(saying.text)]
        rows.append(row / max(float(np.linalg.norm(row)), _SMALLEST_LENGTH))
    vectors = np.stack(rows)
    return (
        _telling_apart(vectors, [saying.asked for saying in said], ASKED_WIDTH),
        _telling_apart(vectors, [saying.subject for saying in said], SUBJECT_WIDTH),
    )


def _combined(told: Mapping[str, object]) -> Iterator[Saying]:
    subjects = cast("Mapping[str, Sequence[tuple[str, str]]]", told["subjects"])
    asked = first = 0
    for kind, own in subjects.items():
        for forms in cast("Mapping[str, Forms]", told[kind]).values():
            for place, names in enumerate(own):
                yield from _sayings_of(forms, names, place, asked=asked, subject=first + place)
            asked += 1
        first += len(own)


def _sayings_of(forms: Forms, names: tuple[str, str], place: int, *, asked: int, subject: int) -> Iterator[Saying]:
    for number, wordings in enumerate(forms):  # questions in English, in Chinese, statements in English, in Chinese
        is_question, name = number < 2, names[number % 2]  # noqa: PLR2004 two kinds in two languages
        for which, wording in enumerate(wordings):
            if (which + place) % 2 != is_question:
                text = wording.format(s=name)
                yield Saying(text[0].upper() + text[1:], is_question, asked, subject)


def _telling_apart(vectors: Vectors, groups: Sequence[int], width: int) -> Vectors:
    """Where vectors of one group lie near one another, and the means of the groups far apart."""
    import numpy as np

    own = np.array(groups, dtype=np.int64)
    means = np.stack([vectors[own == group].mean(axis=0) for group in range(max(groups) + 1)])
    within: Vectors = vectors - means[own]
    spread = within.T @ within / len(within)
    spread = spread + _DISTRUST * np.trace(spread) / len(spread) * np.eye(len(spread))
    sizes, directions = np.linalg.eigh(spread)
    evened = (directions / np.sqrt(sizes)) @ directions.T
    _, _, best = np.linalg.svd((means - means.mean(axis=0)) @ evened, full_matrices=False)
    return (evened @ best[:width].T).astype(np.float32)
