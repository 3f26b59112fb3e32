"""The exact channel: memories that the question names by (the end of an) id or reference, pointer, tag or quotation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from memorycore.domain.pointer import key_of
from memorycore.domain.text import fold, query_tokens
from memorycore.search.words import holding_all
from memorycore.store.statements import all_rows

if TYPE_CHECKING:
    import apsw

    from memorycore.domain.scoring import Mask
    from memorycore.domain.scoring import Rows as RowNumbers
    from memorycore.search.question import Question
    from memorycore.search.rows import Rows

MOST_PHRASE_CANDIDATES = 500
LONGEST_REFERENCE = 200


def find(c: apsw.Connection, question: Question, rows: Rows, allowed: Mask) -> dict[str, RowNumbers]:
    """Rows that are named, by how: ``name``, ``pointer``, ``tag``, ``phrase``."""
    named: set[int] = set()
    namespaces = json.dumps(rows.namespaces)
    if question.ids or len(question.text) <= LONGEST_REFERENCE:
        parameters = {"namespaces": namespaces, "ids": json.dumps(question.ids), "ref": question.text}
        named |= {int(seq) for (seq,) in all_rows(c, "seqs_by_name", parameters)}
    if question.id_ends:
        ends = {"namespaces": namespaces, "ends": json.dumps(question.id_ends)}
        named |= {int(seq) for (seq,) in all_rows(c, "seqs_by_id_end", ends)}
    found = {"name": rows.find(sorted(named))}
    if question.pointed:
        pointers = all_rows(c, "pointers", {"namespaces": namespaces})
        found["pointer"] = rows.find(sorted(seq for seq, text in pointers if key_of(text) in question.pointed))
    if question.tags:
        found["tag"] = rows.tagged(question.tags, all_of_them=False)
    for phrase in question.phrases:
        held = holding_all(c, query_tokens(phrase), rows, allowed)[:MOST_PHRASE_CANDIDATES]
        said = texts(c, rows, held)
        saying = [seq for seq, text in said.items() if phrase in fold(text)]
        found[f"phrase {phrase}"] = rows.find(sorted(saying))
    return {how: named[allowed[named]] for how, named in found.items()}


def texts(c: apsw.Connection, rows: Rows, chosen: RowNumbers) -> dict[int, str]:
    """The texts of these rows by seq."""
    if not len(chosen):
        return {}
    parameters = {
        "seqs": json.dumps(rows.columns.seq[chosen].tolist()), "namespaces": json.dumps(rows.namespaces),
    }  # fmt: skip
    found = {int(seq): str(text) for seq, text in all_rows(c, "texts_by_seq", parameters)}
    return found | {seq: rows.reworded[seq].wording.content for seq in rows.reworded.keys() & found}
