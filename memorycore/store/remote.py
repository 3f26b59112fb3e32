"""Copies of cold memories at a service elsewhere: which there are, and which are owed.

What the service ought to have follows from the row of a memory alone, so a job only says: look. It is queued in the
transaction of the change, whether or not this process knows the service. Every function takes the open connection of a
transaction.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

import apsw

from memorycore.domain.memory import Memory
from memorycore.store.statements import all_rows, first_row, sql

REMOTE = "remote"
_SENT = '{"sent": true}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """The service of a namespace. ``down_since`` is None while it can be used; times are ms UTC."""

    name: str
    since: int
    down_since: int | None
    next_try: int
    failures: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """``sent``: SHA-256 of the text that it has, or empty."""

    store: str
    external: str
    sent: str


def digest(content: str) -> str:
    return sha256(content.encode("utf-8")).hexdigest()


def followed(c: apsw.Connection, namespace: str) -> Followed | None:
    row = first_row(c, "remote_store", {"namespace": namespace})
    if row is None:
        return None
    names = ("name", "since", "down_since", "next_try", "failures", "why")
    return Followed(**dict(zip(names, row, strict=True)))


def follow(c: apsw.Connection, namespace: str, name: str, now_ms: int) -> None:
    """From now on this service is owed what is cold, and what is cold already too."""
    c.execute(sql["follow_remote"], {"namespace": namespace, "name": name, "now": now_ms})
    owe_missing(c, namespace, name)


def owe_missing(c: apsw.Connection, namespace: str, name: str) -> None:
    """Owe the service what it has no copy of and nobody has queued, as after an older database was brought back."""
    c.execute(sql["owe_everything"], {"namespace": namespace, "store": name})


def is_wanted(memory: Memory) -> bool:
    """Whether a copy may stand elsewhere. What is of one session only, or nobody's own words, stays here."""
    return memory.state == "active" and memory.scope == "global" and "untrusted" not in memory.flags


def owe(c: apsw.Connection, memory: Memory, before: Memory | None = None) -> None:
    """A memory is new or has changed: queue what its service is owed for that, if it has one and is owed anything."""
    c.execute(sql["owe_remote"], {
        "id": memory.id, "namespace": memory.namespace, "wanted": is_wanted(memory), "hot": memory.residence == "hot",
        "reworded": before is None or before.content != memory.content,
    })  # fmt: skip


def owe_end(c: apsw.Connection, memory: Memory) -> None:
    """A memory is gone for good: its copies are to go as well, and nothing is known of their text any more."""
    c.execute(sql["forget_sent"], {"id": memory.id})
    owe(c, replace(memory, state="purged"))


def owe_again(c: apsw.Connection, namespace: str, memory_id: str) -> None:
    c.execute(sql["owe_again"], {"namespace": namespace, "id": memory_id})


def mark_sent(c: apsw.Connection, namespace: str, memory_id: str, *, sent: bool) -> None:
    """Note, before it happens, that a text may have been given to the service; or that it was not after all."""
    if sent:
        owe_again(c, namespace, memory_id)
    c.execute(sql["mark_sent"], {"namespace": namespace, "id": memory_id, "facts": _SENT if sent else "{}"})


def owed(c: apsw.Connection, namespace: str, ids: Collection[str]) -> frozenset[str]:
    rows = all_rows(c, "owed_to_remote", {"namespace": namespace, "ids": json.dumps(list(ids))})
    return frozenset(row[0] for row in rows)


def perhaps_sent(c: apsw.Connection, namespace: str, ids: Collection[str]) -> frozenset[str]:
    """Those of which nobody knows whether the service has their text."""
    rows = all_rows(c, "remote_jobs_of", {"namespace": namespace, "ids": json.dumps(list(ids))})
    return frozenset(subject for subject, facts in rows if json.loads(facts).get("sent"))


def note_down(c: apsw.Connection, namespace: str, *, now_ms: int, next_try_ms: int, why: str) -> None:
    c.execute(sql["remote_down"], {"namespace": namespace, "now": now_ms, "next_try": next_try_ms, "why": why})


def note_up(c: apsw.Connection, namespace: str) -> None:
    c.execute(sql["remote_up"], {"namespace": namespace})


def copies(c: apsw.Connection, namespace: str, memory_id: str) -> list[Copy]:
    """The copies of a memory at any service, the newest first."""
    rows = all_rows(c, "remote_copies_of", {"id": memory_id, "namespace": namespace})
    return [Copy(store=store, external=external, sent=sent) for store, external, sent in rows]


def copies_left(c: apsw.Connection, namespace: str, ids: Collection[str]) -> list[tuple[str, str]]:
    """(service, id there) of every copy of these memories."""
    rows = all_rows(c, "remote_copies_left", {"namespace": namespace, "ids": json.dumps(list(ids))})
    return [(store, external) for store, external in rows]


def put_copy(c: apsw.Connection, memory: Memory, copy: Copy, now_ms: int) -> None:
    c.execute(sql["put_copy"], {
        "store": copy.store, "external": copy.external, "id": memory.id, "namespace": memory.namespace,
        "sent": copy.sent, "now": now_ms,
    })  # fmt: skip


def drop_copy(c: apsw.Connection, memory_id: str, copy: Copy) -> None:
    c.execute(sql["drop_copy"], {"store": copy.store, "external": copy.external, "id": memory_id})


def is_shared(c: apsw.Connection, memory_id: str, copy: Copy) -> bool:
    """Whether another memory has the same copy: some services give equal texts one id."""
    where = {"store": copy.store, "external": copy.external, "id": memory_id}
    return first_row(c, "copy_shared", where) is not None


def ours(c: apsw.Connection, store: str, externals: Collection[str]) -> Mapping[str, str]:
    """The memory of ours behind each of these ids, where there is one."""
    rows = all_rows(c, "ours_among", {"store": store, "externals": json.dumps(list(externals))})
    return dict(rows)
