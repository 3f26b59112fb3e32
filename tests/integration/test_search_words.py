"""Found by keywords alone: no model runs here."""

import unicodedata
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from tests.homes import Home


def store(core: MemoryCore, *texts: str, **fields: str) -> None:
    for text in texts:
        core.remember(Draft(content=text, importance=0.5, **fields), actor="test")  # pyright: ignore[reportArgumentType] text fields


def found(core: MemoryCore, query: str, top_k: int = 5) -> list[str]:
    return [item["content"] for item in core.recall(query, top_k=top_k)["results"]]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("设备清单在书房", "设备"),  # IL-110
        ("设备清单在书房", "书"),
        ("新的設定在第二頁", "设定"),
        ("新的设定在第二页", "設定"),
        ("重跑gen-itgc后五十条", "itgc"),  # IL-111
        ("サンドボックスの修正を確認", "サンド"),  # IL-112
        ("サンドボックスの修正を確認", "修正"),
        ("프린터는 이층에 있습니다", "프린터"),
        ("프린터는 이층에 있습니다", "이층"),
        ("The pre-edit hook lives here", "pre-edit"),  # IL-115
        ("They don't use tabs there", "don't use tabs"),  # IL-116
        ("See docs/plan for the rest", "docs/plan"),
        ("caf\u00e9 by the river", "cafe\u0301"),  # IL-119
        ("cafe\u0301 by the river", "caf\u00e9"),
        ("会议室ＡＢＣ１２３在三楼", "ABC123"),  # IL-120
        ("meeting room ABC123", "ＡＢＣ１２３"),
        ("The backups were running at night", "backup run"),
        ("error_codes 4031 means frozen", "error_codes"),
    ],
)
def test_it_is_found(tmp_path: Path, text: str, query: str) -> None:
    with Home(tmp_path).core() as core:
        store(core, "Something else about gardens", "这是别的事情", text)
        assert found(core, query)[:1] == [text]


def test_the_stored_form_of_a_letter_is_kept(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        text = unicodedata.normalize("NFD", "Zoë drinks café au lait")
        store(core, text)
        assert found(core, "Zoë") == [text]


@pytest.mark.parametrize(
    "query",
    [
        '"', "'", "*", "(", ")", "-", "AND", "OR NOT", "NEAR(a b)", "tokens:x", "a:b", "^a", '"unclosed', "{}", "\\",
        "%", ";", "col : x", "a* b", "！？", "。", "\x00", "\ud800 lone", "𠮷", "👩", " \n\t", "", "#", "的",
    ],
)  # fmt: skip
def test_any_question_has_an_answer(tmp_path: Path, query: str) -> None:
    with Home(tmp_path).core() as core:
        store(core, "The printer room is 204", "打印机在二楼")
        assert isinstance(core.recall(query)["results"], list)


def test_a_question_of_ten_thousand_characters_is_answered_in_time(tmp_path: Path) -> None:
    with Home(tmp_path).core(long_lived=True) as core:
        store(core, "The printer room is 204")
        for query in ("printer " * 1_250, "x" * 10_000, "打印机在" * 2_500, "a-" * 5_000, "[" * 10_000):
            assert core.recall(query)["took_ms"] < 2_000  # pyright: ignore[reportTypedDictNotRequiredAccess] always there
        assert found(core, "printer " * 1_250) == ["The printer room is 204"]


def test_an_empty_store_and_an_empty_question_have_no_results(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        assert found(core, "anything") == []
        store(core, "The printer room is 204")
        assert found(core, "") == []


def test_a_question_about_nothing_stored_finds_nothing_or_says_weak(tmp_path: Path) -> None:  # IL-121
    with Home(tmp_path).core() as core:
        for number in range(200):
            store(
                core,
                f"Ticket {number} is about invoice {number * 7} of the northern branch, handled by desk {number % 9}.",
            )
        true_hit = core.recall("invoice 700 of the northern branch")["results"][0]
        nonsense = core.recall("how to bake sourdough")["results"]
        assert not true_hit.get("weak")
        assert all(item.get("weak") and item["score"] < true_hit["score"] / 2 for item in nonsense)


def test_the_exact_address_wins_over_its_neighbour(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        store(core, "The router has 192.168.7.1", "The printer has 192.168.7.40", "The scanner has 192.168.7.4")
        assert found(core, "192.168.7.40")[0] == "The printer has 192.168.7.40"


def test_quoted_words_are_found_as_they_stand(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        store(core, "The red house has a green door", "The green house has a red door", "A house, red, with a door")
        assert found(core, '"green house"')[0] == "The green house has a red door"
        assert found(core, "「red door」")[0] == "The green house has a red door"


def test_an_id_a_reference_and_a_tag_name_their_memory(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        store(core, "The cellar key hangs in the hall", "The bicycle key hangs in the shed")
        answer = core.remember(Draft(content="Bulbs are in the attic", tags=("Home",), ref="note-17"), actor="test")
        assert found(core, str(answer.get("id")))[0] == "Bulbs are in the attic"
        assert found(core, "note-17")[0] == "Bulbs are in the attic"
        assert found(core, "what is tagged #home")[0] == "Bulbs are in the attic"


def test_equal_scores_come_in_the_order_of_ids(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        store(core, *(f"The lamp in room {number} is new" for number in range(20)))
        ids = [item["id"] for item in core.recall("lamp", top_k=20, log=False)["results"]]
        again = [item["id"] for item in core.recall("lamp", top_k=7, log=False)["results"]]
        assert ids == sorted(ids)
        assert again == ids[:7]


def test_the_answer_to_a_question_is_found_by_the_words_of_the_question(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        talk = (
            "Ben: Where did you buy the blue kayak?",
            "Anna: At the harbour market in Kiel, last June.",
            "Ben: Nice.",
        )
        store(core, "Ben: I went to the harbour today.", session_id="one")
        store(core, *talk, session_id="two")
        assert found(core, "where did Anna buy her kayak")[0] == talk[1]


def test_why_tells_what_a_score_is_made_of(tmp_path: Path) -> None:
    with Home(tmp_path).core() as core:
        store(core, "The printer room is 204")
        why = core.recall("printer room", explain=True)["results"][0].get("why", {})
        assert why["held"] == ["printer", "room"]
        assert {"words", "evidence", "prior", "trust"} <= why.keys()
