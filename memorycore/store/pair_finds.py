"""Pairs of memories that a walk over the store found to say the same, or not to go together.

Functions take an open connection.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import apsw

from memorycore.domain.memory import Memory
from memorycore.store.statements import all_rows, sql

Relation = Literal["same", "supersedes", "disputes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Find:
    """Two memories by their row numbers, the texts by their hashes as they were then."""

    new_seq: int
    old_seq: int
    relation: Relation
    new_hash: str
    old_hash: str
    evidence: Sequence[Mapping[str, str]] = ()

    def fits(self, new: Memory | None, old: Memory | None) -> bool:
        """Whether both are in use, with the texts that were compared."""
        if new is None or old is None or new.state != "active" or old.state != "active":
            return False
        return (new.norm_hash, old.norm_hash) == (self.new_hash, self.old_hash)


def put(
    c: apsw.Connection, new: Memory, old: Memory, relation: Relation, evidence: Sequence[Mapping[str, str]] = ()
) -> None:
    """Note what was found; of one pair the last find counts."""
    c.execute(sql["put_pair_found"], {
        "new_seq": new.seq, "old_seq": old.seq, "namespace": new.namespace, "relation": relation,
        "new_hash": new.norm_hash, "old_hash": old.norm_hash, "evidence": json.dumps(list(evidence)),
    })  # fmt: skip


def of(c: apsw.Connection, namespace: str, relations: Sequence[Relation]) -> list[Find]:
    """What was found and not acted on yet, in the order of the memories."""
    rows = all_rows(c, "pairs_found", {"namespace": namespace, "relations": json.dumps(list(relations))})
    return [
        Find(
            new_seq=new_seq, old_seq=old_seq, relation=relation, new_hash=new_hash, old_hash=old_hash,
            evidence=json.loads(evidence),
        )
        for new_seq, old_seq, relation, new_hash, old_hash, evidence in rows
    ]  # fmt: skip


def drop(c: apsw.Connection, find: Find) -> None:
    c.execute(sql["drop_pair_found"], {"new_seq": find.new_seq, "old_seq": find.old_seq})
