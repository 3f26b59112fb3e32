"""``memorycore judge``: a verdict and its evidence, for a person and for a script, without any store."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from memorycore.core.compare import judge_pairs
from memorycore.embed import EmbeddingService
from memorycore.testing import HashingEmbedder
from tests.command_line import CommandLine, lines

PAIRS = [
    {
        "id": "heating",
        "old": "The night heating is set to 19 degrees.",
        "new": "The night heating is set to 16 degrees.",
    },
    {"id": "tea", "old": "Tea is at five.", "new": "Tea is at five, in the garden."},
    {"id": "door", "old": "大门的密码锁在左边", "new": "大门的密码锁在左边。"},
]
DEVELOPMENT = Path(__file__).parents[1] / "data" / "judge.jsonl"


def test_a_person_reads_both_texts_the_verdict_and_why(mc: CommandLine) -> None:
    ran = mc("judge", PAIRS[0]["old"], PAIRS[0]["new"])
    assert ran.code == 0
    assert [line.strip() for line in ran.out.splitlines()] == [
        "old  The night heating is set to 19 degrees.",
        "new  The night heating is set to 16 degrees.",
        "disputes: they contradict each other, and nothing says which is current",
        "· The number differs: 19 degrees and 16 degrees.",
    ]


def test_the_sentences_are_in_the_users_language_and_the_codes_are_not(mc: CommandLine) -> None:
    english = mc("judge", PAIRS[0]["old"], PAIRS[0]["new"], "--json").answer
    chinese = mc("judge", PAIRS[0]["old"], PAIRS[0]["new"], "--json", MEMORYCORE_LANG="zh").answer
    assert english["evidence"][0] == {
        "code": "number", "old": "19 degrees", "new": "16 degrees",
        "says": "The number differs: 19 degrees and 16 degrees.",
    }  # fmt: skip
    assert chinese["evidence"][0]["code"] == "number"
    assert chinese["evidence"][0]["says"].startswith("数字不同")


def test_pairs_are_answered_line_by_line_in_order(mc: CommandLine) -> None:
    ran = mc("judge", "--from", "-", "--json", stdin=lines(PAIRS))
    assert (ran.code, ran.err) == (0, "")
    assert [(one["ref"], one["relation"]) for one in ran.answers] == [
        ("heating", "disputes"),
        ("tea", "refines"),
        ("door", "same"),
    ]
    assert all({"ref", "relation", "evidence", "limited", "undecided", "line"} <= one.keys() for one in ran.answers)


def test_a_bad_line_is_answered_with_its_number_and_the_others_go_on(mc: CommandLine) -> None:
    given = lines([{"id": 7, "old": "Tea is at five."}, {"old": " ", "new": "x"}, PAIRS[1]]) + b"no json\n"
    ran = mc("judge", "--from", "-", "--json", stdin=given)
    assert ran.code == 1
    assert [(one["line"], one["ref"], one["relation"], one.get("code")) for one in ran.answers] == [
        (1, "7", None, "invalid_input"),
        (2, None, None, "invalid_input"),
        (3, "tea", "refines", None),
        (4, None, None, "invalid_input"),
    ]


@pytest.mark.parametrize("given", [(), ("only one",), ("one", "other", "--from", "-")])
def test_half_a_question_is_refused(mc: CommandLine, given: tuple[str, ...]) -> None:
    assert mc("judge", *given, "--json").answer["code"] == "invalid_input"


def test_judging_makes_no_folder_and_no_file(mc: CommandLine) -> None:
    mc("judge", PAIRS[0]["old"], PAIRS[0]["new"], MEMORYCORE_EMBED_MODEL="auto")
    mc("judge", "--from", "-", "--json", stdin=lines(PAIRS), MEMORYCORE_EMBED_MODEL="auto")
    assert list(mc.home.iterdir()) == []


def test_the_model_is_not_loaded_where_words_decide() -> None:
    embedding = EmbeddingService.serving(HashingEmbedder())
    try:
        pairs = [(pair["old"], pair["new"]) for pair in PAIRS]
        found = list(judge_pairs(pairs, embedding=embedding, language="en", wait_s=5))
        assert (embedding.model, [one for one in found if "likeness" in one]) == ("", [])
    finally:
        embedding.close()


def test_with_the_model_no_more_is_destroyed_than_by_words_alone(mc: CommandLine) -> None:
    rows = [json.loads(line) for line in DEVELOPMENT.read_text(encoding="utf-8").splitlines()]
    pairs = [{"old": row["old"], "new": row["new"]} for row in rows]
    with_model = mc("judge", "--from", "-", "--json", stdin=lines(pairs), MEMORYCORE_EMBED_MODEL="auto").answers
    without = mc(
        "judge", "--from", "-", "--json", "--no-model", stdin=lines(pairs), MEMORYCORE_EMBED_MODEL="auto"
    ).answers
    apart = {"different", "disputes"}
    lost = [
        row["id"]
        for row, one, other in zip(rows, with_model, without, strict=True)
        if row["relation"] in apart and other["relation"] in apart and one["relation"] not in apart
    ]
    assert lost == []


def test_hundreds_of_pairs_are_answered_in_the_order_they_came_in(mc: CommandLine) -> None:
    pairs = [
        {"id": number, "old": f"Room {number} is blue.", "new": f"Room {number} is blue."} for number in range(300)
    ]
    refs = [int(one["ref"]) for one in mc("judge", "--from", "-", "--json", stdin=lines(pairs)).answers]
    assert all(one + 1 == other for one, other in pairwise(refs))
    assert len(refs) == len(pairs)
