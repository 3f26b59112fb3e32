"""What went wrong with stores elsewhere, tried on ours: locks, logs, indexes out of step, odd vectors, odd signs."""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import apsw
import pytest
import sqlite_vec

from memorycore.core import MemoryCore, RecallFilters
from memorycore.domain.memory import Draft, Memory, Source, parse_time
from memorycore.errors import NotFound
from memorycore.lifecycle import rows
from memorycore.lifecycle.rows import Cause
from memorycore.store import Database, memories, only_row, open_database, vectors
from memorycore.store.database import LOG_BYTES
from memorycore.store.upkeep import SPARE_PAGES
from memorycore.testing import HashingEmbedder
from tests.command_line import CommandLine, lines
from tests.homes import START, Home, fact
from tests.stock import in_stock, stock

LOG_BOUND = 64 * 1024 * 1024


def parcels(count: int) -> list[Memory]:
    texts = [
        f"The parcel number {number} weighs {number * 7 % 1000} grams in row {number % 97}." for number in range(count)
    ]
    return [in_stock(number, text) for number, text in enumerate(texts)]


def integrity(core: MemoryCore) -> dict[str, object]:
    return core.maintain(["integrity"])["steps"][0]


# Locks and logs


def test_nobody_waits_a_second_to_store_while_maintenance_mends_thousands(tmp_path: Path) -> None:  # IL-048
    home = Home(tmp_path)
    waits: list[float] = []
    over = threading.Event()

    def client() -> None:
        with home.core() as other:
            while not over.wait(0.05):
                began = time.perf_counter()
                other.remember(fact(len(waits)), actor="client")
                waits.append(time.perf_counter() - began)

    with home.core() as core:
        stock(core.db, parcels(4_000))
        with core.db.write() as c:
            c.execute("DELETE FROM memory_text WHERE rowid > 1000")
            c.execute(
                "INSERT INTO memory_use (memory_seq, used_at)"
                " SELECT m.seq, value FROM memory m, json_each('[1,2,3,4,5,6,7,8,9]')"
            )
        storing = threading.Thread(target=client)
        storing.start()
        done = {step["step"]: step for step in core.maintain()["steps"]}
        over.set()
        storing.join()
        assert (done["integrity"]["rows_without_text"], done["uses"]["folded"]) == (3_000, 4_000)
        assert len(core.recall("parcel 3999")["results"]) > 0
    assert len(waits) > 5
    assert max(waits) < 1.0


def test_the_log_stays_bounded_under_readers_that_never_all_pause(tmp_path: Path) -> None:  # IL-052
    db = open_database(tmp_path)
    idle = [open_database(tmp_path) for _ in range(10)]
    for other in idle:
        with other.read() as c:
            only_row(c, "newest_change")
    over = threading.Event()

    def read_on() -> None:
        """Each begins before the other ends, so that at every moment somebody reads."""
        with closing(apsw.Connection(str(db.path))) as one, closing(apsw.Connection(str(db.path))) as other:
            while not over.is_set():
                for reader, before in ((one, other), (other, one)):
                    reader.execute("BEGIN; SELECT count(*) FROM counter")
                    if before.in_transaction:
                        before.execute("ROLLBACK")
                    time.sleep(0.05)

    reading = threading.Thread(target=read_on)
    reading.start()
    longest = log_megabytes(db, 100)
    over.set()
    reading.join()
    for other in (*idle, db):
        other.close()
    assert longest < LOG_BOUND


def test_a_log_that_one_long_reader_kept_shrinks_when_it_leaves(tmp_path: Path) -> None:  # IL-052
    with closing(open_database(tmp_path)) as db, closing(open_database(tmp_path)) as other:
        with other.read() as c:
            only_row(c, "newest_change")
            assert log_megabytes(db, 80) > LOG_BOUND
        log_megabytes(db, 1)
        assert db.log_bytes() <= 2 * LOG_BYTES


def log_megabytes(db: Database, megabytes: int) -> int:
    """Log that much in small commits, half of it by overwriting what is deleted; the longest that the log was."""
    longest = 0
    for number in range(megabytes * 2):
        with db.write() as c:
            c.execute("INSERT OR REPLACE INTO counter VALUES (?, 1)", (f"{number % 50}:" + "x" * 250_000,))
            c.execute("DELETE FROM counter WHERE name LIKE ?", (f"{(number + 1) % 50}:%",))
        longest = max(longest, db.log_bytes())
    return longest


def test_the_doctor_names_a_log_that_grew_too_long(mc: CommandLine) -> None:  # IL-052
    mc("store", "The parcel stands in row 4")
    with (mc.data / "memorycore.db-wal").open("wb") as log:
        log.truncate(LOG_BOUND + 1)
    (found,) = [check for check in mc("doctor", "--json").answer["checks"] if check["code"] == "log_long"]
    assert found["level"] == "warn"
    assert found["fix"]


def test_the_store_of_a_predecessor_is_never_passed_over_in_silence(mc: CommandLine) -> None:  # IL-054
    mc.data.mkdir(parents=True)
    old = mc.data / "mnemosyne.db"
    with closing(apsw.Connection(str(old))) as c:
        c.execute("CREATE TABLE working_memory (content TEXT); INSERT INTO working_memory VALUES ('The heron host')")
    before = old.read_bytes()
    mc("store", "The parcel stands in row 4")
    assert mc("status", "--json").answer["foreign"] == [str(old)]
    assert "mnemosyne.db" in "".join(mc("status").out.split())
    (found,) = [check for check in mc("doctor", "--json").answer["checks"] if check["code"] == "predecessor_store"]
    assert (found["level"], "memorycore import" in found["fix"]) == ("warn", True)
    assert old.read_bytes() == before


# Indexes


def test_the_text_index_is_sound_after_any_sequence_of_changes(tmp_path: Path) -> None:  # IL-058
    dice = random.Random(5)
    with Home(tmp_path).core() as core:
        seqs = stock(core.db, parcels(40))
        cause = Cause(actor="test", at=START)
        for number in range(500):
            with core.db.write() as c:
                for _ in range(dice.randrange(1, 6)):
                    memory = memories.by_seq(c, [dice.choice(seqs).seq], ("default",)).popitem()[1]
                    if memory.state == "trashed":
                        rows.restore(c, memory, cause)
                    elif dice.random() < 0.5:
                        rows.trash(c, memory, cause)
                    else:
                        rows.revise(c, memory, {"content": f"{memory.content} {number} 包裹"}, cause)
            with core.db.write() as c:
                c.execute("INSERT INTO memory_text (memory_text) VALUES ('integrity-check')")
            if number % 100 == 0:  # as the living process itself sees it, which has read before
                assert (integrity(core)["database"], integrity(core)["text_index"]) == ("ok", "ok")
        assert integrity(core).items() >= {
            "database": "ok", "text_index": "ok", "rows_without_text": 0, "texts_without_row": 0, "dead_vectors": 0,
            "repaired": False,
        }.items()  # fmt: skip


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM memory_text WHERE rowid = 7",
        "DELETE FROM memory_text_content WHERE id = 7",
        "DELETE FROM memory_text_data WHERE id > 10",
        "UPDATE memory_text_data SET block = zeroblob(9) WHERE id > 10",
        "INSERT INTO memory_text (rowid, tokens) VALUES (9999, 'nobody')",
    ],
)
def test_an_index_with_holes_is_whole_after_maintenance(tmp_path: Path, damage: str) -> None:  # IL-059
    with Home(tmp_path).core() as core:
        stored = stock(core.db, parcels(50))
        with core.db.write() as c:
            c.execute(damage)
        found = integrity(core)
        assert found["database"] == "ok"
        assert found["text_index"] != "ok" or found["rows_without_text"] or found["texts_without_row"]
        for memory in stored:
            assert core.recall(memory.content)["results"][0]["id"] == memory.id
        again = integrity(core)
        assert (again["text_index"], again["rows_without_text"], again["texts_without_row"]) == ("ok", 0, 0)


def test_the_doctor_sees_a_damaged_index_and_calls_the_database_sound(mc: CommandLine) -> None:  # IL-059
    mc("store", "--from", "-", stdin=lines([{"content": memory.content} for memory in parcels(30)]))
    with closing(apsw.Connection(str(mc.data / "memorycore.db"))) as c:
        c.execute("UPDATE memory_text_data SET block = zeroblob(9) WHERE id > 10")
    found = {check["code"]: check["level"] for check in mc("doctor", "--json").answer["checks"]}
    assert (found["database"], found["index_gaps"]) == ("pass", "warn")


WITHOUT_VEC = """
import sys
class NoVec:
    def find_spec(self, name, path=None, target=None):
        if name == "sqlite_vec":
            raise ImportError("no loadable extensions here")
sys.meta_path.insert(0, NoVec())
from memorycore.cli import main
main(sys.argv[1:])
"""


def test_without_the_extension_everything_starts_and_says_so(mc: CommandLine) -> None:  # IL-062
    def run(*arguments: str) -> dict[str, object]:
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_VEC, *arguments, "--json"],
            env=kept | mc.env, capture_output=True, encoding="utf-8", check=False, timeout=60,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        return json.loads(done.stdout)

    kept = run("store", "The heron host runs the crawler")
    found = run("recall", "who runs the crawler")
    assert [hit["id"] for hit in found["results"]] == [kept["id"]]  # pyright: ignore[reportIndexIssue,reportGeneralTypeIssues,reportUnknownVariableType] JSON
    (named,) = [check for check in run("doctor")["checks"] if check["code"] == "no_vec0"]  # pyright: ignore[reportIndexIssue,reportGeneralTypeIssues,reportUnknownVariableType] JSON
    assert "no loadable extensions here" in named["message"]
    assert "pip install" in named["fix"]
    assert "no loadable extensions here" in str(run("status")["vector_index"])
    assert mc("status", "--json").answer["vector_index"] == f"sqlite-vec {version('sqlite-vec')}"


# Vectors


def test_vectors_without_a_row_take_no_place_among_the_results_and_are_swept(tmp_path: Path) -> None:  # IL-065
    with Home(tmp_path).core(vectors=True) as core:
        list(core.remember_many([fact(number) for number in range(10)], actor="test"))
        question = HashingEmbedder().embed_queries(["printer"])[0]
        with closing(apsw.Connection(str(core.db.path))) as stranger:  # knows nothing of foreign keys
            insert = (
                "INSERT INTO embedding (memory_seq, part, fingerprint_id, text_hash, vector) VALUES (?, 0, 1, '', ?)"
            )
            for number in range(30):
                stranger.execute(insert, (9_000 + number, question.tobytes()))
        for long_lived in (True, False):
            with Home(tmp_path).core(long_lived=long_lived, vectors=True) as other:
                other.embedding.wait_ready(None)
                assert len(other.recall("printer", top_k=10)["results"]) == 10
        assert integrity(core)["dead_vectors"] == 30
        assert integrity(core)["dead_vectors"] == 0


def test_space_of_replaced_vectors_is_used_again_and_given_back(tmp_path: Path) -> None:  # IL-070
    with Home(tmp_path).core(vectors=True) as core:
        stored = stock(core.db, parcels(200))
        rewrite(core, stored, "0")
        core.maintain(["checkpoint"])
        fresh = vector_pages(core.db)
        for number in range(1, 21):
            rewrite(core, stored, str(number))
        core.maintain()
        assert vector_pages(core.db) <= 2 * fresh
        secret = HashingEmbedder().embed_passages(["The parcel that nobody may know of"])[0]
        with core.db.write() as c:
            vectors.attach(c, stored[0].seq, "x", 1, secret[None, :] * 1.0)
        with core.db.write() as c:
            for memory in memories.by_seq(c, [memory.seq for memory in stored], ("default",)).values():
                memories.update_memory(c, memory, replace(memory, state="purged"))
        before = core.db.path.stat().st_size
        freed = core.maintain(["compact", "checkpoint"])["steps"][0]["freed_bytes"]
        with core.db.read() as c:
            assert only_row(c, "free_pages")[0] <= SPARE_PAGES
        assert core.db.path.stat().st_size <= before - int(str(freed)) < before
        assert (
            secret.tobytes() not in core.db.path.read_bytes() + core.db.path.with_name("memorycore.db-wal").read_bytes()
        )


def rewrite(core: MemoryCore, stored: Sequence[Memory], mark: str) -> None:
    """New wordings with new vectors, in one transaction."""
    texts = [f"{memory.content} {mark}" for memory in stored]
    made = HashingEmbedder().embed_passages(texts)
    with core.db.write() as c:
        number = vectors.fingerprint_id(c, HashingEmbedder().fingerprint, HashingEmbedder().width)
        now = memories.by_seq(c, [memory.seq for memory in stored], ("default",))
        for memory, text, vector in zip(stored, texts, made, strict=True):
            rows.revise(c, now[memory.seq], {"content": text}, Cause(actor="test", at=START))
            vectors.attach(c, memory.seq, text, number, vector[None, :])


def vector_pages(db: Database) -> int:
    """Pages of everything that grows with vectors and search tokens; history is meant to grow."""
    with db.read() as c:
        count = "SELECT sum(pageno > 0) FROM dbstat WHERE name GLOB 'embedding*' OR name GLOB 'memory_text*'"
        return int(str(c.execute(count).get))


def test_ten_thousand_deletes_and_inserts_raise_nothing_on_the_pinned_version() -> None:  # IL-071
    dice = random.Random(3)
    with closing(apsw.Connection(":memory:")) as c:
        c.enable_load_extension(True)  # noqa: FBT003 the driver takes it by position only
        c.load_extension(sqlite_vec.loadable_path())
        c.execute("CREATE VIRTUAL TABLE v USING vec0 (residual float[16])")
        live: list[int] = []
        for number in range(10_000):
            if len(live) > 1_500 or (live and dice.random() < 0.5):
                c.execute("DELETE FROM v WHERE rowid = ?", (live.pop(dice.randrange(len(live))),))
            else:
                vector = json.dumps([dice.random() for _ in range(16)])
                c.execute("INSERT INTO v (rowid, residual) VALUES (?, ?)", (number, vector))
                live.append(number)
        assert c.execute("SELECT count(*) FROM v").get == len(live)
    pinned = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert f'"sqlite-vec=={version("sqlite-vec")}"' in pinned


def test_the_doctor_tells_the_version_of_the_index(mc: CommandLine) -> None:  # IL-071
    (found,) = [check for check in mc("doctor", "--json").answer["checks"] if check["code"] == "vec0"]
    assert found["facts"]["version"] == version("sqlite-vec")


# Signs and times


def test_half_a_character_in_the_facts_of_one_text_costs_no_text_of_the_batch(tmp_path: Path) -> None:  # IL-077
    half = "x\ud83dy"
    drafts = [fact(number) for number in range(10)]
    drafts[2] = Draft(content="The printer in the attic", tags=(half, "attic"))
    drafts[4] = Draft(content="A spare printer stands behind the furnace.", author=half, session_id=half)
    source = Source(uri=half, locator=half)
    drafts[6] = Draft(content="Ola keeps one old printer for the market.", ref=half, source=source)
    with Home(tmp_path).core(vectors=True) as core:
        core.embedding.wait_ready(None)
        answers = list(core.remember_many(drafts, actor="test"))
        assert [answer["status"] for answer in answers] == ["cold_stored"] * 10
        assert [answer["reasons"][0].split(":")[0] for answer in answers].count("invalid_characters") == 3
        assert len(core.recall("printer", top_k=20)["results"]) == 10
        assert core.update(answers[0].get("id", ""), tags=(half,), actor="test")["status"] == "updated"
        exported = json.dumps([*core.export()], ensure_ascii=False)
    assert half not in exported
    assert exported.count("x\ufffdy") == 8


def test_half_a_character_in_an_id_or_a_bulk_line_is_no_fault(mc: CommandLine) -> None:  # IL-077
    raw = b'{"content": "one", "tags": ["\\ud83d"]}\n{"content": "\\u0000"}\n{"content": "two", "id": "\\udc00"}\n'
    answers = mc("store", "--from", "-", "--json", stdin=raw).answers
    assert [answer["status"] for answer in answers] == ["cold_stored", "error", "cold_stored"]
    with Home(mc.home).core() as core:
        assert core.forget("\ud83d", actor="test")["status"] == "candidates"
        assert core.recall("two", filters=RecallFilters(session_id="\ud83d", author="\udc00"))["results"] == []
        with pytest.raises(NotFound):
            core.inspect("\ud83d")


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "Europe/Berlin", "America/Los_Angeles", "UTC"])
@pytest.mark.parametrize("now", ["2026-03-02T09:00:00Z", "2026-03-29T00:45:00Z", "2026-10-25T00:45:00Z"])
def test_a_memory_ends_to_the_second_in_every_zone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str, now: str
) -> None:  # IL-080
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    home = Home(tmp_path)
    home.clock.now = parse_time(now)
    until = (home.clock.now + timedelta(minutes=30)).astimezone()  # as the clock on the wall shows it
    with home.core() as core:
        core.remember(Draft(content="The gate code is 4711", valid_until=parse_time(until.isoformat())), actor="test")
        home.clock.forward(minutes=29, seconds=59)
        assert len(core.recall("gate code")["results"]) == 1
        home.clock.forward(seconds=1)
        assert core.recall("gate code")["results"] == []
    monkeypatch.undo()
    time.tzset()


def test_times_with_and_without_an_offset_are_one_time(mc: CommandLine) -> None:  # IL-079
    told = ["2026-03-02T09:00:00Z", "2026-03-02T09:00:00", "2026-03-02T18:00:00+09:00", "2026-03-02 10:00+01:00"]
    drafts = [{"content": f"Gate {number} was opened", "occurred_at": time} for number, time in enumerate(told)]
    mc("store", "--from", "-", stdin=lines(drafts))
    assert {line["occurred_at"] for line in mc("export").answers} == {"2026-03-02T09:00:00Z"}
    assert parse_time(told[1]) == datetime(2026, 3, 2, 9, tzinfo=UTC)
