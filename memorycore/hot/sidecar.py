"""What we know about hot entries, in a file beside theirs: ``MEMORY.meta.json``, ``USER.meta.json``.

Version 2: ``{"version": 2, "entries": {SHA-256 hex of the entry: meta}}``. Version 1, a flat map of hash → meta, is
read and becomes version 2 with the next write. It is a companion only: whatever is wrong with it, the entries stand.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast, get_args

from memorycore.domain.memory import KINDS, POLICIES, Kind, Policy, format_time, parse_time
from memorycore.errors import InvalidInput

EntryType = Literal["rule", "state", "stub"]

VERSION = 2
MAX_NESTING = 32  # deeper unknown fields could be read, but not written again
_MOST_WEIGHT = 1e9
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryMeta:
    """Meta of one hot entry. Times are aware UTC, to the millisecond; ``extra`` keeps what is unknown or unreadable.

    Importance is 0..1, a weight 0 or more.
    """

    type: EntryType
    written_at: datetime
    origin: str = "legacy"
    id: str | None = None
    kind: Kind | None = None
    policy: Policy | None = None
    protected: tuple[str, ...] = ()
    importance: float | None = None
    updated_at: datetime | None = None
    last_active_at: datetime | None = None
    weight: float | None = None
    weight_at: datetime | None = None
    resident_until: datetime | None = None
    pinned: bool = False
    cold_id: str | None = None
    session_id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """``entries`` by entry hash. ``damaged``: something in the bytes could not be read, and a write would lose it."""

    entries: Mapping[str, EntryMeta] = field(default_factory=dict[str, EntryMeta])
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    damaged: bool = False


def sidecar_path(hot_file: Path) -> Path:
    """``MEMORY.md`` → ``MEMORY.meta.json`` in the same folder; a link is not followed."""
    return hot_file.with_suffix(".meta.json")


@lru_cache(maxsize=4)  # a file is looked at again and again, under its lock too, and seldom changed
def parse_sidecar(data: bytes) -> Sidecar:
    """Read version 1 or 2; what a newer version adds is kept as unknown fields.

    Never raises: no bytes are an empty sidecar, unreadable ones an empty sidecar that is ``damaged``, and an entry
    without type or time is left out with the same mark, to be stamped again.
    """
    if not data.strip():
        return Sidecar()
    try:
        raw: object = json.loads(data, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError):
        return Sidecar(damaged=True)
    if not isinstance(raw, dict):
        return Sidecar(damaged=True)
    table = cast("dict[str, Any]", raw)
    if _nests_deeper(table, MAX_NESTING):
        return Sidecar(damaged=True)
    if "version" in table:
        listed = table.get("entries")
        extra = {name: value for name, value in table.items() if name not in {"version", "entries"}}
    else:
        listed = {key: value for key, value in table.items() if _HASH.fullmatch(key)}
        extra = {key: value for key, value in table.items() if key not in listed}
    if not isinstance(listed, dict):
        return Sidecar(extra=extra, damaged=True)
    found = {key: _read_meta(value) for key, value in cast("dict[str, Any]", listed).items()}
    entries = {key: meta for key, meta in found.items() if meta and _HASH.fullmatch(key)}
    return Sidecar(entries=entries, extra=extra, damaged=len(entries) < len(found))


def render_sidecar(sidecar: Sidecar) -> bytes:
    """Write version 2, entries in their order, one a line, all but ASCII escaped."""
    table = {name: value for name, value in sidecar.extra.items() if name not in {"version", "entries"}}
    entries = (f"  {json.dumps(key)}: {json.dumps(_write_meta(meta))}" for key, meta in sidecar.entries.items())
    lines = [f" {json.dumps(name)}: {json.dumps(value)}," for name, value in {**table, "version": VERSION}.items()]
    text = "\n".join(["{", *lines, ' "entries": {', ",\n".join(entries), " }", "}", ""])
    return text.encode("ascii")


def _finite(text: str) -> float | None:
    """NaN and infinities are no JSON; they become null, so that our own file is JSON for everybody."""
    number = float(text)
    return number if math.isfinite(number) else None


def _nests_deeper(value: object, levels: int) -> bool:
    if isinstance(value, dict):
        inner = list(cast("dict[str, object]", value).values())
    elif isinstance(value, list):
        inner = cast("list[object]", value)
    else:
        return False
    return levels == 0 or any(_nests_deeper(item, levels - 1) for item in inner)


def _read_meta(raw: object) -> EntryMeta | None:
    if not isinstance(raw, dict):
        return None
    known: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, value in cast("dict[str, Any]", raw).items():
        parsed = _READERS[name](value) if name in _READERS else None
        if parsed is None:
            extra[name] = value
        else:
            known[name] = parsed
    if "type" not in known or "written_at" not in known:
        return None
    return EntryMeta(**known, extra=extra)


def _write_meta(meta: EntryMeta) -> dict[str, Any]:
    written = dict(meta.extra)
    for name in _READERS:
        value = getattr(meta, name)
        if value is None or (name in _DEFAULTS and value == _DEFAULTS[name] and name in written):
            continue  # nothing is set: a value that we could not read stays as it was
        written[name] = format_time(value) if isinstance(value, datetime) else value
    return written


def _read_time(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        return parse_time(value)
    except InvalidInput:
        return None


def _read_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _read_flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _read_names(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    names = cast("list[object]", value)
    return tuple(cast("list[str]", names)) if all(isinstance(name, str) for name in names) else None


def _read_number(value: object, *, most: float = _MOST_WEIGHT) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        return None
    return float(value)


def _one_of(allowed: tuple[str, ...]) -> Callable[[object], str | None]:
    return lambda value: value if isinstance(value, str) and value in allowed else None


_READERS: dict[str, Callable[[object], object]] = {
    "type": _one_of(get_args(EntryType)),
    "id": _read_text,
    "kind": _one_of(KINDS),
    "policy": _one_of(POLICIES),
    "protected": _read_names,
    "importance": lambda value: _read_number(value, most=1.0),
    "origin": _read_text,
    "written_at": _read_time,
    "updated_at": _read_time,
    "last_active_at": _read_time,
    "weight": _read_number,
    "weight_at": _read_time,
    "resident_until": _read_time,
    "pinned": _read_flag,
    "cold_id": _read_text,
    "session_id": _read_text,
}
_DEFAULTS = {"protected": (), "pinned": False, "origin": "legacy"}
