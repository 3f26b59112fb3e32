"""How a model places texts in general: what belongs to the language, what counts as near, what is noise."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from memorycore.domain.text import SCRIPT_CLASSES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memorycore.embed.contract import Vectors


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
        floor: The best score that a typical question gets among a hundred texts that do not answer it; never above
            ``strong``. What scores less is noise.
    """

    means: Mapping[str, Vectors]
    unrelated: float
    equal: float
    strong: float
    floor: float

    def residuals(self, vectors: Vectors, script: str | Sequence[str]) -> Vectors:
        """``vectors`` (``[n, width]`` or ``[width]``) minus the mean of their script class, for all or by row."""
        import numpy as np

        if isinstance(script, str):
            return vectors - self.means[script]
        return vectors - np.stack([self.means[name] for name in script]) if script else vectors


def neutral(width: int) -> Calibration:
    """No de-bias, plain cosines: for models that know no language."""
    import numpy as np

    nothing = np.zeros(width, dtype=np.float32)
    return Calibration(means=dict.fromkeys(SCRIPT_CLASSES, nothing), unrelated=0.0, equal=1.0, strong=0.5, floor=0.1)


def to_bytes(calibration: Calibration, fingerprint: str) -> bytes:
    """A calibration as a file: numpy's zip of arrays, without objects."""
    import numpy as np

    buffer = io.BytesIO()
    np.savez(
        buffer,
        fingerprint=np.array(fingerprint),
        scripts=np.array(list(calibration.means)),
        means=np.stack(list(calibration.means.values())),
        constants=np.array([calibration.unrelated, calibration.equal, calibration.strong, calibration.floor]),
    )
    return buffer.getvalue()


def from_bytes(data: bytes, fingerprint: str) -> Calibration | None:
    """Read a calibration; None if it is damaged or belongs to another fingerprint."""
    import numpy as np

    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            if str(found["fingerprint"]) != fingerprint:
                return None
            means = dict(zip(found["scripts"].tolist(), found["means"].astype(np.float32), strict=True))
            unrelated, equal, strong, floor = found["constants"].tolist()
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return Calibration(means=means, unrelated=unrelated, equal=equal, strong=strong, floor=floor)


def shipped(name: str, fingerprint: str) -> Calibration | None:
    """The calibration of a bundled model that came with the package."""
    try:
        data = (files("memorycore.embed") / "calibrations" / f"{name}.npz").read_bytes()
    except OSError:
        return None
    return from_bytes(data, fingerprint)
