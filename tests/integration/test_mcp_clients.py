"""Clients of both SDK generations, over both transports, and servers started from what users paste into clients."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import anyio
import pytest
import yaml
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.types import TextContent, TextResourceContents

from memorycore.hosts.clients import CLIENTS
from tests.command_line import CommandLine
from tests.integration.test_server_http import serving
from tests.integration.test_server_schemas import CORE_TEN
from tests.wire import Wire, server_env

OLD_PYTHON = os.environ.get("MEMORYCORE_TEST_MCP1_PYTHON", "")
with_old_client = pytest.mark.skipif(
    not OLD_PYTHON, reason="MEMORYCORE_TEST_MCP1_PYTHON names no interpreter that has mcp==1.26.0"
)
OLD_CLIENT = Path(__file__).with_name("mcp1_client.py")
BY_WORDS = {"MEMORYCORE_EMBED_MODEL": "none"}  # what is found by its words needs no model


def check(heard: Mapping[str, Any]) -> None:
    """What every client must have heard, whatever its generation."""
    assert heard["tools"] == CORE_TEN
    assert "memorycore_recall" in heard["instructions"]
    assert heard["stored"]["status"] == "stored"
    assert heard["recalled"]["results"][0]["content"] == "Always greet Mrs Kowalczyk first"
    assert heard["refused"][0] is False
    assert heard["refused"][1]["code"] == "not_found"
    assert heard["structured"] is None
    assert heard["hot"] == "Always greet Mrs Kowalczyk first"
    assert sorted(heard["prompts"]) == ["review", "tidy"]


async def talk(server: StdioServerParameters | str, mode: Literal["auto", "legacy"]) -> dict[str, Any]:
    """The same conversation as in ``mcp1_client``, with the SDK of this environment."""
    async with Client(server, mode=mode) as client:
        tools = (await client.list_tools()).tools
        content = {"content": "Always greet Mrs Kowalczyk first", "tags": ["manners"]}
        stored = await client.call_tool("memorycore_store_fact", content)
        recalled = await client.call_tool("memorycore_recall", {"query": "whom to greet first"})
        refused = await client.call_tool("memorycore_inspect", {"id": "nobody"})
        hot = (await client.read_resource("memory://hot/memory")).contents[0]
        prompts = (await client.list_prompts()).prompts
        return {
            "protocol": client.protocol_version,
            "instructions": client.instructions,
            "tools": [tool.name for tool in tools],
            "stored": text_of(stored.content[0]),
            "recalled": text_of(recalled.content[0]),
            "refused": [bool(refused.is_error), text_of(refused.content[0])],
            "structured": stored.structured_content,
            "hot": cast("TextResourceContents", hot).text,
            "prompts": [prompt.name for prompt in prompts],
        }


def text_of(block: object) -> Any:
    assert isinstance(block, TextContent)
    return json.loads(block.text)


def old_client(target: Mapping[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [OLD_PYTHON, str(OLD_CLIENT), json.dumps(target)],
        capture_output=True,
        encoding="utf-8",
        timeout=90,
        check=False,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("mode", "protocol"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_a_client_of_the_2_line_over_stdio(tmp_path: Path, mode: Literal["auto", "legacy"], protocol: str) -> None:
    env = server_env(tmp_path, **BY_WORDS)
    server = StdioServerParameters(command=sys.executable, args=["-m", "memorycore.server"], env=env)
    heard = anyio.run(talk, server, mode)
    assert heard["protocol"] == protocol
    check(heard)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_of_the_2_line_over_http(tmp_path: Path, mode: Literal["auto", "legacy"]) -> None:
    with serving(tmp_path, **BY_WORDS) as server:
        check(anyio.run(talk, server.url, mode))


@with_old_client
def test_a_client_of_the_1_line_over_stdio(tmp_path: Path) -> None:
    env = server_env(tmp_path, **BY_WORDS)
    heard = old_client({"command": sys.executable, "args": ["-m", "memorycore.server"], "env": env})
    assert heard["protocol"] == "2025-11-25"
    check(heard)


@with_old_client
def test_a_client_of_the_1_line_over_http(tmp_path: Path) -> None:
    with serving(tmp_path, **BY_WORDS) as server:
        check(old_client({"url": server.url}))


@pytest.mark.parametrize("name", CLIENTS)
def test_a_server_started_from_the_printed_block_lists_ten_tools(tmp_path: Path, mc: CommandLine, name: str) -> None:
    env = server_env(tmp_path / "My Memory Data", **BY_WORDS)
    entry = entry_of(name, mc("client", "install", name, "--print", **env).out)
    bare = {"PATH": env["PATH"], "HOME": env["HOME"], "PYTHONPATH": env["PYTHONPATH"]}
    with Wire(bare | entry["env"], [entry["command"], *entry["args"]]) as wire:
        wire.initialize()
        assert [tool["name"] for tool in wire.request("tools/list")["tools"]] == CORE_TEN
        assert wire.call("memorycore_store_fact", content="Always greet Mrs Kowalczyk first")["tier"] == "hot"
        wire.close_input()
        assert wire.wait(5) == 0
    # The client passes on no variable that the block does not name: what was set here must stand in it.
    assert list((tmp_path / "My Memory Data").rglob("MEMORY.md"))


def entry_of(name: str, printed: str) -> dict[str, Any]:
    """The server's entry in a block, read the way that client reads its own file."""
    match name:
        case "codex":
            return tomllib.loads(printed)["mcp_servers"]["memorycore"]
        case "hermes":
            return yaml.safe_load(printed)["mcp_servers"]["memorycore"]
        case "vscode":
            return json.loads(printed)["servers"]["memorycore"]
        case _:
            return json.loads(printed)["mcpServers"]["memorycore"]
