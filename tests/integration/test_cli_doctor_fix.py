"""The doctor looks around the memory too, and puts right what needs no decision."""

import json
from contextlib import closing
from typing import Any
from uuid import uuid4

import apsw
import pytest

from memorycore import __version__
from memorycore.endpoint import FILE, Endpoint, write
from tests.command_line import CommandLine
from tests.homes import Home, fact


def checks(mc: CommandLine, *arguments: str, **env: str) -> dict[str, dict[str, Any]]:
    return {check["code"]: check for check in mc("doctor", "--json", *arguments, **env).answer["checks"]}


def leave_endpoint(mc: CommandLine) -> None:
    """As a daemon that was killed leaves it."""
    write(
        Endpoint(
            pid=2**22 + 1, started="2026-01-01T00:00:00+00:00", version=__version__, url="http://127.0.0.1:9",
            relay=("127.0.0.1", 9), token=uuid4().hex, data_dir=str(mc.data), hot_dir=str(mc.hot), namespace="default",
            settings="s",
        )
    )  # fmt: skip


def test_without_a_daemon_all_is_well_unless_one_is_required(mc: CommandLine) -> None:
    assert checks(mc)["daemon_none"]["level"] == "pass"
    assert checks(mc, MEMORYCORE_DAEMON="require")["daemon_required"]["level"] == "fail"


def test_what_a_killed_daemon_left_is_named_and_taken_away_when_asked(mc: CommandLine) -> None:
    mc("store", "Never deploy on Fridays")
    leave_endpoint(mc)
    assert checks(mc)["daemon_left"]["level"] == "warn"
    assert (mc.data / FILE).exists()
    answer = mc("doctor", "--fix", "--json").answer
    assert answer["repaired"] == ["daemon_left"]
    assert not (mc.data / FILE).exists()


def test_a_database_that_others_can_read_is_closed_to_them(mc: CommandLine) -> None:
    mc("store", "Never deploy on Fridays")
    path = mc.data / "memorycore.db"
    path.chmod(0o644)
    assert "file_open_to_others" not in checks(mc, "--fix")
    assert path.stat().st_mode & 0o777 == 0o600


def test_jobs_that_were_given_up_are_counted_and_tried_again(mc: CommandLine) -> None:
    mc("store", "The parcel from Lisbon weighs 4 kg")
    with closing(apsw.Connection(str(mc.data / "memorycore.db"))) as connection:
        connection.execute("UPDATE job SET dead = 1, attempts = 9")
        assert connection.changes() > 0
    assert checks(mc)["jobs_given_up"]["level"] == "warn"
    assert "jobs_given_up" not in checks(mc, "--fix")


def test_a_client_that_would_start_what_is_gone_is_named(mc: CommandLine) -> None:
    mc("client", "install", "cursor")
    assert checks(mc)["client"]["facts"]["client"] == "cursor"
    path = mc.home / ".cursor" / "mcp.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["mcpServers"]["memorycore"]["command"] = str(mc.home / "gone" / "python")
    path.write_text(json.dumps(content), encoding="utf-8")
    broken = checks(mc)["client_broken"]
    assert broken["level"] == "fail"
    assert "memorycore client install cursor" in broken["fix"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/mcp"])
def test_a_service_elsewhere_that_does_not_answer_is_a_warning(mc: CommandLine, url: str) -> None:
    found = checks(mc, MEMORYCORE_COLD_BACKEND="remote", MNEMOSYNE_URL=url)
    assert found["remote_silent"]["level"] == "warn"


def test_with_nothing_to_repair_it_says_so(mc: CommandLine) -> None:
    assert mc("doctor", "--fix", "--json").answer["repaired"] == []
    assert "nothing" in mc("doctor", "--fix").out


def test_a_memory_that_nobody_tended_is_named_and_tended(mc: CommandLine) -> None:
    with Home(mc.home / ".memorycore").core() as core:
        core.remember(fact(1), actor="test")
    shown = mc("status").out
    assert "nobody has tended this memory since 2026-03-02" in " ".join(shown.split())
    assert checks(mc)["untended"]["level"] == "warn"
    assert "untended" not in checks(mc, "--fix")


def test_an_empty_memory_is_told_how_to_begin(mc: CommandLine) -> None:
    assert "memorycore store" in mc("status").out
    mc("store", "The printer in room 1 was bought in Leeds.")
    assert "memorycore store" not in mc("status").out


def test_whether_a_daemon_runs_is_said_though_the_database_cannot_be_opened(mc: CommandLine) -> None:
    mc.data.mkdir(parents=True)
    (mc.data / "memorycore.db").write_bytes(b"no database at all, but long enough to be one " * 20)
    ran = mc("daemon", "status", "--json")
    assert (ran.code, ran.answer["status"], ran.answer["steps"]) == (3, "stopped", [])
    assert "memorycore.db" in ran.answer["problem"]
    assert "memorycore.db" in mc("daemon", "status").out.replace("\n", "")
