"""An agent in thirty lines: it connects to MemoryCore over MCP, stores two things, and finds one of them again.

    python examples/remember_and_recall.py

It works on the memory that the environment names: ``MEMORY_DIR`` and ``MEMORYCORE_DATA_DIR``, else the default one.
"""

import asyncio
import json
import os
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import TextContent


async def main() -> None:
    """Store, then recall, as an agent's tools do."""
    server = StdioServerParameters(command=sys.executable, args=["-m", "memorycore.server"], env=dict(os.environ))
    async with Client(server) as client:
        for statement in ("Never deploy on Fridays.", "The staging database listens on port 5433."):
            stored = await call(client, "memorycore_store_fact", content=statement)
            print(f"{stored['tier']}: {statement} ({stored['reasons'][0]})")
        found = await call(client, "memorycore_recall", query="预生产数据库的端口", top_k=1)
        for result in found["results"]:
            print(f"found: {result['content']}")


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Every tool answers one JSON object as text."""
    result = await client.call_tool(tool, arguments)
    return next(json.loads(block.text) for block in result.content if isinstance(block, TextContent))


if __name__ == "__main__":
    asyncio.run(main())
