"""A memory, every copy of its text in the database, and how they go. Functions take an open connection.

What is deleted leaves nothing readable only together with ``Database.vacuum`` and a cut of the log: ``secure_delete``
overwrites what is deleted where it stands, but not what SQLite left behind when it moved rows between pages earlier.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import apsw

from memorycore.domain.memory import Memory
from memorycore.domain.text import norm_hash
from memorycore.store import memories, queries, standing, traces
from memorycore.store.database import Database, driver_errors
from memorycore.store.statements import all_rows, first_row, only_row, sql

ERASED = "[erased]"
LEAST_PIECES = 2
MOST_PIECES = 120
ONLY_LOG, WHOLE_FILE = 1, 2  # what is still to be cleared
# What may stay in the ledger of another memory that names the erased one: ids, numbers and codes.
_HARMLESS = frozenset({
    "as", "by", "edge", "edge_was", "erased", "event", "fields", "from", "later", "made", "model", "recovered",
    "relation", "to", "undid", "was", "with",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Another memory whose text is this one, or has it as a part: it is not erased."""

    id: str
    state: str
    entry_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """What is to be erased: memories (the one meant comes first), every wording of theirs, their vectors.

    ``holders`` and ``elsewhere`` (a count, of other namespaces) keep the text for reasons of their own.
    """

    memories: tuple[Memory, ...]
    texts: tuple[str, ...] = ()
    vectors: tuple[bytes, ...] = ()
    holders: tuple[Holder, ...] = ()
    elsewhere: int = 0
    counts: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(memory.id for memory in self.memories)

    @property
    def hashes(self) -> frozenset[str]:
        """Of the compared form of every wording."""
        return frozenset(map(norm_hash, self.texts))

    @property
    def passages(self) -> tuple[str, ...]:
        """Wordings that count also as a part of another text, the longest first."""
        return tuple(sorted(filter(traces.is_telling, self.texts), key=len, reverse=True))


def look(c: apsw.Connection, roots: Sequence[Memory], namespaces: Sequence[str], *, also: Iterable[str] = ()) -> Doomed:
    """Find everything that goes with memories: their wordings, and rows nobody uses any more that hold one of them.

    ``also``: wordings that only the caller knows, such as an entry whose secret is masked here.
    """
    texts = dict.fromkeys(text for root in roots for text in wordings(c, root, namespaces))
    texts |= dict.fromkeys(also)
    hashes = json.dumps(sorted(map(norm_hash, texts)))
    copies = memories.select(c, "copies_of", hashes=hashes, namespaces=json.dumps(namespaces))
    known = {root.id for root in roots}
    doomed = (*roots, *(copy for copy in copies if copy.id not in known))
    for copy in doomed[len(roots) :]:
        texts |= dict.fromkeys(wordings(c, copy, namespaces))
    said = tuple(text for text in texts if text.strip())
    seqs = json.dumps([one.seq for one in doomed])
    holders, elsewhere = _holders(c, said, seqs, namespaces)
    counted = only_row(c, "count_kept_of", {"seqs": seqs, "ids": json.dumps([one.id for one in doomed])})
    names = ("earlier_wordings", "vectors", "ledger_lines", "edges")
    return Doomed(
        memories=doomed,
        texts=said,
        vectors=tuple(bytes(vector) for (vector,) in all_rows(c, "vectors_of", {"seqs": seqs})),
        holders=holders,
        elsewhere=elsewhere,
        counts={"memories": len(doomed), **dict(zip(names, map(int, counted), strict=True))},
    )


def wordings(c: apsw.Connection, memory: Memory, namespaces: Sequence[str]) -> list[str]:
    """Every text that this memory has, had, was about to get, or was said again in, and its pointers.

    A pointer that another memory has as well is that one's.
    """
    found = [memory.content, *(str(revision["content"]) for revision in memories.revisions(c, memory))]
    stood = standing.of(c, memory)
    pointers = {stood.pointer} if stood is not None else set[str]()
    for event in memories.events(c, memory.id, namespaces):
        found += [text for text in (event.facts.get("said"), *event.change.get("content", ())) if isinstance(text, str)]
        pointers.add(str(event.facts.get("pointer", "")))
    for pointer in sorted(pointers - {""}):
        where = {"pointer": pointer, "seq": memory.seq, "memory_id": memory.id}
        found += [] if first_row(c, "pointer_elsewhere", where) else [pointer]
    for texts in all_rows(c, "intents_of", {"memory_id": memory.id, "namespace": memory.namespace}):
        found += [text for text in texts if text]
    return found


def _holders(
    c: apsw.Connection, texts: Iterable[str], seqs: str, namespaces: Sequence[str]
) -> tuple[tuple[Holder, ...], int]:
    own: dict[str, Holder] = {}
    others: set[str] = set()
    for text in texts:
        where = {"text": text, "telling": traces.is_telling(text), "norm_hash": norm_hash(text), "seqs": seqs}
        for memory_id, namespace, state, entry_hash in all_rows(c, "memories_holding", where):
            if namespace in namespaces:
                own[memory_id] = Holder(id=memory_id, state=state, entry_hash=entry_hash)
            else:
                others.add(memory_id)
    return tuple(own.values()), len(others)


def out_of_use(c: apsw.Connection, text: str, namespaces: Sequence[str]) -> Memory | None:
    """The newest memory with this text that nobody uses any more: in the bin, superseded, expired."""
    where = {"hashes": json.dumps([norm_hash(text)]), "namespaces": json.dumps(namespaces)}
    found = memories.select(c, "copies_of", **where)
    return found[-1] if found else None


def all_traces(doomed: Doomed) -> list[traces.Trace]:
    """Everything to look for while the rows are still there."""
    most = _pieces_of_each(doomed)
    found = [form for text in doomed.passages for _, forms in traces.of_text(text, most=most) for form in forms]
    found += [form for text in doomed.passages for _, form in traces.of_words(text, most=most)]
    found += [form for vector in doomed.vectors for form in traces.of_vector(vector)]
    return list(dict.fromkeys(found))


def traces_of(c: apsw.Connection, doomed: Doomed) -> tuple[list[traces.Trace], list[traces.Trace]]:
    """What to look for in files after the rows are gone.

    Returns:
        Traces that must stand nowhere, and those of what other memories have for themselves: these may stand in the
        database and in the memory files.
    """
    free: list[traces.Trace] = []
    owned: list[traces.Trace] = []
    most = _pieces_of_each(doomed)
    for text in doomed.passages:
        for piece, forms in traces.of_text(text, most=most):
            (owned if first_row(c, "is_in_a_memory", {"text": piece}) else free).extend(forms)
        for piece, form in traces.of_words(text, most=most):
            if not any(first_row(c, name, {"tokens": piece}) for name in ("tokens_in_index", "tokens_in_archive")):
                free.append(form)
    for vector in doomed.vectors:
        if first_row(c, "is_a_vector", {"vector": vector}) is None:
            free += traces.of_vector(vector)
    return list(dict.fromkeys(free)), list(dict.fromkeys(owned))


def _pieces_of_each(doomed: Doomed) -> int:
    """Of many long texts fewer pieces each: every one is looked for in every row and every file."""
    return max(LEAST_PIECES, min(traces.MOST_PIECES, MOST_PIECES // max(1, len(doomed.passages))))


def delete_rows(c: apsw.Connection, doomed: Iterable[tuple[int, str]], *, kept_event: int = 0) -> None:
    """Delete memories by (seq, id) with all that is theirs: words, vectors, wordings, ledger, edges, jobs."""
    tables = _tables(c)
    for seq, memory_id in doomed:
        c.execute(sql["delete_text"], {"seq": seq})
        c.execute(sql["delete_events_of"], {"memory_id": memory_id, "kept": kept_event})
        c.execute(sql["delete_intents_of"], {"memory_id": memory_id})
        if "edge" in tables:
            c.execute(sql["delete_archive_text"], {"seq": seq})
            c.execute(sql["delete_edges_of"], {"memory_id": memory_id})
            c.execute(sql["delete_hands_off_of"], {"memory_id": memory_id})
        c.execute(sql["delete_memory"], {"seq": seq})


def keep_id(c: apsw.Connection, memory: Memory, at_ms: int) -> None:
    """Put an empty row in the place of an erased one, so that nobody takes its id and every follower lets it go."""
    (change,) = only_row(c, "next_change")
    c.execute(sql["keep_id"], {
        "seq": memory.seq, "id": memory.id, "namespace": memory.namespace, "at": at_ms, "change_seq": change,
    })  # fmt: skip


def blank_passages(c: apsw.Connection, doomed: Doomed, passages: Iterable[str], namespaces: Sequence[str]) -> int:
    """Take passages out of the history of other memories: earlier wordings, ledger, evidence. How many were changed.

    What the ledger lost cannot be undone from it any more. Memories that hold the text themselves keep their history.
    """
    changed = 0
    has_ledger = "edge" in _tables(c)  # that of an older schema holds no texts
    for text in passages:
        for seq, version, content in all_rows(c, "revisions_holding", _where(doomed, text, namespaces)):
            reworded = {"content": content.replace(text, ERASED), "seq": seq, "version": version}
            c.execute(sql["reword_revision"], reworded)
            changed += 1
        if has_ledger:
            changed += _blank_ledger(c, _where(doomed, json.dumps(text, ensure_ascii=False)[1:-1], namespaces))
    return changed


def _blank_ledger(c: apsw.Connection, where: Mapping[str, object]) -> int:
    found = all_rows(c, "events_holding", where)
    for event, facts, _ in found:
        _blank_event(c, event, facts, "{}")
    c.execute(sql["blank_evidence"], {"text": where["text"], "namespaces": where["namespaces"]})
    return len(found)


def blank_evidence(c: apsw.Connection, doomed: Doomed, namespaces: Sequence[str]) -> int:
    """Take what speaks of the memories out of ledger lines of others that name them; how many were changed."""
    changed = 0
    if "edge" in _tables(c):
        for memory_id in doomed.ids:
            named = {"memory_id": memory_id, "namespaces": json.dumps(namespaces), "own": json.dumps(doomed.ids)}
            for event, facts, change in all_rows(c, "events_naming", named):
                if json.loads(facts).keys() - _HARMLESS:
                    _blank_event(c, event, facts, change)
                    changed += 1
    return changed


def _where(doomed: Doomed, text: str, namespaces: Sequence[str]) -> dict[str, object]:
    spared = json.dumps([*doomed.ids, *(holder.id for holder in doomed.holders)])
    return {"text": text, "namespaces": json.dumps(namespaces), "spared": spared}


def _blank_event(c: apsw.Connection, event: int, facts: str, change: str) -> None:
    known = cast("dict[str, object]", json.loads(facts))
    kept = {name: fact for name, fact in known.items() if name in _HARMLESS}
    c.execute(sql["blank_event"], {"facts": json.dumps({**kept, "erased": True}), "change": change, "seq": event})


def rebuild_words(c: apsw.Connection) -> None:
    """Make both text indexes anew from what is left, so that no old segment keeps a word."""
    c.execute(sql["rebuild_text"])
    if "archive_text" in _tables(c):
        c.execute(sql["rebuild_archive_text"])


def blank_vector_index(c: apsw.Connection) -> None:
    """Zero the index of vectors, which keeps those of rows that were deleted; the next search makes it anew.

    It works on the table beneath the index, so that it does not need the extension.
    """
    if "memory_vector_vector_chunks00" in _tables(c):
        c.execute(sql["blank_vector_index"])
        c.execute(sql["set_vector_index_recipe"], {"recipe": 0})


def erase_in_copy(path: Path, doomed: Doomed, namespaces: Sequence[str]) -> int:
    """Erase from a copy of the database, of this schema or an older one; how many memories went.

    Raises:
        StoreError: The copy cannot be opened or written.
    """
    flags = apsw.SQLITE_OPEN_READWRITE
    with driver_errors(path), closing(apsw.Connection(str(path), flags=flags)) as c:
        c.pragma("secure_delete", 1)
        c.pragma("foreign_keys", 1)
        c.execute("BEGIN IMMEDIATE")
        where = {
            "ids": json.dumps(doomed.ids), "hashes": json.dumps(sorted(doomed.hashes)),
            "spared": json.dumps([holder.id for holder in doomed.holders]), "namespaces": json.dumps(namespaces),
        }  # fmt: skip
        rows = [(int(seq), str(memory_id)) for seq, memory_id in all_rows(c, "seqs_to_erase", where)]
        delete_rows(c, rows)
        blank_passages(c, doomed, doomed.passages, namespaces)
        blank_evidence(c, doomed, namespaces)
        if "query_log" in _tables(c):
            queries.drop(c, queries.about(c, doomed.texts, [seq for seq, _ in rows])[0])
        rebuild_words(c)
        blank_vector_index(c)
        c.execute("COMMIT")
        c.execute("VACUUM")
        c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return len(rows)


def note_pending(c: apsw.Connection) -> None:
    """Write down that the disk still holds what is erased here, so that whoever comes next clears it, if we cannot."""
    c.execute(sql["note_clearing"], {"what": WHOLE_FILE})


def clear_disk(db: Database, *, wait_s: float = 0.0) -> bool:
    """Leave nothing on the disk of what was erased: new text indexes, an empty vector index, a new file, a cut log.

    Returns:
        False when somebody still read the old state after ``wait_s``: then only the log is left to be cut, later.

    Raises:
        StoreError: The file cannot be written anew now.
    """
    with db.read() as c:
        due = first_row(c, "clearing_due")
    if due is None:
        return True
    if due[0] == WHOLE_FILE:
        with db.write() as c:
            rebuild_words(c)
            blank_vector_index(c)
        db.rebuild()
        with db.write() as c:
            c.execute(sql["clearing_done"])
            c.execute(sql["note_clearing"], {"what": ONLY_LOG})
    if not db.cut_log(wait_s=wait_s):
        return False
    with db.write() as c:
        c.execute(sql["clearing_done"])
    return True


def _tables(c: apsw.Connection) -> frozenset[str]:
    return frozenset(str(name) for (name,) in all_rows(c, "table_names"))
