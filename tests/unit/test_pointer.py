"""Pointers: what is left in the prompt of a rule that went to the cold tier. It names topics and says nothing."""

import json
import re
import unicodedata
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from memorycore.domain.gates import instructions, noise, personal, secrets
from memorycore.domain.judge import judge
from memorycore.domain.pointer import asked_for, fold, is_fold, is_pointer, key_of, pointer, topics
from memorycore.domain.routing import route
from memorycore.hot.document import parse, render, why_not_hot

DATA = Path(__file__).parents[1] / "data"
MARKS = {
    "en": "[recall]", "zh": "[召回]", "ja": "[記憶]", "ko": "[기억]", "fr": "[mémoire]", "de": "[Abruf]",
    "es": "[memoria]",
}  # fmt: skip
RULES = {
    "en": [
        "Never push to main without review.",
        "Always run the linter before you commit to the release branch.",
        "Don't email customers about invoices on weekends.",
        "Ask before deleting any file in the archive folder.",
        "Prices are quoted in euros, never in dollars.",
        "Under no circumstances share the payroll spreadsheet with the landlord.",
        "You must only deploy to production after the smoke tests.",
        "Squash commits and bump the changelog before merging.",
        "Keep lab notebooks in the grey cabinet.",
        "Prefers oat milk in coffee.",
        "`make deploy` must not be run from a laptop.",
        "Stop translating street names in the guide.",
    ],
    "zh": [
        "没有评审不要把代码推到主分支。",
        "禁止在生产数据库上执行删除语句。",
        "发给客户的邮件必须先经过法务审核。",
        "绝不要把工资表发给房东。",
        "所有发票都要带上税号和合同编号。",
        "周报每周五之前写好，先写结论再写数据。",
        "只在测试环境里使用临时令牌。",
        "绝不能让客户录音离开实验室。",
        "用户对花生过敏，餐厅要先确认菜单。",
        "提交前必须先跑单元测试，再更新文档。",
    ],
    "zh-Hant": [
        "沒有審查不要把程式碼推到主分支。",
        "禁止在正式資料庫執行刪除語句。",
        "寄給客戶的郵件必須先經過法務審核。",
        "絕不要把薪資表寄給房東。",
        "發票一律要附上統一編號和合約影本。",
        "會議紀錄只放在團隊的雲端硬碟。",
    ],
    "ja": [
        "レビューなしで本番ブランチにプッシュしてはいけない。",
        "顧客データを絶対に社外のサーバーへ送らないこと。",
        "コミットメッセージは必ず英語で書く。",
        "請求書は毎月末に経理部へ送ってください。",
        "バックアップを確認する前にデータベースを削除しない。",
        "会議の議事録は共有フォルダに保存すること。",
        "パスワードをログに残すことは禁止。",
        "ユーザーは紅茶を好む。",
    ],
    "ko": [
        "리뷰 없이 메인 브랜치에 푸시하지 마세요.",
        "고객 데이터를 절대 외부 서버로 보내지 마.",
        "커밋 메시지는 반드시 영어로 작성한다.",
        "청구서는 매월 말에 회계팀에 보내야 한다.",
        "백업을 확인하기 전에 데이터베이스를 삭제하지 않는다.",
        "회의록은 항상 공유 폴더에 저장한다.",
        "고양이를 발코니에 혼자 두지 마.",
    ],
    "fr": [
        "Ne jamais pousser sur la branche principale sans relecture.",
        "Il faut toujours vérifier les factures avant la clôture.",
        "N'envoie pas le tableau des salaires au propriétaire.",
        "Les étuves du laboratoire doivent être vérifiées chaque lundi.",
        "Écris les messages de commit en anglais.",
        "L'utilisateur évite les chaînes de restaurants.",
        "Interdit de supprimer la base de production.",
    ],
    "de": [
        "Niemals ohne Review auf den Hauptzweig pushen.",
        "Rechnungen müssen immer vor dem Monatsende geprüft werden.",
        "Schick die Gehaltstabelle nie an den Vermieter.",
        "Verwende Tabs und keine Leerzeichen in der Makefile.",
        "Vor jedem Release muss die Datenbank gesichert werden.",
        "Der Nutzer trinkt lieber Tee als Kaffee.",
        "Kundendaten dürfen das Labor nicht verlassen.",
    ],
    "es": [
        "Nunca subas cambios a la rama principal sin revisión.",
        "Las facturas deben revisarse siempre antes del cierre.",
        "No envíes la tabla de sueldos al casero.",
        "Usa tabuladores en el archivo de configuración.",
        "Está prohibido borrar la base de datos de producción.",
        "El usuario prefiere los trenes a los aviones.",
        "Haz una copia de seguridad antes de cada migración.",
    ],
}  # fmt: skip
EACH = [(language, rule) for language, rules in RULES.items() for rule in rules]
# Words that tell, forbid, count or limit, and verbs that would be an order. Written for the test, apart from ours.
TELLING = {
    "en": "never always must only before after without don't do not no should all any every ask push run keep stop "
    "share prefers prefer deploy squash bump email deleting translating under quoted you",
    "zh": "不 不要 没有 禁止 必须 只 绝 绝不 所有 都要 先 再 之前 一律 推到 执行 使用 让 要 每",
    "zh-Hant": "不 不要 沒有 禁止 必須 只 絕 一律 先 推到 執行",
    "ja": "禁止 絶対 必ず 毎月 ない こと してはいけない ください 前に なし",
    "ko": "없이 절대 반드시 항상 매월 하지 마 마세요 전에 않는다 한다 혼자",
    "fr": "ne jamais pas toujours faut interdit chaque sans avant pousser vérifier supprimer envoie écris évite "
    "doivent",
    "de": "niemals nie immer müssen muss keine ohne vor jedem nicht dürfen pushen schick verwende lieber geprüft",
    "es": "nunca siempre no sin antes deben está prohibido cada subas usa borrar haz envíes prefiere",
}


@pytest.mark.parametrize(("language", "rule"), EACH)
def test_a_pointer_is_short_and_wears_the_mark_of_the_rules_language(language: str, rule: str) -> None:
    line = pointer(rule)
    assert len(line) <= 40
    assert line.startswith(MARKS[language.removesuffix("-Hant")] + " ")
    assert topics(line), line


@pytest.mark.parametrize(("language", "rule"), EACH)
def test_a_pointer_holds_no_word_that_orders_forbids_or_limits(language: str, rule: str) -> None:
    named = [word.casefold() for word in topics(pointer(rule))]
    assert set(named).isdisjoint(TELLING[language].split())


@pytest.mark.parametrize(("language", "rule"), EACH)
def test_no_phrase_of_the_rule_survives(language: str, rule: str) -> None:
    """Topics come in the reverse of the rule's order, and no two of them stand side by side in it."""
    named = topics(pointer(rule))
    assert [rule.index(word) for word in named] == sorted((rule.index(word) for word in named), reverse=True)
    letters = re.sub(r"[\W_]+", "", rule)
    assert not any(one + other in letters or other + one in letters for one, other in combinations(named, 2))


@pytest.mark.parametrize(("language", "rule"), EACH)
def test_routing_and_judge_take_no_pointer_for_its_rule(language: str, rule: str) -> None:
    line = pointer(rule)
    assert route(line).route != "hot"
    assert not route(line).protected
    assert judge(rule, line).relation not in {"same", "refines", "supersedes"}


@pytest.mark.parametrize(("language", "rule"), EACH)
def test_every_topic_is_a_whole_word_of_the_rule(language: str, rule: str) -> None:
    edge = "" if language in {"zh", "zh-Hant"} else r"(?<![^\W_])"  # Chinese has no edges to see
    for word in topics(pointer(rule)):
        end = "" if language in {"zh", "zh-Hant", "ja", "ko"} else r"(?![^\W_])"  # particles follow
        assert re.search(f"{edge}{re.escape(word)}{end}", rule) or language == "ja", word


@pytest.mark.parametrize(("language", "rule"), EACH)
def test_a_pointer_may_stand_in_a_hot_file_and_trips_no_gate(language: str, rule: str) -> None:
    line = pointer(rule)
    assert why_not_hot(line, limit=2200) is None
    assert parse(render([rule, line]), path="MEMORY.md").entries == (rule, line)
    assert not secrets.find(line)
    assert not personal.find(line)
    assert instructions.find(line) is None
    assert not noise.find(line)


def texts() -> list[str]:
    names = ("routing.jsonl", "routing_more.jsonl", "routing_other.jsonl")
    lines = [line for name in names for line in (DATA / name).read_text(encoding="utf-8").splitlines()]
    return [json.loads(line)["content"] for line in lines]


@cache
def pointers() -> dict[str, str]:
    return {text: pointer(text) for text in texts()}


def test_ordinary_texts_are_no_pointers_and_all_of_them_have_one() -> None:
    for text, line in pointers().items():
        assert not is_pointer(text), text
        assert not is_fold(text), text
        assert is_pointer(line), line
        assert not is_fold(line), line
        assert len(line) <= 40
        assert route(line).route != "hot", line
        assert judge(text, line).relation not in {"same", "refines", "supersedes"}, line
        assert why_not_hot(line, limit=2200) is None, line


def test_most_rules_have_a_topic() -> None:
    named = [bool(topics(line)) for line in pointers().values()]
    assert sum(named) / len(named) >= 0.85


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("Never push to main without review.", "[recall] review · main"),
        ("Never push to the release branch without a second reviewer.", "[recall] reviewer · branch"),
        ("The project keeps its limits in max_retries.toml.", "[recall] max_retries.toml · limits"),
        ("Der Nutzer trinkt lieber Tee als Kaffee.", "[Abruf] Kaffee · Tee"),
        ("絕不要把薪資表寄給房東。", "[召回] 房東、薪資表"),
        ("고양이를 발코니에 혼자 두지 마.", "[기억] 발코니 · 고양이"),
    ],
)
def test_a_pointer_names_what_its_rule_is_about(rule: str, line: str) -> None:
    assert pointer(rule) == line


def test_a_rule_without_a_topic_gets_a_label_and_a_tag() -> None:
    line = pointer("Be brief.")
    assert re.fullmatch(r"\[recall\] note #[0-9a-f]{4}", line)
    assert is_pointer(line)
    assert topics(line) == ()
    assert line != pointer("Be kind.")


def test_a_language_we_cannot_read_gives_identifiers_only() -> None:
    line = pointer("Никогда не отправляй код в main.py без проверки.")
    assert topics(line) in {(), ("main.py",)}


# What was wrong with the pointers of the predecessor: the beginning of the rule as a question in quotation marks.


def test_a_pointer_never_begins_as_its_rule_does() -> None:
    assert "Never" not in pointer("Never push to main without review.")
    assert "禁止在生产" not in pointer("禁止在生产数据库上执行删除语句。")


def test_quotation_marks_of_a_rule_are_not_in_its_pointer() -> None:
    line = pointer('Never write "Dear Sir" or “Hi there” in letters to the council, it\'s "cold".')
    assert not re.search("[\"'“”‘’「」]", line)
    assert is_pointer(line)


def test_rules_that_begin_alike_have_different_pointers() -> None:
    made: list[str] = []
    for thing in ("invoice", "invoice", "receipt", "invoice"):
        made.append(pointer(f"Never send the {thing} to the customer without a stamp.", taken=made))
    made.append(pointer("Never send the invoice to the customer without a stamp!", taken=made))
    assert len({key_of(line) for line in made}) == len(made)
    assert all(is_pointer(line) and len(line) <= 40 for line in made)


def test_a_pointer_is_unique_however_many_rules_speak_of_one_thing() -> None:
    made: list[str] = []
    for _ in range(40):
        made.append(pointer("用中文。", taken=made))
        made.append(pointer("Invoices go to the archive.", taken=made))
    assert len({key_of(line) for line in made}) == 80
    assert all(is_pointer(line) and len(line) <= 40 for line in made)


def test_a_pointer_taken_in_capitals_is_taken() -> None:
    line = pointer("Never push to main without review.")
    assert key_of(pointer("Never push to main without review.", taken=[f" {line.upper()} "])) != key_of(line)


# Shape


@pytest.mark.parametrize(("language", "rule"), EACH)
def test_a_pointer_is_known_after_small_edits(language: str, rule: str) -> None:
    line = pointer(rule)
    for edited in (line.upper(), line.lower(), f"  {line}\n", line.replace(" · ", "·"), line.replace("] ", "]")):
        assert is_pointer(edited), edited
        assert key_of(edited) == key_of(line)
    assert is_pointer(unicodedata.normalize("NFD", line))
    assert topics(line.replace("、", " 、 ").replace("・", "・ ")) == topics(line)


@pytest.mark.parametrize(
    "text",
    ["[recall] Never push to main", "[recall]", "recall main", "[note] main", "", "[召回] 不要 推到 主分支",
     "[recall +2] tea",
     "See [recall] main", "[recall] main\n§\ntea"],
)  # fmt: skip
def test_other_texts_are_no_pointers(text: str) -> None:
    assert not is_pointer(text)


@pytest.mark.parametrize(("language", "rule"), EACH)
def test_a_pointer_copied_into_a_question_is_asked_as_its_topics(language: str, rule: str) -> None:
    line = pointer(rule)
    assert asked_for(line).split() == list(topics(line))
    assert asked_for(f'recall("{line}")') == f'recall("{" ".join(topics(line))}")'
    assert "[" not in asked_for(f"what about {line.upper()} please")


def test_a_question_without_a_mark_stays_as_it_is() -> None:
    for question in ("main · review", "[secret: token] where?", "what is [this]", ""):
        assert asked_for(question) == question


def test_a_pointer_without_topics_is_asked_for_by_its_tag() -> None:
    line = pointer("Be brief.")
    assert asked_for(line) == line.removeprefix("[recall] ")


# Personal things


@pytest.mark.parametrize(
    "rule",
    [
        "The wifi password is swordfish-Ottawa9, never print it on the label.",
        "Mail marta.keller@example.org before the shipment, never call +49 30 901820.",
        "The key [secret: GitHub token] belongs to the deploy job of the shop.",
        "钥匙 [密文：GitHub 令牌] 只给仓库的流水线用，联系 13800138000。",
        "Never open https://example.org/private?token=abc123def456 in the browser.",
    ],
)
def test_nothing_that_a_gate_masks_and_no_mask_is_in_a_pointer(rule: str) -> None:
    line = pointer(rule)
    assert is_pointer(line)
    held = [
        "swordfish",
        "ottawa9",
        "marta",
        "keller",
        "example",
        "secret",
        "github",
        "token",
        "密文",
        "令牌",
        "138",
        "901820",
        "https",
        "abc123def456",
    ]
    assert not any(word in line.casefold() for word in held), line


def test_no_path_or_long_code_is_cut_into_a_pointer() -> None:
    line = pointer("The list in /srv/lists/stop_v3.txt is the one for the filter x9f8e7d6c5b4a3.")
    assert topics(line) == ("filter", "list")


# Characters


@pytest.mark.parametrize(
    "rule",
    ["Never use 👩‍👩‍👧‍👦family emoji in the newsletter🚀.", "Keep the cafe\u0301 menu in the drawer.",
     "नमस्ते कभी मत भेजो", "ห้ามลบไฟล์สำคัญในเครื่อง",
     "Never put n\u0303o\u0332de names in the ledger.", "👩‍💻", "§", "\n§\n",
     "", "   ", "#", "a\x00b", "\ud800 ledger"],
)  # fmt: skip
def test_no_character_as_a_reader_sees_it_is_cut(rule: str) -> None:
    line = pointer(rule)
    assert is_pointer(line)
    assert why_not_hot(line, limit=2200) is None
    assert not any(unicodedata.category(sign).startswith(("M", "S", "Cf")) for sign in "".join(topics(line)))
    composed = unicodedata.normalize("NFC", rule)
    for word in topics(line):
        place = composed.index(word)
        around = composed[place - 1 : place] + composed[place + len(word) : place + len(word) + 1]
        assert not any(unicodedata.category(sign).startswith("M") or sign == "\u200d" for sign in around), word


@pytest.mark.parametrize("most", [16, 20, 24, 40, 80])
def test_a_pointer_keeps_to_the_length_it_is_given(most: int) -> None:
    for _, rule in EACH:
        line = pointer(rule, most=most)
        assert len(line) <= most
        assert is_pointer(line)


def test_a_pointer_of_a_pointer_names_the_same() -> None:
    for _, rule in EACH:
        assert is_pointer(pointer(pointer(rule)))
        assert "recall" not in topics(pointer(pointer(rule)))


# Folds


def test_a_fold_counts_pointers_and_names_a_topic_of_each() -> None:
    lines = [pointer(rule) for rule in RULES["en"][:4]]
    line = fold(lines, most=60)
    assert line.startswith("[recall +4] ")
    assert topics(line)[:3] == tuple(topics(one)[0] for one in lines[:3])
    assert is_fold(line)
    assert not is_pointer(line)
    assert is_fold(f" {line.upper()} ")


def test_a_fold_takes_a_fold_in() -> None:
    english = [pointer(rule) for rule in RULES["en"]]
    first = fold(english[:5], most=40)
    assert fold([first, *english[5:8]], most=40).startswith("[recall +8] ")


@pytest.mark.parametrize("language", list(RULES))
def test_a_fold_is_short_and_no_rule(language: str) -> None:
    lines = [pointer(rule) for rule in RULES[language]]
    for most in (20, 40, 80):
        line = fold(lines, most=most)
        assert len(line) <= most
        assert is_fold(line)
        assert route(line).route != "hot"
        assert why_not_hot(line, limit=2200) is None


def test_nothing_folds_into_nothing() -> None:
    assert fold([], most=40) == ""
    assert fold(["[recall] main"], most=5) == ""


def test_topics_of_neighbours_in_a_fold_come_from_different_rules() -> None:
    lines = ["[recall] review · main", "[recall] tea · oat"]
    assert list(pairwise(topics(fold(lines, most=60)))) == [("review", "tea"), ("tea", "main"), ("main", "oat")]
