"""The doctor for Hermes names what keeps a home and this installation apart."""

import os
import sys
from pathlib import Path

import pytest

from tests.command_line import CommandLine


def codes(mc: CommandLine, level: str, **env: str) -> list[str]:
    ran = mc("hermes", "doctor", "--json", **env)
    assert ran.code == (0 if ran.answer["ok"] else 1)
    return [one["code"] for one in ran.answer["checks"] if one["level"] == level]


@pytest.fixture
def home(mc: CommandLine) -> Path:
    home = mc.home / ".hermes"
    home.mkdir()
    mc("hermes", "install", PYTHONPATH=str(Path(__file__).resolve().parents[2]))
    return home


def test_all_is_well_after_installing(mc: CommandLine, home: Path) -> None:
    assert codes(mc, "fail", PATH="") == []
    assert codes(mc, "warn", PATH="") == []


def test_an_empty_home_lacks_plugin_interpreter_provider_and_server(mc: CommandLine) -> None:
    (mc.home / ".hermes").mkdir()
    assert codes(mc, "fail", PATH="") == [
        "hermes_no_plugin", "hermes_no_runtime", "hermes_other_provider", "hermes_no_server",
    ]  # fmt: skip


def test_a_plugin_that_was_switched_off_is_no_failure(mc: CommandLine, home: Path) -> None:
    config = home / "config.yaml"
    config.write_text(
        config.read_text(encoding="utf-8").replace("provider: memorycore-prefetch", "provider: ''"), "utf-8"
    )
    checks = {check["code"]: check["level"] for check in mc("hermes", "doctor", "--json").answer["checks"]}
    assert checks["hermes_provider_off"] == "warn"


def test_each_thing_that_breaks_is_named(mc: CommandLine, home: Path) -> None:
    folder = home / "plugins" / "memorycore-prefetch"
    (folder / "runtime.json").write_text('{"python": "/nowhere/python", "env": {}}', encoding="utf-8")
    (folder / "__init__.py").write_text(f"{'#' * 9000}\nMemoryProvider\n", encoding="utf-8")
    config = home / "config.yaml"
    text = config.read_text(encoding="utf-8").replace("memorycore-prefetch", "mem0")
    config.write_text(text.replace(sys.executable, "/nowhere/python"), encoding="utf-8")
    assert codes(mc, "warn", PATH="") == ["hermes_plugin_differs"]
    assert codes(mc, "fail", PATH="") == [
        "hermes_no_marker", "hermes_no_import", "hermes_other_provider", "hermes_server_broken",
    ]  # fmt: skip


def test_a_config_that_cannot_be_read_is_named_once(mc: CommandLine, home: Path) -> None:
    (home / "config.yaml").write_text("memory: [\n", encoding="utf-8")
    assert codes(mc, "fail", PATH="") == ["error"]


@pytest.mark.skipif(os.name != "posix", reason="a program of one line")
@pytest.mark.parametrize(
    ("says", "level", "code"),
    [
        ("Provider: memorycore-prefetch\nStatus: available", "pass", "hermes_status"),
        ("Provider: memorycore-prefetch\nPlugin: NOT installed", "fail", "hermes_status_bad"),
    ],
)
def test_hermes_itself_is_asked_where_it_is_there(
    mc: CommandLine, home: Path, says: str, level: str, code: str
) -> None:
    program = mc.home / "hermes"
    program.write_text(f"#!/bin/sh\n/bin/cat <<END\n{says}\nEND\n", encoding="utf-8")
    program.chmod(0o755)
    assert code in codes(mc, level, PATH=str(mc.home))


def test_a_program_that_is_not_of_the_plugin_is_named(mc: CommandLine, home: Path) -> None:
    (home / "plugins" / "memorycore-prefetch" / "test_mine.py").write_text("", encoding="utf-8")
    assert codes(mc, "warn", PATH="") == ["hermes_strays"]


@pytest.mark.skipif(os.name != "posix", reason="a program of one line")
def test_an_installation_that_hermes_does_not_take_is_a_failure_at_once(mc: CommandLine) -> None:
    (mc.home / ".hermes").mkdir()
    program = mc.home / "hermes"
    program.write_text("#!/bin/sh\necho 'Plugin: NOT installed'\n", encoding="utf-8")
    program.chmod(0o755)
    ran = mc("hermes", "install", "--json", PATH=str(mc.home))
    assert (ran.code, ran.answer["ok"]) == (1, False)
    assert [one["code"] for one in ran.answer["checks"]] == ["hermes_status_bad"]
