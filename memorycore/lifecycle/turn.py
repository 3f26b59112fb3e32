"""One hand at a time on one memory.

Whoever changes it decides on a copy and changes the row later. In between another process may have changed the same
row, or be about to: then nothing is overwritten, and the decision is made again on what stands there by then.
"""

import time
from collections.abc import Callable, Container
from datetime import datetime
from functools import wraps
from typing import ParamSpec, TypeVar

import apsw

from memorycore.domain.memory import Memory
from memorycore.domain.text import norm_hash
from memorycore.errors import Conflict
from memorycore.store import intents, memories
from memorycore.store.memories import to_ms

BEING_CHANGED = "being_changed"
PAUSES_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)  # a change of a hot file takes some 10 ms

P = ParamSpec("P")
T = TypeVar("T")


def in_turn(change: Callable[P, T]) -> Callable[P, T]:
    """Decide again, for about a second, while somebody else is changing the same memory."""

    @wraps(change)
    def patient(*args: P.args, **kwargs: P.kwargs) -> T:
        for pause_s in PAUSES_S:
            try:
                return change(*args, **kwargs)
            except Conflict as conflict:
                if conflict.facts.get("why") != BEING_CHANGED:
                    raise
            time.sleep(pause_s)
        return change(*args, **kwargs)

    return patient


def claim(
    c: apsw.Connection, memory: Memory, now: datetime, *, new_text: str = "", busy: Container[str] | None = None
) -> Memory:
    """The row of a memory that this transaction is going to change; ``new_text`` is what it will say, if that changes.

    ``busy``: what ``intents.at_work`` said in this transaction, for whoever claims many.

    Raises:
        Conflict: Wording, place or state are others than in ``memory``, or somebody's change is under way.
    """
    found = memories.by_id(c, memory.id, (memory.namespace,))
    if found is None or _standing(found) != _standing(memory):
        raise Conflict(id=memory.id, why=BEING_CHANGED)
    if busy is None or new_text:
        check_free(c, memory.namespace, now, memory_id=memory.id, text=new_text)
    elif memory.id in busy:
        raise Conflict(id=memory.id, why=BEING_CHANGED)
    return found


def is_changed(c: apsw.Connection, memory: Memory) -> bool:
    """Whether wording, place or state of a memory are others by now."""
    found = memories.by_id(c, memory.id, (memory.namespace,))
    return found is None or _standing(found) != _standing(memory)


def check_free(c: apsw.Connection, namespace: str, now: datetime, *, memory_id: str = "", text: str = "") -> None:
    """Refuse while a living process is changing a hot file for this memory, or to this text.

    Raises:
        Conflict: It will be over in a moment.
    """
    for intent in intents.all_open(c, namespace):
        is_same = intent.memory_id == memory_id or (text and norm_hash(intent.new_text or "") == norm_hash(text))
        if is_same and not intents.abandoned(intent, to_ms(now) or 0):
            raise Conflict(id=intent.memory_id, why=BEING_CHANGED)


def check_stays(c: apsw.Connection, memory: Memory, now: datetime) -> None:
    """Refuse while the entry of a memory is leaving its hot file, or getting another wording.

    Raises:
        Conflict: It will be over in a moment.
    """
    for intent in intents.all_open(c, memory.namespace):
        if (
            intent.memory_id == memory.id
            and intent.operation != "add"
            and not intents.abandoned(intent, to_ms(now) or 0)
        ):
            raise Conflict(id=memory.id, why=BEING_CHANGED)


def _standing(memory: Memory) -> tuple[object, ...]:
    return memory.content, memory.state, memory.residence, memory.hot_tier
