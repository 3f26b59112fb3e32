"""One text's failure is its own: batches that fail are tried text by text, refused texts in smaller parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorycore.embed.contract import why_of
from memorycore.embed.parts import cut
from memorycore.errors import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memorycore.embed.contract import Embedder, Vectors

# Failures that may lie in one text of the batch. All others (no connection, wrong key …) meet every text alike.
_ONE_TEXT_MAY_CAUSE = frozenset({"server_error", "refused", "too_long", "bad_answer", "bad_vector"})
_SMALLER_PARTS_MAY_HELP = frozenset({"refused", "too_long"})
# A server that fails three texts in a row is down for all of them: don't ask it a hundred times.
_FAILURES_THAT_PROVE_AN_OUTAGE = 3
_HALVINGS = 3


def embed_each(embed: Callable[[Sequence[str]], Vectors], texts: Sequence[str]) -> list[Vectors | EmbeddingError]:
    """One row, or the reason why there is none, for each text, in order. One call if nothing fails."""
    try:
        return list(embed(texts))
    except EmbeddingError as error:
        if len(texts) == 1 or why_of(error) not in _ONE_TEXT_MAY_CAUSE:
            return [error] * len(texts)
    return _one_by_one(embed, texts)


def embed_whole(
    embedder: Embedder, texts: Sequence[str], *, between: Callable[[], None] = lambda: None
) -> list[Vectors | EmbeddingError]:
    """For each text the vectors of all its parts, ``[parts, width]``, or the reason why it has none.

    A text whose parts are refused is cut smaller, three times at most. A size that works is kept for later texts.
    ``between`` is called between two calls of the model for one long text, which may take a minute in all.
    """
    cuts = [cut(text, limit=embedder.part_tokens, count=embedder.count_tokens) for text in texts]
    short = iter(_embed_short(embedder, [pieces[0] for pieces in cuts if len(pieces) == 1]))
    results: list[Vectors | EmbeddingError] = []
    for text, pieces in zip(texts, cuts, strict=True):
        result = next(short) if len(pieces) == 1 else _embed_parts(embedder, pieces, between)
        if isinstance(result, EmbeddingError) and why_of(result) in _SMALLER_PARTS_MAY_HELP:
            result = _embed_smaller(embedder, text, result, between)
        results.append(result)
    return results


def _one_by_one(embed: Callable[[Sequence[str]], Vectors], texts: Sequence[str]) -> list[Vectors | EmbeddingError]:
    results: list[Vectors | EmbeddingError] = []
    for text in texts:
        try:
            results.append(embed([text])[0])
        except EmbeddingError as error:
            results.append(error)
            if _is_outage(results):
                return results + [error] * (len(texts) - len(results))
    return results


def _is_outage(results: Sequence[Vectors | EmbeddingError]) -> bool:
    """The last error is the connection's, or nothing has worked yet and all errors are the server's."""
    kinds = [why_of(result) for result in results if isinstance(result, EmbeddingError)]
    if kinds[-1] not in _ONE_TEXT_MAY_CAUSE:
        return True
    return len(kinds) == len(results) >= _FAILURES_THAT_PROVE_AN_OUTAGE and set(kinds) == {"server_error"}


def _embed_short(embedder: Embedder, texts: Sequence[str]) -> list[Vectors | EmbeddingError]:
    """Texts of one part each, in batches."""
    results: list[Vectors | EmbeddingError] = []
    for start in range(0, len(texts), embedder.batch_size):
        rows = embed_each(embedder.embed_passages, texts[start : start + embedder.batch_size])
        results.extend(row if isinstance(row, EmbeddingError) else row[None, :] for row in rows)
    return results


def _embed_parts(embedder: Embedder, parts: Sequence[str], between: Callable[[], None]) -> Vectors | EmbeddingError:
    """The parts of one text, ``[parts, width]``. Ends at the first part without a vector: half a text is none."""
    import numpy as np

    rows: list[Vectors] = []
    for start in range(0, len(parts), embedder.batch_size):
        batch = parts[start : start + embedder.batch_size]
        if start:
            between()
        try:
            rows.extend(embedder.embed_passages(batch))
        except EmbeddingError as error:
            kind = why_of(error)
            if len(batch) == 1 or kind in _SMALLER_PARTS_MAY_HELP or kind not in _ONE_TEXT_MAY_CAUSE:
                return error
            for row in _one_by_one(embedder.embed_passages, batch):
                if isinstance(row, EmbeddingError):
                    return row
                rows.append(row)
    return np.stack(rows)


def _embed_smaller(
    embedder: Embedder, text: str, refusal: EmbeddingError, between: Callable[[], None]
) -> Vectors | EmbeddingError:
    tokens = min(embedder.part_tokens, embedder.count_tokens(text))
    result: Vectors | EmbeddingError = refusal
    for _ in range(_HALVINGS):
        tokens //= 2
        result = _embed_parts(embedder, cut(text, limit=tokens, count=embedder.count_tokens), between)
        if not isinstance(result, EmbeddingError):
            if why_of(refusal) == "too_long":
                embedder.part_tokens = min(embedder.part_tokens, tokens)
            break
        if why_of(result) not in _SMALLER_PARTS_MAY_HELP:
            break
    return result
