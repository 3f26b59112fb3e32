"""How a model places texts in general: what belongs to the language, what counts as near, what is noise."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from memorycore.domain.text import SCRIPT_CLASSES, script_class

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from memorycore.embed.contract import Vectors

_SMALLEST_LENGTH = 1e-6
_COMMON_SHARE = 0.5
_CONSTANTS = ("unrelated", "equal", "strong", "noise", "chance")
_ASPECTS = ("asked_for", "about")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calibration:
    """Constants of one model, measured on generic sentences.

    A multilingual model puts much of a text's language into its vector, so that texts in the language of the question
    outrank better ones in another. The score that ranks all languages is ``q·r`` with the residual ``r = d - mean of
    d's script class``; ``q`` stays as it is. Within one language the order is that of the plain cosine.

    Attributes:
        means: Mean passage vector for each script class, ``[width]``.
        unrelated: Median cosine between the residuals of two unrelated texts (c0).
        equal: Median cosine between the residuals of two wordings of one statement, in one language or two (c1).
        strong: The score ``q·r`` that one in a hundred unrelated pairs of question and rule exceeds.
        asked: Mean question vector for each script class, ``[width]``.
        noise: The best cosine that a typical question, minus its mean, gets among a hundred residuals of texts that
            do not answer it.
        chance: The best score ``ranking · r / sqrt(|r|)`` that a typical question gets among the same.
        answering: ``[width, width]``; what it maps questions and residuals to lies near one another where one answers
            the other, also where the words have little in common. None: nothing is known, take them as they are.
        aspects: Two matrices, ``[width, few]``: what they map questions and residuals to shows what is asked for and
            told, and whom or what it is about (``embed.aspects``). None: not measured.
    """

    means: Mapping[str, Vectors]
    unrelated: float
    equal: float
    strong: float
    asked: Mapping[str, Vectors]
    noise: float
    chance: float
    answering: Vectors | None
    aspects: tuple[Vectors, Vectors] | None = None

    def residuals(self, vectors: Vectors, script: str | Sequence[str]) -> Vectors:
        """``vectors`` (``[n, width]`` or ``[width]``) minus the mean of their script class, for all or by row."""
        import numpy as np

        if isinstance(script, str):
            return vectors - self.means[script]
        return vectors - np.stack([self.means[name] for name in script]) if script else vectors

    def centred(self, question: Vectors, text: str) -> Vectors:
        """A question's vector without what all questions of its script have in common, of length 1."""
        return of_length_one(question - self.asked[script_class(text)])

    def ranking(self, question: Vectors, text: str) -> Vectors:
        """The vector that results are ranked by, of length 1; a residual ``r`` scores ``ranking · r / sqrt(|r|)``.

        Half of it is the question itself, without a part of what all texts share: it finds what is like the question,
        tasks and talk above all. The other half is where its answers lie, ``centred · answering²`` (both sides of the
        cosine are mapped, and the map is symmetric). Of either alone some kinds of questions find a tenth less.
        """
        import numpy as np

        common = np.stack(list(self.means.values())).mean(axis=0)
        like = of_length_one(question - _COMMON_SHARE * common)
        answers = self.centred(question, text)
        if self.answering is not None:
            answers = of_length_one(answers @ self.answering @ self.answering)
        return of_length_one(like + answers)

    def asking(self, question: Vectors, text: str) -> Vectors:
        """The centred question, mapped to where questions lie near their answers."""
        own = self.centred(question, text)
        return own if self.answering is None else of_length_one(own @ self.answering)

    def telling(self, residuals: Vectors) -> Vectors:
        """Residuals ``[n, width]``, mapped to there."""
        return residuals if self.answering is None else residuals @ self.answering


FIELDS = tuple(field.name for field in fields(Calibration))


def of_length_one(vectors: NDArray[Any]) -> Vectors:
    """A vector, or each row."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.maximum(lengths, _SMALLEST_LENGTH)).astype(np.float32)


def neutral(width: int) -> Calibration:
    """No de-bias, plain cosines: for models that know no language."""
    import numpy as np

    nothing = np.zeros(width, dtype=np.float32)
    means: dict[str, Vectors] = dict.fromkeys(SCRIPT_CLASSES, nothing)
    return Calibration(
        means=means, unrelated=0.0, equal=1.0, strong=0.5, asked=means, noise=0.13, chance=0.13, answering=None
    )


def to_bytes(calibration: Calibration, fingerprint: str) -> bytes:
    """A calibration as a file: numpy's zip of arrays, without objects."""
    import numpy as np

    buffer = io.BytesIO()
    np.savez(
        buffer,
        fingerprint=np.array(fingerprint),
        scripts=np.array(list(calibration.means)),
        means=np.stack(list(calibration.means.values())),
        asked=np.stack([calibration.asked[name] for name in calibration.means]),
        answering=np.zeros(0) if calibration.answering is None else calibration.answering.astype(np.float16),
        asked_for=np.zeros(0) if calibration.aspects is None else calibration.aspects[0].astype(np.float16),
        about=np.zeros(0) if calibration.aspects is None else calibration.aspects[1].astype(np.float16),
        constants=np.array([getattr(calibration, name) for name in _CONSTANTS]),
    )
    return buffer.getvalue()


def from_bytes(data: bytes, fingerprint: str) -> Calibration | None:
    """Read a calibration; None if it is damaged or belongs to another fingerprint."""
    import numpy as np

    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            if str(found["fingerprint"]) != fingerprint:
                return None
            scripts = found["scripts"].tolist()
            means = dict(zip(scripts, found["means"].astype(np.float32), strict=True))
            asked = dict(zip(scripts, found["asked"].astype(np.float32), strict=True))
            answering = found["answering"].astype(np.float32)
            constants = dict(zip(_CONSTANTS, found["constants"].tolist(), strict=True))
            aspects = [found[name].astype(np.float32) for name in _ASPECTS]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return Calibration(
        means=means, asked=asked, **constants,
        answering=answering if answering.size else None,
        aspects=(aspects[0], aspects[1]) if aspects[0].size else None,
    )  # fmt: skip


def shipped(name: str, fingerprint: str) -> Calibration | None:
    """The calibration of a bundled model that came with the package."""
    try:
        data = (files("memorycore.embed") / "calibrations" / f"{name}.npz").read_bytes()
    except OSError:
        return None
    return from_bytes(data, fingerprint)
