"""Records that others put into the cold store elsewhere, named by a person as ``remote:<id>``.

Automation never touches them. What a person does to one happens there at once, or not at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Unpack, cast

from memorycore import answers, answers_story, intake, messages
from memorycore.cold.contract import ColdHit
from memorycore.core import change, look
from memorycore.core.remote import PREFIX, Remote, told
from memorycore.core.rooms import Rooms
from memorycore.domain.memory import Draft, Memory
from memorycore.domain.text import norm_hash, sanitise
from memorycore.errors import InvalidInput, NotAvailable, NotFound, RemoteRefused
from memorycore.lifecycle import rows
from memorycore.store import remote
from memorycore.store.memories import to_ms
from memorycore.store.remote import Copy


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What an id of the service means: a memory of ours (``memory_id``), or a record of others.

    ``shown``: what the service shows of it by its id; None where it shows no single record.
    """

    service: Remote
    external: str
    memory_id: str = ""
    shown: ColdHit | None = None

    @property
    def is_readable(self) -> bool:
        """Whether its whole text is known."""
        return self.shown is not None and not self.shown.cut


def look_up(rooms: Rooms, given: str) -> Record:
    """Find out what ``remote:<id>`` means.

    Raises:
        NotFound: No service is in use, or it has no such memory.
        RemoteUnreachable: It cannot be asked now.
    """
    external = given.removeprefix(PREFIX)
    if rooms.remote is None or not external:
        raise NotFound(id=given, why=None if rooms.remote else "no_service_in_use")
    with rooms.db.read() as c:
        known = remote.ours(c, rooms.remote.post.name, [external])
    if external in known:
        return Record(service=rooms.remote, external=external, memory_id=known[external])
    try:
        return Record(service=rooms.remote, external=external, shown=rooms.remote.store.get(external))
    except NotFound:
        raise NotFound(id=given) from None
    except RemoteRefused:
        return Record(service=rooms.remote, external=external)


def inspect(rooms: Rooms, given: str) -> answers_story.Story:
    """What the service shows of a record, behind the gates: it has no history here.

    Raises:
        NotFound: No service is in use, or it has no such memory.
        NotAvailable: The service shows no record by its id.
        RemoteUnreachable: It cannot be asked now.
    """
    found = look_up(rooms, given)
    if found.memory_id:
        return look.inspect(rooms, found.memory_id)
    if found.shown is None:
        raise NotAvailable(what=given, why="not_shown_alone")
    kept = intake.as_kept(sanitise(found.shown.content).strip(), rooms.options.gates)
    fields: dict[str, object] = {"kept_at": found.service.store.host}
    if kept.untrusted:
        fields["untrusted"] = True
    if found.shown.cut:
        fields["cut"] = True
    return {
        "id": given, "content": kept.content, "state": "active", "residence": "cold", "tier": "cold", "fields": fields,
        "links": [], "revisions": [], "events": [], "vector": "", "refs": [],
        "note": messages.text("note.of_others", rooms.options.language, id=given, host=found.service.store.host),
    }  # fmt: skip


def update(
    rooms: Rooms, given: str, *, actor: str, dry_run: bool = False, **changes: Unpack[change.Changes]
) -> answers.Changed:
    """Give a record a new text; no text that was cut is ever part of it.

    Raises:
        InvalidInput: Something else than the text was to be changed, or the text may not be kept.
    """
    found = look_up(rooms, given)
    if found.memory_id:
        return told(rooms, change.update(rooms, found.memory_id, actor=actor, dry_run=dry_run, **changes))
    content = Draft(content=_only_text(change.behind_gates(rooms, changes))).content
    answer: answers.Changed = {"status": "updated", "id": given, "tier": "cold", "after": content}
    if found.shown is not None:
        answer["before"] = found.shown.content
    if dry_run:
        answer["dry_run"] = True
    else:
        found.service.store.update(found.external, content)
    return answer


def forget(rooms: Rooms, given: str, *, actor: str, dry_run: bool = False) -> answers.Changed:
    """Forget a record: into our bin where its text can be read, else for good."""
    found = look_up(rooms, given)
    if found.memory_id:
        return told(rooms, change.forget(rooms, found.memory_id, actor=actor, dry_run=dry_run))
    answer: answers.Changed = {"status": "trashed", "id": given, "tier": "bin" if found.is_readable else "none"}
    if found.shown is not None:
        answer["before"] = found.shown.content
    if not found.is_readable:
        answer["reasons"] = [messages.reason("not_in_bin", rooms.options.language)]
    if dry_run:
        answer["dry_run"] = True
        return answer
    if not found.is_readable:
        found.service.store.forget(found.external)
        return answer
    memory = _adopt(rooms, found, actor=actor)
    until = rooms.clock() + timedelta(days=rooms.options.trash_days)
    answer["id"], answer["until"] = memory.id, until.date().isoformat()
    answer["undo"] = f"memorycore restore {memory.id}"
    return told(rooms, answer)


def for_erasure(rooms: Rooms, given: str, *, actor: str, dry_run: bool) -> str:
    """What an erasure is to be asked for: a record is taken into our bin first, from where it goes with all copies.

    Raises:
        NotFound: Its text cannot be read, so nobody could say afterwards what is erased.
    """
    if not given.startswith(PREFIX):
        return given
    found = look_up(rooms, given)
    if found.memory_id:
        return found.memory_id
    if dry_run or not found.is_readable:
        raise NotFound(id=given, why="erase_elsewhere")
    return _adopt(rooms, found, actor=actor).id


def _adopt(rooms: Rooms, found: Record, *, actor: str) -> Memory:
    """Take a record into our own bin; what the service has is then a copy, which it is owed to lose."""
    content = found.shown.content if found.shown else ""
    kept = intake.as_kept(sanitise(content).strip(), rooms.options.gates)
    cause = rooms.cause(actor, "user")
    memory = Memory(
        id=rooms.new_id(), namespace=rooms.options.namespace, content=kept.content, norm_hash=norm_hash(kept.content),
        created_at=cause.at, updated_at=cause.at, origin="remote", state="trashed", trashed_at=cause.at,
        trash_reason="user", flags=("untrusted",) if kept.untrusted else (),
    )  # fmt: skip
    with rooms.db.write() as c:
        stored = rows.add(c, memory, cause)
        copy = Copy(store=found.service.post.name, external=found.external, sent=remote.digest(content))
        remote.put_copy(c, stored, copy, to_ms(cause.at) or 0)
        remote.owe(c, stored)
    return stored


def _only_text(changes: Mapping[str, object]) -> str:
    """The new text of a record; nothing else of it can be changed.

    Raises:
        InvalidInput: Something else was to be changed, or nothing.
    """
    given = {name: value for name, value in changes.items() if value is not None}
    if others := sorted(set(given) - {"content"}):
        raise InvalidInput(field=others[0], why="only_text")
    if "content" not in given:
        raise InvalidInput(field="content", why="missing")
    return cast("str", given["content"])
