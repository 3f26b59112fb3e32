"""Recall: search, bring back what automation binned and the question strongly means, and say what there is to say."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from memorycore import answers, intake, reply_recall
from memorycore.core import remote
from memorycore.core.comeback import come_back
from memorycore.core.rooms import Rooms
from memorycore.domain.memory import WANTED_GONE, Memory
from memorycore.domain.text import sanitise
from memorycore.errors import StoreBusy
from memorycore.lifecycle import revival
from memorycore.lifecycle.rows import Cause
from memorycore.search import RecallFilters, SearchRequest, SearchResult
from memorycore.store import edges, memories
from memorycore.store import vectors as vector_rows
from memorycore.store.queries import LONGEST_READ, Query, Source

MOST_REVIVED = 3
WAIT_MS = 250  # for another writer; a question does not wait longer, and the memory stays where it is


def recall(  # noqa: PLR0913 the question, and what shapes its answer
    rooms: Rooms,
    query: str,
    *,
    top_k: int,
    filters: RecallFilters | None,
    viewer_session: str,
    explain: bool,
    log: bool,
    revive: bool,
    actor: str,
    source: Source,
) -> answers.Recalled:
    """Search hot and cold, best first."""
    rooms.touch()
    wanted = filters or RecallFilters()
    noted = log and not explain
    may_return = noted and revive and not wanted.looks_back
    request = SearchRequest(
        namespaces=rooms.namespaces,
        top_k=top_k,
        filters=replace(wanted, session_id=intake.clean_name(wanted.session_id, rooms.options.gates)),
        viewer_session=intake.clean_name(viewer_session, rooms.options.gates),
        explain=explain,
        seeks_bin=may_return,
        tells_strong=may_return,
        strong_score=rooms.options.budget.strong_score,
        half_life_days=rooms.options.budget.half_life_days,
    )
    elsewhere = None
    if rooms.remote and remote.may_ask(wanted) and query.strip():
        elsewhere = rooms.remote.ask(intake.clean(query, rooms.options.gates), top_k)  # no secret leaves this machine
    result = rooms.search(query, request)
    binned = result.binned
    revived = _revive(rooms, binned, rooms.cause(actor, "revived"))
    if revived:
        result = _ask_again(rooms, query, replace(request, seeks_bin=False, also=tuple(revived)), result)
    with rooms.db.read() as c:
        found = memories.by_seq(c, [hit.seq for hit in result.hits], rooms.namespaces)
        waiting = 0 if rooms.embedding.why == "chosen_off" else vector_rows.waiting(c, rooms.namespaces)
    cause = rooms.cause(actor, "recall")
    meant = [found[hit.seq] for hit in result.hits if hit.seq in result.strong and hit.seq in found]
    restored = come_back(rooms, meant, cause)
    if restored:
        with rooms.db.read() as c:
            found = memories.by_seq(c, found, rooms.namespaces)
    if noted and rooms.options.activity_log and query.strip():
        said = sanitise(query[:LONGEST_READ])
        asked = Query(text=said, at=rooms.clock(), source=source, session_id=request.viewer_session)
        rooms.uses.note([hit.seq for hit in result.hits], asked)
    beside = reply_recall.Beside(
        revived=revived,
        restored=restored,
        run=cause.run,
        in_bin=tuple(item.id for item in binned if item.trash_reason in WANTED_GONE),
        heirs=_heirs(rooms, found.values()),
        waiting=waiting,
    )
    answer = reply_recall.recalled(result, found, beside, explain=explain, language=rooms.options.language)
    return answer if elsewhere is None else remote.merge(rooms, answer, elsewhere, top_k)


def _revive(rooms: Rooms, binned: Sequence[Memory], cause: Cause) -> Mapping[str, int]:
    """Take memories that automation binned out of the bin: the number of the event by id."""
    chosen = [memory for memory in binned if memory.trash_reason not in revival.STAYS][:MOST_REVIVED]
    back: dict[str, int] = {}
    if chosen:
        with suppress(StoreBusy), rooms.db.write(timeout_ms=WAIT_MS) as c:
            back = {memory.id: event for memory in chosen if (event := revival.revive(c, memory, cause))}
    if back and rooms.background:
        rooms.background.wake()
    return back


def _ask_again(rooms: Rooms, query: str, request: SearchRequest, first: SearchResult) -> SearchResult:
    """The answer with what came back in it."""
    again = rooms.search(query, request)
    return replace(again, took_ms=first.took_ms + again.took_ms, model_ms=first.model_ms + again.model_ms)


def _heirs(rooms: Rooms, found: Iterable[Memory]) -> Mapping[str, str]:
    """For each superseded memory the id of the one that took its place."""
    ended = [memory for memory in found if memory.state == "superseded"]
    if not ended:
        return {}
    with rooms.db.read() as c:
        return {
            memory.id: edge.src
            for memory in ended
            for edge in edges.of(c, memory.id, rooms.namespaces)
            if edge.relation == "supersedes" and edge.status == "applied" and edge.dst == memory.id
        }
