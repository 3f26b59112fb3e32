"""A client on the MCP SDK of the 1.x line; run by the interpreter of another environment, prints one JSON object.

Arguments: the JSON of {"command", "args", "env"} or of {"url"}.
"""
# The checker sees the SDK of the 2.x line, where these names are others.
# pyright: basic, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false, reportMissingImports=false

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def talk(target: dict[str, Any]) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        if "url" in target:
            from mcp.client.streamable_http import streamablehttp_client

            reading, writing, _ = await stack.enter_async_context(streamablehttp_client(target["url"]))
        else:
            reading, writing = await stack.enter_async_context(stdio_client(StdioServerParameters(**target)))
        session = await stack.enter_async_context(ClientSession(reading, writing))
        hello = await session.initialize()
        tools = (await session.list_tools()).tools
        content = {"content": "Always greet Mrs Kowalczyk first", "tags": ["manners"]}
        stored = await session.call_tool("memorycore_store_fact", content)
        recalled = await session.call_tool("memorycore_recall", {"query": "whom to greet first"})
        refused = await session.call_tool("memorycore_inspect", {"id": "nobody"})
        hot = await session.read_resource("memory://hot/memory")
        prompts = (await session.list_prompts()).prompts
        return {
            "protocol": hello.protocolVersion,
            "instructions": hello.instructions,
            "tools": [tool.name for tool in tools],
            "stored": json.loads(stored.content[0].text),
            "recalled": json.loads(recalled.content[0].text),
            "refused": [refused.isError, json.loads(refused.content[0].text)],
            "structured": stored.structuredContent,
            "hot": hot.contents[0].text,
            "prompts": [prompt.name for prompt in prompts],
        }


sys.stdout.write(json.dumps(asyncio.run(talk(json.loads(sys.argv[1])))))
