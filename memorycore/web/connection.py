"""A connection of the HTTP service: there are not too many, and whoever begins to ask and stops there keeps none."""

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from memorycore import metrics
from memorycore.server.room import most_connections

HEAD_WITHIN_S = 10.0
BODY_WITHIN_S = 30.0  # a mebibyte at most, also from far away


class Connection(H11Protocol):
    """Uvicorn's own gives a client all the time in the world for its request.

    ``within_s``: for what is awaited, as ``h11`` calls it, so many seconds.
    """

    within_s: ClassVar[Mapping[Any, float]] = {h11.IDLE: HEAD_WITHIN_S, h11.SEND_BODY: BODY_WITHIN_S}
    _awaited: Any = None
    _due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            metrics.add("memorycore_requests_refused_total", reason="connections")
            transport.abort()
            return
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._no_longer()
        super().connection_lost(exc)

    def _expect(self) -> None:
        """Give what comes next its time; it runs on while the client is at it."""
        state = self.conn.their_state
        if state is self._awaited:
            return
        self._no_longer()
        if (within_s := self.within_s.get(state)) is not None:
            self._awaited, self._due = state, self.loop.call_later(within_s, self._hang_up)

    def _no_longer(self) -> None:
        if self._due is not None:
            self._due.cancel()
        self._awaited = self._due = None

    def _hang_up(self) -> None:
        awaited = self._awaited
        self._no_longer()
        if self.conn.their_state is not awaited:
            return
        if self.flow.read_paused:  # it is we who do not read now
            self._expect()
            return
        metrics.add("memorycore_requests_refused_total", reason="slow")
        self.transport.abort()
