"""What happened, as a person reads it: one sentence for each event, the texts that went and came, and the way back."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, cast

from memorycore import answers, messages
from memorycore.core.rooms import MOST_RESULTS, Rooms
from memorycore.domain.memory import Event, Memory, format_time
from memorycore.errors import InvalidInput
from memorycore.lifecycle import way_back
from memorycore.options import Language
from memorycore.store import edges, ledger, memories

if TYPE_CHECKING:
    import apsw

SHOWN_CHARS = 160
FILES = {"memory": "MEMORY.md", "user": "USER.md"}


def history(
    rooms: Rooms, *, limit: int = 20, memory_id: str = "", since: datetime | None = None, automatic_only: bool = False
) -> answers.History:
    """The last events, newest first: of one memory, from a moment on, or only what nobody asked for.

    Raises:
        NotFound: No memory has this id.
        InvalidInput: ``limit`` is not between 1 and 1000.
    """
    if not 1 <= limit <= MOST_RESULTS:
        raise InvalidInput(field="limit", why="not_between", least=1, most=MOST_RESULTS, value=limit)
    rooms.touch()
    if memory_id:
        memory_id = rooms.any(memory_id).id
    with rooms.db.read() as c:
        if memory_id:
            found = _of_memory(memories.events(c, memory_id, rooms.namespaces), since, automatic_only=automatic_only)
        else:
            found = ledger.newest(c, rooms.namespaces, limit=limit, since=since, automatic=automatic_only)
        return {"events": [_line(c, rooms, event) for event in found[:limit]]}


def _of_memory(events: Sequence[Event], since: datetime | None, *, automatic_only: bool) -> list[Event]:
    wanted = (event for event in events if since is None or event.at >= since)
    return [event for event in wanted if event.automatic or not automatic_only][::-1]


def _line(c: "apsw.Connection", rooms: Rooms, event: Event) -> answers.HistoryLine:
    memory = memories.by_id(c, event.memory_id, rooms.namespaces)
    line: answers.HistoryLine = {
        "event": event.seq,
        "at": format_time(event.at) or "",
        "action": event.action,
        "what": sentence(event, memory, rooms.options.language),
        "id": event.memory_id,
        "actor": event.actor,
        "automatic": event.automatic,
        "can_undo": isinstance(way_back.step_of(c, event, rooms.namespaces, rooms.clock()), way_back.Step),
    }
    if why := list(reasons(c, event, rooms)):
        line["why"] = why
    _tell_texts(c, rooms, event, memory, line)
    if event.run:
        line["run"] = event.run
    if event.undone_by is not None:
        line["undone_by"] = event.undone_by
    if line["can_undo"]:
        line["undo"] = command(event.seq)
    return line


def tier_of(memory: Memory) -> answers.Tier:
    if memory.state == "active":
        return "hot" if memory.residence == "hot" else "cold"
    return "bin" if memory.state == "trashed" else "none"


def command(event: int) -> str:
    return f"memorycore undo {event}"


def sentence(event: Event, memory: Memory | None, language: Language) -> str:
    """What happened, in one sentence; an action that nobody has words for is its own name."""
    codes = [f"history.{event.action}_{detail}" for detail in _details(event)]
    code = next((code for code in codes if messages.has(code, language)), f"history.{event.action}")
    if not messages.has(code, language):
        return event.action
    why_code = f"overflow.why_{event.reason}" if event.action == "moved" else f"bin.{event.reason}"
    facts: dict[str, object] = {
        "file": FILES[memory.target if memory else "memory"],
        "why": messages.text(why_code, language) if messages.has(why_code, language) else None,
        "fields": ", ".join(cast("list[str]", event.facts.get("fields", []))),
        "event": event.facts.get("event"),
    }
    return messages.text(code, language, **facts)


def _details(event: Event) -> Iterable[str]:
    """What may make another sentence of an action, the most telling first."""
    if event.facts.get("said"):
        yield "said"
    yield event.reason
    if place := event.facts.get("to"):
        yield str(place)


def reasons(c: "apsw.Connection", event: Event, rooms: Rooms) -> Iterable[str]:
    """The evidence of a verdict, in sentences."""
    told = cast("Sequence[Mapping[str, str]]", event.facts.get("evidence", ()))
    number = event.facts.get("edge")
    if not told and event.action != "undone" and isinstance(number, int):
        edge = edges.by_number(c, number, rooms.namespaces)
        told = edge.evidence if edge else ()
    language = rooms.options.language
    for item in told:
        code = f"evidence.{item.get('code')}"
        if messages.has(code, language):
            yield messages.text(code, language, old=item.get("old"), new=item.get("new"))


def _tell_texts(
    c: "apsw.Connection", rooms: Rooms, event: Event, memory: Memory | None, line: answers.HistoryLine
) -> None:
    if "content" in event.change:
        line["before"], line["after"] = map(cut, event.change["content"])
        return
    other_id = str(event.facts.get(way_back.OTHER.get(event.action, ""), ""))
    other = memories.by_id(c, other_id, rooms.namespaces) if other_id else None
    if memory is None or memory.state == "purged":
        return
    text = _wording_then(c, event, memory)
    if other is None or event.action == "trashed":
        line["text"] = cut(text)
    else:
        pair = (text, other.content) if event.action == "superseded" else (other.content, text)
        line["before"], line["after"] = map(cut, pair)
    if said := event.facts.get("said"):
        line["said"] = cut(str(said))


def _wording_then(c: "apsw.Connection", event: Event, memory: Memory) -> str:
    """What the memory said at that time."""
    later = (one for one in ledger.changes_of(c, memory.id, (memory.namespace,)) if one.seq > event.seq)
    return next((str(one.change["content"][0]) for one in later if "content" in one.change), memory.content)


def cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
