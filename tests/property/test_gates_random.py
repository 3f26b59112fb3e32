"""Keys of every format and numbers in any surroundings: found whole, masked once, and nothing ever raises."""

import re
import string
from functools import cache
from itertools import pairwise

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from memorycore.domain.gates import mask, personal, secrets
from memorycore.domain.gates.identity import iban_holds, luhn
from memorycore.domain.gates.values import is_placeholder

TRICKY = st.sampled_from([
    "password", "密码", "is", "是", ":", "：", "=", '"', "'", "「", "」", "[", "]", "[secret: key]", "\n", "\\n",
    "．", "@", "://", "-----BEGIN PRIVATE KEY-----", "token", "sk-", "138", "4111", "phone", "电话", "IBAN",
    "\u200b", "İ", "ﬁ", "e\u0301", "👩‍👧", "\ud800",
])  # fmt: skip
ANYTHING = st.lists(TRICKY | st.text(max_size=4), max_size=14).map("".join)
# What may stand right before and behind a key in a sentence; anything else would be part of it.
BEFORE = st.sampled_from([" ", "\n", "：", "是", "「", '"', "(", "= "])
BEHIND = st.sampled_from([" ", "\n", "。", "，", "」", '"', ") ", ""])
PLAIN = st.text(alphabet=string.ascii_lowercase + " ,茶园的灯はが", max_size=30)
FORMATS = {form.rule: re.compile(form.pattern, re.ASCII) for form in secrets.formats() if not form.near}


def both(text: str) -> list[tuple[int, int]]:
    return sorted((finding.start, finding.end) for find in (secrets.find, personal.find) for finding in find(text))


@cache
def keys_of(rule: str) -> st.SearchStrategy[str]:
    return st.from_regex(FORMATS[rule], fullmatch=True, alphabet=st.characters(codec="ascii"))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data(), rule=st.sampled_from(sorted(FORMATS)), before=PLAIN, tie=BEFORE, behind=BEHIND, after=PLAIN)
def test_a_key_of_any_format_is_found_with_its_exact_span(
    data: st.DataObject, rule: str, before: str, tie: str, behind: str, after: str
) -> None:
    pattern = FORMATS[rule]
    key = data.draw(keys_of(rule))
    match = pattern.fullmatch(key)
    assert match
    value = match.group(1) if pattern.groups else key
    assume(len(set(value)) > 9)  # a row of zeros stands for a key, and is none
    assume(not is_placeholder(value) and not is_placeholder(key) and not value.endswith(".") and "\n" not in key)
    text = f"{before}{tie}{key}{behind}{after if behind else ''}"
    at = text.index(key) + match.start(1 if pattern.groups else 0)
    assert any(finding.start <= at and finding.end >= at + len(value) for finding in secrets.find(text)), text
    assert value not in mask(text, secrets.find(text))


@settings(max_examples=100, deadline=None)
@given(ANYTHING)
def test_any_text_is_read_and_a_masked_text_stays_as_it_is(text: str) -> None:
    found = [*secrets.find(text), *personal.find(text)]
    assert all(0 <= finding.start < finding.end <= len(text) for finding in found)
    for find in (secrets.find, personal.find):
        ordered = [(finding.start, finding.end) for finding in find(text)]
        assert all(first[1] <= second[0] for first, second in pairwise(ordered))
    once = mask(text, found)
    assert mask(once, [*secrets.find(once), *personal.find(once)]) == once


def with_luhn(digits: str) -> str:
    return next(digits + last for last in string.digits if luhn(digits + last))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["4", "51", "2221", "37", "6011", "3528", "62"]),
    st.text(string.digits, min_size=18, max_size=18),
    st.sampled_from(["", " ", "-"]),
    BEFORE,
    BEHIND,
)
def test_a_card_of_any_brand_is_found(prefix: str, digits: str, blank: str, tie: str, behind: str) -> None:
    length = 15 if prefix == "37" else 16
    number = with_luhn((prefix + digits)[: length - 1])
    cuts = [4, 10, 15] if length == 15 else [4, 8, 12, 16]
    written = blank.join(number[start:end] for start, end in zip([0, *cuts], cuts, strict=False))
    text = f"Pay with{tie}{written}{behind}"
    assert [text[finding.start : finding.end] for finding in personal.find(text)] == [written]


@settings(max_examples=60, deadline=None)
@given(st.text(string.digits, min_size=18, max_size=18), st.sampled_from(["", " "]), BEFORE, BEHIND)
def test_a_bank_account_of_any_digits_is_found(digits: str, blank: str, tie: str, behind: str) -> None:
    number = next(f"DE{check:02}{digits}" for check in range(2, 99) if iban_holds(f"DE{check:02}{digits}"))
    written = blank.join(number[start : start + 4] for start in range(0, 22, 4)) if blank else number
    text = f"Pay to{tie}{written}{behind}"
    assert [text[finding.start : finding.end] for finding in personal.find(text)] == [written]


@settings(max_examples=100, deadline=None)
@given(ANYTHING)
def test_masking_keeps_the_lines_of_a_text(text: str) -> None:
    assert mask(text, secrets.find(text)).count("\n") <= text.count("\n")
    whole = text.splitlines()
    masked = mask(text, [finding for finding in secrets.find(text) if "\n" not in text[finding.start : finding.end]])
    assert len(masked.splitlines()) == len(whole)
    assert both(text) == both(text)
