"""One client's session, carried to whoever serves it, and on to the next one when that one goes away.

Two threads: one reads the client, the other whoever serves. What the client asked while nobody serves is kept. When a
server is there again it hears first how the session began, then what had no answer and may be asked twice, then what
was kept. A tool that changes something and was running is not run again by itself: its caller hears that nobody knows.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, repeat

from memorycore.relay import greeting, mail
from memorycore.relay.ending import END_WITHIN_S, end_hard_in, leave
from memorycore.relay.link import Link, Refused, lines_of, write_all
from memorycore.relay.mail import Call, Mail

RETURN_WITHIN_S = 5.0  # a daemon that was killed has a successor by then
ANSWER_WITHIN_S = 20.0  # and that one answers, on a machine that is busy
PAUSES_S = (0.02, 0.05, 0.1, 0.2, 0.4)
AWAY_PAUSE_S = 1.0
LOOK_AGAIN_S = 10.0
SILENT_S = 8.0
DEAF_AFTER = 3  # times in a row that it did not say so; each takes up to two seconds
MOST_KEPT = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """How a session goes on without its server.

    ``find`` connects to a daemon (None: there is none; ``Refused``: another one); ``is_coming``: one is starting.
    ``alone`` starts a server of its own, told why; None where the daemon is required. ``problem`` is the answer to what
    nobody could answer. ``silent_s``: how long a server may say nothing while somebody waits, before it is asked
    whether it lives.
    """

    find: Callable[[], Link | None]
    is_coming: Callable[[], bool]
    alone: Callable[[Refused | None], Link] | None
    problem: Callable[[], dict[str, object]]
    silent_s: float = SILENT_S


class Relay:
    """Carries lines between a client on two pipes and the server that has its session now."""

    def __init__(self, link: Link, ways: Ways, out: int) -> None:
        self._link: Link | None = link
        self._ways = ways
        self._out = out
        self._mail = Mail()
        self._kept: list[bytes] = []
        self._turn = threading.Lock()  # for whoever sends to the server, or gives the session to another one
        self._writing = threading.Lock()
        self._alone = False
        self._away = False
        self._trying: Link | None = None  # it hears how the session began
        self._heard_at = time.monotonic()
        self._is_deaf = False  # the last server was there and said nothing any more
        self._ended = threading.Event()

    def run(self, pipe_in: int) -> None:
        """Carry the session until the client closes its end. Does not return."""
        back = threading.Thread(target=self._carry_back, name="memorycore-answers", daemon=True)
        back.start()
        for watch in (self._look_again, self._listen_for_silence):
            threading.Thread(target=watch, name="memorycore-daemon-watch", daemon=True).start()
        for line in lines_of(lambda most: os.read(pipe_in, most), most=greeting.LINE_BYTES):
            if line:
                self._carry(line)
            else:
                self._write(mail.too_long(greeting.LINE_BYTES))
        end_hard_in(END_WITHIN_S)
        with self._turn:
            self._ended.set()
            link = self._link
        if link is None:
            self._give_up([*self._mail.waiting.values(), *map(mail.call_of, self._kept)])
            leave(0)
        link.finish()
        back.join()
        self._give_up(self._mail.waiting.values())  # the server went away with them
        leave(0)

    def _carry(self, line: bytes) -> None:
        with self._turn:
            if self._link is not None:
                if not self._mail.waiting:
                    self._heard_at = time.monotonic()
                self._mail.sent(line)
                with suppress(OSError):  # the other thread sees the end of the link too, and what to do about it
                    self._link.send(line)
                return
            if not self._away and len(self._kept) < MOST_KEPT:
                self._kept.append(line)
                return
        self._give_up([mail.call_of(line)])

    def _carry_back(self) -> None:
        link = self._link
        while link is not None:
            unknown = None
            for line in link.lines:
                self._heard_at = time.monotonic()
                words = greeting.last_words(line)
                if words is None:
                    self._mail.answered(line)
                    self._write(line)
                else:
                    unknown = words
            link = None if self._ended.is_set() else self._next(link, unknown)

    def _next(self, gone: Link, unknown: Sequence[object] | None) -> Link | None:
        """Whoever serves the session from now on; None when it has ended meanwhile.

        ``unknown``: the requests of which the last server said that it read them and could not answer; None if it said
        nothing.
        """
        with self._turn:
            self._link, self._alone = None, False
        gone.close()
        self._give_up(self._mail.take_running(unknown))
        gone_at = time.monotonic()
        for pause_s in chain(PAUSES_S, repeat(PAUSES_S[-1])):
            is_late = self._is_late(gone_at)
            link = self._found(alone_too=is_late)
            if link is not None and self._resume(link):
                return link
            if link is not None:
                self._give_up(self._mail.take_running(None))  # it may have heard them before it went
            if (link is not None and self._alone) or is_late:
                self._set_away()
            if self._ended.wait(AWAY_PAUSE_S if self._away else pause_s):
                break
        return None

    def _is_late(self, gone_at: float) -> bool:
        gone_s = time.monotonic() - gone_at
        is_coming = not self._is_deaf and self._ways.is_coming()
        return gone_s > ANSWER_WITHIN_S or (gone_s > RETURN_WITHIN_S and not is_coming)

    def _found(self, *, alone_too: bool) -> Link | None:
        """A connection to a daemon, or where that is not to be had a server of its own."""
        refused = None
        try:
            link = self._ways.find()
        except Refused as other:
            link, refused = None, other
        self._alone = link is None and self._ways.alone is not None and (alone_too or refused is not None)
        if self._alone and self._ways.alone is not None:
            with suppress(OSError):  # no room for a process: it is tried again
                link = self._ways.alone(refused)
        return link

    def _resume(self, link: Link) -> bool:
        """Give the session to a new server; False when that one is gone again."""
        self._trying, self._heard_at = link, time.monotonic()
        try:
            if not self._replay(link):
                link.close()
                return False
            with self._turn:
                for call in self._mail.waiting.values():
                    link.send(call.line)
                while self._kept:
                    line = self._kept.pop(0)
                    self._mail.sent(line)
                    link.send(line)
                self._link, self._away, self._is_deaf = link, False, False
                self._heard_at = time.monotonic()
        except OSError:
            link.close()
            return False
        finally:
            self._trying = None
        return True

    def _replay(self, link: Link) -> bool:
        """Let a new server hear how the session began. The client has had its answer and gets no second one."""
        opening = self._mail.opening
        if opening is None or mail.key(opening.id) in self._mail.waiting:
            return True
        link.send(opening.line)
        for line in link.lines:
            if self._mail.answers(line, opening):
                break
            self._write(line)
        else:
            return False
        if self._mail.opened:
            link.send(self._mail.opened)
        return True

    def _set_away(self) -> None:
        """Nobody serves, and nobody may take over: from now on every request is told so at once."""
        with self._turn:
            kept, self._kept, self._away = self._kept, [], True
            waiting = list(self._mail.waiting.values())
            self._mail.waiting.clear()
        self._give_up([*waiting, *map(mail.call_of, kept)])

    def _give_up(self, calls: Iterable[Call | None]) -> None:
        for call in calls:
            if call is not None:
                self._write(mail.refused(call, self._ways.problem()))

    def _look_again(self) -> None:
        """A session that has a server of its own goes back to a daemon when there is one again, between two calls."""
        while not self._ended.wait(LOOK_AGAIN_S):
            if self._alone and not self._mail.waiting and self._is_daemon_back():
                with self._turn:
                    if self._link is not None and not self._mail.waiting:
                        self._link.finish()
                        self._link = None

    def _listen_for_silence(self) -> None:
        """Part with a daemon that is there and does nothing any more, as one that was stopped.

        One that is long at work says so when it is asked beside the session.
        """
        missed = 0
        while not self._ended.wait(self._ways.silent_s / (8 if missed else 4)):
            link = self._trying or self._link
            waits = self._trying is not None or bool(self._mail.waiting)
            if self._alone or link is None or not waits or time.monotonic() - self._heard_at < self._ways.silent_s:
                missed = 0
            elif self._is_daemon_back():
                missed, self._heard_at = 0, time.monotonic()
            elif (missed := missed + 1) >= DEAF_AFTER:
                missed, self._is_deaf = 0, True
                link.cut()

    def _is_daemon_back(self) -> bool:
        try:
            link = self._ways.find()
        except Refused:
            return False
        if link is not None:
            link.close()
        return link is not None

    def _write(self, line: bytes) -> None:
        with self._writing:
            try:
                write_all(self._out, line)
            except OSError:
                leave(0)  # nobody reads it


def say(sentence: str) -> None:
    """One line on stderr, if there is one."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"memorycore: {sentence}\n")
        sys.stderr.flush()
