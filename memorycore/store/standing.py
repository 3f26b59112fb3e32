"""How memories stand in the hot files. Functions take the open connection of a transaction."""

import json
from collections.abc import Iterable
from dataclasses import fields

import apsw

from memorycore.domain.memory import Memory
from memorycore.domain.retention import Standing
from memorycore.store.memories import from_ms, to_ms
from memorycore.store.statements import all_rows, sql

_TIMES = frozenset({"weighed_at", "touched_at", "resident_until", "retired_at", "restored_at"})
_FIELDS = tuple(item.name for item in fields(Standing))


def by_seq(c: apsw.Connection, namespace: str, seqs: Iterable[int]) -> dict[int, Standing]:
    """The standing of each of these rows that has one, by row number."""
    wanted = {"namespace": namespace, "seqs": json.dumps(list(seqs))}
    return {seq: _standing(values) for seq, *values in all_rows(c, "standings", wanted)}


def of(c: apsw.Connection, memory: Memory) -> Standing | None:
    """The standing of one memory; None: it never was in a hot file, or nobody knows how it stood there."""
    return by_seq(c, memory.namespace, [memory.seq]).get(memory.seq)


def put(c: apsw.Connection, namespace: str, seq: int, standing: Standing) -> None:
    """Write the standing of one row, new or changed."""
    values = {name: getattr(standing, name) for name in _FIELDS}
    values |= {name: to_ms(values[name]) for name in _TIMES}
    c.execute(sql["put_standing"], {**values, "namespace": namespace, "seq": seq})


def _standing(values: Iterable[object]) -> Standing:
    named = dict(zip(_FIELDS, values, strict=True))
    named |= {name: from_ms(named[name]) for name in _TIMES}  # type: ignore[arg-type] integers, or nothing
    return Standing(**named)  # type: ignore[arg-type] the columns have the types of the fields
