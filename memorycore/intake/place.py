"""What is left to do in the hot files when the rows of a batch are committed: few writes, and nothing lost in any."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memorycore.domain.memory import Target
from memorycore.errors import Conflict, HotFileError, InvalidInput
from memorycore.hot.tier import HotTier
from memorycore.intake.candidate import Candidate
from memorycore.intake.record import Recorded
from memorycore.lifecycle import hot, rows
from memorycore.lifecycle.rows import Cause
from memorycore.store import Database, vectors
from memorycore.store.memories import to_ms

Usage = dict[Target, str]
_STAYS = frozenset({"known", "updated"})  # what these say is true wherever the text lands


def place(
    db: Database,
    tiers: Mapping[Target, HotTier],
    candidates: Sequence[Candidate],
    recorded: Sequence[Recorded],
    cause: Cause,
) -> tuple[Usage, dict[Target, HotFileError]]:
    """Exchange and reword entries, then append what is new, one write a file; what does not get in stays cold.

    Returns:
        How full each file is that changed, and why one could not be used.
    """
    usage: Usage = {}
    failures: dict[Target, HotFileError] = {}
    for candidate, item in zip(candidates, recorded, strict=True):
        try:
            if item.leaving:
                usage |= _exchange(db, tiers, item, cause)
            elif item.rewording:
                usage |= _reword(db, tiers, candidate, item, cause)
        except HotFileError as error:
            failures[item.memory.target] = error
            item.outcome = "fallback"
    for target, tier in tiers.items():
        items = [item for item in recorded if item.begun and not item.leaving and item.memory.target == target]
        if not items:
            continue
        placed: frozenset[str] = frozenset()
        try:
            done = hot.place(db, tier, [item.begun for item in items if item.begun], cause)
            usage[target], placed = done.usage, done.ids
        except HotFileError as error:
            failures[target] = error
        for item in items:
            _settle(item, hot_now=item.memory.id in placed)
    return usage, failures


def _settle(item: Recorded, *, hot_now: bool) -> None:
    item.memory = replace(item.memory, residence="hot" if hot_now else "cold")
    if hot_now and item.outcome != "updated":
        item.outcome = "hot"
    elif item.outcome not in _STAYS:
        item.outcome = "fallback"


def _exchange(db: Database, tiers: Mapping[Target, HotTier], item: Recorded, cause: Cause) -> Usage:
    """Entries that the new text supersedes leave their file; where it belongs there too, it takes their place."""
    usage: Usage = {}
    evidence = {judged.memory.id: judged.evidence() for judged in item.decision.superseded}
    auto = replace(cause, automatic=True, reason="supersedes")
    for target, tier in tiers.items():
        gone = [begun for begun in item.leaving if begun.memory.target == target]
        added = item.begun if item.memory.target == target else None
        if not gone and not added:
            continue
        done = hot.exchange(db, tier, gone, added, by=item.memory, cause=auto, evidence=evidence)
        item.events.extend(done.events)
        usage[target] = done.usage
        if added:
            _settle(item, hot_now=done.placed)
    return usage


def _reword(db: Database, tiers: Mapping[Target, HotTier], candidate: Candidate, item: Recorded, cause: Cause) -> Usage:
    """A hot entry gets the wording that says more. Where it cannot, that wording becomes a memory of its own."""
    tier, begun, into = tiers[item.memory.target], item.rewording, item.decision.into
    if begun is None or into is None:
        return {}
    facts = {**cause.facts, "evidence": into.evidence()}
    auto = replace(cause, automatic=True, reason="refined", facts=facts)
    try:
        done = hot.rewrite(db, tier, begun, item.changes, auto)
    except (Conflict, InvalidInput, HotFileError) as error:
        with db.write() as c:
            stored = rows.add(c, candidate.memory, cause)
            vectors.queue_job(c, stored.namespace, stored.seq, to_ms(cause.at) or 0)
        item.memory, item.outcome, item.vector, item.before = stored, "cold", False, ""
        item.reasons, item.decision = (), replace(item.decision, into=None)
        if isinstance(error, HotFileError):
            raise
        return {}
    item.memory, item.vector = done.memory, False
    item.events.append(done.event)
    return {tier.target: done.usage}
