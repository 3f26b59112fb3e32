"""What each session was offered before: nothing is offered twice, since the host keeps it in its prompt."""

import threading
from collections import OrderedDict
from collections.abc import Iterable

MOST_SESSIONS = 1_000
MOST_IDS = 2_000


class Given:
    """Ids by session; the sessions that were here last are remembered. Usable from every thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: OrderedDict[tuple[str, str], dict[str, None]] = OrderedDict()

    def to(self, namespace: str, session_id: str) -> frozenset[str]:
        with self._lock:
            return frozenset(self._ids.get((namespace, session_id), ()))

    def add(self, namespace: str, session_id: str, ids: Iterable[str]) -> None:
        """Nothing is kept of a session without a name: it may be anybody's."""
        if not session_id:
            return
        with self._lock:
            known = self._ids.setdefault((namespace, session_id), {})
            known.update(dict.fromkeys(ids))
            while len(known) > MOST_IDS:
                del known[next(iter(known))]
            self._ids.move_to_end((namespace, session_id))
            while len(self._ids) > MOST_SESSIONS:
                self._ids.popitem(last=False)

    def forget(self, namespace: str, session_id: str) -> None:
        with self._lock:
            self._ids.pop((namespace, session_id), None)
