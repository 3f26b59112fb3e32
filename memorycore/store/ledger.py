"""The ledger across memories: what happened last, and what of it was undone. Functions take an open connection."""

import json
from collections.abc import Sequence
from datetime import datetime

import apsw

from memorycore.domain.memory import Event
from memorycore.store.memories import event_of, to_ms
from memorycore.store.statements import all_rows, first_row, sql

NO_LIMIT = -1
LARGEST = 2**63 - 1


def newest(
    c: apsw.Connection,
    namespaces: Sequence[str],
    *,
    limit: int = NO_LIMIT,
    since: datetime | None = None,
    automatic: bool = False,
) -> list[Event]:
    """The last events, newest first; ``automatic``: only what nobody asked for."""
    return _events(c, "newest_events", namespaces, limit=limit, since=to_ms(since) or 0, automatic=automatic)


def to_undo(
    c: apsw.Connection,
    namespaces: Sequence[str],
    *,
    limit: int = NO_LIMIT,
    since: datetime | None = None,
    automatic: bool = False,
) -> list[Event]:
    """As ``newest``, without what was undone and without what undoing did."""
    return _events(c, "events_to_undo", namespaces, limit=limit, since=to_ms(since) or 0, automatic=automatic)


def of_run(c: apsw.Connection, run: str, namespaces: Sequence[str]) -> list[Event]:
    """What one call did, the last of it first."""
    return _events(c, "events_of_run", namespaces, run=run)


def changes_of(c: apsw.Connection, memory_id: str, namespaces: Sequence[str]) -> list[Event]:
    """What changed one memory, the first of it first, without being said again."""
    return _events(c, "changes_of_memory", namespaces, memory_id=memory_id)


def by_number(c: apsw.Connection, seq: int, namespaces: Sequence[str]) -> Event | None:
    """The event with this number; None where there is none, or the number is beyond what SQLite counts."""
    if not 0 <= seq <= LARGEST:
        return None
    row = first_row(c, "event_by_number", {"seq": seq, "namespaces": json.dumps(namespaces)})
    return None if row is None else event_of(row)


def mark_undone(c: apsw.Connection, seq: int, namespace: str, by: int | None) -> None:
    """Note which event took this one back; None: it counts again."""
    c.execute(sql["mark_undone"], {"seq": seq, "namespace": namespace, "undone_by": by})


def _events(c: apsw.Connection, name: str, namespaces: Sequence[str], **where: object) -> list[Event]:
    return [event_of(row) for row in all_rows(c, name, {"namespaces": json.dumps(namespaces), **where})]
