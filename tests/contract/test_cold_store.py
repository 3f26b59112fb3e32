"""What every cold store does. One suite for all of them: a new store joins by being a fixture's parameter."""

from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from memorycore.cold.contract import ColdStore
from memorycore.cold.remote import RemoteColdStore
from memorycore.errors import InvalidInput, NotFound, TooLong
from tests.cold_services import cold_serve, reference_service
from tests.homes import Home

LONG = "The attic inventory lists: " + ", ".join(f"box {number} with jars" for number in range(200))
# One word of each text here, for a store that can only be asked.
EVERYTHING = "attic shelf spare wheel 设 サ ключ emoji"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Where a ``memorycore cold-serve`` answers."""
    with cold_serve(tmp_path_factory.mktemp("cold")) as service:
        yield service.url


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Where the example of a cold store answers."""
    with reference_service(tmp_path_factory.mktemp("reference") / "cold.jsonl") as service:
        yield service.url


@pytest.fixture(params=["local", "remote", "reference"])
def cold(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[ColdStore]:
    if request.param == "local":
        with Home(tmp_path).core() as core:
            yield core.cold
        return
    store = RemoteColdStore(request.getfixturevalue("served" if request.param == "remote" else "reference"))
    for hit in [*store.everything(), *store.recall(EVERYTHING, top_k=100)]:
        with suppress(NotFound):
            store.forget(hit.id)
    assert store.stats().total == 0
    yield store
    store.close()


def contents(cold: ColdStore, query: str, top_k: int = 5) -> list[str]:
    return [hit.content for hit in cold.recall(query, top_k=top_k)]


def test_what_is_remembered_is_found_whole(cold: ColdStore) -> None:
    memory_id = cold.remember(LONG)
    hits = cold.recall("attic inventory")
    assert [(hit.id, hit.content) for hit in hits] == [(memory_id, LONG)]


def test_results_come_best_first_and_no_more_than_asked_for(cold: ColdStore) -> None:
    for number in range(8):
        cold.remember(f"Shelf {number} holds paint.")
    hits = cold.recall("which shelf holds paint", top_k=3)
    assert len(hits) == 3
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize(
    "text", ["设备清单在书房", "サンドボックスの修正を確認", "Ключ лежит в сейфе", "emoji 👩‍👩‍👧 stays"]
)
def test_every_script_comes_back_as_it_went_in(cold: ColdStore, text: str) -> None:
    cold.remember(text)
    assert contents(cold, text) == [text]


def test_an_update_replaces_the_whole_text(cold: ColdStore) -> None:
    memory_id = cold.remember("The spare wheel is model 4711.")
    cold.update(memory_id, "The spare wheel is model 1147 since May.")
    assert contents(cold, "spare wheel") == ["The spare wheel is model 1147 since May."]
    assert contents(cold, "4711") == []


def test_a_forgotten_text_is_never_recalled(cold: ColdStore) -> None:
    memory_id = cold.remember("The spare wheel is model 4711.")
    cold.forget(memory_id)
    assert contents(cold, "spare wheel 4711") == []
    assert cold.stats().total == 0


@pytest.mark.parametrize("memory_id", ["nobody", "", "01a22a49-b41e-755d-974c-eca7730799be"])
def test_an_unknown_id_is_an_error_and_changes_nothing(cold: ColdStore, memory_id: str) -> None:
    cold.remember("The spare wheel is model 4711.")
    with pytest.raises(NotFound):
        cold.update(memory_id, "x")
    with pytest.raises(NotFound):
        cold.forget(memory_id)
    assert cold.stats().total == 1


def test_a_forgotten_memory_cannot_be_changed(cold: ColdStore) -> None:
    memory_id = cold.remember("The spare wheel is model 4711.")
    cold.forget(memory_id)
    with pytest.raises(NotFound):
        cold.update(memory_id, "x")


@pytest.mark.parametrize(("text", "error"), [("  ", InvalidInput), ("x" * 70_000, TooLong)])
def test_a_text_that_cannot_be_kept_is_refused(cold: ColdStore, text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        cold.remember(text)
    assert cold.stats().total == 0


def test_stats_count_what_can_be_recalled(cold: ColdStore) -> None:
    for number in range(3):
        cold.remember(f"Shelf {number} holds paint.")
    assert cold.stats().total == 3
    assert 0 <= cold.stats().embeddings <= 3


def test_a_question_that_nothing_answers_gives_nothing(cold: ColdStore) -> None:
    cold.remember("The spare wheel is model 4711.")
    assert contents(cold, "zebra") == []
    assert contents(cold, "") == []
