"""What is left to do in the hot files when the rows of a batch are committed: few writes, and nothing lost in any."""

import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from memorycore.domain.memory import Memory, Target
from memorycore.domain.routing import Reason
from memorycore.errors import Conflict, HotFileError, InvalidInput
from memorycore.hot.tier import HotTier
from memorycore.intake.candidate import Candidate, known
from memorycore.intake.judging import Judged
from memorycore.intake.record import Recorded
from memorycore.lifecycle import hot, relations, retire, rows
from memorycore.lifecycle.retire import Leaving, Rearranged
from memorycore.lifecycle.rows import Cause
from memorycore.lifecycle.turn import PAUSES_S
from memorycore.store import Database, vectors
from memorycore.store.memories import to_ms

Usage = dict[Target, str]
_STAYS_KEPT = frozenset({"pinned", "hidden", "undone", "unsafe"})
_STAYS = frozenset({"known", "updated"})  # what these say is true wherever the text lands


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What has to leave a hot file for what comes in, and its folded line as it shall be (None: as it is).

    ``fits``: whether what comes in has room then, if nobody else writes meanwhile.
    """

    leaving: Sequence[Leaving] = ()
    fold: str | None = None
    fits: bool = False


MakeRoom = Callable[[Target, Sequence[Memory]], Room]
"""What has to leave the file of a target for memories that are about to come in; it only plans."""


def place(
    db: Database,
    tiers: Mapping[Target, HotTier],
    candidates: Sequence[Candidate],
    recorded: Sequence[Recorded],
    cause: Cause,
    make_room: MakeRoom,
) -> tuple[Usage, dict[Target, HotFileError]]:
    """Exchange and reword entries, then append what is new, one write a file; what does not get in stays cold.

    Returns:
        How full each file is that changed, and why one could not be used.
    """
    usage: Usage = {}
    failures: dict[Target, HotFileError] = {}
    for candidate, item in zip(candidates, recorded, strict=True):
        with suppress(HotFileError):  # the change itself says what is wrong with the file
            _make_way(db, tiers, item, cause, make_room)
        if item.leaving:
            _exchange(db, tiers, item, cause, usage, failures)
        elif item.rewording:
            try:
                usage |= _reword(db, tiers, candidate, item, cause)
            except HotFileError as error:
                failures[item.memory.target] = error
    for target, tier in tiers.items():
        items = [item for item in recorded if item.begun and not item.leaving and item.memory.target == target]
        if not items:
            continue
        placed, begun = set[str](), [item.begun for item in items if item.begun]
        try:
            for done in bring_in(db, tier, begun, cause, make_room):
                usage[target] = done.usage
                placed |= done.placed
                items[0].pushed_out += len(done.left)
        except HotFileError as error:
            failures[target] = error
        for item in items:
            _settle(item, hot_now=item.memory.id in placed)
    _stamp(tiers, recorded, cause)
    return usage, failures


def bring_in(
    db: Database, tier: HotTier, begun: Sequence[hot.Begun], cause: Cause, make_room: MakeRoom
) -> Iterator[Rearranged]:
    """Bring texts into a file. Where somebody was faster and took the room that was made, it is made again.

    Raises:
        HotFileError: The file cannot be used now; what was to come is held back.
    """
    pauses_s = [*PAUSES_S]
    while True:
        room = _room(make_room, tier.target, begun)
        again = room.fits and bool(pauses_s)
        coming = {item.memory.id for item in begun}  # a pointer makes way for its own text
        leaving = [one for one in room.leaving if one.memory.id not in coming]
        done = retire.rearrange(db, tier, leaving, begun, cause, fold=room.fold, again=again)
        yield done
        begun = [item for item in begun if item.memory.id not in done.placed]
        if not begun or not again:
            return
        if not _STAYS_KEPT.isdisjoint(done.kept.values()):  # no time changes that: once more, for the last time
            pauses_s.clear()
        else:
            time.sleep(pauses_s.pop(0) * random.uniform(0.5, 1.5))  # noqa: S311 two that met shall not meet again


def _make_way(db: Database, tiers: Mapping[Target, HotTier], item: Recorded, cause: Cause, make_room: MakeRoom) -> None:
    """Let others leave where a text takes the place of a shorter one, and the file has no room for the rest."""
    begun = item.rewording or (item.begun if item.leaving else None)
    if begun is None:
        return
    tier = tiers[item.memory.target]
    going = [gone.memory for gone in item.leaving if gone.memory.target == tier.target] or [begun.memory]
    content = str(item.changes["content"]) if item.rewording else begun.memory.content
    if len(content) - sum(len(memory.content) for memory in going) <= tier.room():
        return
    room = make_room(tier.target, [replace(begun.memory, content=content)])
    ids = {memory.id for memory in going}
    leaving = [one for one in room.leaving if one.memory.id not in ids]
    retire.rearrange(db, tier, leaving, [], cause, fold=room.fold)


def _room(make_room: MakeRoom, target: Target, begun: Sequence[hot.Begun]) -> Room:
    """What has to leave. Where the file cannot be read, the write itself says so, and ends what was begun."""
    try:
        return make_room(target, [item.memory for item in begun])
    except HotFileError:
        return Room()


def _stamp(tiers: Mapping[Target, HotTier], recorded: Sequence[Recorded], cause: Cause) -> None:
    """Tell the sidecars what changed in rows whose entry stays as it is."""
    for target, tier in tiers.items():
        told = [item.memory for item in recorded if item.outcome == "known" and item.changes]
        if here := [memory for memory in told if (memory.residence, memory.target) == ("hot", target)]:
            tier.stamp(here, cause.at)


def _settle(item: Recorded, *, hot_now: bool) -> None:
    if hot_now:
        item.memory = replace(item.memory, residence="hot")
    if hot_now and item.outcome != "updated":
        item.outcome = "hot"
    elif item.outcome not in _STAYS:
        item.outcome = "fallback"


def _exchange(
    db: Database,
    tiers: Mapping[Target, HotTier],
    item: Recorded,
    cause: Cause,
    usage: Usage,
    failures: dict[Target, HotFileError],
) -> None:
    """Entries that the new text supersedes leave their file; where it belongs there too, it takes their place.

    A file that it comes into for an entry of the other one is changed last: beside what it contradicts, it stays out.
    """
    evidence = {judged.memory.id: judged.evidence() for judged in item.decision.superseded}
    auto = replace(cause, automatic=True, reason="supersedes")
    own, stays = item.memory.target, set[str]()
    for target in sorted(tiers, key=lambda name: name == own):
        gone = [begun for begun in item.leaving if begun.memory.target == target]
        added = item.begun if target == own else None
        if added and stays:
            hot.withdraw(db, added, replace(cause, reason="file_unusable"))
            added = None
        if not gone and not added:
            continue
        try:
            done = hot.exchange(db, tiers[target], gone, added, by=item.memory, cause=auto, evidence=evidence)
        except HotFileError as error:
            failures[target] = failures[own] = error
            stays |= {begun.memory.id for begun in gone}
            continue
        item.events.extend(done.events)
        usage[target] = done.usage
        if added:
            _settle(item, hot_now=done.placed)
    if stays:
        _only_proposed(item, stays)
    if item.begun and item.memory.residence != "hot":
        _settle(item, hot_now=False)


def _only_proposed(item: Recorded, ids: Collection[str]) -> None:
    """What could not leave its file is not superseded: that waits for a person."""
    decision = item.decision
    stays = tuple(judged for judged in decision.superseded if judged.memory.id in ids)
    ended = tuple(judged for judged in decision.superseded if judged not in stays)
    item.decision = replace(decision, superseded=ended, proposed=(*decision.proposed, *stays))
    kept = [reason for reason in item.reasons if ended or reason.code != "supersedes"]
    item.reasons = tuple(dict.fromkeys((*kept, Reason(code="proposed"))))


def _reword(db: Database, tiers: Mapping[Target, HotTier], candidate: Candidate, item: Recorded, cause: Cause) -> Usage:
    """A hot entry gets the wording that says more. Where it cannot, that wording becomes a memory of its own."""
    tier, begun, into = tiers[item.memory.target], item.rewording, item.decision.into
    if begun is None or into is None:
        return {}
    facts = {**cause.facts, "evidence": into.evidence()}
    auto = replace(cause, automatic=True, reason="refined", facts=facts)
    try:
        done = hot.rewrite(db, tier, begun, item.changes, auto)
    except Conflict:  # the entry is not there any more
        _as_its_own(db, tier, candidate, item, cause)
        return {}
    except (InvalidInput, HotFileError) as error:
        _as_its_own(db, tier, candidate, item, cause, beside=into)
        if isinstance(error, HotFileError):
            raise
        return {}
    item.memory, item.vector = done.memory, False
    item.events.append(done.event)
    return {tier.target: done.usage}


def _as_its_own(
    db: Database,
    tier: HotTier,
    candidate: Candidate,
    item: Recorded,
    cause: Cause,
    *,
    beside: Judged | None = None,
) -> None:
    """The wording becomes a memory of its own, on its way into the file; ``beside`` an entry that stays it waits."""
    now_ms = to_ms(cause.at) or 0
    with db.write() as c:
        stored = known(c, candidate.memory)
        if stored is None:
            stored = rows.add(c, candidate.memory, cause)
            vectors.queue_job(c, stored.namespace, stored.seq, now_ms)
            vectors.queue_judgement(c, stored.namespace, stored.seq, now_ms)
        if beside is not None:
            waits = replace(cause, automatic=True, reason="file_unusable")
            relations.propose(c, beside.memory, stored, "refines", waits, evidence=beside.evidence())
        elif candidate.hot and stored.residence != "hot" and stored.target == tier.target:
            item.begun = hot.begin(c, tier, stored, "add", cause)
    waiting = () if beside is None else (beside,)
    item.memory, item.outcome, item.vector = stored, "fallback" if waiting else "cold", False
    item.before = item.before if waiting else ""
    item.reasons = (Reason(code="proposed"),) if waiting else ()
    item.changes, item.decision = {}, replace(item.decision, into=None, proposed=waiting)
