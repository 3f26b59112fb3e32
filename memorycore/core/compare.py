"""The judge on pairs of texts that anybody may bring. No store is opened, and nothing is kept."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from memorycore import answers, reply_judge
from memorycore.domain.judge import judge
from memorycore.domain.text import sanitise
from memorycore.embed import EmbeddingService
from memorycore.errors import EmbeddingError
from memorycore.options import Language

BATCH = 64


def judge_pairs(
    pairs: Iterable[tuple[str, str]], *, embedding: EmbeddingService | None, language: Language, wait_s: float
) -> Iterator[answers.Judgement]:
    """How the new text of each pair (old, new) stands to the old one, in order.

    The model is asked only about pairs where its word could change the verdict; ``wait_s``: how long it may load.
    """
    source = iter(pairs)
    while batch := [(sanitise(old), sanitise(new)) for old, new in islice(source, BATCH)]:
        likeness = _likeness(batch, embedding, wait_s) if embedding else {}
        for old, new in batch:
            alike = likeness.get((old, new))
            yield reply_judge.judgement(judge(old, new, likeness=alike), language, likeness=alike)


def _likeness(
    batch: Sequence[tuple[str, str]], embedding: EmbeddingService, wait_s: float
) -> dict[tuple[str, str], float]:
    """Likeness 0..1 of the pairs that two extremes of it would be judged differently for."""
    from memorycore.search.alike import likeness_of_parts, residuals_of

    asked = [pair for pair in dict.fromkeys(batch) if judge(*pair) != judge(*pair, likeness=1.0)]
    if not asked or not embedding.wait_ready(wait_s) or (calibration := embedding.calibration) is None:
        return {}
    texts = list(dict.fromkeys(text for pair in asked for text in pair))
    made = zip(texts, embedding.passages(texts, timeout_s=None), strict=True)
    parts = {
        text: residuals_of(text, found, calibration) for text, found in made if not isinstance(found, EmbeddingError)
    }
    return {
        (old, new): likeness_of_parts(parts[old] @ parts[new].T, calibration)
        for old, new in asked
        if old in parts and new in parts
    }
