"""What follows from how two memories stand to each other. Each function is one transition with one event.

``new`` is the memory that came later. All take the open connection of a write transaction and answer the number of the
event, which undo takes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import apsw

from memorycore.domain.memory import Memory
from memorycore.lifecycle import rows
from memorycore.lifecycle.rows import Cause
from memorycore.store import edges
from memorycore.store.edges import Edge, Relation

Evidence = Iterable[Mapping[str, str]]


def supersede(
    c: apsw.Connection,
    old: Memory,
    new: Memory,
    cause: Cause,
    *,
    evidence: Evidence = (),
    relation: Relation = "supersedes",
) -> int:
    """The newer one takes the place of the old one, which stays for history."""
    edge = edges.link(c, new, old, relation, status="applied", origin=cause.actor, at=cause.at, evidence=evidence)
    rows.supersede(c, old, new, replace(cause, facts={**cause.facts, "edge": edge}))
    return c.last_insert_rowid()


def dispute(c: apsw.Connection, old: Memory, new: Memory, cause: Cause, *, evidence: Evidence = ()) -> int:
    """Both stay; the contradiction is open until somebody settles it."""
    return _joined(
        c, (new, old), "contradicts", "disputed", replace(cause, facts={**cause.facts, "with": old.id}), evidence
    )


def allow_exception(c: apsw.Connection, old: Memory, new: Memory, cause: Cause, *, evidence: Evidence = ()) -> int:
    """The newer one holds within limits only, and the old one everywhere else."""
    return _joined(
        c, (new, old), "exception_to", "excepted", replace(cause, facts={**cause.facts, "to": old.id}), evidence
    )


def settle(c: apsw.Connection, old: Memory, new: Memory, edge: Edge, cause: Cause) -> int:
    """A person lets both stand: nothing is open between them any more."""
    edges.settle(c, edge, "settled", by=cause.actor, at=cause.at)
    facts = {**cause.facts, "with": old.id, "edge": edge.id}
    return rows.record(c, new, new, "settled", replace(cause, facts=facts))


def propose(
    c: apsw.Connection, old: Memory, new: Memory, relation: Relation, cause: Cause, *, evidence: Evidence = ()
) -> int:
    """Automation would supersede or refine a memory that only a person may change: it waits for one."""
    edge = edges.link(c, new, old, relation, status="proposed", origin=cause.actor, at=cause.at, evidence=evidence)
    facts = {**cause.facts, "to": old.id, "relation": relation, "edge": edge}
    return rows.record(c, new, new, "proposed", replace(cause, facts=facts))


def _joined(
    c: apsw.Connection,
    between: tuple[Memory, Memory],
    relation: Relation,
    action: str,
    cause: Cause,
    evidence: Evidence,
) -> int:
    new, old = between
    status: edges.EdgeStatus = "open" if relation == "contradicts" else "applied"
    edge = edges.link(c, new, old, relation, status=status, origin=cause.actor, at=cause.at, evidence=evidence)
    return rows.record(c, new, new, action, replace(cause, facts={**cause.facts, "edge": edge}))
