"""The service that has copies of the cold tier: what it is owed, what it finds besides, and what a person does to it.

Nothing here fails for the service being away: what it is owed waits in the store, and answers say so.
"""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memorycore import answers, intake
from memorycore.cold.contract import ColdHit
from memorycore.cold.remote import RemoteColdStore
from memorycore.domain.memory import Memory
from memorycore.domain.text import norm_hash, sanitise
from memorycore.errors import RemoteUnreachable, StoreError
from memorycore.govern import copies
from memorycore.govern.copies import Delivered, Post
from memorycore.options import GateOptions, RemoteOptions
from memorycore.outbound import read_address
from memorycore.search import RecallFilters
from memorycore.store import Database, edges, ledger, memories, remote

if TYPE_CHECKING:
    from memorycore.core.rooms import Rooms

PREFIX = "remote:"
SOON_S = 2.0  # so long a change waits for the service before it is answered
RECALL_S = 5.0
ROUND_S = 30.0
RANK_BASE = 60  # as in the fusion of our own channels: a first place does not outweigh everything else
LATER = "remote"  # in `pending`: the service does not know it yet
UNREACHABLE = "remote_unreachable"


@dataclass(slots=True, kw_only=True)
class Asked:
    """A question to the service, under way in a thread of its own. ``why``: the code of what went wrong."""

    thread: threading.Thread | None = None
    hits: Sequence[ColdHit] = ()
    failure: StoreError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """The service of one memory, as long as this process lives."""

    db: Database
    post: Post
    store: RemoteColdStore
    namespace: str
    timeout_s: float
    long_lived: bool

    def settle(self, ids: Collection[str] = ()) -> frozenset[str]:
        """Deliver what is due, for a moment; those of ``ids`` that wait on."""
        with suppress(StoreError):  # the database is busy: it is delivered later
            self.post.deliver(limit_s=SOON_S, in_passing=self.long_lived)
        return copies.owed(self.db, self.namespace, ids) if ids else frozenset()

    def warm(self) -> None:
        """Shake hands before anybody waits for it."""
        with suppress(StoreError):
            _ = self.store.capabilities

    def deliver(self, *, limit_s: float = ROUND_S) -> Delivered:
        return self.post.deliver(limit_s=limit_s)

    def ask(self, query: str, top_k: int) -> Asked:
        """Begin to ask the service."""
        asked = Asked()
        if self.post.is_resting():
            asked.failure = RemoteUnreachable(why="resting")
            return asked

        def run() -> None:
            try:
                asked.hits = self.store.recall(query, top_k=top_k, timeout_s=min(self.timeout_s, RECALL_S))
            except StoreError as error:
                asked.failure = error

        asked.thread = threading.Thread(target=run, name="memorycore-remote", daemon=True)
        asked.thread.start()
        return asked

    def answer(self, asked: Asked) -> Sequence[ColdHit] | None:
        """What the service found; None where it could not be asked."""
        if asked.thread is not None:
            asked.thread.join(RECALL_S + 1)
            if asked.thread.is_alive():
                asked.failure = RemoteUnreachable(host=self.store.host, why="timeout")
            with suppress(StoreError):
                failure = asked.failure
                self.post.note_recall(failure if isinstance(failure, RemoteUnreachable) else None)
        return None if asked.failure else asked.hits

    def confirm(self, items: Sequence[Memory], *, limit_s: float) -> frozenset[str]:
        """Those of which the service has a copy by now that was read back, or need not have one."""
        confirmed = {memory.id for memory in items if not remote.is_wanted(memory)}
        ends_at = time.monotonic() + limit_s
        with suppress(RemoteUnreachable):
            for memory in items if not self.post.is_resting() else ():
                remaining = ends_at - time.monotonic()
                if remaining > 0 and memory.id not in confirmed and self.post.bring_hot(memory, limit_s=remaining):
                    confirmed.add(memory.id)
        return frozenset(confirmed)

    def close(self) -> None:
        self.store.close()


def open_remote(
    options: RemoteOptions, db: Database, *, namespace: str, clock: Callable[[], datetime], long_lived: bool
) -> Remote:
    """The service that was chosen. It is noted in the store and not contacted yet.

    Raises:
        RemoteUnreachable: Its address is none.
    """
    store = RemoteColdStore(options.url, key=options.key, timeout_s=options.timeout_s)
    try:
        name = read_address(options.url).url.rstrip("/")
    except ValueError as error:
        raise RemoteUnreachable(why="bad_remote_url") from error
    post = Post(db=db, store=store, name=name, namespace=namespace, clock=clock, timeout_s=options.timeout_s)
    post.follow()
    return Remote(
        db=db, post=post, store=store, namespace=namespace, timeout_s=options.timeout_s, long_lived=long_lived
    )


def may_ask(filters: RecallFilters) -> bool:
    """Whether records of others can pass these filters: nothing is known of them but their text."""
    return filters in (RecallFilters(), RecallFilters(tier="cold"))


def merge(rooms: "Rooms", answer: answers.Recalled, asked: Asked, top_k: int) -> answers.Recalled:
    """The answer with records of others in it, fused by rank: the service's scores compare with nothing of ours."""
    if rooms.remote is None:
        return answer
    hits = rooms.remote.answer(asked)
    if hits is None:
        return {**answer, "degraded": [*answer.get("degraded", []), UNREACHABLE]}
    known = _known(rooms, hits)
    places = {known[hit.id]: place for place, hit in enumerate(hits, 1) if hit.id in known}
    ranked = list[tuple[float, answers.Found]]()
    for place, item in enumerate(answer["results"], 1):
        if item.get("weak"):
            ranked.append((0.0, item))
        else:
            ranked.append((_worth(place) + _worth(places.get(item["id"])), item))
    for place, hit in enumerate(hits, 1):
        if hit.id not in known:
            ranked.append((_worth(place), _foreign(hit, rooms.options.gates)))
    ranked.sort(key=lambda pair: -pair[0])
    return {**answer, "results": [item for _, item in ranked[:top_k]]}


def _worth(place: int | None) -> float:
    return 0.0 if place is None else 1 / (RANK_BASE + place)


def _known(rooms: "Rooms", hits: Sequence[ColdHit]) -> dict[str, str]:
    """The memory of ours behind a hit, by its id there: also of a text that we had, or that somebody wanted gone."""
    assert rooms.remote is not None  # noqa: S101 the caller has asked it
    own = rooms.options.namespace
    with rooms.db.read() as c:
        known = dict(remote.ours(c, rooms.remote.post.name, [hit.id for hit in hits]))
        for hit in hits:
            if hit.id in known:
                continue
            compared = norm_hash(sanitise(hit.content).strip())
            same = memories.select(c, "same_text_anywhere", namespace=own, norm_hash=compared)
            if same:
                known[hit.id] = same[0].id
            elif (grave := edges.tombstone(c, own, compared)) is not None:
                known[hit.id] = grave
    return known


def _foreign(hit: ColdHit, gates: GateOptions) -> answers.Found:
    """A record that others put there: shown behind the gates, as data, and never touched by automation."""
    shown = intake.as_kept(sanitise(hit.content).strip(), gates)
    item: answers.Found = {
        "id": PREFIX + hit.id,
        "tier": "cold",
        "score": round(min(1.0, max(0.0, hit.score)), 4),
        "content": shown.content,
    }
    if shown.untrusted:
        item["untrusted"] = True
    if hit.cut:
        item["cut"] = True
    return item


def told(rooms: "Rooms", answer: answers.Changed) -> answers.Changed:
    """The answer to a change, after the service was told of it, or with what it does not know yet."""
    if answer.get("dry_run") or "id" not in answer:
        return answer
    if rooms.settle_remote([answer["id"]]):
        answer["pending"] = [*answer.get("pending", []), LATER]
    return answer


def told_later(rooms: "Rooms", stored: list[answers.Stored]) -> list[answers.Stored]:
    """As ``told``, for texts that came in together."""
    waiting = rooms.settle_remote([answer["id"] for answer in stored if "id" in answer])
    for answer in stored:
        if answer.get("id") in waiting:
            answer["pending"] = [*answer.get("pending", []), LATER]
    return stored


def told_of_undo(rooms: "Rooms", answer: answers.Undone) -> answers.Undone:
    """As ``told``, for events that were taken back."""
    touched = [name for one in answer["events"] for name in (one.get("id"), one.get("made")) if name]
    if rooms.settle_remote(touched) and not answer.get("dry_run"):
        answer["pending"] = [LATER]
    return answer


def told_of_decision(rooms: "Rooms", answer: answers.Decided) -> answers.Decided:
    """As ``told``, for a decision, which may have changed two texts."""
    with rooms.db.read() as c:
        touched = {event.memory_id for event in ledger.of_run(c, answer.get("run", ""), rooms.namespaces)}
    if rooms.settle_remote(touched) and not answer.get("dry_run"):
        answer["pending"] = [LATER]
    return answer


def catch_up(rooms: "Rooms") -> bool:
    """Deliver what waits, when nobody waits for it; whether there is more to be delivered at once."""
    if rooms.remote is None:
        return False
    return rooms.remote.deliver(limit_s=ROUND_S if rooms.background else SOON_S).left and rooms.background is not None
