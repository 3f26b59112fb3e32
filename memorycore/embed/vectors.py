"""Rows that may be trusted: the right number, the right width, finite, of length one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorycore.errors import EmbeddingError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from memorycore.embed.contract import Vectors

_SMALLEST_LENGTH = 1e-6


def unit_rows(rows: ArrayLike, *, count: int, width: int | None, model: str) -> Vectors:
    """The rows as float32 of length one, ``[count, width]``.

    Raises:
        EmbeddingError: ``why`` is bad_answer (count, shape, no numbers), width_changed, or bad_vector (not finite,
            all zero).
    """
    import numpy as np

    try:
        with np.errstate(all="ignore"):  # a number too large becomes infinite and is refused below
            found = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(model=model, why="bad_answer") from error
    if count == 0 and width:
        return np.empty((0, width), dtype=np.float32)
    if found.ndim != 2 or len(found) != count or not found.shape[1]:  # noqa: PLR2004 a matrix
        raise EmbeddingError(model=model, why="bad_answer", expected=count, shape="x".join(map(str, found.shape)))
    if width is not None and found.shape[1] != width:
        raise EmbeddingError(model=model, why="width_changed", expected=width, found=found.shape[1])
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths < _SMALLEST_LENGTH).any():
        raise EmbeddingError(model=model, why="bad_vector")
    return found / lengths
