"""Sessions whose prompt holds the hot files as they were. Functions take an open connection."""

from datetime import datetime, timedelta

import apsw

from memorycore.store.memories import to_ms
from memorycore.store.statements import first_row, only_row, sql

FORGOTTEN_AFTER = timedelta(days=1)  # one that ends without saying so, as whoever is killed does
AHEAD = timedelta(minutes=1)  # so far a clock may have been set back since; what lies beyond is no session of now


def seen(c: apsw.Connection, namespace: str, session_id: str, now: datetime) -> None:
    """A session is at work just now. Those of long ago are dropped."""
    where = {"since": to_ms(now - FORGOTTEN_AFTER), "until": to_ms(now + AHEAD)}
    c.execute(sql["sweep_sessions"], where)
    c.execute(sql["session_seen"], {"namespace": namespace, "session_id": session_id, "now": to_ms(now)})


def ended(c: apsw.Connection, namespace: str, session_id: str) -> None:
    c.execute(sql["session_ended"], {"namespace": namespace, "session_id": session_id})


def running(c: apsw.Connection, namespace: str, now: datetime, idle: timedelta) -> bool:
    """Whether any session was at work less than ``idle`` ago."""
    return first_row(c, "running_session", _at_work(namespace, now, idle)) is not None


def count(c: apsw.Connection, namespace: str, now: datetime, idle: timedelta) -> int:
    """How many were."""
    return int(only_row(c, "count_sessions", _at_work(namespace, now, idle))[0])


def _at_work(namespace: str, now: datetime, idle: timedelta) -> dict[str, object]:
    return {"namespace": namespace, "since": to_ms(now - idle), "until": to_ms(now + AHEAD)}
