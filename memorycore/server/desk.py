"""The one MemoryCore of this process: opened when first needed, shared by all calls, closed once; and seats at it.

When another database was put in the place of its own, the next call opens that one.

Connecting a client never fails because the store cannot be opened: the tools then answer why, and the next call tries
again. So a client always lists ten tools, and a full disk or a newer database is a sentence, not a dead server.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memorycore.errors import MemoryCoreError, NotAvailable
from memorycore.options import Language

if TYPE_CHECKING:
    from memorycore.core import MemoryCore

_log = logging.getLogger(__name__)


class Desk:
    """Hands the core to calls, which run in many threads at once, and knows how many are busy.

    ``session``: what tells the one client of this process from all others, so that it keeps its place elsewhere too.
    """

    def __init__(self, open_core: Callable[[], "MemoryCore"], *, language: Language, session: str = "") -> None:
        self.language: Language = language
        self.session = session or uuid.uuid4().hex
        self._open_core = open_core
        self._opening = threading.Lock()
        self._core: MemoryCore | None = None
        self._newcomers: set[str] = set()
        self._idle = threading.Condition()
        self._busy = 0
        self._left_at = time.monotonic()
        self._closed = False

    @contextmanager
    def core(self) -> Generator["MemoryCore"]:
        """The open core for one call.

        Raises:
            MemoryCoreError: It cannot be opened now, or the server is ending.
        """
        with self._idle:
            if self._closed:
                raise NotAvailable(what="server", why="ending")
            self._busy += 1
        try:
            yield self._opened()
        finally:
            with self._idle:
                self._busy -= 1
                self._left_at = time.monotonic()
                self._idle.notify_all()

    def idle_s(self) -> float | None:
        """How long no call has been under way; 0 while one is, None when no further ones come."""
        with self._idle:
            if self._closed:
                return None
            return 0.0 if self._busy else time.monotonic() - self._left_at

    def seen(self, session_id: str) -> None:
        """A client is here, whose prompt may hold the hot files as they are. Waits for nothing and never fails."""
        core = self._core
        if core is None:
            self._newcomers.add(session_id)
        else:
            core.session_seen(session_id)

    def ended(self, session_ids: Collection[str]) -> None:
        """Sessions are over. They are not waited for, and a note that cannot be written now is let go."""
        core = self._core
        self._newcomers.difference_update(session_ids)
        if core is not None and session_ids:
            core.sessions_ended(tuple(session_ids))

    def warm(self) -> None:
        """Open the core in a thread of its own, so that the model loads while nobody waits for it."""
        threading.Thread(target=self._warm, name="memorycore-warm", daemon=True).start()

    def close(self, *, grace_s: float) -> None:
        """Let the calls under way end, at most ``grace_s`` long, then close; further calls are refused."""
        with self._idle:
            self._closed = True
            self._idle.wait_for(lambda: self._busy == 0, timeout=grace_s)
        with self._opening:
            core, self._core = self._core, None
        if core is not None:
            core.close()

    def _opened(self) -> "MemoryCore":
        with self._opening:
            if self._core is not None and self._core.db.was_replaced():
                _log.warning("the database was replaced; opening the new one")
                self._core.close()
                self._core = None
            if self._core is None:
                self._core = self._open_core()
                while self._newcomers:
                    self._core.session_seen(self._newcomers.pop())
            return self._core

    def _warm(self) -> None:
        try:
            with self.core():
                pass
        except MemoryCoreError as error:
            _log.warning("not ready: %s", error.code)


class Seat:
    """The place of one client at a desk that outlives it: its language and its sessions, which end when it leaves."""

    def __init__(self, desk: Desk, *, language: Language, session: str = "") -> None:
        self.language: Language = language
        self.session = session or uuid.uuid4().hex
        self._desk = desk
        self._sessions: set[str] = set()
        self._left = False

    @contextmanager
    def core(self) -> Generator["MemoryCore"]:
        """The open core, answering in the language of this client.

        Raises:
            MemoryCoreError: It cannot be opened now, or the server is ending.
        """
        with self._desk.core() as core:
            yield core.speaking(self.language)

    def seen(self, session_id: str) -> None:
        if not self._left:  # a call that outlives its client must not bring the session back
            self._sessions.add(session_id)
            self._desk.seen(session_id)

    def warm(self) -> None:
        self._desk.warm()

    def close(self, *, grace_s: float) -> None:
        """The client has left. The core stays open, and calls under way end by themselves."""
        del grace_s
        self._left = True
        self._desk.ended(tuple(self._sessions))


Place = Desk | Seat
