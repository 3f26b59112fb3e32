"""What the daemon writes down about itself: for a script to read, without a word of any memory."""

import json
import logging
import os
import stat
from collections.abc import Generator
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import pytest

from memorycore.daemon import logs
from memorycore.daemon.logs import JsonLines, PrivateFile, Sparing

MEMORY = "the aubergine parade"


@pytest.fixture(autouse=True)
def _as_before() -> Generator[None]:
    root = logging.getLogger()
    before, level, raises = list(root.handlers), root.level, logging.raiseExceptions
    levels = {name: logging.getLogger(name).level for name in logs.TALKATIVE}
    yield
    for pipe in set(root.handlers) - set(before):
        root.removeHandler(pipe)
        pipe.close()
    root.handlers[:] = before
    root.setLevel(level)
    logging.raiseExceptions = raises
    for name, one in levels.items():
        logging.getLogger(name).setLevel(one)


def written(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / logs.FILE).read_text(encoding="utf-8").splitlines()]


def test_our_own_words_and_facts_stand_in_a_line(tmp_path: Path) -> None:
    logs.begin(tmp_path, "INFO", to_stderr=False)
    logging.getLogger("memorycore.daemon").info("step %s: %s", "purge", "done", extra={"facts": {"seconds": 0.5}})
    logging.getLogger("memorycore.daemon").debug("not at this level")
    (line,) = written(tmp_path)
    assert line.pop("time").endswith("+00:00")
    assert line == {"level": "info", "logger": "memorycore.daemon", "message": "step purge: done", "seconds": 0.5}


def test_of_an_error_and_of_libraries_only_the_place_is_kept(tmp_path: Path) -> None:
    logs.begin(tmp_path, "INFO", to_stderr=False)
    try:
        int(MEMORY)
    except ValueError:
        logging.getLogger("memorycore.server").exception("a call broke")
        logging.getLogger("asyncio").exception(f"task failed: {MEMORY}")  # noqa: G004 as libraries do
        logging.getLogger("uvicorn.error").error(f"it failed\n{MEMORY}")  # noqa: G004, TRY400
    ours, library, service = written(tmp_path)
    assert (ours["error"], library["error"], "message" in library) == ("ValueError", "ValueError", False)
    assert ours["frames"][0].startswith("test_daemon_logs.py:")
    assert service["message"] == "it failed"
    assert MEMORY not in (tmp_path / logs.FILE).read_text(encoding="utf-8")


@pytest.mark.skipif(os.name != "posix", reason="modes are a matter of POSIX")
def test_every_file_of_the_log_is_for_its_owner_alone_and_there_are_few(tmp_path: Path) -> None:
    (tmp_path / logs.FILE).write_text("{}\n", encoding="utf-8")
    (tmp_path / logs.FILE).chmod(0o644)
    pipe = PrivateFile(tmp_path / logs.FILE, maxBytes=200, backupCount=2, encoding="utf-8")
    assert isinstance(pipe, RotatingFileHandler)
    pipe.setFormatter(JsonLines())
    for number in range(20):
        pipe.handle(logging.LogRecord("memorycore", logging.INFO, "", 1, f"line {number}", None, None))
    pipe.close()
    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files] == ["daemon.log", "daemon.log.1", "daemon.log.2"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_what_strangers_cause_is_said_a_few_times_and_then_counted() -> None:
    now = [0.0]
    sparing = Sparing(clock=lambda: now[0])

    def said(name: str, message: str) -> logging.LogRecord | None:
        record = logging.LogRecord(name, logging.WARNING, "", 1, message, None, None)
        return record if sparing.filter(record) else None

    flood = [said("uvicorn.error", "Invalid HTTP request received.") for _ in range(1_000)]
    assert [record is not None for record in flood] == [True] * 3 + [False] * 997
    assert said("memorycore.server.sessions", "a client was turned away: unknown_client")
    assert all(said("memorycore.daemon.upkeep", "step purge: done") for _ in range(10))
    now[0] += logs.SPARING_FOR_S
    again = said("uvicorn.error", "Invalid HTTP request received.")
    assert again is not None
    assert json.loads(JsonLines().format(again))["held_back"] == 997


def test_without_a_place_for_a_file_it_goes_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / logs.FILE).mkdir()
    logs.begin(tmp_path, "INFO", to_stderr=False)
    logging.getLogger("memorycore").warning("no room")
    assert json.loads(capsys.readouterr().err)["message"] == "no room"


@pytest.mark.parametrize(
    ("content", "last"),
    [
        ("", ""),
        ('{"message": "one"}\n{"message": "two"}\n', "two"),
        ('{"message": "one"}\nOSError: no room\n\n', "OSError: no room"),
        ("[1]\n", ""),
    ],
)
def test_the_last_thing_said_is_found(tmp_path: Path, content: str, last: str) -> None:
    assert logs.last_message(tmp_path) == ""
    (tmp_path / logs.FILE).write_text(content, encoding="utf-8")
    assert logs.last_message(tmp_path) == last
