"""Three ways to the vectors, one answer; and the index that one of them keeps."""

import random
import threading
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.embed import EmbeddingService
from memorycore.search import SearchRequest, search, vector_index
from memorycore.store import Database, open_database
from memorycore.testing import HashingEmbedder
from tests.homes import START, Home
from tests.stock import in_stock, stock

EMBEDDER = HashingEmbedder()
PLACES = ("harbour", "attic", "orchard", "workshop", "library", "cellar", "garage", "balcony")
THINGS = ("ladder", "kayak", "printer", "violin", "beehive", "lamp", "tent", "telescope", "loom")
QUESTIONS = (
    "where is the violin",
    "what lies in the attic",
    "beehive 7",
    "lamp or tent",
    "telescope in the library in May",
    "望远镜",
)


def some_words(chance: random.Random) -> str:
    return " ".join("".join(chance.choices("aeioubdglmnrst", k=5)) for _ in range(chance.randint(3, 9)))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with enough vectors to be worth an index, some in sessions."""
    home = Home(tmp_path_factory.mktemp("filled"))
    chance = random.Random(7)
    rows = [
        in_stock(
            number,
            f"The {THINGS[number % 9]} {number} stands in the {PLACES[number % 8]}, {some_words(chance)}",
            session_id=f"talk-{number // 40}" if number % 3 else "",
        )
        for number in range(vector_index.WORTH_IT_FROM + 100)
    ]
    with home.core() as core:
        stock(core.db, rows, EMBEDDER)
    return home.root


@pytest.fixture
def core(filled: Path, tmp_path: Path) -> Generator[MemoryCore]:
    """A copy of it."""
    with closing(open_database(filled / "data")) as source:
        (tmp_path / "data").mkdir()
        source.backup(tmp_path / "data" / "memorycore.db")
    with Home(tmp_path).core(long_lived=True, vectors=True) as opened:
        yield opened


def answers(core: MemoryCore, *, living: bool) -> list[list[tuple[str, float]]]:
    request = SearchRequest(namespaces=core.namespaces, top_k=20)
    index = core.rooms.index if living else None
    found = [
        search(question, db=core.db, embedding=core.embedding, index=index, request=request, now=START)
        for question in QUESTIONS
    ]
    return [[(hit.id, round(hit.score, 5)) for hit in result.hits] for result in found]


def serves(db: Database) -> bool:
    with db.read() as c:
        return vector_index.serves(c, EMBEDDER.fingerprint, EMBEDDER.calibration)


def index_all(db: Database) -> int:
    return vector_index.catch_up(db, EMBEDDER.fingerprint, EMBEDDER.calibration)


def test_memory_reading_and_index_give_the_same_answers(core: MemoryCore) -> None:
    from_memory = answers(core, living=True)
    assert not serves(core.db)
    from_reading = answers(core, living=False)
    assert serves(core.db), "the first question that had to read all vectors leaves an index behind"
    from_index = answers(core, living=False)
    assert from_memory == from_reading == from_index
    assert all(len(hits) == 20 for hits in from_memory)


def test_where_the_extension_cannot_load_the_vectors_are_read(
    core: MemoryCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlite_vec

    monkeypatch.setattr(sqlite_vec, "loadable_path", lambda: "/nowhere/vec0")
    assert index_all(core.db) == 0
    assert answers(core, living=False) == answers(core, living=True)
    assert not serves(core.db)


def test_what_the_index_does_not_have_yet_is_found_too(core: MemoryCore) -> None:
    index_all(core.db)
    late = core.remember(
        Draft(content="The beehive number 9999 stands behind the chapel", importance=0.5), actor="test"
    )
    assert serves(core.db)
    request = SearchRequest(namespaces=core.namespaces, top_k=3)
    found = search("beehive chapel", db=core.db, embedding=core.embedding, index=None, request=request, now=START)
    assert found.hits[0].id == late.get("id")
    assert answers(core, living=False) == answers(core, living=True)


def test_what_is_gone_from_the_store_is_gone_from_the_answers_and_swept(core: MemoryCore) -> None:  # IL-065
    index_all(core.db)
    gone = answers(core, living=True)[0][0][0]
    core.forget(gone, actor="test")
    assert gone not in [memory_id for memory_id, _ in answers(core, living=False)[0]]
    assert answers(core, living=False) == answers(core, living=True)
    many = [
        in_stock(100_000 + number, f"A new {THINGS[number % 9]} came as parcel {number}")
        for number in range(vector_index.WORTH_ADDING)
    ]
    stock(core.db, many, EMBEDDER)
    assert index_all(core.db) == len(many)
    with core.db.read() as c:
        assert vector_index.load(c)
        orphans = "SELECT count(*) FROM memory_vector WHERE rowid NOT IN (SELECT id FROM embedding WHERE indexed = 1)"
        assert c.execute(orphans).fetchone() == (0,)


def test_an_index_of_another_model_is_made_anew(core: MemoryCore) -> None:
    index_all(core.db)
    other = HashingEmbedder(width=64)
    with core.db.read() as c:
        assert not vector_index.serves(c, other.fingerprint, other.calibration)
    with core.db.write() as c:
        c.execute("UPDATE fingerprint SET name = ?, width = 64", (other.fingerprint,))
        c.execute("UPDATE embedding SET vector = substr(vector, 1, 256)")
    assert vector_index.catch_up(core.db, other.fingerprint, other.calibration) > vector_index.WORTH_IT_FROM


def test_a_question_never_waits_for_a_writer_and_never_writes_beside_one(core: MemoryCore) -> None:  # IL-049
    writing, done = threading.Event(), threading.Event()

    def write_for_long() -> None:
        with closing(open_database(core.options.data_dir)) as other, other.write():
            writing.set()
            done.wait(30)

    writer = threading.Thread(target=write_for_long)
    writer.start()
    assert writing.wait(10)
    found: Sequence[object] = answers(core, living=False)
    done.set()
    writer.join()
    assert len(found) == len(QUESTIONS)
    assert not serves(core.db)


def test_threads_may_ask_at_once_while_others_store(core: MemoryCore) -> None:
    expected = answers(core, living=True)
    wrong: list[object] = []

    def ask() -> None:
        if answers(core, living=True)[0] != expected[0]:
            wrong.append(1)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(10):
        core.remember(Draft(content=f"Nothing to do with it, receipt {number}", importance=0.5), actor="test")
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_zero_vector_never_ranks_by_meaning(core: MemoryCore) -> None:  # IL-074
    with core.db.write() as c:
        c.execute("UPDATE embedding SET vector = zeroblob(length(vector)) WHERE memory_seq = 1")
    request = SearchRequest(namespaces=core.namespaces, top_k=20, explain=True)
    found = search("violin", db=core.db, embedding=core.embedding, index=None, request=request, now=START)
    assert 1 not in [hit.seq for hit in found.hits]


def test_a_repeated_question_does_not_ask_the_model_again(tmp_path: Path) -> None:  # IL-124
    asked: list[str] = []

    class Counting(HashingEmbedder):
        def embed_queries(self, texts: Sequence[str]):  # noqa: ANN202 as its parent
            asked.extend(texts)
            return super().embed_queries(texts)

    home = Home(tmp_path)
    core = MemoryCore(home.options, long_lived=True, clock=home.clock, embedding=EmbeddingService.serving(Counting()))
    for number in range(30):
        core.remember(Draft(content=f"Box {number} is in the attic", importance=0.5), actor="test")
    for _ in range(3):
        core.recall("which box")
    core.close()
    assert asked == ["which box"]
