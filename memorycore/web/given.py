"""What each session was offered before: nothing twice, since its prompt keeps it, and in all not too much.

Whatever a host puts into a prompt is paid for with each later request of the session.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

MOST_SESSIONS = 1_000
MOST_IDS = 2_000


@dataclass(slots=True)
class _Told:
    """What one session has: ids, the oldest first, and how many characters these notes had."""

    ids: dict[str, None] = field(default_factory=dict[str, None])
    chars: int = 0


class Given:
    """Ids and characters by session; the sessions that were here last are remembered. Usable from every thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: OrderedDict[tuple[str, str], _Told] = OrderedDict()

    def to(self, namespace: str, session_id: str) -> frozenset[str]:
        with self._lock:
            told = self._told.get((namespace, session_id))
            return frozenset() if told is None else frozenset(told.ids)

    def chars(self, namespace: str, session_id: str) -> int:
        with self._lock:
            told = self._told.get((namespace, session_id))
            return 0 if told is None else told.chars

    def claimed(self, namespace: str, session_id: str, ids: Iterable[str], chars: int) -> None:
        """A host says what reached the session in all; it may know of less than we do, after a start of its own."""
        self._note(namespace, session_id, ids, at_least=chars)

    def add(self, namespace: str, session_id: str, ids: Iterable[str], chars: int) -> None:
        self._note(namespace, session_id, ids, more=chars)

    def forget(self, namespace: str, session_id: str) -> None:
        with self._lock:
            self._told.pop((namespace, session_id), None)

    def _note(self, namespace: str, session_id: str, ids: Iterable[str], *, more: int = 0, at_least: int = 0) -> None:
        """Nothing is kept of a session without a name: it may be anybody's."""
        if not session_id:
            return
        with self._lock:
            told = self._told.setdefault((namespace, session_id), _Told())
            told.ids.update(dict.fromkeys(ids))
            told.chars = max(told.chars + more, at_least)
            while len(told.ids) > MOST_IDS:
                del told.ids[next(iter(told.ids))]
            self._told.move_to_end((namespace, session_id))
            while len(self._told) > MOST_SESSIONS:
                self._told.popitem(last=False)
