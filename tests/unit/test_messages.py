"""Both languages say the same things, and every code has its sentence."""

import re
from pathlib import Path

import pytest

from memorycore import errors, messages
from memorycore.embed import CHOICE_CODES, FAILURE_CODES
from memorycore.errors import InvalidInput, MemoryCoreError, TooLong
from memorycore.options import Language
from memorycore.settings import Settings


def all_errors(base: type[MemoryCoreError] = MemoryCoreError) -> list[type[MemoryCoreError]]:
    return [base, *(found for child in base.__subclasses__() for found in all_errors(child))]


def facts_of(sentence: str) -> set[str]:
    return set(re.findall(r"\{(\w+)[:}]", sentence))


def test_both_languages_have_the_same_codes_and_facts() -> None:
    english, chinese = messages.catalogue("en"), messages.catalogue("zh")
    assert english.keys() == chinese.keys()
    different = {code for code in english if facts_of(english[code]) != facts_of(chinese[code])}
    assert not different


@pytest.mark.parametrize("lang", messages.LANGUAGES)
def test_no_sentence_has_a_stray_bracket_or_brace(lang: Language) -> None:
    for code, sentence in messages.catalogue(lang).items():
        left = messages.fill(sentence, dict.fromkeys(facts_of(sentence), "x")) + messages.fill(sentence, {})
        assert not re.search(r"[\[\]{}]", left), code


def test_chinese_is_chinese() -> None:
    for code, sentence in messages.catalogue("zh").items():
        words = re.sub(r"\{\w+\}|Python", "", sentence)
        assert re.search(r"[\u4e00-\u9fff]", words) or not re.search(r"[A-Za-z]{2,}", words), code


@pytest.mark.parametrize("error", all_errors())
def test_every_error_has_a_text_in_both_languages(error: type[MemoryCoreError]) -> None:
    assert all(messages.has(error.code, lang) for lang in messages.LANGUAGES)
    assert error.__doc__ is not None or error.code


def test_every_setting_is_explained() -> None:
    for key in Settings.__dataclass_fields__:
        if "variables" in Settings.__dataclass_fields__[key].metadata:
            assert messages.has(f"setting.{key}", "en"), key


def test_a_missing_fact_takes_its_part_of_the_sentence_along() -> None:
    assert messages.reason("directive", "en", word="never") == "directive: it gives an instruction (“never”)"
    assert messages.reason("directive", "en") == "directive: it gives an instruction"
    assert messages.reason("directive", "zh") == "directive: 这是一条指令"


def test_one_of_a_thing_is_not_many() -> None:
    assert messages.text("doctor.index_gaps", "en", count=1).startswith("1 gap between")
    assert messages.text("doctor.index_gaps", "en", count=2).startswith("2 gaps between")
    assert messages.text("usage.hot", "en", entries=1).endswith("1 entry")


@pytest.mark.parametrize("lang", messages.LANGUAGES)
def test_a_text_that_no_file_takes_is_refused_in_a_whole_sentence(lang: Language) -> None:
    sentence = messages.error_text(errors.InvalidInput(field="content", why="over_quarter"), lang)
    assert {"en": "content would fill more than a quarter", "zh": "content 会占去"}[lang] in sentence


def test_braces_and_brackets_in_a_fact_do_nothing() -> None:
    error = errors.NotFound(id="{id} [x{y}]")
    assert "{id} [x{y}]" in messages.error_text(error, "en")


def test_a_why_is_translated_and_a_systems_own_words_stay() -> None:
    known = errors.SettingsError(key="trash_days", why="not_between", least="1", most="9")
    assert "必须在 1 到 9 之间" in messages.error_text(known, "zh")
    system = errors.Unwritable(path="/x", why="No space left on device", mode="0600")
    assert "No space left on device" in messages.error_text(system, "zh")


def test_an_unknown_code_is_its_own_text() -> None:
    assert messages.text("brand_new", "zh") == "brand_new"


def test_a_refusal_carries_code_sentence_and_whether_to_try_again() -> None:
    problem = messages.problem(errors.StoreBusy(path="/db", waited_s=5), "en")
    assert (problem["ok"], problem["code"], problem["retryable"]) == (False, "store_busy", True)
    assert "Nothing was changed" in problem["message"]


def test_of_a_line_nobody_says_that_nothing_was_changed() -> None:
    error = InvalidInput(field="line", why="not_json")
    assert messages.error_text(error, "en", of_a_line=True).endswith("It was left out.")
    assert messages.error_text(error, "zh", of_a_line=True).endswith("已略过。")
    too_long = TooLong(size_bytes=70_000, limit_bytes=65_536)
    assert messages.error_text(too_long, "en", of_a_line=True) == messages.error_text(too_long, "en")


SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in Path(messages.__file__).parents[1].rglob("*.py"))


@pytest.mark.parametrize(
    ("pattern", "table"),
    [
        (r"""(?:messages\.(?:text|reason)|\bword)\(\s*"([a-z_]+(?:\.[a-z_]+)?)["\s]""", ""),
        (r"""Reason\(\s*(?:code=)?"([a-z_]+)\"""", ""),
        (r"""\bwhy="([^"]+)\"""", "why."),
        (r"""Finding\(level=\S+, code="([a-z_]+)\"""", "doctor."),
        (r"""\bleft_out="([a-z_]+)\"""", "import."),
        (r"""\bProblem\(path=.+?, code="([a-z_]+)\"""", "import."),
    ],
)
def test_every_code_in_the_source_has_a_text(pattern: str, table: str) -> None:
    used = set(re.findall(pattern, SOURCE))
    assert used
    assert sorted(code for code in used if not {table + code, code} & messages.catalogue("en").keys()) == []


def test_every_state_of_a_model_has_a_text() -> None:
    for code in (*CHOICE_CODES, *FAILURE_CODES):
        assert messages.has(f"degraded.{code}", "en"), code
        assert "{why}" not in messages.text(f"degraded.{code}", "zh")
