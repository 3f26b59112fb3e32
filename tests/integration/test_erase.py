"""Erased is erased: no file, no table, no index keeps a text or its vector, and the receipt says what was looked at."""

import base64
import json
import random
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from memorycore.core import MemoryCore, RecallFilters
from memorycore.domain.memory import Draft
from memorycore.errors import NotFound
from memorycore.search import vector_index
from memorycore.server.caller import Caller
from memorycore.server.tools import BY_NAME
from memorycore.store import queries
from memorycore.store.database import migrate, migrations
from memorycore.testing import HashingEmbedder
from tests.homes import START, Home
from tests.raw import files_with, forms, tables_with
from tests.stock import in_stock, stock

# Words that stand nowhere else, with what makes JSON and the text index write them in another way.
WHOLE = 'Zephyrine Quillfeather keeps "the brass heron" behind the seventh bookshelf, naïvely.'
WORDS = ("zephyrine", "quillfeather", "heron")
OTHERS = ["The printer in room 4 was bought in Leeds.", "Always run the linter before a release."]
RULE = "Never deploy to the Quillfeather hosts on a Friday."


def store(core: MemoryCore, text: str, *, target: str | None = None) -> str:
    return core.remember(Draft(content=text, target=target), actor="test").get("id", "")  # type: ignore[arg-type]


def others(core: MemoryCore) -> list[str]:
    for text in OTHERS:
        store(core, text, target="memory")
    return OTHERS


def vectors_of(core: MemoryCore, memory_id: str) -> list[bytes]:
    with core.db.read() as c:
        return [bytes(row[0]) for row in c.execute(
            "SELECT vector FROM embedding e JOIN memory m ON m.seq = e.memory_seq WHERE m.id = ?", (memory_id,)
        )]  # fmt: skip


def test_no_file_and_no_table_keeps_an_erased_text_or_its_vector(tmp_path: Path) -> None:  # IL-191
    home = Home(tmp_path)
    with home.core(vectors=True) as core:
        others(core)
        memory_id = store(core, WHOLE)
        vector = vectors_of(core, memory_id)
        assert core.recall("Who keeps the brass heron?")["results"][0]["id"] == memory_id
        core.update(memory_id, content=WHOLE + " And the key.", actor="test")
        core.forget(memory_id, actor="test")
        receipt = core.erase(memory_id, actor="test")
        assert (receipt["status"], receipt["erased"], receipt.get("remaining")) == ("erased", True, [])
        assert receipt.get("searched", {"files": 0})["files"] >= 3
        assert receipt.get("removed", {})["earlier_wordings"] == 1
        assert len(core.recall("printer linter")["results"]) == 2
    assert files_with(tmp_path, *forms(WHOLE), *(word.encode() for word in WORDS), *vector) == []
    assert tables_with(home.options.data_dir / "memorycore.db", *WORDS) == []


def test_a_hot_entry_goes_from_file_sidecar_and_snapshots_and_the_others_stay(tmp_path: Path) -> None:  # IL-191
    home = Home(tmp_path)
    with home.core() as core:
        kept = others(core)[1:]
        memory_id = store(core, RULE, target="memory")
        for number in range(3):
            core.update(memory_id, content=f"{RULE} Really {number}.", actor="test")
        before = len(list((home.options.data_dir / "snapshots").rglob("MEMORY.md.*")))
        receipt = core.erase(memory_id, actor="test")
        assert receipt["status"] == "erased", receipt
        assert receipt.get("removed", {})["snapshots"] >= 3
        assert home.entries() == kept
        snapshots = list((home.options.data_dir / "snapshots").rglob("MEMORY.md.*"))
        assert {path.read_text(encoding="utf-8") for path in snapshots} == {kept[0]}
        assert 0 < len(snapshots) <= before + 1
        assert [row["text"] for row in core.audit("memory")["targets"][0]["rows"]] == kept
    assert files_with(tmp_path, *(word.encode() for word in ("Quillfeather", "quillfeather"))) == []
    assert memory_id not in (home.options.hot_dir / "MEMORY.meta.json").read_text(encoding="utf-8")


def test_only_the_id_is_left_and_says_what_became_of_it(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        memory_id = store(core, WHOLE)
        core.erase(memory_id, actor="test")
        story = core.inspect(memory_id)
        assert (story["state"], story["content"], story["tier"]) == ("purged", "", "none")
        assert [event["action"] for event in story["events"]] == ["erased"]
        assert list(core.export()) == []
        assert core.trash()["items"] == []
        for verb in (core.restore, core.forget, core.update):
            with pytest.raises(NotFound):
                verb(memory_id, actor="test")


def test_erasing_again_by_id_or_by_text_finds_nothing_left(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        memory_id = store(core, WHOLE)
        core.erase(memory_id, actor="test")
        again = core.erase(memory_id, actor="test")
        assert (again["status"], [one.partition(":")[0] for one in again.get("reasons", [])]) == (
            "erased", ["text_unknown", "hash_kept"]
        )  # fmt: skip
        by_text = core.erase(WHOLE, actor="test")
        assert (by_text["id"], by_text["status"], by_text.get("remaining")) == (memory_id, "erased", [])  # type: ignore[typeddict-item]
        assert core.erase("Zephyrine something", actor="test")["status"] == "candidates"


def test_a_copy_from_before_an_upgrade_is_cleaned_too(tmp_path: Path) -> None:  # IL-191
    home = Home(tmp_path)
    with home.core(vectors=True) as core:
        memory_id = store(core, WHOLE)
        store(core, OTHERS[0])
        core.update(memory_id, content=WHOLE + " Indeed.", actor="test")
        core.db.backup(home.options.data_dir / "memorycore.before-upgrade-2.db")
        old_copy(home.options.data_dir / "memorycore.before-upgrade-1.db", memory_id)
        receipt = core.erase(memory_id, actor="test")
        assert (receipt["status"], receipt.get("removed", {})["upgrade_copies"]) == ("erased", 2)
    assert files_with(tmp_path, *(word.encode() for word in WORDS)) == []
    with closing(apsw.Connection(str(home.options.data_dir / "memorycore.before-upgrade-2.db"))) as copy:
        assert copy.execute("SELECT content FROM memory").fetchall() == [(OTHERS[0],)]
        assert copy.execute("PRAGMA integrity_check").get == "ok"


def old_copy(path: Path, memory_id: str) -> None:
    """A copy as the first schema left it."""
    with closing(apsw.Connection(str(path))) as c:
        migrate(c, path, migrations()[:1])
        c.execute(
            "INSERT INTO memory (seq, id, namespace, content, norm_hash, kind, policy, state, residence, target, "
            "entry_hash, importance, confidence, created_at, updated_at, origin, change_seq) "
            "VALUES (7, ?, 'default', ?, 'x', 'fact', 'fact', 'active', 'cold', 'memory', 'x', 1, 1, 1, 1, '', 1)",
            (memory_id, WHOLE),
        )
        c.execute("INSERT INTO memory_text (rowid, tokens) VALUES (7, 'zephyrine quillfeather')")
        c.execute("INSERT INTO revision VALUES (7, 1, ?, 1, 1)", (WHOLE,))


def test_a_memory_that_contains_the_text_keeps_it_and_is_named(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        erased = store(core, RULE)
        holder = store(core, f"Quote from the handbook: “{RULE}” (page 4)")
        foreign = home.options.hot_dir / "MEMORY.md.bak.1"
        foreign.write_text(RULE, encoding="utf-8")
        receipt = core.erase(erased, actor="test")
        assert receipt["erased"]
        assert receipt.get("remaining") == [{"file": str(foreign), "form": "text"}]
        assert receipt.get("held_by") == [{"id": holder, "state": "active"}]
        assert RULE in core.inspect(holder)["content"]


def test_the_history_of_other_memories_loses_the_text(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        other = store(core, "The handbook lies in the office.")
        core.update(other, content=f"The handbook says: {WHOLE}", actor="test")
        core.update(other, content="The handbook lies in the cellar.", actor="test")
        erased = store(core, WHOLE)
        receipt = core.erase(erased, actor="test")
        assert (receipt["status"], "held_by" in receipt) == ("erased", False)
        wordings = [revision["content"] for revision in core.inspect(other)["revisions"]]
        assert wordings == ["The handbook lies in the office.", "The handbook says: [erased]"]
        assert core.inspect(other)["content"] == "The handbook lies in the cellar."
    assert files_with(tmp_path, *(word.encode() for word in WORDS)) == []


def test_copies_that_nobody_uses_any_more_go_along(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        first = store(core, WHOLE)
        core.forget(first, actor="test")
        second = store(core, WHOLE)
        core.forget(second, actor="test")
        receipt = core.erase(second, actor="test")
        assert receipt.get("also") == [first]
        assert core.trash()["items"] == []
    assert files_with(tmp_path, *(word.encode() for word in WORDS)) == []


def test_an_import_does_not_bring_back_what_was_erased(tmp_path: Path) -> None:  # IL-067
    from memorycore.transfer import from_line

    with Home(tmp_path).core() as core:
        memory_id = store(core, WHOLE)
        older = [from_line(line) for line in core.export()]
        core.erase(memory_id, actor="test")
        answers = list(core.remember_many(older, actor="import"))
        assert [(one["status"], one["tier"]) for one in answers] == [("refused", "none")]
        assert core.recall("brass heron Zephyrine")["results"] == []
        assert core.remember(Draft(content=WHOLE), actor="test")["status"] == "cold_stored"


def test_a_trial_says_what_would_go_and_changes_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        memory_id = store(core, RULE, target="memory")
        before = home.memory_file.read_bytes()
        trial = core.erase(memory_id, actor="test", dry_run=True)
        assert (trial.get("dry_run"), trial["erased"]) == (True, False)
        assert trial.get("items") == [{"id": memory_id, "content": RULE, "tier": "hot"}]
        assert {Path(one["file"]).name for one in trial.get("remaining", [])} >= {"MEMORY.md"}
        assert home.memory_file.read_bytes() == before
        assert core.inspect(memory_id)["state"] == "active"


def test_what_the_judge_compared_goes_from_the_history_of_the_other_memory(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        old = store(core, "The Quillfeather API listens on port 8443.")
        new = store(core, "The Quillfeather API now listens on port 9443.")
        assert "9443" in json.dumps(core.inspect(old)["events"]), "the ledger says what the difference was"
        assert core.erase(new, actor="test")["erased"]
        assert [event["action"] for event in core.inspect(old)["events"]] == ["added", "superseded"]
        assert "9443" not in json.dumps(core.inspect(old))
    assert tables_with(home.options.data_dir / "memorycore.db", "9443") == []


def test_history_and_earlier_times_show_nothing_of_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core(long_lived=True) as core, home.core(long_lived=True) as other:
        old = store(core, "The Quillfeather API listens on port 8443.")
        home.clock.forward(days=2)
        new = store(core, "The Quillfeather API now listens on port 9443.")
        assert core.inspect(old)["state"] == "superseded"
        earlier = RecallFilters(as_of=START + timedelta(days=1))
        everything = RecallFilters(include=("superseded",))
        for asked in (core, other):
            assert [hit["id"] for hit in asked.recall("Quillfeather port", filters=earlier)["results"]] == [old]
            assert len(asked.recall("Quillfeather port", filters=everything)["results"]) == 2
        assert core.erase(old, actor="test")["erased"]
        for asked in (core, other):
            assert asked.recall("Quillfeather port", filters=earlier)["results"] == []
            assert [hit["id"] for hit in asked.recall("Quillfeather port", filters=everything)["results"]] == [new]
        told = json.dumps([core.inspect(new), core.history(limit=50)])
        assert "listens on port 8443" not in told


def test_no_index_keeps_the_vector_of_what_was_erased(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, embedder = Home(tmp_path), HashingEmbedder()
    with home.core(vectors=True) as core:  # IL-070, IL-191
        texts = [f"The parcel number {n} weighs {n * 7} grams." for n in range(vector_index.WORTH_IT_FROM + 10)]
        parcels = [row.id for row in stock(core.db, [in_stock(*row) for row in enumerate(texts)], embedder)]
        assert vector_index.catch_up(core.db, embedder.fingerprint, embedder.calibration) == len(parcels)
        traces = [row_of(core, memory_id) for memory_id in parcels[:3]]
        assert core.erase(parcels[0], actor="test")["erased"]
        assert vector_index.catch_up(core.db, embedder.fingerprint, embedder.calibration) == len(parcels) - 1
        monkeypatch.setattr("sqlite_vec.loadable_path", lambda: "/nowhere/vec0")
    with home.core(vectors=True) as core:
        assert core.erase(parcels[1], actor="test")["erased"]
        assert core.recall("The parcel number 7 weighs 49 grams")["results"][0]["id"] == parcels[7]
    assert files_with(home.options.data_dir, *traces[0], *traces[1]) == []
    assert files_with(home.options.data_dir, traces[2][0]) == ["memorycore.db"]


def row_of(core: MemoryCore, memory_id: str) -> tuple[bytes, bytes]:
    """The vector of a memory, and the residual that the index has of it."""
    with core.db.read() as c:
        assert vector_index.load(c)
        vector, residual = c.execute(
            "SELECT e.vector, v.residual FROM memory_vector v JOIN embedding e ON e.id = v.rowid "
            "JOIN memory m ON m.seq = e.memory_seq WHERE m.id = ?", (memory_id,)
        ).fetchone() or (b"", b"")  # fmt: skip
    return bytes(vector), bytes(residual)[: len(bytes(vector))]


def test_a_text_that_is_masked_here_goes_from_the_files_where_it_stands(tmp_path: Path) -> None:
    home, key = Home(tmp_path), base64.b64decode("Z2hwX0FiQ2RFZkdoSWpLbE1uT3BRclN0VXZXeFl6MDEyMzQ1Njc4OQ==").decode()
    home.write_memory_file(OTHERS[1], f"The deploy token is {key}.")
    with home.core() as core:
        (hidden,) = (row for row in core.audit("memory")["targets"][0]["rows"] if row["text"] != OTHERS[1])
        assert key not in core.inspect(str(hidden["id"]))["content"]
        receipt = core.erase(str(hidden["id"]), actor="test")
        assert (receipt["status"], receipt.get("remaining")) == ("erased", [])
        assert home.entries() == [OTHERS[1]]
    assert files_with(tmp_path, key.encode()) == []


def test_a_text_too_short_to_look_for_is_erased_all_the_same(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        memory_id = store(core, "Room 4711")
        receipt = core.erase(memory_id, actor="test")
        assert receipt["erased"]
        assert "too_short" in [one.partition(":")[0] for one in receipt.get("reasons", [])]
    assert tables_with(tmp_path / "data" / "memorycore.db", "4711") == []


def test_a_long_text_on_many_pages_leaves_none_of_them(tmp_path: Path) -> None:
    chance = random.Random(3)
    lines = [f"{number}: " + "".join(chance.choices("bcdfghjklmnp", k=60)) for number in range(800)]
    with Home(tmp_path).core() as core:
        memory_id = store(core, "The log of the Quillfeather run says:\n" + "\n".join(lines))
        core.update(memory_id, importance=0.4, tags=("long",), actor="test")
        assert core.erase(memory_id, actor="test")["erased"]
    assert files_with(tmp_path, *(line.partition(": ")[2].encode() for line in lines)) == []


def test_what_a_dead_process_left_half_written_goes_and_files_of_others_are_named(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        memory_id = store(core, RULE, target="memory")
        left = home.options.hot_dir / ".memorycore-999999999-00ff00ff00ff.tmp"
        left.write_text(RULE, encoding="utf-8")
        foreign = home.options.hot_dir / "MEMORY.md.bak.1"
        foreign.write_text(RULE, encoding="utf-8")
        receipt = core.erase(memory_id, actor="test")
        assert (receipt["status"], left.exists()) == ("erased", False)
        assert receipt.get("remaining") == [{"file": str(foreign), "form": "text"}]
        assert foreign.exists()


def test_the_tool_erases_only_when_it_is_told_to(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        memory_id, caller = store(core, WHOLE), Caller(name="agent", session_id="s")
        tool = BY_NAME["memorycore_forget"]
        assert tool.run(core, tool.ask.model_validate({"id": memory_id}), caller)["status"] == "trashed"
        trial = tool.run(core, tool.ask.model_validate({"id": memory_id, "erase": True, "dry_run": True}), caller)
        assert (trial["dry_run"], core.inspect(memory_id)["state"]) == (True, "trashed")
        receipt = tool.run(core, tool.ask.model_validate({"query": WHOLE, "erase": True}), caller)
        assert (receipt["status"], receipt["erased"], receipt["id"]) == ("erased", True, memory_id)
        assert len(json.dumps(receipt)) < 600


def test_questions_that_speak_of_it_go_too_and_others_stay(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core(long_lived=True) as core, home.core() as other:
        others(core)
        memory_id = store(core, WHOLE)
        other.recall("Who keeps the brass heron?")
        core.recall("seventh bookshelf")
        other.recall("linter before a release")
        core.recall("printer in Leeds")
        core.rooms.uses.flush()
        trial = core.erase(memory_id, actor="test", dry_run=True)
        core.recall("Zephyrine again, not written yet")
        receipt = core.erase(memory_id, actor="test")
        assert (trial.get("removed", {})["questions"], receipt.get("removed", {})["questions"]) == (2, 3)
        assert receipt["erased"]
        with core.db.read() as c:
            left = [query.text for query in queries.since(c, "default", 0, limit=9)]
        assert sorted(left) == ["linter before a release", "printer in Leeds"]
    assert files_with(tmp_path, *(word.encode() for word in WORDS)) == []


def test_another_process_does_not_write_an_erased_question_down_later(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core, home.core(long_lived=True) as other:
        memory_id = store(core, WHOLE)
        other.recall("Who keeps the brass heron?")
        assert core.erase(memory_id, actor="test")["erased"]
        other.rooms.uses.flush()
        home.clock.forward(seconds=1)
        other.recall("printer in Leeds")
        other.rooms.uses.flush()
        with core.db.read() as c:
            assert [query.text for query in queries.since(c, "default", 0, limit=9)] == ["printer in Leeds"]
    assert files_with(tmp_path, b"heron") == []


def test_the_questions_in_a_copy_from_before_an_upgrade_go_too(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.core() as core:
        memory_id = store(core, WHOLE)
        core.recall("Who keeps the brass heron?")
        core.db.backup(home.options.data_dir / "memorycore.before-upgrade-5.db")
        assert core.erase(memory_id, actor="test")["status"] == "erased"
    assert files_with(tmp_path, b"heron") == []
