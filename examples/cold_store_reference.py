"""A cold store in one file: the five tools of cold-store-contract.md, with the MCP SDK and nothing of MemoryCore.

    python examples/cold_store_reference.py --port 8770 --file cold.jsonl

Texts are kept in a file, one change a line, written through to the disk before an answer goes out. Searching counts
common words: enough to show the contract; put your own engine there.
"""

import argparse
import json
import os
import re
import sys
import threading
import uuid
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer

LONGEST = 65_536
PIECE = re.compile(r"[a-z0-9]+|[^\W\d_a-z]")


class Texts:
    """Texts by id, as the file says."""

    def __init__(self, file: Path) -> None:
        self.by_id: dict[str, str] = {}
        self._lock = threading.Lock()
        if file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                self._apply(json.loads(line))
        self._file = file.open("a", encoding="utf-8")

    def change(self, memory_id: str, content: str | None) -> None:
        with self._lock:
            change = {"id": memory_id, "content": content}
            self._file.write(json.dumps(change, ensure_ascii=False) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
            self._apply(change)

    def _apply(self, change: dict[str, Any]) -> None:
        if change["content"] is None:
            self.by_id.pop(change["id"], None)
        else:
            self.by_id[change["id"]] = change["content"]


def pieces(text: str) -> set[str]:
    """Latin words and numbers whole, of other scripts single signs: so languages without spaces are found too."""
    return set(PIECE.findall(text.lower()))


def service(texts: Texts) -> MCPServer:
    """The five tools. Each answers one JSON object as text; what cannot be done is an ``error``."""
    server = MCPServer("cold-store-reference", log_level="WARNING")

    def answer(**told: Any) -> str:
        return json.dumps(told, ensure_ascii=False)

    @server.tool(structured_output=False)
    def remember(content: str, importance: float = 0.5, scope: str = "global") -> str:
        """Keep a text durably, all of it."""
        del importance, scope  # a store that ranks by words alone has no use for them
        if not content.strip() or len(content.encode()) > LONGEST:
            return answer(error="the text is empty, or longer than 64 KiB")
        memory_id = uuid.uuid4().hex
        texts.change(memory_id, content)
        return answer(status="stored", memory_id=memory_id)

    @server.tool(structured_output=False)
    def recall(query: str, top_k: int = 5) -> str:
        """The texts that answer a question best, whole, best first."""
        asked = pieces(query)
        scored = [(len(asked & pieces(text)) / max(1, len(asked)), key, text) for key, text in texts.by_id.items()]
        best = sorted((one for one in scored if one[0] > 0), key=lambda one: -one[0])[:top_k]
        return answer(results=[{"id": key, "content": text, "score": score} for score, key, text in best])

    @server.tool(structured_output=False)
    def update(memory_id: str, content: str) -> str:
        """Replace the whole text of a memory."""
        if memory_id not in texts.by_id:
            return answer(error="not found")
        texts.change(memory_id, content)
        return answer(status="updated")

    @server.tool(structured_output=False)
    def forget(memory_id: str) -> str:
        """Take a memory out of every later recall."""
        if memory_id not in texts.by_id:
            return answer(error="not found")
        texts.change(memory_id, None)
        return answer(status="forgotten")

    @server.tool(structured_output=False)
    def stats() -> str:
        """How many memories there are, and how many are found by meaning."""
        return answer(total=len(texts.by_id), embeddings=0)

    return server


def main() -> None:
    parser = argparse.ArgumentParser(description="A cold store in one file.")
    parser.add_argument("--port", type=int, default=8770)
    parser.add_argument("--file", type=Path, default=Path("cold.jsonl"))
    asked = parser.parse_args()
    sys.stderr.write(f"cold store: http://127.0.0.1:{asked.port}/mcp\n")
    sys.stderr.flush()
    service(Texts(asked.file)).run("streamable-http", host="127.0.0.1", port=asked.port)


if __name__ == "__main__":
    main()
