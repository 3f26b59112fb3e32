"""What an embedding service said: rows in the order of the texts, or what kind of failure it was."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Any, cast

from memorycore.errors import EmbeddingError
from memorycore.outbound import kind_of_status, seconds_to_wait

if TYPE_CHECKING:
    import httpx

_ABOUT_LENGTH = re.compile(
    "context (length|size|window)|too (long|large)|maximum.{0,30}token|input length|exceed", re.IGNORECASE
)
_MAY_BE_ABOUT_LENGTH = frozenset({400, 422, 500})


def read_vectors(response: httpx.Response, *, model: str) -> list[Any]:
    """The embeddings of an answer in the order of the texts: lists of numbers, or arrays where base64 came.

    Raises:
        EmbeddingError: ``bad_answer``: no JSON of a known shape, or indices that are no permutation.
    """
    try:
        answer: Any = response.json()
        if "embeddings" in answer:
            return [_decoded(item) for item in answer["embeddings"]]
        items = cast("list[dict[str, Any]]", answer["data"])
        if any(item.get("index") is not None for item in items):
            items = sorted(items, key=lambda item: item["index"])
            if [item["index"] for item in items] != list(range(len(items))):
                raise EmbeddingError(model=model, why="bad_answer", detail="indices")
        return [_decoded(item["embedding"]) for item in items]
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise EmbeddingError(model=model, why="bad_answer", detail="shape") from error


def failure_of(response: httpx.Response, *, model: str, host: str) -> EmbeddingError:
    """The error for an answer that is not 200. Its body is not repeated: it may echo the key or the text."""
    status = response.status_code
    why = kind_of_status(status)
    if status in _MAY_BE_ABOUT_LENGTH and _ABOUT_LENGTH.search(response.text):
        why = "too_long"
    facts: dict[str, object] = {"model": model, "why": why, "status": status, "host": host}
    asked_s = seconds_to_wait(response)
    return EmbeddingError(**facts, **({} if asked_s is None else {"retry_after_s": asked_s}))


def _decoded(item: Any) -> Any:
    """A list as it is; base64 as little-endian float32, which some services send whatever was asked for."""
    if not isinstance(item, str):
        return item
    import numpy as np

    return np.frombuffer(base64.b64decode(item, validate=True), dtype="<f4")
