"""What counts as one label, and what does not."""

import json

import pytest

from memorycore.llm.answers import LABELS, label_of, words_of


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize(
    "said",
    [
        '{{"relation": "{0}"}}',
        '```json\n{{"relation": "{0}"}}\n```',
        'Here it is: {{ "relation" : "{0}" }}. I hope that helps.',
        '{{"reason": "the old one is not about a disputes office", "relation": "{0}"}}',
        '<think>same? no, different … supersedes!</think>{{"relation": "{0}"}}',
        "{0}",
        " **{0}**.\n",
        "The relation is: {0}, since both are about the port.",
        "答案是{0}。",
    ],
)
def test_one_label_is_read_in_whatever_dress(said: str, label: str) -> None:
    assert label_of(said.format(label)) == label
    assert label_of(said.format(label.upper())) == label


@pytest.mark.parametrize(
    "said",
    [
        "",
        "I cannot judge that.",
        "These are not the same.",
        "They aren't the same thing.",
        "这两句不是same。",
        "same or different",
        "Either refines or supersedes.",
        '{"relation": "same", "relation": "different"}',
        '{"relation": "same"} {"relation": "supersedes"}',
        '{"relation": "equal"}',
        '{"relation": "same|refines"}',
        '{"relation": null}',
        '{"verdict": 5}',
        "<think>it is the same",
        "sameness is in the eye of the reader",
        "delete the old one",
    ],
)
def test_none_or_more_than_one_is_no_answer(said: str) -> None:
    assert label_of(said) is None


def test_the_words_of_a_completion_may_come_in_parts() -> None:
    parts = [{"type": "text", "text": "sa"}, {"type": "text", "text": "me"}, 5]
    assert words_of(json.dumps({"choices": [{"message": {"content": parts}}]}).encode()) == "same"


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>busy</html>", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": {"content": null}}]}',
     b'{"choices": {"0": 1}}', b"\xff\xfe", b"[" * 100_000],
)  # fmt: skip
def test_a_body_that_is_no_completion_has_no_words(body: bytes) -> None:
    assert words_of(body) is None
