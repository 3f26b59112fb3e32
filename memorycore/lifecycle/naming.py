"""Which memory a caller means: the one with this id, or with this whole text."""

import json
import re
from collections.abc import Sequence

from memorycore import messages
from memorycore.domain.memory import Memory
from memorycore.domain.text import norm_hash, sanitise
from memorycore.errors import NotFound
from memorycore.options import Language
from memorycore.store import Database, memories

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def by_id(db: Database, memory_id: str, namespaces: Sequence[str]) -> Memory:
    """The memory with this id, whatever its state.

    Raises:
        NotFound: No memory of these namespaces has it.
    """
    with db.read() as c:
        found = memories.by_id(c, sanitise(memory_id).strip(), namespaces)
    if found is None:
        raise NotFound(id=memory_id)
    return found


def find(db: Database, id_or_text: str, namespaces: Sequence[str], language: Language) -> Memory | None:
    """The active memory with this id or this whole text; a part of a text names nothing.

    A text is compared as it stands first, then without differences of case, width and punctuation (a dash, a quotation
    mark, an ellipsis of another kind); where several memories are the same in that form, none of them is meant.

    Raises:
        NotFound: It is an id, but no memory has it, or one that is not active; the message says what that is.
    """
    given = sanitise(id_or_text).strip()
    with db.read() as c:
        found = memories.by_id(c, given, namespaces)
        same = [] if found else memories.select(
            c, "all_active_by_norm_hash", namespaces=json.dumps(namespaces), norm_hash=norm_hash(given)
        )  # fmt: skip
    if found is None:
        if _ID.fullmatch(given):
            raise NotFound(id=given)
        exact = [memory for memory in same if memory.content == given]
        return exact[0] if exact else same[0] if len(same) == 1 else None
    if found.state != "active":
        raise NotFound(id=id_or_text, why=messages.text(f"state.{found.state}", language))
    return found
