"""Bring a service elsewhere up to date: what is cold here gets a copy there, and what is not any more loses it.

What a copy ought to be follows from the row of its memory as it is now, so that the same work done twice, late or after
a crash ends at the same state. A text that may have been given to the service before, by somebody who did not hear the
answer, is looked for there before it is given again.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import apsw

from memorycore.cold.remote import Item, RemoteColdStore
from memorycore.domain.memory import Memory
from memorycore.errors import NotFound, RemoteRefused, RemoteUnreachable
from memorycore.store import Database, jobs, memories, remote
from memorycore.store.jobs import Job, Retry
from memorycore.store.memories import to_ms
from memorycore.store.remote import REMOTE, Copy

LEASE_S = 120.0
AT_ONCE = 16
SEVERAL = 2
MOST_WORDINGS = 3
FAIR_S = 1.5
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 600.0
REFUSED = Retry(first=timedelta(minutes=1), most=6)
AWAY = Retry(first=timedelta(seconds=5), most=1_000_000_000)  # that a service is away says nothing about a text
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What a round came to. ``left``: more is due and can be delivered at once; ``why``: what stopped it, a code."""

    done: int = 0
    refused: int = 0
    left: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """Between one namespace and its service. ``timeout_s``: for one call."""

    db: Database
    store: RemoteColdStore
    name: str
    namespace: str
    clock: Callable[[], datetime]
    timeout_s: float

    def follow(self) -> None:
        """Note that this service is to have copies; from a new one everything is owed."""
        with self.db.read() as c:
            known = remote.followed(c, self.namespace)
        if known is None or known.name != self.name:
            with self.db.write() as c:
                remote.follow(c, self.namespace, self.name, self._now_ms())

    def owe_missing(self) -> None:
        """Queue what is cold and has neither a copy nor a job."""
        with self.db.write() as c:
            remote.owe_missing(c, self.namespace, self.name)

    def is_resting(self) -> bool:
        """Whether the service was away, and it is not time yet to try again."""
        with self.db.read() as c:
            known = remote.followed(c, self.namespace)
        if known is None or known.down_since is None:
            return False
        return 0 < known.next_try - self._now_ms() <= LONGEST_PAUSE_S * 1_000  # else the clock went back

    def deliver(self, *, limit_s: float, in_passing: bool = False) -> Delivered:
        """Deliver what is due, the most urgent first, for at most about ``limit_s``.

        ``in_passing``: somebody waits, and another thread does it properly later: to be slower than that is no fault.
        Nor is it for a call that came last and had hardly any time left.
        """
        if self.is_resting():
            return Delivered(why="resting")
        ends_at = time.monotonic() + limit_s
        done = refused = 0
        while (remaining := ends_at - time.monotonic()) > 0:
            given_s = min(self.timeout_s, remaining)
            waiting = deque(self._claim())
            if not waiting:
                return Delivered(done=done, refused=refused)
            try:
                for job in self._bring_many(waiting, given_s):
                    waiting.remove(job)
                    done += 1
                while waiting and (remaining := ends_at - time.monotonic()) > 0:
                    given_s = min(self.timeout_s, remaining)
                    brought = self._bring_or_refuse(waiting[0], given_s)
                    waiting.popleft()
                    done, refused = done + brought, refused + (not brought)
            except RemoteUnreachable as error:
                hurried = in_passing or given_s < min(self.timeout_s, FAIR_S)
                if hurried and error.facts.get("why") == "timeout":
                    return Delivered(done=done, refused=refused, left=True)
                self._away(waiting.popleft(), error)
                return Delivered(done=done, refused=refused, why=str(error.facts.get("why")))
            finally:
                self._release(waiting)
        return Delivered(done=done, refused=refused, left=True)

    def bring_hot(self, memory: Memory, *, limit_s: float) -> bool:
        """Have a copy made of a hot entry that is about to leave its file, and read it back.

        Raises:
            RemoteUnreachable: The service cannot be used now.
        """
        ends_at = time.monotonic() + limit_s
        known = self._copy_of_text(memory)
        try:
            if known is None:
                known = self._brought(memory, limit_s)
            held = self.store.holds(known.external, memory.content, timeout_s=max(0.05, ends_at - time.monotonic()))
        except (RemoteRefused, NotFound):
            return False
        except RemoteUnreachable as error:
            self._note_down(error)
            raise
        self._note_up()
        return held

    def _copy_of_text(self, memory: Memory) -> Copy | None:
        with self.db.read() as c:
            held = self._copies(c, memory)
        return next((copy for copy in held if copy.sent == remote.digest(memory.content)), None)

    def _brought(self, memory: Memory, limit_s: float) -> Copy:
        """A copy with the text as it is now. One that an earlier attempt left behind is taken."""
        with self.db.read() as c:
            held = self._copies(c, memory)
        if not held and not self.store.knows_refs(timeout_s=limit_s):
            self._look(memory, limit_s)
            with self.db.read() as c:
                held = self._copies(c, memory)
        self._keep(memory, held, limit_s, leaves=True)
        known = self._copy_of_text(memory)
        if known is None:
            raise NotFound(id=memory.id)
        return known

    def look_for(self, items: Sequence[Memory]) -> frozenset[str]:
        """Find every copy of texts that may have been given without an answer, as long as the texts are known here.

        Returns:
            The ids of those that may have a copy of which nobody knows.
        """
        with self.db.read() as c:
            open_ids = remote.perhaps_sent(c, self.namespace, [memory.id for memory in items])
        unknown = set(open_ids)
        with suppress(RemoteUnreachable, RemoteRefused):
            for memory in items:
                if memory.id in open_ids:
                    self._look(memory, self.timeout_s, every=True)
                    unknown.discard(memory.id)
        return frozenset(unknown)

    def withdraw(self, ids: Sequence[str]) -> None:
        """Have the copies of memories forgotten now; what cannot be reached is still owed.

        Whether anything is left is seen from the copies that are still known.
        """
        with suppress(RemoteUnreachable, RemoteRefused):
            for memory_id in ids:
                with self.db.read() as c:
                    memory = memories.by_id(c, memory_id, (self.namespace,))
                    held = [] if memory is None else self._copies(c, memory)
                for copy in held:
                    if memory is not None:
                        self._let_go(memory, copy, self.timeout_s)

    def _claim(self) -> list[Job]:
        now = self.clock()
        with self.db.read() as c:
            if not jobs.any_due(c, [REMOTE], now, namespaces=[self.namespace]):
                return []
        with self.db.write() as c:
            return jobs.claim(c, [REMOTE], now, lease_s=LEASE_S, most=AT_ONCE, namespaces=[self.namespace])

    def _bring_many(self, waiting: Collection[Job], limit_s: float) -> list[Job]:
        """Give texts that have no copy yet at once, where the service takes them so; the jobs that are done then."""
        if len(waiting) < SEVERAL or not self.store.knows_refs() or not self.store.takes_many():
            return []
        with self.db.read() as c:
            rows = [(job, memories.by_id(c, job.subject, (self.namespace,))) for job in waiting]
            fresh = [(job, row) for job, row in rows if row and remote.is_wanted(row) and not self._copies(c, row)]
        if not fresh:
            return []
        self._mark([row for _, row in fresh], sent=True)
        try:
            given = self.store.remember_many([_item(row) for _, row in fresh], timeout_s=limit_s)
        except RemoteRefused:  # not of this kind of call; one by one it can say more
            return []
        for (_, row), external in zip(fresh, given, strict=True):
            if external:
                self._note(row, external)
        self._note_up()
        done = [job for (job, _), external in zip(fresh, given, strict=True) if external]
        for job in done:
            self._settle(job)
        return done

    def _bring_or_refuse(self, job: Job, limit_s: float) -> bool:
        """Whether the copies of one memory are now what they ought to be; False where the service does not do it.

        Raises:
            RemoteUnreachable: The service cannot be used now.
        """
        try:
            self._bring(job, limit_s)
        except RemoteRefused as error:
            self._refused(job, error)
            return False
        return True

    def _bring(self, job: Job, limit_s: float) -> None:
        with self.db.read() as c:
            memory = memories.by_id(c, job.subject, (self.namespace,))
            held = [] if memory is None else self._copies(c, memory)
        if memory is not None:
            perhaps = bool(job.facts.get("sent"))
            by_ref = remote.is_wanted(memory) and self.store.knows_refs(timeout_s=limit_s)
            if not held and not by_ref and (perhaps or job.priority >= jobs.LATE):
                self._look(memory, limit_s, thorough=perhaps)
                with self.db.read() as c:
                    held = self._copies(c, memory)
            if remote.is_wanted(memory):
                self._keep(memory, held, limit_s)
            else:
                for copy in held:
                    self._let_go(memory, copy, limit_s)
        self._settle(job)
        self._note_up()

    def _keep(self, memory: Memory, held: Sequence[Copy], limit_s: float, *, leaves: bool = False) -> None:
        """Have one copy with the text as it is now. What is hot has none, unless it is about to leave its file."""
        first, *others = held or [None]
        if first is not None and first.sent != remote.digest(memory.content):
            if self._is_shared(memory, first):  # the id is another memory's too: ours gets one of its own
                self._drop(memory, first)
                first = None
            else:
                first = self._reword(memory, first, limit_s)
        if first is None and (memory.residence != "hot" or leaves):
            self._note(memory, self._give(memory, limit_s))
        for copy in others:
            if copy is not None:
                self._let_go(memory, copy, limit_s)

    def _reword(self, memory: Memory, copy: Copy, limit_s: float) -> Copy | None:
        """Give a copy the text as it is now; None where the service has no such memory any more."""
        try:
            self.store.update(copy.external, memory.content, timeout_s=limit_s)
        except NotFound:
            self._drop(memory, copy)
            return None
        self._note(memory, copy.external)
        return copy

    def _look(self, memory: Memory, limit_s: float, *, thorough: bool = True, every: bool = False) -> None:
        """Find a copy that nobody of ours has yet, of the text as it is or as it was, and note it; or all of them."""
        with self.db.read() as c:
            earlier = [str(one["content"]) for one in memories.revisions(c, memory)][-MOST_WORDINGS:]
        for text in dict.fromkeys((memory.content, *reversed(earlier))):
            found = self.store.find(text, thorough=thorough, timeout_s=limit_s) if text else []
            with self.db.read() as c:
                taken = remote.ours(c, self.name, found)
            free = [external for external in found if taken.get(external, memory.id) == memory.id]
            for external in free if every else free[:1]:
                self._note(memory, external, text)
            if free and not every:
                return

    def _give(self, memory: Memory, limit_s: float) -> str:
        """Give a text to the service. Before, it is noted that it may be there: nobody may hear the answer."""
        self._mark([memory], sent=True)
        item = _item(memory)
        try:
            return self.store.remember(item.content, importance=item.importance, ref=item.ref, timeout_s=limit_s)
        except (RemoteRefused, RemoteUnreachable) as error:
            if not error.facts.get("sent"):
                self._mark([memory], sent=False)
            raise

    def _mark(self, items: Sequence[Memory], *, sent: bool) -> None:
        with self.db.write() as c:
            for memory in items:
                remote.mark_sent(c, self.namespace, memory.id, sent=sent)

    def _let_go(self, memory: Memory, copy: Copy, limit_s: float) -> None:
        if not self._is_shared(memory, copy):
            try:
                self.store.forget(copy.external, timeout_s=limit_s)
            except NotFound:
                _log.debug("a copy was gone already")
        self._drop(memory, copy)

    def _settle(self, job: Job) -> None:
        """Cross the job off, if the copies are what they ought to be by now; else it goes on."""
        now = self.clock()
        with self.db.write() as c:
            memory = memories.by_id(c, job.subject, (self.namespace,))
            if memory is None or self._is_right(c, memory):
                jobs.done(c, job)
            else:
                remote.mark_sent(c, self.namespace, memory.id, sent=False)
                jobs.postpone(c, job, now, error="", pause=timedelta())

    def _is_right(self, c: apsw.Connection, memory: Memory) -> bool:
        held = self._copies(c, memory)
        if not remote.is_wanted(memory):
            return not held
        if memory.residence == "hot" and not held:
            return True
        return [copy.sent for copy in held] == [remote.digest(memory.content)]

    def _refused(self, job: Job, error: RemoteRefused) -> None:
        _log.info("the cold store refused a job: %s", error.facts.get("why"))
        with self.db.write() as c:
            jobs.failed(c, job, self.clock(), error="refused_there", retry=REFUSED)

    def _away(self, job: Job, error: RemoteUnreachable) -> None:
        with self.db.write() as c:
            jobs.failed(c, job, self.clock(), error=str(error.facts.get("why")), retry=AWAY)
        self._note_down(error)

    def _release(self, waiting: Collection[Job]) -> None:
        """Let go what was not come to."""
        if waiting:
            with self.db.write() as c:
                for job in waiting:
                    jobs.postpone(c, job, self.clock(), error="", pause=timedelta())

    def _note_down(self, error: RemoteUnreachable) -> None:
        now = self.clock()
        asked = error.facts.get("retry_after_s")
        with self.db.write() as c:
            known = remote.followed(c, self.namespace)
            pause_s = FIRST_PAUSE_S * 2 ** min(known.failures if known else 0, 10)
            if isinstance(asked, int | float):
                pause_s = max(pause_s, float(asked))
            next_try = now + timedelta(seconds=min(pause_s, LONGEST_PAUSE_S))
            remote.note_down(
                c, self.namespace, now_ms=to_ms(now) or 0, next_try_ms=to_ms(next_try) or 0,
                why=str(error.facts.get("why")),
            )  # fmt: skip

    def _note_up(self) -> None:
        with self.db.read() as c:
            known = remote.followed(c, self.namespace)
        if known is not None and known.down_since is not None:
            with self.db.write() as c:
                remote.note_up(c, self.namespace)

    def note_recall(self, error: RemoteUnreachable | None) -> None:
        """A question was answered, or not: that too says how the service is."""
        if error is None:
            self._note_up()
        else:
            self._note_down(error)

    def _copies(self, c: apsw.Connection, memory: Memory) -> list[Copy]:
        return [copy for copy in remote.copies(c, self.namespace, memory.id) if copy.store == self.name]

    def _is_shared(self, memory: Memory, copy: Copy) -> bool:
        with self.db.read() as c:
            return remote.is_shared(c, memory.id, copy)

    def _note(self, memory: Memory, external: str, text: str | None = None) -> None:
        sent = remote.digest(memory.content if text is None else text)
        copy = Copy(store=self.name, external=external, sent=sent)
        with self.db.write() as c:
            remote.put_copy(c, memory, copy, self._now_ms())

    def _drop(self, memory: Memory, copy: Copy) -> None:
        with self.db.write() as c:
            remote.drop_copy(c, memory.id, copy)

    def _now_ms(self) -> int:
        return to_ms(self.clock()) or 0


def _item(memory: Memory) -> Item:
    return Item(content=memory.content, importance=memory.importance, ref=memory.id)


def owed(db: Database, namespace: str, ids: Collection[str]) -> frozenset[str]:
    """Those of these memories whose change has not reached the service yet."""
    with db.read() as c:
        return remote.owed(c, namespace, ids)
