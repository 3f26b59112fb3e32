"""Rows ↔ memories. Every function takes the open connection of a transaction."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import apsw

from memorycore.domain.memory import Event, Memory, Source, format_time
from memorycore.domain.text import index_tokens, norm_hash, sanitise
from memorycore.store import remote
from memorycore.store.statements import all_rows, first_row, only_row, sql

_COLUMNS = (
    "id", "namespace", "content", "norm_hash", "kind", "policy", "state", "residence", "hot_tier", "target",
    "importance", "confidence", "surprise", "use_count", "author", "authority", "session_id", "scope",
    "origin", "trash_reason", "version", "change_seq",
)  # fmt: skip
_TIMES = ("valid_from", "valid_until", "created_at", "updated_at", "occurred_at", "last_used_at", "trashed_at")
_LISTS = ("protected", "tags", "flags")
_FLAGS = ("pinned", "importance_given")
_EPOCH = datetime.fromtimestamp(0, tz=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def to_ms(moment: datetime | None) -> int | None:
    """Aware time → integer milliseconds UTC, rounded down: the last moment of the last year has no next one."""
    return None if moment is None else (moment - _EPOCH) // _MILLISECOND


def from_ms(value: int | None) -> datetime | None:
    return None if value is None else _time(value)


def moment(value: int) -> datetime:
    """Milliseconds as an aware time."""
    return _time(value)


def insert_memory(c: apsw.Connection, memory: Memory) -> Memory:
    """Write a new row with its references and, when active, its search tokens; gives ``seq`` and ``change_seq``."""
    changed = replace(memory, change_seq=_next_change(c))
    (seq,) = only_row(c, "insert_memory", _parameters(changed))
    for ref in memory.refs:
        c.execute(sql["insert_ref"], {"seq": seq, "ref": ref})
    _index(c, seq, memory)
    remote.owe(c, memory)
    return replace(changed, seq=seq)


def update_memory(c: apsw.Connection, before: Memory, after: Memory) -> Memory:
    """Write the changed row; tokens and vectors follow text and state, so that no index keeps what it must not."""
    changed = replace(after, change_seq=_next_change(c))
    c.execute(sql["update_memory"], {**_parameters(changed), "seq": before.seq})
    if _index_of(before) != _index_of(after) or before.content != after.content:
        c.execute(sql["delete_text"], {"seq": before.seq})
        c.execute(sql["delete_archive_text"], {"seq": before.seq})
        _index(c, before.seq, after)
    if before.content != after.content or _index_of(after) is None:
        c.execute(sql["delete_embeddings"], {"seq": before.seq})
    remote.owe(c, after, before)
    if before.state == "active" and (after.state != "active" or before.content != after.content):
        c.execute(sql["finish_job"], {"kind": "embed", "seq": before.seq})
    return changed


def _index_of(memory: Memory) -> str | None:
    """The index of words that a memory stands in: recall reads one, the way back and the history the other."""
    if memory.state == "purged":
        return None
    return "insert_text" if memory.state == "active" else "insert_archive_text"


def _index(c: apsw.Connection, seq: int, memory: Memory) -> None:
    if (statement := _index_of(memory)) is not None:
        c.execute(sql[statement], {"seq": seq, "tokens": index_tokens(memory.content)})


def add_ref(c: apsw.Connection, memory: Memory, ref: str) -> Memory:
    """Keep one more caller's reference; known ones change nothing."""
    if not ref or ref in memory.refs or first_row(c, "insert_ref", {"seq": memory.seq, "ref": ref}) is None:
        return memory
    return replace(memory, refs=(*memory.refs, ref))


def touch(c: apsw.Connection, seq: int) -> None:
    """Put the row into the change feed again, for followers that keep its vector."""
    c.execute(sql["touch_memory"], {"seq": seq, "change_seq": _next_change(c)})


def by_id(c: apsw.Connection, memory_id: str, namespaces: Sequence[str]) -> Memory | None:
    found = c.execute(sql["memory_by_id"], {"id": memory_id, "namespaces": json.dumps(namespaces)})
    return next(iter(_memories(found)), None)


def ids_ending(c: apsw.Connection, tail: str, namespaces: Sequence[str]) -> list[str]:
    """The first five ids, of memories in whatever state, that end like this."""
    return [str(found) for (found,) in all_rows(c, "ids_ending", {"tail": tail, "namespaces": json.dumps(namespaces)})]


def id_taken(c: apsw.Connection, memory_id: str) -> bool:
    """Whether any row, of any namespace, has this id."""
    return first_row(c, "id_taken", {"id": memory_id}) is not None


def by_seq(c: apsw.Connection, seqs: Iterable[int], namespaces: Sequence[str]) -> dict[int, Memory]:
    parameters = {"seqs": json.dumps([int(seq) for seq in seqs]), "namespaces": json.dumps(namespaces)}
    return {memory.seq: memory for memory in _memories(c.execute(sql["memories_by_seq"], parameters))}


def select(c: apsw.Connection, name: str, **parameters: object) -> list[Memory]:
    """The memories of one named statement."""
    return _memories(c.execute(sql[name], parameters))


def add_revision(c: apsw.Connection, memory: Memory, replaced_at: datetime) -> None:
    """Keep the text that ``memory`` has now, before it changes."""
    c.execute(sql["insert_revision"], {
        "seq": memory.seq, "version": memory.version, "content": memory.content,
        "written_at": to_ms(memory.updated_at), "replaced_at": to_ms(replaced_at),
    })  # fmt: skip


def revisions(c: apsw.Connection, memory: Memory) -> list[dict[str, object]]:
    rows = all_rows(c, "revisions", {"seq": memory.seq})
    return [
        {
            "version": version,
            "content": content,
            "from": format_time(from_ms(start)),
            "until": format_time(from_ms(end)),
        }
        for version, content, start, end in rows
    ]


def add_event(c: apsw.Connection, event: Event, namespace: str) -> int:
    """Write one line of the ledger and return its number."""
    (seq,) = only_row(c, "insert_event", {
        "namespace": namespace, "at": to_ms(event.at), "action": event.action, "memory_id": event.memory_id,
        "actor": sanitise(event.actor), "reason": event.reason, "facts": json.dumps(event.facts, ensure_ascii=False),
        "run": event.run, "automatic": int(event.automatic), "change": json.dumps(event.change, ensure_ascii=False),
    })  # fmt: skip
    return int(seq)


def events(c: apsw.Connection, memory_id: str, namespaces: Sequence[str]) -> list[Event]:
    rows = all_rows(c, "events_of_memory", {"memory_id": memory_id, "namespaces": json.dumps(namespaces)})
    return [event_of(row) for row in rows]


def event_of(row: tuple[Any, ...]) -> Event:
    """One line of the ledger, from the columns that the statements on it select."""
    seq, at, action, memory_id, actor, reason, facts, run, automatic, change, undone_by = row
    return Event(
        seq=seq, at=_time(at), action=action, memory_id=memory_id, actor=actor, reason=reason, facts=json.loads(facts),
        run=run, automatic=bool(automatic), change=json.loads(change), undone_by=undone_by,
    )  # fmt: skip


# Columns that follow from others, or that count rather than say something.
_NOT_TOLD = frozenset({"change_seq", "version", "updated_at", "norm_hash", "entry_hash"})


def difference(before: Memory, after: Memory) -> dict[str, list[Any]]:
    """The columns in which two states of a row differ, each as [before, after], as the ledger keeps them."""
    old, new = _parameters(before), _parameters(after)
    return {name: [old[name], new[name]] for name in old if name not in _NOT_TOLD and old[name] != new[name]}


def drifted(memory: Memory, change: Mapping[str, list[Any]]) -> list[str]:
    """The columns in which a row is neither as a change of the ledger left it nor as it was before.

    None: whoever takes the change back overwrites nothing that came later. A memory of which a pointer is left is out
    of its file, like one of which nothing is.
    """
    now = _parameters(memory)
    return [
        name
        for name, values in change.items()
        if name not in _COUNTERS and now[name] not in values and not (name == "residence" and _is_outside(now, values))
    ]


def _is_outside(now: Mapping[str, Any], values: Collection[Any]) -> bool:
    return now["residence"] != "hot" and not {"stub", "cold"}.isdisjoint(values)


def is_back(memory: Memory, change: Mapping[str, list[Any]]) -> bool:
    """Whether a row is as it was before a change of the ledger."""
    now = _parameters(memory)
    return all(now[name] == before for name, (before, _) in change.items() if name not in _COUNTERS)


def taken_back(memory: Memory, change: Mapping[str, list[Any]]) -> Memory:
    """The memory with those columns as they were before a change; counters keep what came after."""
    now = _parameters(memory)
    row: dict[str, Any] = {**now, "seq": memory.seq, "refs": json.dumps(memory.refs)}
    row |= {name: _uncounted(name, now[name], *values) for name, values in change.items()}
    back = _memory(row)
    return replace(back, norm_hash=norm_hash(back.content))


_COUNTERS = frozenset({"use_count", "last_used_at", "confidence"})


def _uncounted(name: str, now: Any, before: Any, after: Any) -> Any:
    """A column without one change of it: of a counter only what that one change did is taken off."""
    if name not in _COUNTERS or now == after:
        return before
    if name == "use_count":
        return max(0, now - (after - before))
    if name == "confidence" and before < 1:  # doubt is a product of what each time left of it
        return max(0.0, 1 - (1 - now) * (1 - before) / (1 - after)) if after < 1 else now
    return now


def _next_change(c: apsw.Connection) -> int:
    return int(only_row(c, "next_change")[0])


def _parameters(memory: Memory) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(memory, name) for name in _COLUMNS}
    values |= {name: to_ms(getattr(memory, name)) for name in _TIMES}
    values |= {name: json.dumps(getattr(memory, name), ensure_ascii=False) for name in _LISTS}
    values |= {name: int(getattr(memory, name)) for name in _FLAGS}
    values["entry_hash"] = memory.entry_key
    values["source"] = None if memory.source is None else json.dumps(source_fields(memory.source), ensure_ascii=False)
    return values


def source_fields(source: Source) -> dict[str, str | None]:
    """The JSON form of a source."""
    return {
        "uri": source.uri, "locator": source.locator, "sha256": source.sha256,
        "status": source.status, "checked_at": format_time(source.checked_at),
    }  # fmt: skip


def _time(value: int) -> datetime:
    return _EPOCH + value * _MILLISECOND  # the system's own conversion ends at 1970 or 2038 on some machines


def _memories(cursor: apsw.Cursor) -> list[Memory]:
    found: list[Memory] = []
    names: tuple[str, ...] = ()
    for row in cursor:
        names = names or tuple(column[0] for column in cursor.description)
        found.append(_memory(dict(zip(names, row, strict=True))))
    return found


def _memory(row: dict[str, Any]) -> Memory:
    values: dict[str, Any] = {name: row[name] for name in _COLUMNS}
    values |= {name: from_ms(row[name]) for name in _TIMES}
    values |= {name: () if row[name] == "[]" else tuple(json.loads(row[name])) for name in (*_LISTS, "refs")}
    values |= {name: bool(row[name]) for name in _FLAGS}
    values["seq"] = row["seq"]
    if "masked" in values["flags"] or values["residence"] == "stub":
        values["file_hash"] = row["entry_hash"]
    if row["source"]:
        fields = json.loads(row["source"])
        checked = fields.pop("checked_at", None)
        values["source"] = Source(**fields, checked_at=datetime.fromisoformat(checked) if checked else None)
    return Memory(**values)
