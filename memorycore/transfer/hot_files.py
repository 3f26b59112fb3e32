"""The memory files of another home, and the lines that the predecessor left for rules, as items."""

import re
from pathlib import Path

from memorycore.domain.memory import Memory, Policy, Target
from memorycore.domain.pointer import is_fold, is_pointer
from memorycore.domain.routing import Routing, route
from memorycore.domain.text import entry_hash, norm_hash, sanitise
from memorycore.errors import HotFileError
from memorycore.hot import files
from memorycore.hot.document import Document
from memorycore.hot.sidecar import EntryMeta, Sidecar, sidecar_path
from memorycore.hot.tier import FILE_NAMES
from memorycore.transfer.found import ORIGIN, Found, Ground, Item, OldPointer, Problem, derived_id, not_later

MARK = "[规则指针]"  # how such a line begins
_SAYS = re.compile(r"(?P<topic>.*?)(?:→|->)(?:recall:(?P<fingerprint>[0-9a-f]{16})$)?")
_RULES = frozenset({"core", "rule"})
_JUDGED = "store_fact"  # says that our judge has compared a text, which it has not


def target_of(path: Path) -> Target:
    """``USER.md`` is about the user, every other file is a memory file."""
    return "user" if path.name.upper() == FILE_NAMES["user"].upper() else "memory"


def items_of(path: Path, ground: Ground) -> Found:
    """The entries of a memory file with what its sidecar knows of them. Neither is locked or changed."""
    try:
        contents = files.look(path)
    except HotFileError as error:
        facts = {name: value for name, value in error.facts.items() if name != "path"}
        return Found(path=path, what="hot", problems=(Problem(path=path, code=error.code, facts=facts),))
    damaged = (Problem(path=sidecar_path(path), code="sidecar_damaged"),) if contents.sidecar.damaged else ()
    target = target_of(path)
    pointers = old_pointers(contents.document, contents.sidecar, target)
    known = {pointer.text for pointer in pointers}
    items = [
        _item(entry, number, contents.sidecar.entries.get(entry_hash(entry)), target, ground)
        for number, entry in enumerate(contents.entries, 1)
        if entry not in known
    ]
    return Found(path=path, what="hot", items=tuple(items), pointers=pointers, problems=damaged)


def old_pointers(
    document: Document, sidecar: Sidecar, target: Target, *, is_ours: bool = False
) -> tuple[OldPointer, ...]:
    """The lines of the predecessor that stand for rules which left the file."""
    found: list[OldPointer] = []
    for entry in document.entries:
        meta = sidecar.entries.get(entry_hash(entry))
        if not entry.startswith(MARK):
            continue
        rest = entry.removeprefix(MARK)
        said = _SAYS.match(rest)
        found.append(
            OldPointer(
                target=target,
                text=entry,
                topic="".join((said["topic"] if said else rest).split()),
                fingerprint=(said["fingerprint"] or "") if said else "",
                cold_id=(meta.cold_id or "") if meta else "",
                written_at=meta.written_at if meta else None,
                is_ours=is_ours,
            )
        )
    return tuple(found)


def _item(entry: str, number: int, meta: EntryMeta | None, target: Target, ground: Ground) -> Item:
    ref = str(number)
    if is_pointer(entry) or is_fold(entry):
        return Item(ref=ref, left_out="pointer_of_another")
    return Item(ref=ref, memory=not_later(_memory(sanitise(entry), meta, target, ground), ground.now), meta=meta)


def _memory(entry: str, meta: EntryMeta | None, target: Target, ground: Ground) -> Memory:
    routing = route(entry, target=target)
    written = meta.written_at if meta else ground.now
    updated = (meta.updated_at if meta else None) or written
    used = meta.last_active_at if meta else None
    importance = meta.importance if meta else None
    return Memory(
        id=derived_id(f"entry {target} {entry_hash(entry)}"),
        namespace="",
        content=entry,
        norm_hash=norm_hash(entry),
        kind=(meta.kind if meta else None) or routing.kind,
        policy=(meta.policy if meta else None) or _policy(routing, meta),
        protected=meta.protected if meta and meta.id else routing.protected,
        pinned=bool(meta and meta.pinned),
        importance=routing.importance if importance is None else importance,
        importance_given=importance is not None,
        residence="hot",
        target=target,
        origin=meta.origin if meta and meta.origin != _JUDGED else ORIGIN,
        session_id=(meta.session_id if meta else None) or "",
        created_at=written,
        updated_at=updated,
        last_used_at=used if used and used > updated else None,
    )


def _policy(routing: Routing, meta: EntryMeta | None) -> Policy:
    """The policy of a text whose sidecar says only whether it is a rule."""
    if meta is None or (routing.policy in _RULES) == (meta.type == "rule"):
        return routing.policy
    return "rule" if meta.type == "rule" else "fact"
