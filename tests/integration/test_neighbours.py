"""What a new text is compared with: the nearest by words and by meaning, whatever has become of them."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft, Memory
from memorycore.search.neighbours import MOST_NEIGHBOURS, Neighbour, Scout, Scouted, neighbours
from memorycore.store import memories, vectors
from memorycore.testing import HashingEmbedder
from tests.homes import Home, fact

EMBEDDER = HashingEmbedder()


@pytest.fixture
def core(tmp_path: Path) -> Generator[MemoryCore]:
    with Home(tmp_path).core(long_lived=True, vectors=True) as opened:
        list(opened.remember_many(map(fact, range(40)), actor="test"))
        yield opened


def store(core: MemoryCore, text: str, **given: str) -> str:
    answer = core.remember(Draft(content=text, importance=0.5, **given), actor="test")  # pyright: ignore[reportArgumentType] fields by name
    return answer.get("id", "")


def candidate(core: MemoryCore, text: str, **given: str) -> Memory:
    return core.rooms.admission.consider(Draft(content=text, importance=0.5, **given)).memory  # pyright: ignore[reportArgumentType] fields by name


def scouted(core: MemoryCore, *texts: str, living: bool = True) -> Scouted:
    parts = {text: EMBEDDER.embed_passages([text]) for text in texts}
    scout = Scout(core.db, core.rooms.index if living else None)
    return scout.look(parts, core.options.namespace, fingerprint=EMBEDDER.fingerprint, calibration=EMBEDDER.calibration)


def near(core: MemoryCore, text: str, seen: Scouted | None = None, **given: str) -> list[Neighbour]:
    with core.db.read() as c:
        return neighbours(c, candidate(core, text, **given), seen or Scouted())


def texts(found: Sequence[Neighbour]) -> list[str]:
    return [item.memory.content for item in found]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The staging database listens on port 5432.", "The staging database listens on port 6432."),
        ("数据库备份每晚两点开始，由小禾负责。", "数据库备份每晚三点开始，由小禾负责。"),
        ("Tomás keeps the keys of the archive.", "Ines keeps the keys of the archive now."),
    ],
)
def test_what_differs_in_one_word_is_the_nearest_with_and_without_a_model(core: MemoryCore, old: str, new: str) -> None:
    store(core, old)
    assert texts(near(core, new))[0] == old
    found = near(core, new, scouted(core, new))
    assert (found[0].memory.content, found[0].via) == (old, "both")
    assert found[0].likeness is not None
    assert 0.3 < found[0].likeness < 1


def test_superseded_and_binned_memories_stand_behind_the_active_ones(core: MemoryCore) -> None:
    old = store(core, "The kiln is heated to 900 degrees.")
    core.forget(old, actor="test")
    store(core, "The kiln is heated to 950 degrees.")
    new = "The kiln is heated to 980 degrees."
    for seen in (Scouted(), scouted(core, new)):
        found = [item for item in near(core, new, seen) if "kiln" in item.memory.content]
        assert [item.memory.state for item in found] == ["active", "trashed"]


def test_a_transaction_sees_what_it_has_written_itself(core: MemoryCore) -> None:
    text, new = "Grazia waters the fig tree on Mondays.", "Grazia waters the fig tree on Fridays."
    seen = scouted(core, text, new)
    with core.db.write() as c:
        row = memories.insert_memory(c, candidate(core, text))
        number = vectors.fingerprint_id(c, EMBEDDER.fingerprint, EMBEDDER.width)
        vectors.attach(c, row.seq, text, number, EMBEDDER.embed_passages([text]))
        found = neighbours(c, candidate(core, new), seen)
    assert (texts(found)[0], found[0].via) == (text, "both")


def test_a_text_that_shares_no_word_is_found_by_its_vector_alone(core: MemoryCore) -> None:
    store(core, "Der Schlüssel hängt am Haken.")
    new = "Where the key hangs"
    same = EMBEDDER.embed_passages(["Der Schlüssel hängt am Haken."])
    scout = Scout(core.db, core.rooms.index)
    seen = scout.look(
        {new: same}, core.options.namespace, fingerprint=EMBEDDER.fingerprint, calibration=EMBEDDER.calibration
    )
    found = near(core, new, seen)
    assert (texts(found), found[0].via, found[0].likeness) == (["Der Schlüssel hängt am Haken."], "meaning", 1.0)


def test_scopes_sessions_and_namespaces_do_not_meet(core: MemoryCore, tmp_path: Path) -> None:
    text = "The spare tyre lies in the cellar."
    store(core, text, scope="session", session_id="one")
    new = "The spare tyre lies in the attic."
    seen = scouted(core, new)
    assert texts(near(core, new, seen, scope="session", session_id="one")) == [text]
    assert texts(near(core, new, seen, scope="session", session_id="two")) == []
    assert text not in texts(near(core, new, seen))
    with core.db.read() as c:
        elsewhere = replace(candidate(core, new, scope="session", session_id="one"), namespace="other")
        assert neighbours(c, elsewhere, seen) == []


def test_many_alike_of_another_session_do_not_hide_the_own_one(core: MemoryCore) -> None:
    for number in range(60):
        store(core, f"The spare tyre lies in the cellar, shelf {number}.")
    store(core, "The spare tyre lies in the cellar, shelf 70.", scope="session", session_id="one")
    new = "The spare tyre lies in the cellar, shelf 71."
    assert texts(near(core, new, scope="session", session_id="one")) == ["The spare tyre lies in the cellar, shelf 70."]


@pytest.mark.parametrize("living", [True, False], ids=["living index", "vectors read for this call"])
def test_both_ways_to_the_vectors_find_the_same(core: MemoryCore, *, living: bool) -> None:
    new = "The printer in room 7 was bought in York."
    found = near(core, new, scouted(core, new, living=living))
    assert len(found) == MOST_NEIGHBOURS
    assert texts(found)[0] == "The printer in room 7 was bought in Leeds."


def test_a_look_never_takes_uncommitted_rows_into_the_living_index(core: MemoryCore) -> None:
    """A transaction that is rolled back would else leave them there, and its change numbers are used again."""
    new = "The heron nests at pond 3."
    seen = scouted(core, new)
    with pytest.raises(ValueError, match="undo"), core.db.write() as c:
        memories.insert_memory(c, candidate(core, "The heron nests at pond 2."))
        neighbours(c, candidate(core, new), seen)
        raise ValueError("undo")
    store(core, "The heron nests at pond 1.")
    assert texts(near(core, new, scouted(core, new)))[0] == "The heron nests at pond 1."
    assert core.recall("heron")["results"][0]["content"] == "The heron nests at pond 1."


def test_an_empty_store_has_no_neighbours(tmp_path: Path) -> None:
    with Home(tmp_path).core(long_lived=True, vectors=True) as empty:
        assert near(empty, "Nothing is here yet", scouted(empty, "Nothing is here yet")) == []


def test_of_many_sentences_of_one_pattern_each_meets_the_one_about_its_own_thing(core: MemoryCore) -> None:
    names = [
        "Anna", "Bert", "Cleo", "Dora", "Emil", "Frida", "Gustav", "Hanna",
        "Igor", "Jana", "Karl", "Lena", "Mona", "Nils", "Otto", "Paula",
    ]  # fmt: skip
    for name in names:
        store(core, f"{name} works in the sales team in Leeds.")
    for name in names:
        moved = f"{name} now works in the legal team in York."
        assert f"{name} works in the sales team in Leeds." in texts(near(core, moved))
        store(core, moved)


def test_a_batch_of_texts_finds_what_each_finds_by_itself(core: MemoryCore) -> None:
    for number in range(60):
        store(core, f"Jar {number} on shelf {number % 7} holds {number * 3} beans.")
    asked = [f"Jar {number} on shelf {number} holds {number * 3} beans." for number in (3, 17, 42)]
    together = scouted(core, *asked)
    for text in asked:
        assert texts(near(core, text, together)) == texts(near(core, text, scouted(core, text)))
