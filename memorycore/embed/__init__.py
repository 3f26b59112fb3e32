"""Text → vectors. Importing this costs nothing: numpy, httpx and the models are loaded when first needed."""

from memorycore.embed.calibration import Calibration
from memorycore.embed.contract import (
    CHOICE_CODES,
    FAILS_FOR_GOOD,
    FAILURE_CODES,
    Backend,
    EmbedChoice,
    Embedder,
    ServiceState,
    why_of,
)
from memorycore.embed.service import EmbeddingService

__all__ = [
    "CHOICE_CODES",
    "FAILS_FOR_GOOD",
    "FAILURE_CODES",
    "Backend",
    "Calibration",
    "EmbedChoice",
    "Embedder",
    "EmbeddingService",
    "ServiceState",
    "why_of",
]
