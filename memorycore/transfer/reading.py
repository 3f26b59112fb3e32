"""Files → what is in them. What cannot be read is a problem with a place, and keeps nothing else from being read."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from memorycore.domain.memory import Memory
from memorycore.errors import InvalidInput, MemoryCoreError, Unreadable
from memorycore.store import predecessor
from memorycore.transfer import hot_files, logs, places, rows
from memorycore.transfer.found import Found, Ground, Item, OldPointer, Problem, What
from memorycore.transfer.lines import MARK, from_line
from memorycore.transfer.logs import Binned

# The texts of a hot file before the same texts elsewhere, so that they are hot; lines that point after all texts.
ORDER: tuple[What, ...] = ("hot", "store", "bin", "lines", "questions", "unread")
NEAR_S = 600.0  # the predecessor wrote a text, and at once the line that stands for it
_RULES = frozenset({"core", "rule"})
T = TypeVar("T")


@dataclass(slots=True)
class _Stores:
    """What the predecessor's databases hold: of each file what was read, and what all of them know of ids."""

    read: dict[Path, predecessor.Read] = field(default_factory=dict[Path, "predecessor.Read"])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    live: set[str] = field(default_factory=set[str])


def read_all(paths: Iterable[Path], ground: Ground, *, workshop: Path) -> list[Found]:
    """Everything in these files, in the order in which it is to be let in. ``workshop``: a folder for copies."""
    kinds: dict[Path, What] = {}
    failed: list[Found] = []
    for path in paths:
        try:
            kinds[path] = places.what_is(path)
        except MemoryCoreError as error:
            failed.append(Found(path=path, what="unread", problems=(_problem(path, error),)))
    stores, broken = _read_stores([path for path, what in kinds.items() if what == "store"], workshop)
    bins = [_read(path, lambda data, path=path: logs.read_bin(path, data)) for path in _of(kinds, "bin")]
    whole_bins = [one for one in bins if isinstance(one, Binned)]
    binned = frozenset(one for a_bin in whole_bins for one in a_bin.ids)
    found = [*failed, *broken, *(one for one in bins if isinstance(one, Found))]
    found += [hot_files.items_of(path, ground) for path in _of(kinds, "hot")]
    for path, read in stores.read.items():
        items = tuple(rows.items_of(read, ground, binned=binned))
        found.append(Found(path=path, what="store", items=items, problems=_damage(path, read)))
    found += [logs.bin_items(one, stores.texts, stores.live, ground) for one in whole_bins]
    found += _found(kinds, "lines", _lines)
    found += _found(kinds, "questions", lambda path, data: logs.questions(path, data, ground))
    return sorted(found, key=lambda one: ORDER.index(one.what))


def _of(kinds: Mapping[Path, What], what: What) -> list[Path]:
    return [path for path, kind in kinds.items() if kind == what]


def _found(kinds: Mapping[Path, What], what: What, read: Callable[[Path, bytes], Found]) -> list[Found]:
    return [_read(path, lambda data, path=path: read(path, data)) for path in _of(kinds, what)]


def _read(path: Path, use: Callable[[bytes], T]) -> T | Found:
    try:
        return use(path.read_bytes())
    except OSError as error:
        refused = Unreadable(path=str(path), why=error.strerror or str(error))
        return Found(path=path, what="unread", problems=(_problem(path, refused),))


def _read_stores(paths: Sequence[Path], workshop: Path) -> tuple[_Stores, list[Found]]:
    stores, broken = _Stores(), list[Found]()
    for path in paths:
        try:
            read = predecessor.read(path, workshop)
        except MemoryCoreError as error:
            broken.append(Found(path=path, what="store", problems=(_problem(path, error),)))
            continue
        stores.read[path] = read
        stores.texts |= rows.texts_of(read)
        stores.live |= rows.ids_of(row for row in read.rows if row.table != "memories" or len(read.tables) == 1)
    return stores, broken


def _damage(path: Path, read: predecessor.Read) -> tuple[Problem, ...]:
    found: list[Problem] = []
    if not read.tables:
        found.append(Problem(path=path, code="no_memories"))
    if read.damaged:
        found.append(Problem(path=path, code="damaged_store", facts={"why": read.damaged, "count": len(read.rows)}))
    return tuple(found)


def _problem(path: Path, error: MemoryCoreError) -> Problem:
    facts = {name: value for name, value in error.facts.items() if name != "path"}
    why = facts.get("why")
    is_ours = isinstance(error, InvalidInput) and isinstance(why, str)
    return Problem(path=path, code=str(why) if is_ours else error.code, facts=facts)


def _lines(path: Path, data: bytes) -> Found:
    """The lines of an export."""
    items: list[Item] = []
    problems: list[Problem] = []
    for number, raw in enumerate(data.splitlines(), 1):
        if not raw.strip(b" \t\r\n\xef\xbb\xbf"):
            continue
        try:
            line: object = json.loads(raw.decode("utf-8-sig"))
            if not isinstance(line, dict) or MARK not in line:
                problems.append(Problem(path=path, code="no_exported_line", where=str(number)))
                continue
            items.append(Item(ref=str(number), memory=from_line(cast("dict[str, Any]", line))))
        except UnicodeDecodeError:
            problems.append(Problem(path=path, code="not_utf8", where=str(number)))
        except InvalidInput as error:
            problems.append(Problem(path=path, code="bad_field", where=str(number), facts={"error": error}))
        except (ValueError, RecursionError):
            problems.append(Problem(path=path, code="not_json", where=str(number)))
    return Found(path=path, what="lines", items=tuple(items), problems=tuple(problems))


def behind(pointer: OldPointer, texts: Sequence[Item]) -> Item | None:
    """The text that an old line stands for; None where there is none, or several could be meant."""
    own = [item for item in texts if item.memory is not None and item.memory.state == "active"]
    named = [item for item in own if item.ref == pointer.cold_id] or [
        item for item in own if pointer.fingerprint and item.memory and _fingerprint(item.memory) == pointer.fingerprint
    ]
    if named or not pointer.topic:
        return named[0] if named else None
    meant = [item for item in own if item.memory and "".join(item.memory.content.split()).startswith(pointer.topic)]
    if len(meant) > 1 and (at := pointer.written_at) is not None:
        meant = [item for item in meant if item.memory and abs((item.memory.updated_at - at).total_seconds()) <= NEAR_S]
    return meant[0] if len(meant) == 1 else None


def _fingerprint(memory: Memory) -> str:
    return hashlib.sha256(memory.content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def as_rule(item: Item) -> Item:
    """A text that had become a pointer was a rule, whatever it looks like."""
    memory = item.memory
    if memory is None or memory.policy in _RULES:
        return item
    return replace(item, memory=replace(memory, policy="rule"))
