"""A connection of the HTTP service: there are not too many, and whoever begins to ask and stops there keeps none."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from memorycore import metrics
from memorycore.server.room import most_connections

HEAD_WITHIN_S = 10.0


class Connection(H11Protocol):
    """Uvicorn's own gives a client all the time in the world for the head of its request."""

    _head_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            metrics.add("memorycore_requests_refused_total", reason="connections")
            transport.abort()
            return
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._no_longer()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._no_longer()
        elif self._head_due is None:
            self._head_due = self.loop.call_later(HEAD_WITHIN_S, self._hang_up)

    def _no_longer(self) -> None:
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None

    def _hang_up(self) -> None:
        self._head_due = None
        if self.conn.their_state is h11.IDLE:
            self.transport.abort()
