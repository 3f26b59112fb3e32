"""Where texts go. routing.jsonl is the labelled development set, the others hold texts on other topics."""

import json
import time
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorycore.domain.cues import read
from memorycore.domain.lexicon import CJK_LANGUAGES, LATIN_LANGUAGES, expanded, lexicon
from memorycore.domain.memory import Target
from memorycore.domain.routing import Routing, route

DATA = Path(__file__).parents[1] / "data"
SETS = ["routing.jsonl", "routing_more.jsonl", "routing_other.jsonl"]
LANGUAGES = (*LATIN_LANGUAGES, *CJK_LANGUAGES)
Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def routed(row: Row) -> Routing:
    return route(row["content"], importance=row["importance"])


def share(found: list[bool]) -> float:
    return sum(found) / len(found)


@pytest.mark.parametrize(
    ("name", "bar"), [("routing.jsonl", 0.95), ("routing_more.jsonl", 0.95), ("routing_other.jsonl", 0.93)]
)
def test_labelled_texts_go_where_they_belong(name: str, bar: float) -> None:
    labelled = [(row, routed(row)) for row in rows(name)]
    wrong = [row["content"] for row, found in labelled if found.route != row["route"]]
    assert share([found.route == row["route"] for row, found in labelled]) >= bar, wrong


@pytest.mark.parametrize(("right", "bar"), [("hot", 0.92), ("cold", 0.94)])
def test_arrangements_without_a_word_of_duty_are_told_from_facts_like_them(right: str, bar: float) -> None:
    told = [row for row in rows("routing_standing.jsonl") if row["route"] == right]
    wrong = [row["content"] for row in told if route(row["content"], target=row["target"]).route != right]
    assert 1 - len(wrong) / len(told) >= bar, wrong


@pytest.mark.parametrize(
    "content",
    [
        "用户叫林芳",
        "用户叫“林芳”。",
        "用戶叫陳麗華，住柏林。",
        "用户叫 Anna Weber。",
        "用户姓林。",
        "用户姓欧阳，教书。",
    ],
)
def test_a_chinese_name_that_ends_its_clause_is_who_the_user_is(content: str) -> None:
    found = route(content)
    assert (found.route, found.kind) == ("hot", "identity")


@pytest.mark.parametrize(
    "content",
    [
        "用户叫醒服务在七点",
        "用户叫号系统在二楼",
        "用户叫不到车",
        "用户叫板竞争对手",
        "用户叫苦连天",
        "用户叫客服来修",
        "用户叫他儿子小宝",
        "用户叫了外卖",
        "用户叫网约车。",
        "用户叫儿子起床",
        "用户叫什么名字？",
        "用户姓氏字段长度为 20",
    ],
)
def test_calling_for_somebody_or_something_is_no_name(content: str) -> None:
    found = route(content)
    assert (found.route, found.kind) == ("cold", "fact")


def test_what_the_user_has_others_do_is_a_rule_and_no_name() -> None:
    assert route("用户叫我每天发周报").kind == "rule"


@pytest.mark.parametrize(
    ("content", "right"),
    [
        ("用户叫林芳。", "hot"),
        ("用户叫了外卖。", "cold"),
        ("Roller doors are oiled twice a year, chains first.", "hot"),
        ("Roller doors are insured with Baloise.", "cold"),
        ("The lift is booked by noon of the day before.", "hot"),
        ("The lift is limited to eight persons.", "cold"),
        ("After a power cut, the freezer log gets a line.", "hot"),
        ("After a power cut in March the freezer was empty.", "cold"),
        ("The seating plan leaves out children under three.", "hot"),
        ("The tailor leaves out nothing and charges little.", "cold"),
        ("User types with two fingers and proofreads on paper.", "hot"),
        ("User keeps two parrots in the kitchen.", "cold"),
        ("样衣退回两次以上，换裁缝再看。", "hot"),
        ("样衣是上海一家店做的。", "cold"),
        ("油漆低于两桶就补货。", "hot"),
        ("油漆涨了两成。", "cold"),
        ("Angebote nennen erst den Preis, dann die Frist.", "hot"),
        ("Der Schreiner nennt erst den Preis.", "cold"),
    ],
)
def test_the_subject_the_deed_and_its_limit_tell_an_arrangement_from_a_fact(content: str, right: str) -> None:
    assert route(content).route == right


@pytest.mark.parametrize(
    ("content", "target", "right"),
    [
        ("Ingrid wants recipes without garlic.", "user", "hot"),
        ("Ingrid wants recipes without garlic.", "memory", "cold"),
        ("Ingrid wants a new bicycle.", "user", "cold"),
        ("Ingrid's brother wants recipes without garlic.", "user", "cold"),
        ("Ingrid's yoga class is at six, keep that hour free.", "user", "hot"),
        ("Ingrid möchte gesiezt werden.", "user", "hot"),
    ],
)
def test_a_name_in_the_users_own_file_is_the_user(content: str, target: Target, right: str) -> None:
    assert route(content, target=target).route == right


@pytest.mark.parametrize("name", SETS)
def test_rules_and_records_are_typed_and_protection_is_found(name: str) -> None:
    labelled = [(row, routed(row)) for row in rows(name)]
    typed = [found.type == row["type"] for row, found in labelled if row["type"] != "n/a"]
    protected = [bool(found.protected) == row["protected"] for row, found in labelled if row["route"] == "hot"]
    assert share(typed) >= 0.92
    assert share(protected) >= 0.95


@pytest.mark.parametrize("name", SETS)
def test_nothing_worth_keeping_is_ever_stale(name: str) -> None:
    assert [row["content"] for row in rows(name) if row["route"] != "stale" and routed(row).route == "stale"] == []


@pytest.mark.parametrize("name", SETS)
def test_most_chores_of_a_working_session_are_stale(name: str) -> None:
    assert share([routed(row).route == "stale" for row in rows(name) if row["route"] == "stale"]) >= 0.85


@pytest.mark.parametrize(
    "content",
    [
        "Done means deployed.",
        "Only merged code is deployed.",
        "Kitchen stays clean.",
        "Paid invoices go to the blue folder.",
        "Tests green before merge.",
        "Close tickets once done.",
        "Half of the trail signs have been repainted.",
        "工单处理完就关掉。",
        "代码写完跑一遍测试。",
        "出门前关好窗户。",
        "合并前 CI 全绿。",
        "一个合并请求只做一件事。",
        "和这家供应商约定先付款后发货",
        "库存为零时自动通知对应的采购",
        "苹果树该修了",
        "用户买了一把二手大提琴。",
    ],
)
def test_words_of_completion_alone_make_no_text_stale(content: str) -> None:
    assert route(content).route != "stale"


@pytest.mark.parametrize(
    ("content", "right"),
    [
        ("Order 138 was packed twice.", "cold"),
        ("Test slots are handed out at ten.", "cold"),
        ("The Must family runs the inn.", "cold"),
        ("Lena always brings cake.", "cold"),
        ("After a release, bump the minor version.", "hot"),
        ("Check the list for what is missing.", "hot"),
        ("Running plan: at most four sessions a week.", "hot"),
    ],
)
def test_the_same_words_command_name_or_describe(content: str, right: str) -> None:
    assert route(content).route == right


# Texts that the predecessor judged wrongly, with the outcome that is right.
@pytest.mark.parametrize(
    ("content", "importance", "right"),
    [
        ("不要使用已删除的字段, 否则报错", 0.9, "hot"),
        ("必须在任务已完成后发邮件汇报", 0.95, "hot"),
        ("Never push to main without review", 0.5, "hot"),
        ("Bug 123 fixed, no longer relevant", None, "stale"),
        ("项目要求书已于昨日归档", 0.3, "cold"),
        ("2026-01-02 用户决定必须每天备份, 已配置 cron", None, "hot"),
        ("2026-08-16 未完成: 已配置一半", None, "cold"),
        ("User wants concise answers about embedding and importance of sleep", None, "hot"),
        ("Never delete the Mem0 export; overflow.py depends on it", None, "hot"),
        ("The recipe pipeline: README lists ssh and pip steps", None, "cold"),
        ("家人的车位端口在B2, 内核成员是姐姐", None, "cold"),
        ("对花生过敏, 吃了会休克", None, "hot"),
        ("住在覆盖很广的小区", None, "cold"),
        ("准确率指标是0.9", None, "cold"),
        ("汇报群的会议链接是 abc", None, "cold"),
        ("覆盖物店的电话是 123", None, "cold"),
    ],
)
def test_what_the_predecessor_got_wrong_comes_out_right(content: str, importance: float | None, right: str) -> None:
    assert route(content, importance=importance).route == right


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("20260815 拍板方案", "state"),
        ("Decided on 2026-08-15 to use Go; done", "state"),
        ("2026-08-15 生日: 女儿已加入足球队", None),
        ("2026-08-15 停用词表更新: 只保留 300 个词", None),
        ("2026-08-16 未完成: 已配置一半", None),
        ("4 May 2026: the lease ended", "state"),
        ("Am 3. März 2026 wurde der Vertrag unterschrieben.", "state"),
        ("El 3 de marzo de 2026 se firmó el contrato.", "state"),
        ("2026年7月8日、引っ越しが完了。", "state"),
        ("어제 점검을 마쳤다.", "state"),
        ("In 2019 the old press was sold.", None),
    ],
)
def test_only_what_is_over_on_a_stated_day_is_a_state(content: str, expected: str | None) -> None:
    found = route(content)
    assert (found.route, found.type) == ("cold", expected)


@pytest.mark.parametrize("importance", [0.8, 0.95, 1.0])
def test_importance_warms_facts_but_neither_records_nor_status_noise(importance: float) -> None:
    assert route("The kiln draws 32 amps.", importance=importance).route == "hot"
    assert route("On 4 May 2026 the lease was signed.", importance=importance).route == "cold"
    assert route("Ticket 310 closed.", importance=importance).route == "stale"


def test_a_low_importance_never_cools_a_rule() -> None:
    found = route("Never share customer data.", importance=0.05)
    assert found.route == "hot"
    assert found.importance == 0.05
    assert "low_importance_ignored" in {reason.code for reason in found.reasons}


@pytest.mark.parametrize(
    ("content", "codes"),
    [
        ("Under no circumstances pay an invoice yourself.", {"red_line"}),
        ("未经我同意，不得删除任何文件。", {"red_line"}),
        ("回答先给结论，再列依据。", {"behaviour"}),
        ("User corrected me: the quarter starts in February.", {"correction"}),
        ("The user is a nurse from Leeds.", {"identity"}),
        ("用户对青霉素过敏。", {"health"}),
        ("User prefers window seats.", set[str]()),
        ("Every new endpoint gets a line in the changelog.", set[str]()),
    ],
)
def test_protection_says_why(content: str, codes: set[str]) -> None:
    assert set(route(content).protected) == codes


def test_importance_protects_from_nine_tenths_on() -> None:
    assert route("The valve is behind the boiler.", importance=0.9).protected == ("importance",)
    assert route("The valve is behind the boiler.", importance=0.89).protected == ()


def test_what_the_caller_gives_comes_back() -> None:
    found = route("The kiln draws 32 amps.", importance=0.31, target="user", kind="insight", policy="episode")
    assert (found.importance, found.target, found.kind, found.policy) == (0.31, "user", "insight", "episode")
    assert found.route == "cold"


def test_a_kind_or_policy_that_guides_makes_hot() -> None:
    by_kind = route("The kiln draws 32 amps.", kind="rule")
    by_policy = route("The kiln draws 32 amps.", policy="core")
    assert (by_kind.route, by_kind.reasons[0].facts) == ("hot", (("kind", "rule"),))
    assert (by_policy.route, by_policy.reasons[0].facts) == ("hot", (("policy", "core"),))


@pytest.mark.parametrize(
    ("content", "kind", "policy", "target"),
    [
        ("User hates loud restaurants.", "preference", "rule", "user"),
        ("Never push to main without review.", "rule", "core", "memory"),
        ("用户纠正：下周是从周日开始算的。", "correction", "rule", "memory"),
        ("User is a beekeeper.", "identity", "core", "user"),
        ("This laptop runs Fedora.", "reference", "rule", "memory"),
        ("On 4 May 2026 the board approved the annex.", "decision", "fact", "memory"),
        ("On 4 May 2026 the lease ended.", "event", "fact", "memory"),
        ("用户的表弟在读机械专业。", "person", "fact", "user"),
        ("The kiln draws 32 amps.", "fact", "fact", "memory"),
        ("Cache cleared.", "event", "episode", "memory"),
    ],
)
def test_kind_policy_and_target_are_estimated(content: str, kind: str, policy: str, target: str) -> None:
    found = route(content)
    assert (found.kind, found.policy, found.target) == (kind, policy, target)


def test_estimated_importance_ranks_protected_over_hot_over_cold_over_stale() -> None:
    texts = [
        "Never delete backups.",
        "User likes tea.",
        "The kiln draws 32 amps.",
        "On 4 May 2026 the lease ended.",
        "Done.",
    ]
    ranks = [route(text).importance for text in texts]
    assert ranks == sorted(ranks, reverse=True)
    assert len(set(ranks)) == len(ranks)


@pytest.mark.parametrize(
    ("content", "code", "facts"),
    [
        ("Never push to main.", "directive", {"word": "never"}),
        ("Cache cleared.", "finished_status", {"word": "cleared"}),
        ("On 4 May 2026 the lease ended.", "dated_record", {"date": "4 may", "word": "ended"}),
        ("The rate limiter is not yet deployed.", "pending", {"word": "not yet"}),
        ("Moved the keys to the cellar.", "finished_with_content", {"word": "moved", "kept": "to"}),
        ("Should we always sign the tags?", "question", {"word": "?"}),
        ("A reviewer wrote that it should never ship.", "third_person", {"word": "wrote"}),
        ("Back in 2009 the team always used Subversion.", "past_habit", {"word": "back in"}),
        ('The novel opens with "Never trust a quiet river".', "quote", {"word": "never"}),
        ("```\ndef must_retry(): return never\n```", "code", {"word": "`"}),
        ("The kiln draws 32 amps.", "plain_fact", {}),
    ],
)
def test_the_first_reason_is_the_one_that_decided(content: str, code: str, facts: dict[str, str]) -> None:
    reason = route(content).reasons[0]
    assert (reason.code, dict(reason.facts)) == (code, facts)


def test_an_importance_that_did_not_get_its_way_is_named() -> None:
    assert route("Ticket 310 closed.", importance=0.9).reasons[1].code == "status_outranks_importance"
    assert route("4 May 2026: lease signed.", importance=0.9).reasons[1].code == "record_outranks_importance"


@pytest.mark.parametrize(
    ("traditional", "simplified"),
    [
        ("用戶對青黴素過敏。", "用户对青霉素过敏。"),
        ("禁止調用已廢棄的介面", "禁止调用已废弃的介面"),
        ("依賴升級已合併。", "依赖升级已合并。"),
    ],
)
def test_traditional_script_is_judged_like_simplified(traditional: str, simplified: str) -> None:
    assert route(traditional) == route(simplified)


@pytest.mark.parametrize(
    "content",
    ["NEVER PUSH TO MAIN WITHOUT REVIEW", "Ｎｅｖｅｒ push to main", "“Never push to main.”", "  Never push to main\n"],
)
def test_case_width_blanks_and_quotes_round_the_whole_do_not_matter(content: str) -> None:
    assert route(content).route == "hot"


@given(st.text(max_size=300), st.none() | st.floats(0, 1))
def test_any_text_gets_a_decision_with_a_reason(content: str, importance: float | None) -> None:
    found = route(content, importance=importance)
    assert found.route in {"hot", "cold", "stale"}
    assert found.reasons
    assert (found.type == "rule") == (found.route == "hot")
    assert found == route(content, importance=importance)


def test_a_text_takes_well_under_a_millisecond() -> None:
    texts = [row["content"] for row in rows("routing.jsonl")]
    for text in texts:
        route(text)
    started = time.process_time()
    for text in texts:
        route(text)
    assert (time.process_time() - started) / len(texts) < 0.0015


@pytest.mark.parametrize(
    ("content", "language"),
    [
        ("Deploy finished.", "en"),
        ("Sauvegarde terminée, aucune erreur.", "fr"),
        ("Sicherung abgeschlossen, keine Fehler.", "de"),
        ("Copia terminada, sin errores.", "es"),
        ("staging 的 hotfix 已 deploy。", "zh"),
        ("ビルド成功", "ja"),
        ("빌드 성공", "ko"),
    ],
)
def test_the_language_of_short_texts_is_found(content: str, language: str) -> None:
    assert read(content).language == language


@pytest.mark.parametrize("language", LANGUAGES)
def test_vocabulary_uses_cues_that_english_or_chinese_know(language: str) -> None:
    folder = files("memorycore.domain") / "vocabulary"
    names = {
        one: set(tomllib.loads((folder / f"routing.{one}.toml").read_text(encoding="utf-8"))["cues"])
        for one in (language, "en", "zh")
    }
    assert names[language] <= names["en"] | names["zh"]


def test_choices_in_a_phrase_are_written_out_within_bounds() -> None:
    assert list(expanded("will (not|) do|shall")) == ["will not do", "will do", "shall"]
    for language in LATIN_LANGUAGES:
        loaded = lexicon(language)
        longer = sum(len(same) for by_second in loaded.phrases.values() for same in by_second.values())
        assert len(loaded.words) + longer < 12_000


@pytest.mark.parametrize(
    ("content", "protected"),
    [
        ("Branch names start with the ticket number.", False),
        ("Error codes are upper case with underscores.", False),
        ("Answered letters move to the grey tray.", False),
        ("Every couriered parcel is photographed at the door.", False),
        ("We squash before merging.", False),
        ("Always let agent 1 run the migrations, never agent 2.", True),
        ("分支名以工单号开头。", False),
        ("已付款的订单改地址，要重新开单。", False),
        ("界面都用深色模式。", False),
        ("没把握的时候告诉我。", True),
    ],
)
def test_a_convention_needs_no_word_of_duty(content: str, protected: bool) -> None:  # noqa: FBT001 a column of the table
    found = route(content)
    assert (found.route, bool(found.protected) or protected) == ("hot", protected)


@pytest.mark.parametrize(
    "content",
    [
        "Test slots are handed out at ten.",
        "Guests may use the pool.",
        "Orders were exported.",
        "Photos are in the shared album.",
        "打印纸在第三层架子上。",
        "release note 由小禾来写",
        "备用瓷砖收在楼梯下面。",
    ],
)
def test_what_happens_to_certain_things_is_no_convention(content: str) -> None:
    assert route(content).route == "cold"


@pytest.mark.parametrize(
    "content",
    [
        "Fass dich kurz.",
        "Ve al grano, sin rodeos.",
        "Pas de formules de politesse, va droit au but.",
        "お世辞はいらない。",
        "칭찬은 생략하고 바로 본론으로.",
        "Je suis dentiste à Gand.",
        "Ich bin Kinderzahnärztin in Gent.",
        "Soy dentista infantil en Gante.",
        "私はヘントの小児歯科医です。",
        "저는 겐트에 사는 소아치과 의사입니다.",
    ],
)
def test_manners_and_people_are_protected_in_every_language(content: str) -> None:
    assert route(content).protected


@pytest.mark.parametrize("what", ["CERTIFICATE", "PRIVATE KEY", "OPENSSH PRIVATE KEY"])
def test_the_lines_around_a_key_tell_nobody_to_begin(what: str) -> None:  # IL-200
    block = f"-----BEGIN {what}-----\n[secret: private key]\n-----END {what}-----"
    assert {route(block).route, route(f"The key of the server is:\n{block}").route} == {"cold"}
    assert route(f"Always use this one:\n{block}").route == "hot"


def test_a_list_of_ticked_boxes_is_stale() -> None:
    assert route("- [x] rerun the tests\n- [x] push the branch").route == "stale"
    assert route("- [x] rerun the tests\n- [ ] push the branch").route != "stale"


@pytest.mark.parametrize("scrap", ["必须 ", "never ", "分支名以工单号开头。", "fixed ", "a", '"x" '])
def test_a_long_text_takes_bounded_time(scrap: str) -> None:
    text = (scrap * 65536)[:65536]
    started = time.process_time()
    route(text)
    assert time.process_time() - started < 5
