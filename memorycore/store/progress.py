"""How far named pieces of work have come, for each namespace. Functions take an open connection."""

from dataclasses import dataclass
from datetime import datetime

import apsw

from memorycore.store.memories import from_ms, to_ms
from memorycore.store.statements import first_row, sql


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a piece of work stands, in its own words, since when."""

    value: str
    at: datetime | None


NOTHING = Progress(value="", at=None)


def of(c: apsw.Connection, namespace: str, name: str) -> Progress:
    """Where ``name`` stands; ``NOTHING`` when it never ran."""
    row = first_row(c, "progress", {"namespace": namespace, "name": name})
    return NOTHING if row is None else Progress(value=str(row[0]), at=from_ms(row[1]))


def put(c: apsw.Connection, namespace: str, name: str, value: str, now: datetime) -> None:
    c.execute(sql["put_progress"], {"namespace": namespace, "name": name, "value": value, "at": to_ms(now)})
