"""A memory as one line of JSON, and back: what ``export`` writes, and ``import`` and ``store --from`` read.

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
    State,
    format_time,
    parse_time,
)
from memorycore.domain.text import norm_hash, sanitise
from memorycore.errors import InvalidInput
from memorycore.store.memories import source_fields

MARK = "memory_id"
_TIMES = ("valid_from", "valid_until", "occurred_at", "created_at", "updated_at", "last_used_at", "trashed_at")
_TEXTS = (
    "namespace", "content", "kind", "policy", "state", "target", "author", "session_id", "scope", "origin",
    "trash_reason",
)  # fmt: skip
_FLAGS = ("pinned", "importance_given")
_MOST = 2**31
_NUMBERS: dict[str, tuple[type[int] | type[float], int, int]] = {  # and the least and the most that it may be
    "importance": (float, 0, 1), "confidence": (float, 0, 1), "surprise": (float, 0, 1),
    "use_count": (int, 0, _MOST), "authority": (int, -_MOST, _MOST), "version": (int, 1, _MOST),
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
    line |= {name: getattr(memory, name) for name in (*_TEXTS, *_FLAGS, *_NUMBERS)}
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
    line = cast("Mapping[str, Any]", _storable(line))
    line = {name: value for name, value in line.items() if value is not None}
    values: dict[str, Any] = {name: _text(line, name) for name in _TEXTS if name in line}
    content = str(values.get("content", "")).strip()
    Draft(content=content, scope=values.get("scope", "global"), session_id=values.get("session_id", ""))
    values |= {name: _flag(line, name) for name in _FLAGS if name in line}
    values |= {name: _number(line, name) for name in _NUMBERS if name in line}
    values |= {name: _time(line, name) for name in _TIMES}
    values |= {name: tuple(_texts(line, name)) for name in ("tags", "refs", "protected")}
    values["residence"] = _text(line, "tier") if "tier" in line else "cold"
    for name, allowed in _CHOICES.items():
        if name in values and values[name] not in allowed:
            raise InvalidInput(field=name, why="unknown value", value=values[name], allowed=", ".join(allowed))
    if values["created_at"] is None or values["updated_at"] is None:
        raise InvalidInput(field="created_at", why="empty")
    if values.get("state") == "trashed" and values["trashed_at"] is None:
        values["trashed_at"] = values["updated_at"]
    if MARK not in line or not (memory_id := _text(line, MARK).strip()):
        raise InvalidInput(field=MARK, why="empty")
    values |= {"id": memory_id, "content": content, "norm_hash": norm_hash(content)}
    values["source"] = _source(line.get("source"))
    values.setdefault("namespace", "")
    return Memory(**values)


def _storable(value: object) -> object:
    """Every text in it without signs that no store can carry."""
    match value:
        case str():
            return sanitise(value)
        case Mapping():
            return {str(name): _storable(item) for name, item in cast("Mapping[object, object]", value).items()}
        case list():
            return [_storable(item) for item in cast("list[object]", value)]
        case _:
            return value


def _time(line: Mapping[str, Any], name: str) -> object:
    return parse_time(str(line[name]), name=name) if line.get(name) else None


def _text(line: Mapping[str, Any], name: str) -> str:
    value = line[name]
    if not isinstance(value, str):
        raise InvalidInput(field=name, why="not_text", value=value)
    return value


def _flag(line: Mapping[str, Any], name: str) -> bool:
    value = line[name]
    if not isinstance(value, bool):
        raise InvalidInput(field=name, why="not_yes_or_no", value=value)
    return value


def _number(line: Mapping[str, Any], name: str) -> float:
    value = line[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(field=name, why="not_a_number", value=value)
    number_type, least, most = _NUMBERS[name]
    if not least <= value <= most:
        raise InvalidInput(field=name, why="not_between", least=least, most=most, value=value)
    return number_type(value)


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
    return Source(
        uri=str(known.get("uri", "")),
        locator=str(known.get("locator", "")),
        sha256=str(known.get("sha256", "")),
        status=known.get("status") or "unverified",
        checked_at=parse_time(str(known["checked_at"])) if known.get("checked_at") else None,
    )
