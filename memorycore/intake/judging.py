"""What a candidate means for the memories that are like it: one verdict on each, and one decision.

The judge reads texts. Here stands what only the rows know: who may change what, which came first, what was undone.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import apsw
from rapidfuzz import fuzz

from memorycore.domain.gates import MARKER
from memorycore.domain.judge import Verdict, judge
from memorycore.domain.memory import POLICIES, Memory
from memorycore.domain.text import fold
from memorycore.store import edges

MOST_REPLACED = 3
ONE_STATEMENT = 75.0  # of 100: how much of two wordings is common when only a value differs
_FINAL = ("same", "refines")  # they take the candidate's own row away


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The verdict on one neighbour. ``proposed``: only a person may do what would follow."""

    memory: Memory
    verdict: Verdict
    proposed: bool = False
    held_off: bool = False

    @property
    def relation(self) -> str:
        return self.verdict.relation

    def evidence(self) -> list[dict[str, str]]:
        return [{"code": item.code, "old": item.old, "new": item.new} for item in self.verdict.evidence]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What happens: the candidate's text goes into ``into`` (same, refines), or it is added and these follow."""

    judged: tuple[Judged, ...] = ()
    into: Judged | None = None
    superseded: tuple[Judged, ...] = ()
    disputed: tuple[Judged, ...] = ()
    exceptions: tuple[Judged, ...] = ()
    proposed: tuple[Judged, ...] = ()
    undecided: tuple[Judged, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether the text is to stay out of the prompt until a person has decided what it changes there."""
        return bool(self.proposed) and all(item.memory.residence != "hot" for item in self.superseded)

    @property
    def held_off(self) -> bool:
        return any(item.held_off for item in self.judged)


def decide(
    c: apsw.Connection,
    new: Memory,
    neighbours: Iterable[tuple[Memory, float | None]],
    *,
    untrusted: bool,
    own_tiers: Container[int | None],
) -> Decision:
    """Judge a candidate against its neighbours (memory and likeness 0..1 or None); nothing is changed.

    A destructive outcome needs a memory that still holds, a candidate that may be trusted, and no person's objection.
    ``own_tiers``: the hot files within reach.
    """
    judged = [
        _weighed(
            c, new, old, judge(old.content, new.content, likeness=likeness), untrusted=untrusted, own_tiers=own_tiers
        )
        for old, likeness in neighbours
        if old.id != new.id
    ]
    active = [item for item in judged if holds(item.memory, new.created_at) and not item.held_off]
    free = [item for item in active if not item.proposed]
    into = next((item for relation in _FINAL for item in _of(free, relation)), None)
    superseded = tuple(_of(free, "supersedes"))[:MOST_REPLACED]
    if superseded and into is not None and into.relation == "refines":
        into = None  # two wordings of one thing, and one of them is out of date: nothing is lost this way
    if into is not None:
        return Decision(judged=tuple(judged), into=into)
    return Decision(
        judged=tuple(judged),
        superseded=superseded,
        disputed=tuple(_of(active, "disputes"))[:MOST_REPLACED],
        exceptions=tuple(item for item in active if item.verdict.limited),
        proposed=tuple(item for item in active if item.proposed),
        undecided=tuple(item for item in active if item.verdict.undecided),
    )


def holds(memory: Memory, now: datetime) -> bool:
    """Whether a memory is in use: a text that goes into one whose time is over would never be seen again."""
    return memory.state == "active" and (memory.valid_until is None or memory.valid_until > now)


def _of(judged: Sequence[Judged], relation: str) -> Iterable[Judged]:
    return (item for item in judged if item.relation == relation)


def _weighed(
    c: apsw.Connection, new: Memory, old: Memory, verdict: Verdict, *, untrusted: bool, own_tiers: Container[int | None]
) -> Judged:
    relation = verdict.relation
    if relation == "disputes" and _is_newer(new, old):
        relation = "supersedes"
    if relation == "supersedes" and (untrusted or _is_older(new, old) or _outranked(new, old)):
        relation = "disputes"
    if relation == "refines" and _outranked(new, old):
        relation = "different"
    hidden = MARKER.search(old.content) or MARKER.search(new.content)  # nobody knows whether that is the same
    if relation in {"same", "refines"} and (untrusted or hidden):
        relation = "different"
    if relation != verdict.relation:
        verdict = replace(verdict, relation=relation)
    changes = relation in {"supersedes", "refines"}
    return Judged(
        memory=old,
        verdict=verdict,
        proposed=changes and is_for_a_person(old, own_tiers),
        held_off=relation in {"same", "refines", "supersedes", "disputes"} and _undone(c, new, old),
    )


def is_guarded(memory: Memory) -> bool:
    """Whether only a person may change a memory: pinned, of the core, or a red line.

    So is an entry that is masked here: what somebody wrote there stands nowhere else, and could not be brought back.
    """
    is_masked = memory.residence == "hot" and bool(memory.file_hash)
    return memory.pinned or memory.policy == "core" or "red_line" in memory.protected or is_masked


def is_for_a_person(memory: Memory, own_tiers: Container[int | None]) -> bool:
    """As ``is_guarded``, or its entry stands in a hot file of another folder, which would go on to show it."""
    return is_guarded(memory) or (memory.in_file and memory.hot_tier not in own_tiers)


def inherited(old: Memory, new: Memory) -> dict[str, Any]:
    """What a memory gets from the one that it takes the place of.

    What follows a text that stood in the prompt, or was protected, is no less than that. A text that gives orders from
    elsewhere gets nothing.
    """
    if "untrusted" in new.flags or not (old.in_file or is_guarded(old)):
        return {}
    is_stronger = POLICIES.index(old.policy) < POLICIES.index(new.policy)
    wanted: dict[str, Any] = {
        "policy": old.policy if is_stronger else new.policy,
        "kind": old.kind if is_stronger else new.kind,
        "protected": tuple(dict.fromkeys((*new.protected, *old.protected))),
        "pinned": new.pinned or old.pinned,
        "importance": new.importance if new.importance_given else max(new.importance, old.importance),
        "target": old.target if new.residence == "cold" else new.target,
    }
    return {name: value for name, value in wanted.items() if value != getattr(new, name)}


def _undone(c: apsw.Connection, new: Memory, old: Memory) -> bool:
    return edges.hands_off(c, old, new.norm_hash, now=new.created_at)


def _is_newer(new: Memory, old: Memory) -> bool:
    """Whether both were read at the same place, which says something else now.

    That two things happened on different days says nothing: both may have happened.
    """
    if new.source is None or old.source is None or fuzz.ratio(fold(old.content), fold(new.content)) < ONE_STATEMENT:
        return False
    return (new.source.uri, new.source.locator) == (old.source.uri, old.source.locator)


def _is_older(new: Memory, old: Memory) -> bool:
    return bool(new.occurred_at and new.occurred_at < (old.occurred_at or old.created_at))


def _outranked(new: Memory, old: Memory) -> bool:
    """Whether the old one has the better authority: what a page says does not end what somebody told us."""
    if new.authority != old.authority:
        return new.authority < old.authority
    if new.source is None or new.source.status == "verified":
        return False
    return old.source is None or old.source.uri != new.source.uri
