"""Edges between memories, tombstones, and what automation must leave alone. Functions take an open connection."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import apsw

from memorycore.domain.memory import Memory
from memorycore.store.memories import from_ms, to_ms
from memorycore.store.statements import all_rows, first_row, only_row, sql

Relation = Literal["supersedes", "refines", "contradicts", "exception_to"]
EdgeStatus = Literal[
    "open",  # a dispute that nobody has settled
    "proposed",  # automation would do it; a person decides
    "applied",
    "settled",  # a person decided, or it was undone
    "rejected",
]

WAITING = frozenset({"open", "proposed"})  # for somebody to decide


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """``src``, the newer memory, stands in this relation to ``dst``. ``evidence``: {code, old, new} each."""

    id: int
    namespace: str
    src: str
    dst: str
    relation: Relation
    status: EdgeStatus
    origin: str
    evidence: tuple[Mapping[str, str], ...] = ()
    created_at: datetime | None = None
    settled_at: datetime | None = None
    settled_by: str = ""


def link(  # noqa: PLR0913 the columns of an edge
    c: apsw.Connection,
    src: Memory,
    dst: Memory,
    relation: Relation,
    *,
    status: EdgeStatus,
    origin: str,
    at: datetime,
    evidence: Iterable[Mapping[str, str]] = (),
) -> int:
    """Join two memories; a second time only the status changes. The number of the edge."""
    told = json.dumps([dict(item) for item in evidence], ensure_ascii=False)
    (key,) = only_row(c, "upsert_edge", {
        "namespace": src.namespace, "src": src.id, "dst": dst.id, "relation": relation, "status": status,
        "origin": origin, "created_at": to_ms(at), "evidence": told,
    })  # fmt: skip
    return int(key)


def settle(c: apsw.Connection, edge: Edge, status: EdgeStatus, *, by: str, at: datetime) -> None:
    """Close an edge, or open it again."""
    waits = status in WAITING
    c.execute(sql["settle_edge"], {
        "id": edge.id, "namespace": edge.namespace, "status": status, "settled_at": None if waits else to_ms(at),
        "settled_by": "" if waits else by,
    })  # fmt: skip


def settle_between(  # noqa: PLR0913 two memories, who decided, and what
    c: apsw.Connection, one: str, other: str, namespaces: Sequence[str], *, status: EdgeStatus, by: str, at: datetime
) -> list[int]:
    """Close what is open between two memories; the numbers of those edges."""
    waits = [edge for edge in of(c, one, namespaces) if {edge.src, edge.dst} == {one, other} and edge.status in WAITING]
    for edge in waits:
        settle(c, edge, status, by=by, at=at)
    return [edge.id for edge in waits]


def by_number(c: apsw.Connection, edge_id: int, namespaces: Sequence[str]) -> Edge | None:
    row = first_row(c, "edge_by_id", {"id": edge_id, "namespaces": json.dumps(namespaces)})
    return None if row is None else _edge(row)


def of(c: apsw.Connection, memory_id: str, namespaces: Sequence[str]) -> list[Edge]:
    """Every edge of one memory, in either direction."""
    where = {"memory_id": memory_id, "namespaces": json.dumps(namespaces)}
    return [_edge(row) for row in all_rows(c, "edges_of", where)]


def waiting(c: apsw.Connection, namespaces: Sequence[str]) -> list[Edge]:
    """Open disputes and proposals between memories that are both in use, oldest first."""
    return [_edge(row) for row in all_rows(c, "waiting_edges", {"namespaces": json.dumps(namespaces)})]


def disputes_of(c: apsw.Connection, memory_ids: Iterable[str], namespaces: Sequence[str]) -> list[Edge]:
    """Open disputes in which one of these memories takes part."""
    where = {"ids": json.dumps(list(memory_ids)), "namespaces": json.dumps(namespaces)}
    return [_edge(row) for row in all_rows(c, "open_disputes_of", where)]


def _edge(row: tuple[Any, ...]) -> Edge:
    key, namespace, src, dst, relation, status, origin, evidence, created_at, settled_at, settled_by = row
    return Edge(
        id=key, namespace=namespace, src=src, dst=dst, relation=relation, status=status, origin=origin,
        evidence=tuple(json.loads(evidence)), created_at=from_ms(created_at), settled_at=from_ms(settled_at),
        settled_by=settled_by,
    )  # fmt: skip


def put_tombstone(c: apsw.Connection, memory: Memory, *, reason: str, at: datetime) -> None:
    """Somebody wanted this text gone: only somebody's own words bring it back."""
    c.execute(sql["put_tombstone"], {
        "namespace": memory.namespace, "norm_hash": memory.norm_hash, "memory_id": memory.id, "reason": reason,
        "at": to_ms(at),
    })  # fmt: skip


def lift_tombstone(c: apsw.Connection, namespace: str, norm_hash: str) -> None:
    c.execute(sql["lift_tombstone"], {"namespace": namespace, "norm_hash": norm_hash})


def tombstone(c: apsw.Connection, namespace: str, norm_hash: str) -> str | None:
    """The id of the memory that had this text and that somebody wanted gone."""
    row = first_row(c, "tombstone", {"namespace": namespace, "norm_hash": norm_hash})
    return None if row is None else str(row[0])


def keep_hands_off(c: apsw.Connection, memory: Memory, norm_hash: str, *, until: datetime) -> None:
    """Automation shall not do again to this memory, or to another with its text, what was undone for this one."""
    for key in (memory.id, memory.norm_hash):
        c.execute(sql["keep_hands_off"], {
            "namespace": memory.namespace, "memory_id": key, "norm_hash": norm_hash, "until": to_ms(until),
        })  # fmt: skip


def hands_off(c: apsw.Connection, memory: Memory, norm_hash: str, *, now: datetime) -> bool:
    """Whether automation must leave this memory alone for this text."""
    where = {
        "namespace": memory.namespace, "memory_id": memory.id, "own_hash": memory.norm_hash, "norm_hash": norm_hash,
        "now": to_ms(now),
    }  # fmt: skip
    return first_row(c, "hands_off", where) is not None


def undone_until(c: apsw.Connection, namespace: str, *, now: datetime) -> dict[tuple[str, str], datetime]:
    """Until when automation leaves a text alone: by the id of its memory or its norm hash, and its norm hash."""
    found = all_rows(c, "hands_off_now", {"namespace": namespace, "now": to_ms(now)})
    return {(key, norm_hash): until for key, norm_hash, ms in found if (until := from_ms(ms)) is not None}


def take_hands_back(c: apsw.Connection, memory: Memory, norm_hash: str) -> None:
    """Automation may do it again."""
    c.execute(sql["take_hands_back"], {
        "namespace": memory.namespace, "memory_id": memory.id, "own_hash": memory.norm_hash, "norm_hash": norm_hash,
    })  # fmt: skip
