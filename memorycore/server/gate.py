"""Whose call is worked on next, so that one client that floods does not slow down the others.

Calls run in a few threads. Each client has a queue of its own, and the one that was served longest ago comes next. A
client may have few calls at work, and some more waiting; what comes on top is refused as ``too_many_calls``, which says
that it may be tried again. While others are there, a client is also held to so many calls a second, and once it is, no
more of its calls may wait than a second will do; alone it may have all there is. So a script that waits for its answers
is slowed down at most, never refused.

Everything here runs in one event loop; only the work itself runs in threads.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from memorycore import metrics
from memorycore.errors import TooManyCalls

T = TypeVar("T")
BURST_S = 2.0  # so many seconds' worth of calls may come at once
PRESENT_S = 1.0  # so long after its last call a client counts as being there
RETRY_AFTER_S = 1
# A refusal is not given at once, and the later the more there were in the last moment: a client that asks again without
# waiting would else keep the process busy with refusing.
LEAST_PAUSE_S = 0.05
MOST_PAUSE_S = 5.0
PAUSE_EACH_S = 0.05
FORGOTTEN_AFTER_S = 60.0
MOST_KNOWN = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRules:
    """``at_once``: calls at work, ``per_client``: those of one client; ``waiting``: more of its calls that may wait."""

    at_once: int = 8
    per_client: int = 2
    waiting: int = 64
    calls_per_s: float = 20.0


@dataclass(slots=True, eq=False)
class _Client:
    """``credit``: calls that it may begin now; ``refused``: how often it was turned away, fading within seconds."""

    credit: float
    seen_at: float
    credited_at: float
    served_at: float = 0.0
    running: int = 0
    queue: deque["asyncio.Future[None]"] = field(default_factory=deque["asyncio.Future[None]"])
    refused: float = 0.0
    refused_at: float = 0.0


class Gate:
    """One for a process. ``client`` is any text that tells clients apart."""

    def __init__(self, rules: GateRules | None = None) -> None:
        self.rules = rules or GateRules()
        self._clients: dict[str, _Client] = {}
        self._running = 0
        self._threads = ThreadPoolExecutor(self.rules.at_once, thread_name_prefix="memorycore-call")
        self._alarm: asyncio.TimerHandle | None = None

    async def run(self, client: str, work: Callable[[], T]) -> T:
        """Run ``work`` in a thread when it is this client's turn.

        When the caller gives up, work that has begun goes on to its end and counts until then.

        Raises:
            TooManyCalls: The client has too many calls here already.
        """
        me = await self._admitted(client)
        loop = asyncio.get_running_loop()
        begun = self._threads.submit(work)

        def over(_done: "Future[T]") -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._ended, me)

        begun.add_done_callback(over)
        return await asyncio.wrap_future(begun)

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncGenerator[None]:
        """A place among the calls at work, for work that brings its own thread.

        Raises:
            TooManyCalls: The client has too many calls here already.
        """
        me = await self._admitted(client)
        try:
            yield
        finally:
            self._ended(me)

    def close(self) -> None:
        """No further calls; those at work are not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _admitted(self, client: str) -> _Client:
        me = self._client(client)
        me.seen_at = time.monotonic()
        if len(me.queue) >= (most := self._may_wait(me)):
            await self._turn_away(me, most)
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        me.queue.append(ticket)
        self._count()
        self._next()
        try:
            await ticket
        except asyncio.CancelledError:
            if ticket.cancelled():
                me.queue.remove(ticket)
                self._count()
            else:
                self._ended(me)
            raise
        return me

    def _may_wait(self, me: _Client) -> int:
        """How many calls of this client may wait. Of one that is held back, no more than a second will do."""
        most = self.rules.waiting
        return most if self._held_back_s(me, time.monotonic()) <= 0 else min(most, math.ceil(self.rules.calls_per_s))

    async def _turn_away(self, me: _Client, most: int) -> None:
        now = time.monotonic()
        me.refused = me.refused * math.exp(me.refused_at - now) + 1
        me.refused_at = now
        metrics.add("memorycore_calls_turned_away_total")
        await asyncio.sleep(min(max(me.refused * PAUSE_EACH_S, LEAST_PAUSE_S), MOST_PAUSE_S))
        raise TooManyCalls(most=most, retry_after_s=RETRY_AFTER_S)

    def _next(self) -> None:
        """Let in whoever's turn it is; if only clients wait that are held back, look again when one is not."""
        now = time.monotonic()
        while self._running < self.rules.at_once:
            waiting = [one for one in self._clients.values() if one.queue and one.running < self.rules.per_client]
            ready = [one for one in waiting if self._held_back_s(one, now) <= 0]
            if not ready:
                self._look_again_in(min((self._held_back_s(one, now) for one in waiting), default=0.0))
                break
            chosen = min(ready, key=lambda one: one.served_at)
            ticket = chosen.queue.popleft()
            if ticket.done():  # its caller has gone
                continue
            chosen.served_at = now
            chosen.credit -= 1
            chosen.running += 1
            self._running += 1
            ticket.set_result(None)
        self._count()

    def _held_back_s(self, one: _Client, now: float) -> float:
        """How long until its next call may begin: not at all while it is alone or has credit."""
        rate, most = self.rules.calls_per_s, self.rules.calls_per_s * BURST_S
        one.credit = min(most, max(one.credit, -1.0) + rate * (now - one.credited_at))
        one.credited_at = now
        if one.credit >= 1 or not any(
            other is not one and (other.running or other.queue or now - other.seen_at < PRESENT_S)
            for other in self._clients.values()
        ):
            return 0.0
        return (1 - one.credit) / rate

    def _look_again_in(self, seconds: float) -> None:
        if seconds > 0 and self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(seconds, self._alarmed)

    def _alarmed(self) -> None:
        self._alarm = None
        self._next()

    def _ended(self, me: _Client) -> None:
        me.running -= 1
        me.seen_at = time.monotonic()
        self._running -= 1
        self._next()

    def _count(self) -> None:
        metrics.put("memorycore_calls_running", self._running)
        metrics.put("memorycore_calls_waiting", sum(len(one.queue) for one in self._clients.values()))

    def _client(self, name: str) -> _Client:
        known = self._clients.get(name)
        if known is None:
            now = time.monotonic()
            if len(self._clients) >= MOST_KNOWN:
                self._forget_the_absent(now)
            credit = self.rules.calls_per_s * BURST_S
            known = self._clients[name] = _Client(credit=credit, seen_at=now, credited_at=now)
        return known

    def _forget_the_absent(self, now: float) -> None:
        self._clients = {
            name: one
            for name, one in self._clients.items()
            if one.running or one.queue or now - one.seen_at < FORGOTTEN_AFTER_S
        }
