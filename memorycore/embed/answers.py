"""Where a question lies beside the texts that answer it, and apart from those that share no more than its subject.

Models place "Which paint is on the fence?" near every text about fences. Maps that were trained on some ten thousand
questions, a third of which nothing answers, move what is asked for and what is told together (``python -m
benchmarks.answer_fit``): one pair of maps for each of the two bundled models, and one for their vectors side by side.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from memorycore.embed.calibration import of_length_one

if TYPE_CHECKING:
    from memorycore.embed.contract import Vectors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Maps:
    """Two matrices ``[width, few]``: questions times ``asking`` lie near texts times ``telling`` that answer them."""

    asking: Vectors
    telling: Vectors

    def cosines(self, question: Vectors, texts: Vectors) -> Vectors:
        """Of a question ``[width]`` and texts ``[n, width]``, all of length 1: ``[n]``."""
        return of_length_one(texts @ self.telling) @ of_length_one(question @ self.asking)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trained:
    """What was trained: on the vectors of the first model, of the second, and of both side by side.

    The first model's vectors go in without what all texts of their script share (``Calibration.centred`` and
    ``residuals``), the second's as they are; each of length 1.
    """

    first: Maps
    second: Maps
    both: Maps


def trained_for(fingerprint: str) -> Trained | None:
    """The maps, if the first model is the one with this fingerprint; None if the file is missing or damaged, too."""
    known, maps = _shipped()
    return maps if fingerprint == known else None


@cache
def _shipped() -> tuple[str, Trained | None]:
    import numpy as np

    try:
        data = (files("memorycore.embed") / "calibrations" / "answers.npz").read_bytes()
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            first, second, both = (
                Maps(
                    asking=found[f"{name}_asking"].astype(np.float32),
                    telling=found[f"{name}_telling"].astype(np.float32),
                )
                for name in ("first", "second", "both")
            )
            return str(found["fingerprint"]), Trained(first=first, second=second, both=both)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return "", None
