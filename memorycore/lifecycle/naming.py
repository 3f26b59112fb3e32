"""Which memory a caller means: the one with this id, or with this whole text.

An id begins with the time, which memories of one minute share, and ends in random digits. So its end stands for it
where it has to be short; it may be given wherever an id may.
"""

import json
import re
from collections.abc import Sequence

import apsw

from memorycore import messages
from memorycore.domain.memory import Memory
from memorycore.domain.text import norm_hash, sanitise
from memorycore.errors import InvalidInput, NotFound
from memorycore.options import Language
from memorycore.store import Database, memories

SHORT = 8
"""Digits of an id that are shown: of ten thousand memories any two end alike once in ninety stores."""
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_END = re.compile(rf"[0-9a-f-]{{{SHORT},35}}", re.IGNORECASE)


def by_id(db: Database, memory_id: str, namespaces: Sequence[str]) -> Memory:
    """The memory with this id, or with an id that ends like this, whatever its state.

    Raises:
        NotFound: No memory of these namespaces has it.
        InvalidInput: Several end like this.
    """
    given = sanitise(memory_id).strip()
    with db.read() as c:
        found = memories.by_id(c, given, namespaces) or _by_end(c, given, namespaces)
    if found is None:
        raise NotFound(id=memory_id)
    return found


def find(db: Database, id_or_text: str, namespaces: Sequence[str], language: Language) -> Memory | None:
    """The active memory with this id, this end of an id, or this whole text; a part of a text names nothing.

    A text is compared as it stands first, then without differences of case, width and punctuation (a dash, a quotation
    mark, an ellipsis of another kind); where several memories are the same in that form, none of them is meant.

    Raises:
        NotFound: It is an id, but no memory has it, or one that is not active; the message says what that is.
        InvalidInput: Several ids end like this.
    """
    given = sanitise(id_or_text).strip()
    with db.read() as c:
        found = memories.by_id(c, given, namespaces)
        same = [] if found else memories.select(
            c, "all_active_by_norm_hash", namespaces=json.dumps(namespaces), norm_hash=norm_hash(given)
        )  # fmt: skip
        found = found or (None if same else _by_end(c, given, namespaces))
    if found is None:
        if _ID.fullmatch(given):
            raise NotFound(id=given)
        exact = [memory for memory in same if memory.content == given]
        return exact[0] if exact else same[0] if len(same) == 1 else None
    if found.state != "active":
        raise NotFound(id=id_or_text, why=messages.text(f"state.{found.state}", language))
    return found


def short(memory_id: str) -> str:
    """The end of an id by which it may be named; an id of another kind as it is."""
    return memory_id[-SHORT:] if _ID.fullmatch(memory_id) else memory_id


def _by_end(c: apsw.Connection, given: str, namespaces: Sequence[str]) -> Memory | None:
    if not _END.fullmatch(given):
        return None
    # Ids that came from elsewhere have no digits of chance at their end: a date may be one.
    ids = [one for one in memories.ids_ending(c, given.lower(), namespaces) if _ID.fullmatch(one)]
    if len(ids) > 1:
        raise InvalidInput(field="id", why="end_of_several", value=given, allowed=", ".join(ids))
    return memories.by_id(c, ids[0], namespaces) if ids else None
