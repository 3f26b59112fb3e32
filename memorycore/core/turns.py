"""Around a turn of a host: what to offer for a question, what it has just written, that a session goes on or ends."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from memorycore import answers_turn, overview
from memorycore.core import look, overflow
from memorycore.core.comeback import come_back_later
from memorycore.core.rooms import Rooms
from memorycore.domain.gates import name_of, personal, secrets
from memorycore.domain.memory import Memory
from memorycore.domain.text import sanitise
from memorycore.errors import HotFileError
from memorycore.govern.overflow.ladder import RULES
from memorycore.intake import clean_name
from memorycore.lifecycle.naming import short
from memorycore.search import Hit, SearchRequest
from memorycore.search.same import repeats
from memorycore.store import memories, misses
from memorycore.store.queries import Query

LONGEST_QUERY = 1_000
CANDIDATES = 20
ENDPOINT_WAIT_S = 0.12  # a host waits 0.25 s; a model elsewhere that takes longer leaves the question to its words
MOST_TOLD = 100  # rules that wait for their way back
# A host that fences what it is given takes such marks out in one pass, and whatever stands between two of them.
_FENCE = re.compile(
    r"<\s*/?\s*memory-context\s*>|\[System note:\s*The following is recalled memory context[^\]]*\]", re.IGNORECASE
)
_DATED = re.compile(r"\d{4}(-\d\d-\d\d|年\d{1,2}月\d{1,2}日)")


def prefetch(
    rooms: Rooms, query: str, *, session_id: str, given: Collection[str], most: int, most_chars: int
) -> answers_turn.Prefetched:
    """The memories worth telling before a question is answered, best first.

    Of the best candidates those fall away that the session was ``given`` (ids), that stand in the prompt anyway, in
    these words or others, and whatever is weak or was not the user's. Nothing comes back from the bin, and nobody's use
    is noted: what is offered unasked would else rank higher for it the next time. A retired rule that was meant and is
    offered comes back into its file when no session is at work. The question itself is logged as a prefetch.
    """
    if session_id:
        rooms.session_seen(session_id)
    rooms.touch_soon()
    asked = sanitise(query)[:LONGEST_QUERY]
    viewer = clean_name(session_id, rooms.options.gates)
    request = SearchRequest(
        namespaces=rooms.namespaces,
        top_k=CANDIDATES,
        viewer_session=viewer,
        marks_strong=rooms.options.budget.enabled,
        drops_weak=True,
        strong_score=rooms.options.budget.strong_score,
        model_wait_s=ENDPOINT_WAIT_S if rooms.options.embed.url else None,
    )
    result = rooms.search(asked, request)
    with rooms.db.read() as c:
        found = memories.by_seq(c, [hit.seq for hit in result.hits], rooms.namespaces)
    if rooms.options.activity_log and asked.strip():
        rooms.uses.note([], Query(text=asked, at=rooms.clock(), source="prefetch", session_id=viewer))
    in_prompt = _entries(rooms)
    hot = {memory.id for memory in found.values() if memory.residence == "hot"}
    items: list[answers_turn.Offered] = []
    left_out = Counter[str]()
    room = most_chars + 1  # the last line has no end of line
    for hit in result.hits:
        memory = found.get(hit.seq)
        if memory is None:  # gone since the search
            continue
        item = _offered(memory)
        needed = len(line(item)) + 1
        if why := _why_not(hit, memory, hot, given, in_prompt) or ("more" if needed > room else ""):
            left_out[why] += 1
        elif len(items) >= most:
            left_out["more"] += 1
        else:
            items.append(item)
            room -= needed
            if hit.seq in result.strong and memory.policy in RULES and len(rooms.told_rules) < MOST_TOLD:
                rooms.told_rules[memory.id] = None
    answer: answers_turn.Prefetched = {
        "text": "\n".join(map(line, items)),
        "items": items,
        "left_out": dict(left_out),
        "took_ms": round(result.took_ms, 1),
    }
    if result.degraded:
        answer["degraded"] = list(result.degraded)
    return answer


def host_wrote(rooms: Rooms, session_id: str = "") -> answers_turn.Noticed:
    """Look at the hot files now: type what is new, and make room above the soft mark. A hint; the file is the truth.

    The host writes into the files itself and is refused where its next entry does not fit, so room is made beforehand.
    The session that wrote is at work, and may want to change what it wrote.
    """
    if session_id:
        rooms.session_seen(session_id)
    rooms.touch()
    overflow.tend(rooms, at_end=True, headroom=overflow.NEXT_WRITE)
    answer: answers_turn.Noticed = {"hot": overview.usage(look.view(rooms))["hot"]}
    if rooms.problems:
        answer["problems"] = sorted(error.code for error in rooms.problems.values())
    return answer


def turn_done(rooms: Rooms, session_id: str) -> answers_turn.Noted:
    """A turn of this session is over. Its words are not kept.

    What was written in it and nobody told of, as a host's review of its own or a write that found no room and was
    refused, must not leave the next turn without room.
    """
    rooms.session_seen(session_id)
    rooms.touch()
    overflow.tend(rooms, at_end=True, headroom=overflow.NEXT_WRITE)
    return {"session_id": session_id, "stored": 0}


def session_done(rooms: Rooms, session_id: str) -> answers_turn.Noted:
    """The session is over: what stayed in the hot files for its sake may leave."""
    rooms.sessions_ended([session_id])
    overflow.tend(rooms, at_end=True)
    come_back_later(rooms)
    return {"session_id": session_id, "stored": 0}


def held_back(rooms: Rooms, texts: Sequence[str]) -> answers_turn.HeldBack:
    """What no way into memory would let through of these texts. Nothing is kept of them, nor looked up."""
    blocks_persons = rooms.options.gates.pii == "block"
    found = [
        finding for text in texts for finding in (*secrets.find(text), *(personal.find(text) if blocks_persons else ()))
    ]
    rules = list(dict.fromkeys(finding.rule for finding in found))
    return {"held": [name_of(rule) for rule in rules], "rules": rules}


def host_missed(rooms: Rooms, host: str, missed: Mapping[str, int]) -> answers_turn.Counted:
    """Keep what a host went without, for whoever looks at the status."""
    rooms.touch()
    with rooms.db.write() as c:
        misses.add(
            c, rooms.options.namespace, {f"{host} {call}": count for call, count in missed.items()}, rooms.clock()
        )
    return {"counted": sum(missed.values())}


def _why_not(hit: Hit, memory: Memory, hot: Collection[str], given: Collection[str], in_prompt: Sequence[str]) -> str:
    """Why this candidate is not offered; empty when nothing speaks against it."""
    if memory.residence == "hot" or not set(hit.same).isdisjoint(hot):
        return "hot"
    if memory.id in given:
        return "given"
    if hit.weak:
        return "weak"
    if "untrusted" in memory.flags:
        return "untrusted"
    return "hot" if repeats(memory.content, in_prompt) else ""


def _entries(rooms: Rooms) -> list[str]:
    """What the prompt holds; nothing of a file that cannot be read."""
    entries: list[str] = []
    for tier in rooms.tiers.values():
        with suppress(HotFileError):
            entries += tier.document().entries
    return entries


def _offered(memory: Memory) -> answers_turn.Offered:
    content, found = " ".join(memory.content.split()), 1
    while found:  # a mark can be made of what is left around another
        content, found = _FENCE.subn("", content)
    moment = memory.occurred_at or memory.updated_at
    return {"id": memory.id, "day": moment.date().isoformat(), "content": content}


def line(item: answers_turn.Offered) -> str:
    """A dated note as the prompt gets it, with the end of its id; one that begins with a date of its own has that."""
    day = "" if _DATED.match(item["content"]) else f"{item['day']}: "
    return f"- {day}{item['content']} [{short(item['id'])}]"
