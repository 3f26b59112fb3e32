"""How alike two texts are in meaning, on the scale that the judge reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorycore.search.vectors import residuals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorycore.domain.scoring import Floats
    from memorycore.embed import Calibration

_SMALLEST = 1e-6


def residuals_of(text: str, parts: Floats, calibration: Calibration) -> Floats:
    """The residuals of one text's vectors, each of length one, ``[k, width]``."""
    import numpy as np

    found = residuals([(0, part.astype("<f4").tobytes(), text) for part in parts], calibration)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), np.float32(_SMALLEST))


def likeness_of_parts(cosines: Floats, calibration: Calibration) -> float:
    """0 as like as unrelated texts (c0), 1 as like as two wordings of one statement (c1).

    Args:
        cosines: Of each part of one text with each part of the other, ``[k, m]``. Of texts in several parts counts how
            well each part finds its like in the other text, the worse side of the two.
        calibration: The constants of the model.
    """
    cosine = min(float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean()))
    return likeness_of_cosines([cosine], calibration)[0]


def likeness_of_cosines(cosines: Sequence[float], calibration: Calibration) -> list[float]:
    """As ``likeness_of_parts`` for texts of one part, many at once."""
    span, unrelated = max(calibration.equal - calibration.unrelated, _SMALLEST), calibration.unrelated
    return [round(min(1.0, max(0.0, (cosine - unrelated) / span)), 4) for cosine in cosines]
