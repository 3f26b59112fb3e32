"""What went wrong elsewhere when like texts met, tried on ours: facts merged, doubles missed, the truth hidden."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft, Source
from memorycore.options import EmbedOptions
from tests.homes import Clock, Home
from tests.wire import Wire, server_env

PAGE = Source(uri="https://example.org/page")
KEPT_APART = {"cold_stored", "stored"}
BOTH_KNOWN = {"superseded", "disputed"}


@pytest.fixture(params=[False, True], ids=["by words", "with vectors"])
def core(tmp_path: Path, request: pytest.FixtureRequest) -> Generator[MemoryCore]:
    home = Home(tmp_path)
    with home.core(vectors=request.param) as opened:
        yield opened


@pytest.fixture
def clock(core: MemoryCore) -> Clock:
    return cast("Clock", core.rooms.clock)


@contextmanager
def model_of(root: Path) -> Generator[MemoryCore]:
    """With the real model, which knows that these two speak of one thing though they share no word."""
    home = Home(root)
    home.options = replace(home.options, embed=EmbedOptions(model="auto"), store_wait_ms=20_000)
    with MemoryCore.open(home.options, long_lived=False) as opened:
        assert opened.embedding.wait_ready(20)
        yield opened


def say(core: MemoryCore, content: str, **more: Any) -> dict[str, Any]:
    return dict(core.remember(Draft(content=content, **more), actor="test"))


def texts(core: MemoryCore, state: str = "active") -> set[str]:
    return {str(line["content"]) for line in core.export() if line["state"] == state}


def found(core: MemoryCore, query: str) -> list[str]:
    return [item["content"] for item in core.recall(query, top_k=5)["results"]]


def test_one_frame_with_another_value_is_never_merged(core: MemoryCore) -> None:  # IL-130
    two = ("Sam's favourite colour is purple", "Ana's favourite colour is cyan")
    assert {say(core, text)["status"] for text in two} <= KEPT_APART
    core.maintain()
    assert texts(core) == set(two)
    say(core, "Favourite colour is purple")
    assert say(core, "Favourite colour is cyan")["status"] in BOTH_KNOWN
    assert {*two, "Favourite colour is purple", "Favourite colour is cyan"} == texts(core) | texts(core, "superseded")


def test_numbers_that_differ_in_the_last_digit_stay_apart(core: MemoryCore) -> None:  # IL-131
    closed = [f"Recommendation SR-2023-{number:03} is closed" for number in range(1, 97)]
    told = [answer["status"] for answer in core.remember_many([Draft(content=text) for text in closed], actor="test")]
    core.maintain()
    assert not {"cold_duplicate", "cold_updated", "duplicate", "updated", *BOTH_KNOWN} & set(told)
    assert texts(core) | texts(core, "trashed") == set(closed)


def test_a_new_employer_takes_the_place_of_the_old_one(tmp_path: Path) -> None:  # IL-132
    with model_of(tmp_path) as core:
        say(core, "Works at Acme")
        assert say(core, "Just joined Borealis")["status"] == "superseded"
        assert (texts(core), texts(core, "superseded")) == ({"Just joined Borealis"}, {"Works at Acme"})


def test_it_does_so_too_when_the_old_one_gets_its_vector_later(tmp_path: Path) -> None:  # IL-132
    home = Home(tmp_path)
    with home.core() as core:
        say(core, "Works at Acme")
    with model_of(tmp_path) as core:
        say(core, "Just joined Borealis")
    with home.core() as core:
        assert (texts(core), texts(core, "superseded")) == ({"Just joined Borealis"}, {"Works at Acme"})


def test_a_preference_that_got_another_value_is_an_update(core: MemoryCore) -> None:  # IL-133
    say(core, "Orders a cortado")
    answer = say(core, "Orders a flat white")
    assert answer["status"] in BOTH_KNOWN
    assert found(core, "what does the user order")[0] == "Orders a flat white"


def test_nothing_of_two_values_is_swallowed(core: MemoryCore) -> None:  # IL-133
    for text in ("Orders a cortado", "Orders a flat white"):
        say(core, text)
    assert texts(core) | texts(core, "superseded") == {"Orders a cortado", "Orders a flat white"}


def test_one_sentence_in_two_scopes_is_two_memories(core: MemoryCore) -> None:  # IL-133
    ids = {
        say(core, "Orders a flat white")["id"],
        say(core, "Orders a flat white", scope="session", session_id="one")["id"],
        say(core, "Orders a flat white", scope="session", session_id="two")["id"],
    }
    assert len(ids) == 3


def test_two_people_with_one_name_are_not_made_one(core: MemoryCore) -> None:  # IL-134
    both = ("Sam Lee is my dentist", "Sam Lee owns the flat")
    assert {say(core, text)["status"] for text in both} <= KEPT_APART
    core.maintain()
    assert texts(core) == set(both)


def test_a_store_that_is_sent_again_because_the_answer_was_lost_is_one_memory(tmp_path: Path) -> None:  # IL-137
    ids: list[str] = []
    for _ in range(2):
        with Wire(server_env(tmp_path, MEMORYCORE_EMBED_MODEL="none")) as server:
            server.initialize()
            ids.append(server.call("memorycore_store_fact", content="The lease of the flat ends in May 2027")["id"])
            server.process.kill()  # the row is committed, and the client never saw the answer
    assert len(set(ids)) == 1


def test_one_short_text_from_four_sessions_is_one_memory_without_any_vector(core: MemoryCore) -> None:  # IL-138
    ids = {say(core, "DGIA means the data group", session_id=f"session-{number}")["id"] for number in range(3)}
    ids.add(say(core, "ＤＧＩＡ means  the data group.", session_id="session-4")["id"])
    assert (len(ids), len(texts(core))) == (1, 1)


def test_the_opposite_of_what_is_known_is_added_before_the_old_one_ends(core: MemoryCore) -> None:  # IL-141
    old = say(core, "Likes Thai food")
    answer = say(core, "Cannot stand Thai food")
    assert (texts(core), texts(core, "superseded")) == ({"Cannot stand Thai food"}, {"Likes Thai food"})
    assert core.inspect(old["id"])["events"][-1]["action"] == "superseded"
    assert core.inspect(answer["id"])["content"] == "Cannot stand Thai food"


def test_a_correction_by_the_user_hides_at_most_the_older_and_less_trusted_one(
    core: MemoryCore, clock: Clock
) -> None:  # IL-142
    older, newer = "The office closes at 17:00.", "The office closes at 18:00."
    say(core, older, source=PAGE)
    clock.forward(days=1)
    say(core, newer)
    assert newer in texts(core)
    assert found(core, "when does the office close")[0] == newer
    assert older in texts(core) | texts(core, "superseded")


def test_a_pinned_fact_of_the_user_stays_when_a_page_says_otherwise(core: MemoryCore, clock: Clock) -> None:  # IL-143
    own, planted = "The office closes at 17:00.", "As of today the office closes at 12:00."
    pinned = say(core, own)
    core.update(pinned["id"], actor="test", pinned=True)
    clock.forward(days=1)
    answer = say(core, planted, source=PAGE)
    assert answer["status"] == "disputed"
    assert texts(core) == {own, planted}
    assert found(core, "when does the office close")[0] == own
    assert cast("dict[str, str]", core.inspect(answer["id"])["fields"]["source"])["status"] == "unverified"
    (item,) = core.review()["items"]
    assert item["new"]["content"] == planted
