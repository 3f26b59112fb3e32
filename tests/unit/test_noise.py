"""Texts that hold nothing to remember, and short ones that do."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorycore.domain.gates import Finding
from memorycore.domain.gates.noise import find


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "empty"),
        ("…", "empty"),
        ("  \n", "empty"),
        ("👍👍", "empty"),
        ("?!", "empty"),
        ("\u200b", "empty"),
        ("\u3164", "empty"),
        ("ok", "filler"),
        ("OK, thanks a lot!", "filler"),
        ("got it", "filler"),
        ("嗯嗯", "filler"),
        ("好的好的，谢谢", "filler"),
        ("知道了", "filler"),
        ("好的，謝謝", "filler"),
        ("はい、わかりました。", "filler"),
        ("네, 알겠습니다", "filler"),
        ("d'accord, merci", "filler"),
        ("Alles klar", "filler"),
        ("vale, gracias", "filler"),
        ("ㅋㅋㅋㅋㅋ", "mash"),
        ("asdfgh", "mash"),
        ("sdfsdfsdf", "mash"),
        ("aaaaaa", "mash"),
        ("lkjhg", "mash"),
    ],
)
def test_empty_words_are_noise(text: str, rule: str) -> None:
    assert find(text) == Finding(gate="noise", rule=rule)


@pytest.mark.parametrize(
    "text",
    [
        "蓝色",
        "B+",
        "吃素",
        "IPv6 only",
        "DGIA",
        "Done.",
        "已完成。",
        "用中文。",
        "No emojis.",
        "左",
        "A",
        "O+",
        "5",
        "1111",
        "AAAA",
        "qwerty",
        "Ben",
        "hello",
        "test",
        "no sugar",
        "no thanks, no meat",
        "是的，素食",
        "可以喝酒",
        "네오",
        "ok Google is off",
        "https://a.example/c",
        "好吃",
        "yes to tea, no to coffee",
        "C",
        "→ B2",
        "typewriter",
        "couscous",
    ],
)
def test_a_short_text_with_something_in_it_passes(text: str) -> None:
    assert find(text) is None


@given(st.text(max_size=200))
def test_any_text_gets_an_answer(text: str) -> None:
    found = find(text)
    assert found is None or (found.gate, found.start, found.end) == ("noise", 0, 0)


@pytest.mark.parametrize("scrap", ["…", "好", "ok ", "sdf", " "])
def test_long_texts_take_no_time(scrap: str) -> None:
    text = (scrap * 65536)[:65536]
    started = time.process_time()
    find(text)
    assert time.process_time() - started < 0.5
