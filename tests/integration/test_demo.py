import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from rich.cells import cell_len

from memorycore.cli.demo.world import load_words, load_world
from tests.wire import ROOT

COLUMNS = 80
WORLD = load_world()


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A folder for temporary files, a home, and what a user has set for a memory of their own, which stays out."""
    for name in ("tmp", "home"):
        (tmp_path / name).mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    return kept | {
        "TMPDIR": str(tmp_path / "tmp"),
        "HOME": str(tmp_path / "home"),
        "MEMORY_DIR": str(tmp_path / "home" / "mine"),
        "MEMORYCORE_NAMESPACE": "mine",
        "LANG": "C.UTF-8",
        "COLUMNS": str(COLUMNS),
        "PYTHONPATH": str(ROOT),
    }


def demo(env: Mapping[str, str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "memorycore", "demo", *arguments],
        env=dict(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )


def left_behind(tmp_path: Path) -> list[str]:
    """Files, and processes that still work on the demo's folder."""
    files = [str(path) for path in (tmp_path / "tmp").rglob("*")]
    mine = [str(path) for path in (tmp_path / "home").rglob("*")]
    return [*files, *mine, *processes_under(tmp_path / "tmp")]


def processes_under(folder: Path) -> Iterator[str]:
    return (command for _, command in servers_under(folder))


def servers_under(folder: Path) -> Iterator[tuple[int, str]]:
    """Process number and command line of whatever keeps its memory below this folder."""
    mark = f"MEMORY_DIR={folder}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # gone meanwhile, or somebody else's
            if mark in (entry / "environ").read_bytes():
                yield int(entry.name), (entry / "cmdline").read_text(encoding="utf-8").replace("\0", " ")


def squeezed(text: str) -> str:
    """Without blanks and line ends, so that a wrapped sentence is found whole."""
    return re.sub(r"\s+", "", text)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_demo_shows_everything_and_leaves_nothing(language: str, env: dict[str, str], tmp_path: Path) -> None:
    started = time.monotonic()
    with demo(env, "--lang", language) as process:
        printed, _ = process.communicate(timeout=150)
    assert process.returncode == 0, printed
    assert time.monotonic() - started < 60 * slowness()
    assert [line for line in printed.splitlines() if cell_len(line) > COLUMNS] == []
    assert "\x1b" not in printed
    assert "✗" not in printed
    assert left_behind(tmp_path) == []
    words = load_words("zh" if language == "zh" else "en")
    assert squeezed(words["kill_database_ok"]) in squeezed(printed)
    for word in ("undo_mistake", "undo_done", "retire_undo", "retire_back"):
        assert squeezed(words[word].partition("{")[0]) in squeezed(printed)
    missed = [question.asks for question in WORLD.questions if not answered(printed, question.asks, question.finds)]
    assert missed == []


def answered(printed: str, question: str, finds: str) -> bool:
    """Whether the statement that the question is about stands right below it."""
    (statement,) = [said.text for said in WORLD.statements if said.key == finds]
    below = squeezed(printed).split(squeezed("? " + question), 1)[-1].split("?", 1)[0]
    return squeezed(re.sub(r"(?m)(hot|cold|热|冷) +\d+ ms", "", statement)) in re.sub(
        r"(hot|cold|热|冷)\d+ms", "", below
    )


def slowness() -> float:
    """How much longer things take here than with both cores to ourselves, from the machine's load."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@pytest.mark.timeout(120)
@pytest.mark.skipif(sys.platform == "win32", reason="ends by signal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "terminated"])
def test_ending_the_demo_in_the_middle_leaves_nothing(
    number: signal.Signals, env: dict[str, str], tmp_path: Path
) -> None:
    with demo(env) as process:
        wait_until_the_server_works(tmp_path / "tmp")
        process.send_signal(number)
        printed, _ = process.communicate(timeout=30)
    assert process.returncode == 130, printed
    assert "Traceback" not in printed
    assert left_behind(tmp_path) == []


@pytest.mark.timeout(120)
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds the server in /proc")
def test_a_server_that_dies_unasked_is_one_sentence(env: dict[str, str], tmp_path: Path) -> None:
    with demo(env, "--fast") as process:
        wait_until_the_server_works(tmp_path / "tmp")
        for number, _ in servers_under(tmp_path / "tmp"):
            os.kill(number, signal.SIGKILL)
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 1, printed
    assert "Traceback" not in printed
    assert "The server gave up" in printed
    assert left_behind(tmp_path) == []


@pytest.mark.timeout(120)
def test_a_reader_who_goes_away_ends_the_demo(env: dict[str, str], tmp_path: Path) -> None:
    with demo(env, "--fast") as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)][1].startswith("MemoryCore")
        process.stdout.close()
        process.wait(timeout=60)
    assert process.returncode == 1
    assert left_behind(tmp_path) == []


def wait_until_the_server_works(folder: Path) -> None:
    for _ in range(600):
        if list(folder.rglob("MEMORY.md")):
            return
        time.sleep(0.1)
    pytest.fail("the demo wrote nothing")


def test_every_question_and_the_edit_name_a_statement() -> None:
    keys = {said.key: said.text for said in WORLD.statements if said.key}
    assert {question.finds for question in WORLD.questions} <= keys.keys()
    assert keys[WORLD.edit.of] == WORLD.edit.old
    assert WORLD.mistake.of in keys
    assert WORLD.retirement.retires in WORLD.retirement.says[:-1]


def test_both_languages_have_the_same_words_with_the_same_facts() -> None:
    english, chinese = (
        {code: sorted(re.findall(r"\{(\w+)", text)) for code, text in load_words(name).items()} for name in ("en", "zh")
    )
    assert english == chinese


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_the_readmes_promise_the_demo_that_is_there(readme: str) -> None:
    (promise,) = re.findall(r"^make demo .*$", (ROOT / readme).read_text(encoding="utf-8"), re.MULTILINE)
    assert str(len(WORLD.statements)) in promise
    assert "ten" in promise or "十个" in promise
    assert len(WORLD.questions) == 10
