"""A client's file gets our entry and keeps everything else."""

import json
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
import yaml

from memorycore.errors import InvalidInput
from memorycore.hosts.clients import CLIENTS, Client, Entry, Installed, block, client, install, server_entry

NOW = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)
ENV = {
    "MEMORY_DIR": "/home/me/My Memory Data", "MEMORYCORE_EMBED_KEY": "sk-secret", "PATH": "/bin", "TZ": "Asia/Shanghai",
    "LLM_API_KEY": "sk-secret", "LLM_BASE_URL": "http://127.0.0.1:11434/v1", "LLM_MODEL": "judge",
    "MNEMOSYNE_URL": "https://me:sk-secret@cold.example/mcp",
}  # fmt: skip
COMMENTED_TOML = """# my settings
model = "gpt"

[mcp_servers.memorycore]  # an older entry
command = "old"

[mcp_servers.memorycore.env]
A = "b"

[mcp_servers.other]
command = "x"  # stays
"""
COMMENTED_YAML = """# Hermes of 小明
model:
  default: fake

mcp_servers:
    # tools for files
    files:
        command: npx   # stays
        args: ["-y", files]
    memorycore:
        command: old
        env:
            A: b

# what follows
memory:
    memory_char_limit: 3000
"""


def put(name: str, home: Path, before: str | None = None) -> tuple[Client, Entry, Installed]:
    found = client(name, home=home, env={}, platform="linux")
    if before is not None:
        found.file.parent.mkdir(parents=True, exist_ok=True)
        found.file.write_text(before, encoding="utf-8")
    entry = server_entry(found, ENV)
    return found, entry, install(found, entry, now=NOW)


def read(found: Client) -> dict[str, dict[str, dict[str, object]]]:
    text = found.file.read_text(encoding="utf-8")
    return {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}[found.syntax](text)


@pytest.mark.parametrize("name", CLIENTS)
def test_a_new_file_holds_what_the_printed_block_says(name: str, tmp_path: Path) -> None:
    found, entry, done = put(name, tmp_path)
    assert done == Installed(file=found.file, changed=True, backup=None)
    parse = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}[found.syntax]
    assert read(found) == parse(block(found, entry))
    ours = read(found)[found.key]["memorycore"]
    assert ours["command"] == sys.executable
    assert ours["args"] == ["-m", "memorycore.server"]


@pytest.mark.parametrize("name", CLIENTS)
def test_the_child_is_told_the_directories_but_no_secret(name: str, tmp_path: Path) -> None:
    found, entry, _ = put(name, tmp_path)
    env = read(found)[found.key]["memorycore"]["env"]
    assert isinstance(env, dict)
    env = cast("dict[str, str]", env)
    assert env["MEMORY_DIR"] == "/home/me/My Memory Data"
    assert {name: env[name] for name in ("LLM_BASE_URL", "LLM_MODEL", "TZ")} == {
        name: ENV[name] for name in ("LLM_BASE_URL", "LLM_MODEL", "TZ")
    }
    assert "PATH" not in env
    assert "sk-secret" not in found.file.read_text(encoding="utf-8")
    assert set(entry.left_out) == {"MEMORYCORE_EMBED_KEY", "MNEMOSYNE_URL", "LLM_API_KEY"}
    assert ("HERMES_HOME" in env) == (name == "hermes")


@pytest.mark.parametrize("name", CLIENTS)
def test_installing_again_changes_nothing(name: str, tmp_path: Path) -> None:
    found, entry, _ = put(name, tmp_path)
    before = found.file.read_bytes()
    assert install(found, entry, now=NOW) == Installed(file=found.file, changed=False)
    assert found.file.read_bytes() == before
    assert [path.name for path in found.file.parent.iterdir() if "memorycore" in path.name] == []


def test_json_keeps_other_entries_and_the_indentation_and_a_backup(tmp_path: Path) -> None:
    before = '{\n    "theme": "dark",\n    "mcpServers": {"other": {"command": "x"}}\n}\n'
    found, _, done = put("cursor", tmp_path, before)
    assert read(found)["mcpServers"]["other"] == {"command": "x"}
    assert list(read(found)) == ["theme", "mcpServers"]
    assert '\n    "theme"' in found.file.read_text(encoding="utf-8")
    assert done.backup is not None
    assert done.backup.read_text(encoding="utf-8") == before


def test_toml_keeps_comments_and_replaces_an_older_entry(tmp_path: Path) -> None:
    found, _, _ = put("codex", tmp_path, COMMENTED_TOML)
    text = found.file.read_text(encoding="utf-8")
    assert text.startswith('# my settings\nmodel = "gpt"\n')
    assert 'command = "x"  # stays' in text
    assert text.count("[mcp_servers.memorycore]") == 1
    assert read(found)["mcp_servers"]["memorycore"]["command"] == sys.executable


def test_yaml_keeps_comments_and_replaces_an_older_entry(tmp_path: Path) -> None:
    found, _, _ = put("hermes", tmp_path, COMMENTED_YAML)
    text = found.file.read_text(encoding="utf-8")
    for line in ("# Hermes of 小明", "    # tools for files", "        command: npx   # stays", "# what follows"):
        assert line in text
    assert read(found)["memory"] == {"memory_char_limit": 3000}
    assert set(read(found)["mcp_servers"]) == {"files", "memorycore"}
    assert read(found)["mcp_servers"]["memorycore"]["command"] == sys.executable


@pytest.mark.parametrize("before", ["model: {default: x}\n", "a: 1\nmcp_servers:\n", "mcp_servers: {}\nb: 2\n", ""])
def test_yaml_without_servers_gets_them(before: str, tmp_path: Path) -> None:
    found, entry, _ = put("hermes", tmp_path, before)
    expected = (yaml.safe_load(before) or {}) | yaml.safe_load(block(found, entry))
    assert read(found) == expected


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("vscode", '{\n  // a comment\n  "servers": {}\n}\n'),
        ("cursor", "[1, 2]"),
        ("claude-code", '{"mcpServers": 3}'),
        ("codex", "model = \n"),
        ("codex", 'mcp_servers = { memorycore = { command = "inline" } }\n'),
        ("hermes", "mcp_servers: {files: {command: x}}\n"),
        ("hermes", "mcp_servers: [\n"),
    ],
)
def test_a_file_that_cannot_be_understood_is_left_alone(name: str, before: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="unparsable"):
        put(name, tmp_path, before)
    file = client(name, home=tmp_path, env={}, platform="linux").file
    assert file.read_text(encoding="utf-8") == before
    assert [path.name for path in file.parent.iterdir() if path.is_file()] == [file.name]


def test_mode_link_and_line_ends_stay(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "config.toml"
    real.parent.mkdir()
    real.write_bytes(b'model = "gpt"\r\n')
    real.chmod(0o640)
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").symlink_to(real)
    put("codex", tmp_path)
    assert (tmp_path / ".codex" / "config.toml").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert b"\n" not in real.read_bytes().replace(b"\r\n", b"")


def test_each_system_has_its_own_place(tmp_path: Path) -> None:
    places = {
        platform: client("claude-desktop", home=tmp_path, env={}, platform=platform).file.relative_to(tmp_path)
        for platform in ("linux", "darwin", "win32")
    }
    assert places["linux"] == Path(".config/Claude/claude_desktop_config.json")
    assert places["darwin"] == Path("Library/Application Support/Claude/claude_desktop_config.json")
    assert places["win32"] == Path("AppData/Roaming/Claude/claude_desktop_config.json")


def test_an_unknown_client_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="hermes"):
        client("emacs", home=tmp_path, env={})
