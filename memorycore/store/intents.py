"""Hot tiers and the changes to hot files that are under way. Functions take the open connection of a transaction."""

import json
import os
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import apsw

from memorycore.domain.memory import Target
from memorycore.store.memories import to_ms
from memorycore.store.statements import all_rows, first_row, only_row, sql

Operation = Literal["add", "replace", "remove", "retire"]
How = Literal["stub", "cold", "bin"]  # what becomes of a memory that leaves its hot file
LOOK_AGAIN = "look again"
OWNER_GONE_AFTER_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A change to a hot file that was begun: by whom, when, and which text goes and comes.

    ``by``: the memory for which an entry goes, where another takes its place. ``undoes``: the event that is taken back.
    ``how``: what becomes of a memory that retires; for a stub ``new_text`` is its pointer. ``promised``: whoever finds
    that it was not done does it.
    """

    id: int
    memory_id: str
    operation: Operation
    old_text: str | None
    new_text: str | None
    actor: str
    reason: str
    started_at_ms: int
    owner: str
    by: str = ""
    undoes: int = 0
    how: How | None = None
    promised: bool = False

    def texts(self) -> set[str]:
        return {text for text in (self.old_text, self.new_text) if text is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class TierRow:
    id: int
    file_sha: str
    first_seen_at_ms: int


def tier_row(c: apsw.Connection, namespace: str, directory: str, target: Target, now: datetime) -> TierRow:
    """The row of one hot file, made at first contact. Needs a write transaction.

    Where the only other folder of this namespace is gone, it was moved here, and its rows come along.
    """
    where = {"namespace": namespace, "directory": directory, "target": target}
    known = first_row(c, "hot_tier", where)
    if known is None and (moved := _moved_from(c, namespace, target)) is not None:
        c.execute(sql["move_hot_tier"], {"hot_tier": moved, "directory": directory})
        known = only_row(c, "hot_tier", where)
    if known is None:
        c.execute(sql["upsert_hot_tier"], {**where, "now": to_ms(now)})
        known = only_row(c, "hot_tier", where)
    return TierRow(id=known[0], file_sha=known[1], first_seen_at_ms=known[2])


def _moved_from(c: apsw.Connection, namespace: str, target: Target) -> int | None:
    others = all_rows(c, "hot_tiers_of_target", {"namespace": namespace, "target": target})
    if len(others) != 1 or os.path.lexists(others[0][1]):
        return None
    return int(others[0][0])


def find_tier(c: apsw.Connection, namespace: str, directory: str, target: Target) -> TierRow | None:
    """The row of one hot file, or None before first contact. Each namespace that looks at a file has its own."""
    known = first_row(c, "hot_tier", {"namespace": namespace, "directory": directory, "target": target})
    return None if known is None else TierRow(id=known[0], file_sha=known[1], first_seen_at_ms=known[2])


def set_file_sha(c: apsw.Connection, tier: int, file_sha: str) -> None:
    """Note which bytes of the file the rows agree with, or that somebody has to look: ``LOOK_AGAIN``."""
    c.execute(sql["set_file_sha"], {"hot_tier": tier, "file_sha": file_sha})


def begin(c: apsw.Connection, namespace: str, tier: int, intent: Intent) -> int:
    """Write an intent down; the caller changes the file after this transaction is committed."""
    plan = {"operation": intent.operation, "actor": intent.actor, "reason": intent.reason}
    plan |= {name: value for name in ("by", "undoes", "how", "promised") if (value := getattr(intent, name))}
    (key,) = only_row(c, "insert_intent", {
        "namespace": namespace, "hot_tier": tier, "memory_id": intent.memory_id, "old_text": intent.old_text,
        "new_text": intent.new_text, "plan": json.dumps(plan), "started_at": intent.started_at_ms,
        "owner": intent.owner,
    })  # fmt: skip
    return int(key)


def open_intents(c: apsw.Connection, namespace: str, tier: int) -> list[Intent]:
    return _intents(all_rows(c, "open_intents", {"hot_tier": tier, "namespace": namespace}))


def all_open(c: apsw.Connection, namespace: str) -> list[Intent]:
    """As ``open_intents``, for every hot file of the namespace."""
    return _intents(all_rows(c, "all_open_intents", {"namespace": namespace}))


def at_work(c: apsw.Connection, namespace: str, now_ms: int) -> set[str]:
    """Ids of the memories for which a living process is changing a hot file. Of thousands it reads only that."""
    rows = all_rows(c, "all_open_intents", {"namespace": namespace})
    return {memory_id for _, memory_id, _, _, _, at, owner in rows if not _is_gone(at, owner, now_ms)}


def _intents(rows: list[tuple[Any, ...]]) -> list[Intent]:
    return [
        Intent(
            id=key, memory_id=memory_id, old_text=old, new_text=new, started_at_ms=at, owner=owner, **json.loads(plan)
        )
        for key, memory_id, old, new, plan, at, owner in rows
    ]


def end(c: apsw.Connection, intent_id: int) -> bool:
    """Close an intent; False when somebody else has done so (a recovery that took this process for dead)."""
    return first_row(c, "close_intent", {"id": intent_id}) is not None


def let_go(c: apsw.Connection, namespace: str, intent_ids: Iterable[int]) -> None:
    """Leave changes to whoever looks next, who need not wait until this process may be taken for dead."""
    c.execute(sql["let_go_intents"], {"namespace": namespace, "ids": json.dumps(list(intent_ids))})


def me() -> str:
    """This process as the owner of an intent."""
    return f"{os.getpid()}@{socket.gethostname()}"


def abandoned(intent: Intent, now_ms: int) -> bool:
    """Whether an intent was let go, its process is dead, or that has had far more time than a change takes."""
    return _is_gone(intent.started_at_ms, intent.owner, now_ms)


def _is_gone(started_at_ms: int, owner: str, now_ms: int) -> bool:
    if not owner or abs(now_ms - started_at_ms) > OWNER_GONE_AFTER_MS:
        return True
    pid, _, host = owner.partition("@")
    return host == socket.gethostname() and not is_running(int(pid))


def is_running(pid: int) -> bool:
    """Whether there is such a process."""
    if os.name == "nt":  # os.kill would end the process there; the age decides alone
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
