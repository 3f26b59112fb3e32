"""The judge on generated pairs: what never happens, whatever the texts say."""

import json
import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from memorycore.domain.judge import judge

DATA = Path(__file__).parents[1] / "data"
SENTENCES = sorted(
    {
        text
        for name in ("judge.jsonl", "judge_more.jsonl", "judge_other.jsonl")
        for line in (DATA / name).read_text(encoding="utf-8").splitlines()
        for text in (json.loads(line)["old"], json.loads(line)["new"])
    }
)
DESTRUCTIVE = {"same", "refines", "supersedes"}
NUMBERED = [text for text in SENTENCES if any(map(str.isdecimal, text))]
LIMITS = {
    "en": ("This time, ", "Today, ", "For this repo, ", "Temporarily, "),
    "zh": ("这次", "今天", "暂时", "本项目里"),
}

unhurried = settings(deadline=None)  # the first example reads the vocabulary
sentences = st.sampled_from(SENTENCES)
text = st.text(max_size=200) | sentences


def language(sentence: str) -> str:
    if any("\u3040" <= sign <= "\u30ff" or "\uac00" <= sign <= "\ud7a3" for sign in sentence):
        return "other"
    return "zh" if any("\u4e00" <= sign <= "\u9fff" for sign in sentence) else "en"


@unhurried
@given(text)
def test_a_text_is_the_same_as_itself(one: str) -> None:
    assert judge(one, one).relation == "same"


@unhurried
@given(text, text)
def test_no_pair_of_texts_fails(one: str, other: str) -> None:
    assert judge(one, other).relation


@unhurried
@given(sentences, st.sampled_from(["{}  ", " {}", "{}。"]))
def test_blanks_and_a_final_stop_make_no_other_text(one: str, form: str) -> None:
    assert judge(one, form.format(one.rstrip(".。"))).relation == "same"


@unhurried
@given(text, text)
def test_sameness_has_no_direction(one: str, other: str) -> None:
    assert (judge(one, other).relation == "same") == (judge(other, one).relation == "same")


@unhurried
@given(st.sampled_from(NUMBERED), st.data())
def test_another_digit_is_never_merged(one: str, data: st.DataObject) -> None:
    place = data.draw(st.sampled_from([at for at, sign in enumerate(one) if sign.isdecimal()]))
    digit = data.draw(st.sampled_from([sign for sign in "0123456789" if sign != one[place]]))
    other = one[:place] + digit + one[place + 1 :]
    found = judge(one, other)
    later = found.relation == "supersedes" and {sign.code for sign in found.evidence} == {"later"}
    if found.relation == "same":  # the same number in another width or with a leading zero
        assert int(one[place]) == int(digit) or "0" in (digit, one[place])
    else:
        assert later or found.relation not in DESTRUCTIVE, found


SWAPS = [
    (" is ", " is not "), (" are ", " are not "), (" has ", " has no "), (" must ", " must not "),
    (" may ", " may not "), (" likes ", " does not like "),
    (" lives ", " does not live "), (" kg", " g"), ("minutes", "hours"), ("days", "weeks"),
    ("euros", "dollars"), ("GB", "MB"), ("喜欢", "不喜欢"), ("必须", "不必"), ("可以", "不可以"), ("分钟", "小时"),
    ("公斤", "斤"), ("厘米", "毫米"), ("元", "美元"),
]  # fmt: skip


@unhurried
@given(sentences, st.sampled_from(SWAPS))
def test_a_negation_duty_or_unit_more_is_never_merged(one: str, swap: tuple[str, str]) -> None:
    if swap[0] in one and swap[1] not in one:
        assert judge(one, one.replace(*swap, 1)).relation not in DESTRUCTIVE


@unhurried
@given(sentences, st.data())
def test_a_limited_statement_never_replaces_an_unlimited_one(one: str, data: st.DataObject) -> None:
    if language(one) == "other":
        return
    limit = data.draw(st.sampled_from(LIMITS[language(one)]))
    if judge(one, limit + one).evidence[0].code == "limited":
        assert judge(one, limit + one).relation == "different"
    assert judge(one, limit + one).relation not in {"refines", "supersedes"}


@settings(max_examples=5, deadline=None)
@given(st.text(alphabet=st.sampled_from("a1 -/.的不3:"), min_size=1, max_size=30))
def test_the_longest_text_is_judged_in_time(piece: str) -> None:
    long = (piece * (65_536 // len(piece) + 1))[:65_536]
    assert judge(long, long + "x").relation == "different" or not piece.strip()


def test_sentences_of_different_pairs_hardly_ever_replace_one_another() -> None:
    shuffled = random.Random(5).sample(SENTENCES, 1200)
    found = [(one, other, judge(one, other)) for one, other in zip(shuffled[::2], shuffled[1::2], strict=True)]
    destroyed = [(one, other) for one, other, verdict in found if verdict.relation in DESTRUCTIVE]
    assert len(destroyed) <= 1, destroyed


def test_an_hour_and_more_minutes_than_an_hour_has_are_one_amount() -> None:
    film = "The film lasts an hour and {} minutes."
    assert judge(film.format(35), film.format(95)).relation == "disputes"
    assert judge(film.format(35), "The film lasts 95 minutes.").relation == "same"
