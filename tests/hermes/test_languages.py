"""A session in one language is served with memories in another, by the model that comes with the package."""

from collections.abc import Generator

import pytest

from tests.daemons import wait_for
from tests.hermes.hermes_home import NEEDS_HERMES, Hermes, HermesHome, hermes_home

pytestmark = NEEDS_HERMES

ENGLISH = {
    "我的猫叫什么名字？": "The user's cat is called Biscuit.",
    "数据库每天几点备份？": "The database is backed up every night at 02:30.",
}
CHINESE = {
    "Where does the user's sister live?": "用户的姐姐住在杭州。",
    "Which car does the user drive?": "用户开一辆蓝色的丰田。",
}
BESIDE = ["The printer in room nine was bought in Leeds.", "会议室的投影仪换了新灯泡。"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[HermesHome]:
    with hermes_home(tmp_path_factory.mktemp("languages") / "home", MEMORYCORE_EMBED_MODEL="auto") as made:
        made.daemon.foreground()
        for content in (*ENGLISH.values(), *CHINESE.values(), *BESIDE):
            made.ask("store", content=content)
        wait_for(lambda: made.ask("status")["usage"]["cold"]["pending"] == 0)
        yield made


@pytest.fixture
def hermes(home: HermesHome, request: pytest.FixtureRequest) -> Generator[Hermes]:
    with home.hermes() as process:
        process.do("begin", session=request.node.name)
        process.do("be_patient")
        yield process


@pytest.mark.parametrize("pairs", [ENGLISH, CHINESE], ids=["asked in Chinese", "asked in English"])
def test_what_was_said_in_one_language_comes_with_a_question_in_the_other(
    hermes: Hermes, pairs: dict[str, str]
) -> None:
    told = {question: hermes.do("turn", text=question, number=number) for number, question in enumerate(pairs, 1)}
    assert {question: pairs[question] in text for question, text in told.items()} == dict.fromkeys(pairs, True)
