"""Whole agents of Hermes with a model on loopback: what reaches the model, and what becomes of what it writes."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.daemons import wait_for
from tests.hermes.hermes_home import NEEDS_HERMES, Hermes, HermesHome, hermes_home
from tests.hermes.model import REPLY, Call, Model, fake_model

pytestmark = NEEDS_HERMES

QUESTION = "On which server does the shop run?"
FACT = "The shop runs on a server in Bergen."
MOST_CHARS = 3_000


@pytest.fixture(scope="module")
def model() -> Generator[Model]:
    with fake_model() as running:
        yield running


@pytest.fixture(scope="module")
def home(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Generator[HermesHome]:
    folder = tmp_path_factory.mktemp("agent") / "home"
    env = {"MEMORYCORE_PREFETCH_SESSION_CHARS": str(MOST_CHARS), "MEMORYCORE_INDEX_TOPICS": "the shop, the ferry"}
    with hermes_home(folder, model, **env) as made:
        made.daemon.foreground()
        made.ask("store", content=FACT)
        yield made


@contextmanager
def agent(home: HermesHome, model: Model, session: str, *, reviews_every: int = 0) -> Generator[Hermes]:
    with home.hermes("agent") as process:
        begun = process.do("begin", url=model.url, session=session, reviews_every=reviews_every)
        assert begun == "memorycore-prefetch"
        yield process
        process.do("end")


def memory(action: str, content: str, target: str = "memory", **more: str) -> Call:
    return "memory", {"action": action, "target": target, "content": content, **more}


def contents(body: dict[str, Any], role: str) -> list[str]:
    return [str(message["content"]) for message in body["messages"] if message["role"] == role]


def test_one_question_reaches_the_model_with_what_is_remembered_and_its_tools_are_answered(
    home: HermesHome, model: Model
) -> None:
    rule = "Always answer the harbour master in Danish."
    recall = "mcp__memorycore__memorycore_recall"
    model.script[QUESTION] = [memory("add", rule), (recall, {"query": "the server of the shop"})]
    ran = home.command("-z", QUESTION, "-t", "memory,memorycore")
    assert (ran.returncode, ran.stdout.strip()) == (0, REPLY), ran.stderr
    first, *_, last = model.about(QUESTION)
    (system,) = contents(first, "system")
    assert "MEMORYCORE (memory beyond the two files)" in system
    assert "Topics: the shop, the ferry" in system
    (asked,) = contents(first, "user")
    assert re.fullmatch(rf"{re.escape(QUESTION)}\n\n<memory-context>\n.*\n</memory-context>", asked, re.DOTALL)
    assert re.search(rf"^- \d{{4}}-\d\d-\d\d: {re.escape(FACT)} \[[0-9a-f]{{8}}\]$", asked, re.MULTILINE)
    assert rule in home.memory_file.read_text(encoding="utf-8").split("\n§\n")
    (row,) = [row for row in home.rows() if row["text"] == rule]
    assert (row["type"], row["origin"]) == ("rule", "hermes")
    written, found = contents(last, "tool")
    assert '"success": true' in written
    assert FACT in found


def test_a_record_can_be_changed_two_turns_later_and_leaves_the_file_with_the_session(
    home: HermesHome, model: Model
) -> None:
    before = "2026-11-30: moved the museum to the new server in Turku, all done."
    after = before.replace("Turku", "Narvik")
    model.script["The museum has been moved"] = [memory("add", before)]
    model.script["It was Narvik"] = [memory("replace", after, old_text="server in Turku")]
    with agent(home, model, "records") as hermes:
        hermes.do("say", text="The museum has been moved to a new server.")
        assert before in [found["content"] for found in home.ask("recall", query="museum Turku")["results"]]
        hermes.do("say", text="How are you today, my friend?")
        hermes.do("say", text="It was Narvik and not Turku.")
        assert after in home.memory_file.read_text(encoding="utf-8")
    wait_for(lambda: after not in home.memory_file.read_text(encoding="utf-8"))
    (found,) = [one for one in home.ask("recall", query="museum Narvik")["results"] if "museum" in one["content"]]
    assert (found["content"], found["tier"]) == (after, "cold")


def test_what_the_review_in_the_background_writes_is_found_without_a_hint(home: HermesHome, model: Model) -> None:
    learned = "Always offer the user tea before a long answer."
    model.script["Review the conversation"] = [memory("add", learned, "user")]
    with agent(home, model, "reviewed", reviews_every=2) as hermes:
        for text in ("I do like tea, as you may know.", "Tell me more about the tides of Brest."):
            assert hermes.do("say", text=text) == REPLY
        user_file = home.memory_file.with_name("USER.md")
        wait_for(lambda: user_file.exists() and learned in user_file.read_text(encoding="utf-8"))
        del model.script["Review the conversation"]
    (row,) = [row for row in home.rows() if row["text"] == learned]
    assert (row["type"], row["origin"]) == ("rule", "hermes")


def test_forty_turns_are_told_nothing_twice_and_no_more_than_a_session_may_be(home: HermesHome, model: Model) -> None:
    towns = ["Leeds", "Turin", "Cork", "Ghent", "Graz", "Porto", "Lund", "Vaasa", "Bilbao", "Zadar"]
    places = [(town, room) for room in ("cellar", "tower", "kitchen", "library") for town in towns]
    for town, room in places:
        said = f"In the {room} of the old castle of {town} stands a clock that the {town} guild repaired"
        home.ask("store", content=f"{said} with brass from the foundry of {town} and oak from its {room}.")
    questions = [f"Which clock in the {room} of the castle of {town} did the guild repair?" for town, room in places]
    with agent(home, model, "forty") as hermes:
        for question in questions:
            hermes.do("say", text=question)
    said = contents(model.about(questions[-1])[-1], "user")
    assert [text.startswith(question) for text, question in zip(said, questions, strict=True)] == [True] * 40
    notes = [line for text in said for line in text.splitlines() if line.startswith("- ")]
    ids = [note.rpartition(" [")[2] for note in notes]
    assert len(ids) == len(set(ids))
    assert MOST_CHARS / 2 < sum(map(len, notes)) <= MOST_CHARS
    assert said[-1] == questions[-1]


def test_a_write_that_finds_no_room_is_counted_for_the_status(home: HermesHome, model: Model) -> None:
    model.script["Note all of this"] = [memory("add", "The quay of Brest has bollards. " * 80)]
    with agent(home, model, "large") as hermes:
        assert hermes.do("say", text="Note all of this about the quay.") == REPLY
    wait_for(lambda: home.ask("status").get("missed", {}).get("counts", {}).get("hermes memory-write:full"))
    assert "memory-write:full 1" in home.memorycore("status")


def test_once_it_is_uninstalled_hermes_goes_on_with_no_trace_of_it(tmp_path: Path, model: Model) -> None:
    with hermes_home(tmp_path / "home", model) as home:
        config = home.path / "config.yaml"
        before = (config.with_name(next(home.path.glob("config.yaml.before-*")).name)).read_bytes()
        assert "memorycore-prefetch" in home.command("memory", "status").stdout
        home.memorycore("hermes", "uninstall")
        assert config.read_bytes() == before
        assert [path.name for path in home.path.rglob("*") if "memorycore" in path.name] == []
        assert "memorycore" not in home.command("memory", "status").stdout
