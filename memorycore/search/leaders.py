"""The highest scores of many texts while the vectors are read block by block."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memorycore.domain.scoring import Floats, Mask
    from memorycore.domain.scoring import Rows as RowNumbers

# A product no larger than this is done by the thread that asks for it. Larger ones are handed to threads that wait for
# each other by turning, which costs a busy machine twice the time.
_ROWS_OF_ONE_PRODUCT = 8


def products(rows: Floats, columns: Floats) -> Floats:
    """``rows @ columns``, ``[n, k]``, without threads."""
    import numpy as np

    even = len(rows) - len(rows) % _ROWS_OF_ONE_PRODUCT
    stacked = rows[:even].reshape(-1, _ROWS_OF_ONE_PRODUCT, rows.shape[1])
    found = np.empty((len(rows), columns.shape[1]), dtype=np.float32)
    np.matmul(stacked, columns, out=found[:even].reshape(len(stacked), _ROWS_OF_ONE_PRODUCT, columns.shape[1]))
    np.matmul(rows[even:], columns, out=found[even:])
    return found


class Leaders:
    """For each of some texts the ``most`` rows with the highest scores so far."""

    def __init__(self, texts: int, most: int) -> None:
        import numpy as np

        self._scores = np.full((texts, most), -np.inf, dtype=np.float32)
        self._rows = np.full((texts, most), -1, dtype=np.int64)

    def meet(self, scores: Floats, rows: RowNumbers, allowed: Mask) -> None:
        """See a block of rows with their scores, ``[n, texts]``; only the allowed ones count, and NaN never."""
        import numpy as np

        if not allowed.all():
            scores, rows = scores[allowed], rows[allowed]
        # After the first blocks hardly any row gets so far.
        places, texts = np.nonzero(scores > self._scores.min(axis=1))
        by_text = np.argsort(texts, kind="stable")
        place, of_text = places[by_text], texts[by_text]
        ends = np.searchsorted(of_text, np.arange(len(self._rows) + 1)).tolist()
        for text, (start, end) in enumerate(pairwise(ends)):
            if start == end:
                continue
            better = place[start:end]
            among = np.concatenate([self._scores[text], scores[better, text]])
            numbers = np.concatenate([self._rows[text], rows[better]])
            kept = np.argpartition(-among, self._scores.shape[1] - 1)[: self._scores.shape[1]]
            self._scores[text], self._rows[text] = among[kept], numbers[kept]

    def in_order(self) -> list[RowNumbers]:
        """For each text its rows, the highest score first, of equal ones the first row."""
        import numpy as np

        orders = np.lexsort((self._rows, -self._scores))
        return [rows[order][rows[order] >= 0] for rows, order in zip(self._rows, orders, strict=True)]
