"""Gates that every text passes on its way in: what of it is a secret, personal data, an order to the agent, or noise.

Each gate is a function of the text alone. It answers findings, and what happens to them is decided by the caller.
"""

from dataclasses import dataclass
from typing import Literal

Gate = Literal["secret", "pii", "injection", "noise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one gate saw in a text.

    ``rule`` is a stable name ("github_token", "iban", "override"). ``start`` and ``end`` count code points of the text
    as it was given; both are 0 when the finding is about the text as a whole.
    """

    gate: Gate
    rule: str
    start: int = 0
    end: int = 0
