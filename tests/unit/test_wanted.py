"""What kind of thing a question asks for, and which texts hold one."""

import time

import pytest

from memorycore.domain.wanted import LONGEST, asked_for, holds, is_about_another, lacks_a_name


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When does the ferry leave?", "time"),
        ("渡轮几点开", "time"),
        ("フェリーはいつ出ますか", "time"),
        ("Wann fährt die Fähre?", "time"),
        ("When I run the tests they fail.", None),
        ("How long is the crossing?", "span"),
        ("¿Cuánto tiempo dura?", "span"),
        ("How much did the lidar cost?", "money"),
        ("跑步机花了多少钱", "money"),
        ("How old is Noor?", "age"),
        ("Quel âge a la voisine ?", "age"),
        ("How heavy is the anvil?", "weight"),
        ("钢丝绳多粗", "length"),
        ("How many goats do we keep?", "count"),
        ("鸡舍养了几只鸡", "count"),
        ("What is the admin password of the router?", "password"),
        ("Which port does the broker use?", "port"),
        ("Which version control system do we use?", None),
        ("What is the vet's phone number?", "phone"),
        ("Who drilled the well?", "person"),
        ("谁借走了梯子", "person"),
        ("Why does the baler jam?", None),
        ("怎么重启机器人", None),
    ],
)
def test_the_kind_is_told_by_the_words_of_the_question(question: str, kind: str | None) -> None:
    found = asked_for(question)
    assert (found.name if found else None) == kind


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("When does the ferry leave?", "渡轮早上八点离港", "The ferry is run by two brothers."),
        ("How long is the crossing?", "Die Überfahrt dauert vierzig Minuten.", "The crossing is rough."),
        ("How much did the lidar cost?", "激光雷达花了八百", "The lidar is mounted upside down."),
        ("How old is Noor?", "Noor turned 31 in May.", "Noor signs every order above 500 pounds."),
        ("How heavy is the anvil?", "铁砧重八十公斤", "The anvil is 40 cm long."),
        ("How many goats do we keep?", "山羊养了十一只", "Goats must not get rhododendron leaves."),
        ("What is the user's passport number?", "Passport: K4471902", "The passport expires in March 2031."),
        ("What is the wifi password?", "访客无线的口令在冰箱上", "The wifi is slow in the cellar."),
        ("Who drilled the well?", "The well was drilled by Hagen.", "The well is deep."),
        ("收割机师傅姓什么", "收割机师傅姓丁", "收割机烧柴油"),
        ("Which port does the broker use?", "Broker: 1883 and, with TLS, 8883.", "The broker may use two accounts."),
        ("What is the password of the router?", "Router: hunter-2207", "The router is at 10.0.0.138."),
        ("How many litres does the tank hold?", "The tank holds 80 l.", "The tank was filled 3 times by 2 people."),
        ("拖拉机有多少马力", "拖拉机一百二十马力", "拖拉机用 15 升机油"),
        ("水泵多少瓦", "水泵功率 750 瓦", "水泵在二楼的 3 号柜"),
        ("How much is the gym a month?", "健身房每月 32", "健身房每月 20 号扣款，在三楼"),
        ("挤奶机是哪年买的", "挤奶机 2019 年买的", "挤奶机的橡胶管半年一换"),
    ],
)
def test_only_a_text_with_such_a_thing_holds_one(question: str, answer: str, other: str) -> None:
    kind = asked_for(question)
    assert kind is not None
    assert holds(kind, answer, question)
    assert not holds(kind, other, question)


def test_what_the_question_says_itself_is_no_answer_and_a_long_text_holds_everything() -> None:
    question = "How many frames does hive number 7 have?"
    kind = asked_for(question)
    assert kind is not None
    assert not holds(kind, "Hive number 7 stands by the hedge.", question)
    assert holds(kind, "The hives stand by the hedge. " * LONGEST, question)


def test_a_name_of_the_question_is_missed_where_capitals_tell_names() -> None:
    assert lacks_a_name("The hotel in Hangzhou is opposite the fair.", "Which hotel did we book in Naples?")
    assert not lacks_a_name("In Naples we stay at the Vesuvio.", "Which hotel did we book in Naples?")
    assert not lacks_a_name("Der Stellplatz kostet 42 Euro.", "Was kostet der Platz für den Wohnwagen?")
    assert not lacks_a_name("The hotel is opposite the fair.", "Which hotel did we book? Thanks.")


@pytest.mark.parametrize(
    ("question", "same", "another"),
    [
        ("What does our son play?", "儿子打手球", "女儿上小学三年级"),
        ("谁是我的牙医", "Dr Quill is the dentist.", "My landlord is Mr Hale."),
        (
            "Who is the user's optician?",
            "The optician, Ms Ferro, is a neighbour.",
            "The user's wife teaches chemistry.",
        ),
        ("How old is the child?", "The daughter turned nine.", "The grandmother turned ninety."),
    ],
)
def test_a_text_about_another_relative_or_profession_is_told(question: str, same: str, another: str) -> None:
    assert is_about_another(another, question)
    assert not is_about_another(same, question)
    assert not is_about_another("It begins at nine.", question)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who is responsible for the heating?", "The landlord looks after the boiler."),
        ("Who is coming to dinner?", "My brother and his wife come to dinner on Friday."),
        ("Who's bringing the cake?", "Aunt Rosa brings the cake."),
        ("Who is Lin Fang?", "林芳 is our landlord."),
        ("谁来管暖气", "房东负责锅炉"),
    ],
)
def test_a_who_question_without_a_role_is_answered_by_anybody(question: str, text: str) -> None:
    assert not is_about_another(text, question)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("机房在几楼", "机房在三楼"),
        ("公司在多少楼？", "公司在 12 楼"),
        ("女儿考了第几名", "女儿考了第 3 名"),
        ("儿子读高几了", "儿子读高二"),
        ("门牌是多少", "门牌是 12 号"),
        ("病房是多少", "病房是 302 号"),
        ("他的尺码是多少", "他穿 42 号"),
        ("我们开了几家店？", "我们开了一家火锅店"),
        ("控制器的地址是多少", "控制器在 10.0.4.21"),
        ("服务器的IP是多少？", "服务器是 10.0.4.21"),
        ("家里网关是多少？", "网关 192.168.1.1"),
        ("Which version of libfoo do we pin?", "libfoo is pinned to 1.2.3.4"),
        ("Which port does NFS use?", "NFS listens on 2049"),
        ("ミシンは何年に買った？", "ミシンは令和3年に買った"),
        ("大楼哪年盖的", "大楼是民国二十年盖的"),
        ("How many t-shirts do we print?", "We print 300 of them."),
        ("How many foot passengers does the ferry take?", "The ferry takes 80 of them."),
        ("How many pounds do we pay for the hall?", "The hall is £900."),
        ("屋顶用了多少瓦片", "屋顶用了 900 块"),
    ],
)
def test_what_was_asked_for_is_held(question: str, answer: str) -> None:
    kind = asked_for(question)
    assert kind is None or holds(kind, answer, question)


@pytest.mark.parametrize("sign", ["'", "-", "?", "a ", "1 ", "多"])
def test_no_question_keeps_a_process_busy(sign: str) -> None:
    started = time.process_time()
    asked_for(sign * (300 // len(sign)) + " where is the spare key")
    is_about_another("My wife teaches.", "who is " + sign * (300 // len(sign)) + "\n")
    assert time.process_time() - started < 1
