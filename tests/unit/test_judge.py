"""The judge. judge.jsonl is the labelled development set, the others hold pairs of other topics and kinds."""

import json
import time
from pathlib import Path

import pytest

from memorycore import messages
from memorycore.domain import judge as judge_module
from memorycore.domain.assertion import assertion_of
from memorycore.domain.judge import Verdict, judge

DATA = Path(__file__).parents[1] / "data"
DESTRUCTIVE = {"same", "refines", "supersedes"}
Row = dict[str, str]


def judged(name: str) -> list[tuple[Row, Verdict]]:
    rows: list[Row] = [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]
    return [(row, judge(row["old"], row["new"])) for row in rows]


def share(found: list[bool]) -> float:
    return sum(found) / len(found)


def codes(verdict: Verdict) -> set[str]:
    return {sign.code for sign in verdict.evidence}


@pytest.mark.parametrize("name", ["judge.jsonl", "judge_more.jsonl", "judge_other.jsonl"])
def test_what_must_be_kept_apart_is_hardly_ever_merged(name: str) -> None:
    apart = [(row, found) for row, found in judged(name) if row["relation"] in {"different", "disputes"}]
    lost = [(row["id"], found.relation) for row, found in apart if found.relation in DESTRUCTIVE]
    assert len(lost) <= len(apart) / 100, lost


def test_nothing_is_same_when_a_number_unit_name_date_negation_or_subject_differs() -> None:
    slots = {"number", "unit", "name", "date", "negation", "subject"}
    merged = [
        row["id"]
        for row, found in (*judged("judge.jsonl"), *judged("judge_other.jsonl"))
        if row["key"] in slots
        and row["relation"] in {"different", "disputes"}
        and found.relation in {"same", "refines"}
    ]
    assert merged == []


@pytest.mark.parametrize(
    ("name", "labels", "changes"),
    [("judge.jsonl", 0.92, 0.93), ("judge_more.jsonl", 0.92, 0.93), ("judge_other.jsonl", 0.9, 0.88)],
)
def test_labels_are_right(name: str, labels: float, changes: float) -> None:
    found = judged(name)
    wrong = [
        (row["id"], row["relation"], verdict.relation) for row, verdict in found if row["relation"] != verdict.relation
    ]
    assert share([row["relation"] == verdict.relation for row, verdict in found]) >= labels, wrong
    conflicts = [verdict for row, verdict in found if row["relation"] in {"supersedes", "disputes"}]
    assert share([verdict.relation in {"supersedes", "disputes"} for verdict in conflicts]) >= changes, wrong


@pytest.mark.parametrize(
    ("old", "new", "relation"),
    [
        # what the systems before this one did wrong
        ("The key rotates every 30 days", "The key rotates every 30 days.", "same"),
        ("The capital of France is Paris", "Paris is the capital of France", "same"),
        ("Backups run at 02:00 on server A", "Backups run at 02:00 on server B", "different"),
        ("Backups of server A run at 02:00", "Backups of server B run at 02:00", "different"),
        ("Do not deploy on Friday", "Do not deploy on Friday evenings", "refines"),
        ("The meeting is on Monday", "The meeting is on Tuesday", "disputes"),
        ("The user is allergic to nuts", "The user is not allergic to nuts", "disputes"),
        ("I live in Madrid", "I live in Berlin", "disputes"),
        ("The user is vegan", "The user eats steak on Sundays", "disputes"),
        ("The build takes 5 minutes", "The build takes about five minutes", "same"),
        # cases of other products
        ("Recommendation SR-2023-052 is closed", "Recommendation SR-2023-053 is closed", "different"),
        ("Ana's favourite colour is purple", "Bob's favourite colour is cyan", "different"),
        ("Works at Acme", "Just joined Borealis", "supersedes"),
        ("Likes Thai food", "Cannot stand Thai food", "supersedes"),
        ("Sam Lee is my dentist", "Sam Lee owns the flat", "different"),
    ],
)
def test_known_traps(old: str, new: str, relation: str) -> None:
    found = judge(old, new)
    assert found.relation == relation, found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Always answer in English.", "Answer in German this time."),
        ("Use four spaces.", "For this repo, use tabs instead of four spaces."),
        ("The shop closes at six.", "Today the shop closes at four."),
        ("回复一律用中文", "这次回复用英文"),
        ("封面用蓝色", "本项目封面用红色"),
        ("会议在三楼开", "会议暂时在五楼开"),
        ("返信は日本語で書く。", "今回は返信を英語で書く。"),
        ("회의는 3층에서 한다.", "이번 회의는 5층에서 한다."),
        ("Réponds en français.", "Réponds en anglais cette fois."),
        ("Antworte auf Deutsch.", "Antworte diesmal auf Englisch."),
        ("Responde en español.", "Esta vez responde en inglés."),
    ],
)
def test_a_limited_statement_is_an_exception_and_replaces_nothing(old: str, new: str) -> None:
    found = judge(old, new)
    assert (found.relation, found.limited, codes(found)) == ("different", True, {"limited"})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("伯伯住在苏州", "舅舅住在苏州"),
        ("用户的堂哥在银行上班", "用户的表哥在银行上班"),
        ("奶奶做的饺子", "外婆做的饺子"),
        ("Use a third of a cup of oil.", "Use two thirds of a cup of oil."),
        ("The tank is a quarter full.", "The tank is three quarters full."),
        ("Un tiers du budget va aux voyages.", "Deux tiers du budget vont aux voyages."),
        ("La note est ré.", "La note est la."),
        ("Le code est le mot un.", "Le code est le mot deux."),
        ("El tono es mi.", "El tono es la."),
        ("The parcel goes to gate number 4.", "The parcel goes to gate number 5."),
    ],
)
def test_a_relative_a_fraction_and_a_short_word_in_the_place_of_a_value_are_not_overlooked(old: str, new: str) -> None:
    assert judge(old, new).relation not in DESTRUCTIVE
    assert judge(new, old).relation not in DESTRUCTIVE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The treasurer is Ada.", "The treasurer is Ben; Ada fell ill and resigned."),
        ("The caretaker is Mr Ott.", "Mr Ott has retired, the caretaker is Ms Lund."),
        ("班长是小李", "班长是小王，小李转学了"),
        ("会议九点开", "搞错了，会议十点开"),
        ("用户在东门等车", "记错了，用户在西门等车"),
    ],
)
def test_a_new_value_told_with_the_going_of_the_old_one_supersedes(old: str, new: str) -> None:
    assert judge(old, new).relation == "supersedes"


def test_evidence_names_what_differs_in_the_words_of_the_texts() -> None:
    (sign,) = judge("The dose is 3 mg per day.", "The dose is 3 g per day.").evidence
    assert (sign.code, sign.old, sign.new) == ("unit", "3 mg", "3 g")
    changed = judge("例会在周一", "例会现在改到周三")
    assert changed.relation == "supersedes"
    assert changed.evidence[0].new == "改到"


def test_a_model_helps_across_languages_only_where_nothing_speaks_against_it() -> None:
    pair = ("The foreman keeps the spare key.", "工头保管备用钥匙。")
    assert (judge(*pair).relation, judge(*pair).undecided) == ("different", True)
    assert judge("The dose is 3 mg.", "剂量是 5 毫克。", likeness=0.99).relation == "disputes"
    assert judge("用户不吃肉", "The user eats meat.", likeness=0.99).relation == "disputes"


def test_a_document_is_not_compared_word_by_word() -> None:
    start = time.perf_counter()
    found = judge("word " * 12_000, "word " * 12_000 + "more")
    assert (found.relation, found.undecided) == ("different", True)
    assert time.perf_counter() - start < 1


def test_a_pair_takes_well_under_a_millisecond_when_its_texts_were_read() -> None:
    found = judged("judge.jsonl")
    start = time.process_time()
    for row, _ in found:
        judge(row["old"], row["new"])
    assert (time.process_time() - start) / len(found) < 0.001


def test_reading_is_remembered() -> None:
    assert assertion_of("The mill is closed.") is assertion_of("The mill is closed.")


@pytest.mark.parametrize("lang", messages.LANGUAGES)
def test_every_code_of_evidence_has_a_sentence(lang: messages.Language) -> None:
    source = "".join(path.read_text("utf-8") for path in Path(judge_module.__file__).parent.glob("*.py"))
    used = {code for _, found in (*judged("judge.jsonl"), *judged("judge_more.jsonl")) for code in codes(found)}
    assert used
    assert [code for code in used if not messages.has(f"evidence.{code}", lang)] == []
    assert 'evidence("' in source


def test_strangers_that_sound_alike_are_kept_apart() -> None:
    texts = (DATA / "unrelated.txt").read_text(encoding="utf-8").splitlines()
    found = [(old, new, judge(old, new)) for old in texts for new in texts if old != new]
    assert [(old, new, verdict) for old, new, verdict in found if verdict.relation != "different"] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The café of house 12 was founded by 14 bakers.", "The café of house 14 was founded by 12 bakers."),
        ("Room 3 has 5 windows.", "Room 5 has 3 windows."),
        ("Gate 4 opens at 8 and closes at 9.", "Gate 4 opens at 9 and closes at 8."),
        ("Server a has 16 GB and server b has 32 GB.", "Server a has 32 GB and server b has 16 GB."),
        ("3号房有5扇窗。", "5号房有3扇窗。"),
    ],
)
def test_values_that_change_places_are_not_the_same(old: str, new: str) -> None:
    assert judge(old, new).relation in {"disputes", "different"}


@pytest.mark.parametrize(
    ("old", "new"),
    [("Use 2 spaces in 4 files.", "In 4 files use 2 spaces."), ("Allow ports 80 and 443.", "Allow ports 443 and 80.")],
)
def test_values_that_move_with_their_words_are_the_same(old: str, new: str) -> None:
    assert judge(old, new).relation == "same"
