"""A memory as one line of JSON, and back: what ``export`` writes and ``store --from`` reads.

The line carries the fields of a bulk store under their names there, and beside them everything else that a memory has,
so that a round trip into an empty store loses nothing. ``memory_id`` marks such a line.
"""

from collections.abc import Mapping
from typing import Any, cast, get_args

from memorycore.domain.memory import (
    KINDS,
    POLICIES,
    SCOPES,
    TARGETS,
    Draft,
    Memory,
    Residence,
    Source,
    SourceStatus,
    State,
    format_time,
    parse_time,
)
from memorycore.domain.text import norm_hash, sanitise
from memorycore.errors import InvalidInput
from memorycore.store.memories import source_fields

MARK = "memory_id"
_TIMES = ("valid_from", "valid_until", "occurred_at", "created_at", "updated_at", "last_used_at", "trashed_at")
_PLAIN = (
    "namespace", "content", "kind", "policy", "state", "target", "pinned", "importance", "importance_given",
    "confidence", "surprise", "use_count", "author", "authority", "session_id", "scope", "origin", "trash_reason",
    "version",
)  # fmt: skip
_NUMBERS: dict[str, type[int] | type[float]] = {
    "importance": float, "confidence": float, "surprise": float, "use_count": int, "authority": int, "version": int,
}  # fmt: skip
_CHOICES: dict[str, tuple[str, ...]] = {
    "kind": KINDS, "policy": POLICIES, "target": TARGETS, "scope": SCOPES,
    "state": get_args(State), "residence": get_args(Residence),
}  # fmt: skip


def to_line(memory: Memory) -> dict[str, object]:
    """The JSON object of one memory; empty fields are left out. ``tier`` is its residence."""
    line: dict[str, object] = {MARK: memory.id}
    if memory.refs:
        line["id"] = memory.refs[0]
        line["refs"] = list(memory.refs)
    line |= {name: getattr(memory, name) for name in _PLAIN}
    line |= {name: format_time(getattr(memory, name)) for name in _TIMES}
    line |= {"tier": memory.residence, "tags": list(memory.tags), "protected": list(memory.protected)}
    if memory.source is not None:
        line["source"] = source_fields(memory.source)
    return {name: value for name, value in line.items() if value not in (None, "", [], False)}


def from_line(line: Mapping[str, Any]) -> Memory:
    """The memory of one exported line.

    Raises:
        InvalidInput: A field is missing or has a value that no memory can have.
    """
    values: dict[str, Any] = {name: line[name] for name in _PLAIN if name in line}
    content = sanitise(str(values.get("content", ""))).strip()
    Draft(content=content, importance=_number(line, "importance", 0.5))
    values |= {name: _time(line, name) for name in _TIMES}
    values |= {name: _number(line, name, 0) for name in _NUMBERS if name in line}
    values |= {name: tuple(_texts(line, name)) for name in ("tags", "refs", "protected")}
    values["residence"] = line.get("tier", "cold")
    for name, allowed in _CHOICES.items():
        if name in values and values[name] not in allowed:
            raise InvalidInput(field=name, why="unknown value", value=values[name], allowed=", ".join(allowed))
    if values["created_at"] is None or values["updated_at"] is None:
        raise InvalidInput(field="created_at", why="empty")
    values |= {"id": str(line[MARK]), "content": content, "norm_hash": norm_hash(content)}
    values["source"] = _source(line.get("source"))
    values.setdefault("namespace", "")
    return Memory(**values)


def _time(line: Mapping[str, Any], name: str) -> object:
    return parse_time(str(line[name]), name=name) if line.get(name) else None


def _number(line: Mapping[str, Any], name: str, default: float) -> float:
    try:
        return _NUMBERS[name](line.get(name, default))
    except (TypeError, ValueError) as error:
        raise InvalidInput(field=name, why="not_a_number", value=line.get(name)) from error


def _texts(line: Mapping[str, Any], name: str) -> list[str]:
    listed = line.get(name, [])
    if not isinstance(listed, list):
        raise InvalidInput(field=name, why="not a list", value=listed)
    return [str(item) for item in cast("list[object]", listed)]


def _source(fields: object) -> Source | None:
    if fields is None:
        return None
    if not isinstance(fields, Mapping):
        raise InvalidInput(field="source", why="not_json")
    known = cast("Mapping[str, Any]", fields)
    status = known.get("status", "unverified")
    if status not in get_args(SourceStatus):
        raise InvalidInput(field="source", why="unknown value", value=status)
    return Source(
        uri=str(known.get("uri", "")),
        locator=str(known.get("locator", "")),
        sha256=str(known.get("sha256", "")),
        status=status,
        checked_at=parse_time(str(known["checked_at"])) if known.get("checked_at") else None,
    )
