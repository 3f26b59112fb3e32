"""What memories said at an earlier time, where they have been reworded since."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memorycore.domain.text import index_tokens
from memorycore.search.request import Wording
from memorycore.search.words import stems_of
from memorycore.store.memories import from_ms, to_ms
from memorycore.store.statements import all_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import apsw


@dataclass(frozen=True, slots=True, kw_only=True)
class Reworded:
    """An earlier wording, with its words as the index would hold them: no index knows it."""

    wording: Wording
    stems: frozenset[str]


def wordings_at(c: apsw.Connection, at: datetime, namespaces: Sequence[str]) -> dict[int, Reworded]:
    """The wording at that time of every memory (seq) that was reworded later; before its first one, the first one."""
    asked = {"at": to_ms(at), "namespaces": json.dumps(namespaces)}
    return {
        int(seq): Reworded(
            wording=Wording(content=content, version=version, written_at=from_ms(written_at) or at),
            stems=frozenset(stems_of(c, index_tokens(content))),
        )
        for seq, content, version, written_at, _ in all_rows(c, "wordings_at", asked)
    }
