"""Runs in Hermes' own interpreter, for ``benchmarks.prefetch``: its MemoryManager with the plugin that is installed.

Each line in is a JSON object: ``{"session": ID}`` begins a session, ``{"say": TEXT}`` is a turn of it. Each line out is
``{"told": BOOL, "ms": FLOAT, "missed": {…}}``; ``ms`` is what the turn waited for its memory.
"""

import contextlib
import importlib
import json
import sys
import time
from typing import Any


def main() -> None:
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        of_manager: Any = importlib.import_module("agent.memory_manager")
        provider: Any = importlib.import_module("plugins.memory").load_memory_provider("memorycore-prefetch")
        manager = of_manager.MemoryManager()
        manager.add_provider(provider)
        begun = False
        for line in sys.stdin:
            asked = json.loads(line)
            text, ms = "", 0.0
            if "session" in asked and not begun:
                manager.initialize_all(session_id=asked["session"], platform="cli", agent_context="primary")
                begun = True
            elif "session" in asked:
                manager.on_session_switch(asked["session"], reason="new_session", reset=True)
            else:
                started = time.perf_counter()
                manager.on_turn_start(1, asked["say"])
                text = of_manager.build_memory_context_block(manager.prefetch_all(asked["say"], session_id=""))
                ms = (time.perf_counter() - started) * 1_000
            out.write(json.dumps({"told": bool(text), "ms": ms, "missed": provider.missed()}) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
