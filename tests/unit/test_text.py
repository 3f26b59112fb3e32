"""Text as memory sees it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorycore.domain.text import (
    entry_hash,
    index_tokens,
    norm_hash,
    normalise_for_compare,
    query_tokens,
    sanitise,
    script_class,
    split_parts,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ＡＢＣ１２３", "abc123"),
        ("设定在这里", "設定在這裡"),
        ("用户喜欢绿茶。", "用户喜欢绿茶"),
        ("先测试， 再发布", "先测试,再发布"),
        ("Use  two\tblanks", "use two blanks"),
        ("cafe\u0301", "café"),
        ("He said “yes”", 'He said "yes"'),
        ("a – b", "a - b"),
    ],
)
def test_forms_of_one_text_compare_as_equal(one: str, other: str) -> None:
    assert norm_hash(one) == norm_hash(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The port is 8080", "The port is 8081"),
        ("用户喜欢香菜", "用户不喜欢香菜"),
        ("rate 1.5", "rate 15"),
        ("有线网络", "无线网络"),
        ("C++", "C"),
        ("never push to main", "push to main"),
        ("version -1", "version 1"),
    ],
)
def test_different_facts_never_compare_as_equal(one: str, other: str) -> None:
    assert norm_hash(one) != norm_hash(other)


@given(st.text())
def test_comparing_twice_changes_nothing_more(text: str) -> None:
    once = normalise_for_compare(text)
    assert normalise_for_compare(once) == once


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("设备清单在书房", "设备"),  # IL-110
        ("重跑gen-itgc后五十条", "itgc"),  # IL-111
        ("サンドボックスの修正を確認", "サンド"),  # IL-112
        ("サンドボックスの修正を確認", "修正"),
        ("설정을 확인했다", "설정"),
        ("会议室ＡＢＣ１２３", "ABC123"),  # IL-120
        ("設定檔在這裡", "设定"),
        ("猫", "猫"),
    ],
)
def test_every_query_token_is_among_the_indexed_ones(stored: str, asked: str) -> None:
    tokens = query_tokens(asked)
    assert tokens
    assert set(tokens) <= set(index_tokens(stored).split())


def test_what_no_store_can_carry_is_replaced() -> None:  # IL-076
    assert sanitise("a\x00b\ud83dc") == "ab\ufffdc"


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("The user prefers dark mode", "latin"),
        ("用户用 Python 写接口", "han"),
        ("コーヒーは砂糖なしで飲む", "kana"),
        ("사용자는 커피를 좋아한다", "hangul"),
        ("Пользователь любит чай", "cyrillic"),
        ("", "latin"),
        ("12345 !?", "latin"),
    ],
)
def test_a_text_is_called_by_the_script_it_is_written_in(text: str, script: str) -> None:
    assert script_class(text) == script


@given(st.text(alphabet="ab。. \n,中", max_size=300), st.integers(min_value=1, max_value=40))
def test_parts_are_short_and_lose_nothing(text: str, limit: int) -> None:
    parts = split_parts(text, limit)
    if len(text) <= limit:
        assert parts == [text]
    assert all(len(part) <= limit for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_the_key_of_an_entry_ignores_outer_blanks_only() -> None:
    assert entry_hash(" a \n") == entry_hash("a") != entry_hash("A")
