"""What the plugin and the tools add to the prompts of Hermes, in characters and roughly in tokens.

    python -m benchmarks.tokens [--memories FILE.jsonl --queries FILE.jsonl]

The block of the system prompt and the tools, in the form in which Hermes sends them, stand in every request. Notes
come with a message that they fit; they are measured over questions like those of ``tests/data/prefetch``.

A token is taken for four characters of English and JSON, one and a half of Chinese, Japanese and Korean, and two of an
id: no model's own way of counting is at hand, and theirs differ by a quarter.
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio

from benchmarks.report import quantile
from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.errors import NotAvailable
from memorycore.options import CoreOptions
from memorycore.server.app import MemoryServer
from memorycore.server.desk import Desk
from memorycore.server.tending import TOOLSETS
from tests.plugin_host import load

ROOT = Path(__file__).parents[1]
PLUGIN = ROOT / "hermes-plugin" / "memorycore-prefetch"
OWN = ROOT / "tests" / "data" / "prefetch"
_ID = re.compile(r"\[[0-9a-f-]{8,36}\]")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def tokens(text: str) -> int:
    ids = sum(map(len, _ID.findall(text)))
    rest = _ID.sub("", text)
    cjk = len(_CJK.findall(rest))
    return round(ids / 2 + cjk / 1.5 + (len(rest) - cjk) / 4)


def block() -> str:
    """What stands in the system prompt without topics."""
    sys.dont_write_bytecode = True
    provider = load(PLUGIN)
    provider.initialize_for_inspection("s")
    return str(provider.system_prompt_block())


def tools(toolset: str) -> str:
    """The list of tools as Hermes puts it into a request."""

    def never() -> Any:
        raise NotAvailable(what="core", why="not needed here")

    listed = anyio.run(MemoryServer(Desk(never, language="en"), TOOLSETS[toolset]).list_tools)
    return json.dumps([
        {
            "type": "function",
            "function": {
                "name": f"mcp__memorycore__{tool.name}",
                "description": tool.description,
                "parameters": tool.model_dump(by_alias=True)["inputSchema"],
            },
        }
        for tool in listed
    ])  # fmt: skip


def notes(memories: Path, queries: Path) -> list[str]:
    """What each question gets, asked for itself."""
    with tempfile.TemporaryDirectory() as folder:
        options = CoreOptions(hot_dir=Path(folder) / "memories", data_dir=Path(folder) / "data")
        with MemoryCore.open(options, long_lived=False) as core:
            core.embedding.wait_ready(None)
            for memory in lines(memories):
                core.remember(Draft(content=memory["content"], importance=0.5), actor="benchmark")
            return [core.prefetch(one["query"], session_id="")["text"] for one in lines(queries)]


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--memories", type=Path, default=OWN / "test_memories.jsonl")
    asked.add_argument("--queries", type=Path, default=OWN / "test_queries.jsonl")
    given = asked.parse_args()
    for name, text in (("system block", block()), *((f"tools, {name}", tools(name)) for name in TOOLSETS)):
        print(f"{name:<14} {len(text):>6} characters  about {tokens(text):>5} tokens")
    told = notes(given.memories, given.queries)
    some = sorted((text for text in told if text), key=len)
    print(f"{len(told)} questions, {len(told) - len(some)} of them get nothing; the others get")
    for name, share in (("half at most", 0.5), ("nine of ten", 0.9), ("the longest", 1.0)):
        text = some[round(quantile(list(range(len(some))), share))]
        print(f"{name:<14} {len(text):>6} characters  about {tokens(text):>5} tokens  {len(text.splitlines())} notes")


if __name__ == "__main__":
    main()
