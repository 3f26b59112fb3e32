"""The gate in the real Hermes: its memory tool is stopped before it writes a key, with a daemon and without one."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.hermes.hermes_home import NEEDS_HERMES, HermesHome, hermes_home
from tests.hermes.model import REPLY, Call, Model, fake_model

pytestmark = NEEDS_HERMES

PASSWORD = "Zx9!kd72Qm"  # noqa: S105 nobody has it
KEY = "ghp_" + "a1B2c3D4" * 5
RULE = "The staging password is in the vault under staging/db."


@pytest.fixture(scope="module")
def model() -> Generator[Model]:
    with fake_model() as running:
        yield running


@pytest.fixture
def home(model: Model, tmp_path: Path) -> Generator[HermesHome]:
    with hermes_home(tmp_path / "home", model) as made:
        made.memorycore("hermes", "install", "--gate")
        yield made


def say(home: HermesHome, model: Model, words: str, *calls: Call) -> list[str]:
    """What the tools answered that the model called for these words."""
    model.script[words] = list(calls)
    ran = home.command("-z", words, "-t", "memory")
    assert (ran.returncode, ran.stdout.strip()) == (0, REPLY), ran.stderr
    last = model.about(words)[-1]
    return [str(message["content"]) for message in last["messages"] if message["role"] == "tool"]


def adding(text: str) -> Call:
    return "memory", {"action": "add", "target": "memory", "content": text}


def test_no_way_of_the_memory_tool_writes_a_secret_and_the_model_is_told_what_to_do(
    home: HermesHome, model: Model
) -> None:
    home.daemon.foreground()
    secret = f"The staging password is {PASSWORD}"
    operations = [{"action": "add", "content": "One."}, {"action": "add", "content": secret}]
    several: Call = ("memory", {"target": "memory", "operations": operations})
    told = say(home, model, "Please remember the password of staging.", adding(secret), several, adding(RULE))
    for answer in told[:2]:
        assert "Not written" in answer
        assert "password" in answer
        assert "environment variable" in answer
        assert PASSWORD not in answer
    assert '"success": true' in told[2]
    assert home.memory_file.read_text(encoding="utf-8").strip() == RULE
    files = [path for path in home.path.glob("memories/*") if path.is_file()]
    assert not [path for path in files if PASSWORD.encode() in path.read_bytes()]


def test_without_a_daemon_known_formats_are_stopped_and_the_rest_passes(home: HermesHome, model: Model) -> None:
    home.runtime_file.write_text(json.dumps({"python": "/nowhere/python"}), encoding="utf-8")  # none can be started
    text = "The lighthouse is painted every spring."
    told = say(home, model, "Please remember the token of the lighthouse.", adding(f"Its token is {KEY}"), adding(text))
    assert "GitHub token" in told[0]
    assert KEY not in told[0]
    assert '"success": true' in told[1]
    written = home.memory_file.read_text(encoding="utf-8")
    assert text in written
    assert KEY not in written
