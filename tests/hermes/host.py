"""Runs in Hermes' own interpreter: its loader, its MemoryManager and its memory tool, told what to do line by line.

Each line in is a JSON object ``{"do": NAME, …}``; each line out is ``{"answer": …, "seconds": …}``.
"""

import contextlib
import importlib
import json
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PLUGIN = "memorycore-prefetch"


def of_hermes(module: str) -> Any:
    """A module of Hermes, which nobody but this process has."""
    return importlib.import_module(module)


class Host:
    """One agent of Hermes, without a model."""

    def __init__(self) -> None:
        self.provider = of_hermes("plugins.memory").load_memory_provider(PLUGIN)
        self.manager = of_hermes("agent.memory_manager").MemoryManager()
        self.store = of_hermes("tools.memory_tool").load_on_disk_store()

    def begin(self, session: str = "s1", context: str = "primary") -> dict[str, Any]:
        self.manager.add_provider(self.provider)
        self.manager.initialize_all(session_id=session, platform="cli", agent_context=context)
        return {"name": self.provider.name, "available": self.provider.is_available(), "is": self._kind()}

    def be_patient(self) -> None:
        """Wait for answers as long as a busy machine takes; how long a turn waits is another question."""
        self.provider.prefetch_s = self.provider.memory_write_s = 20.0

    def system(self) -> str:
        return self.manager.build_system_prompt()

    def turn(self, text: str, number: int = 1) -> str:
        """What goes with the user's message, fenced as Hermes does it."""
        self.manager.on_turn_start(number, text)
        return of_hermes("agent.memory_manager").build_memory_context_block(
            self.manager.prefetch_all(text, session_id="")
        )

    def done(self, text: str, reply: str, session: str = "s1") -> bool:
        self.manager.sync_all(text, reply, session_id=session, messages=[{"role": "user", "content": text}])
        self.manager.queue_prefetch_all(text)
        return self.manager.flush_pending(timeout=5)

    def memory(self, **arguments: Any) -> dict[str, Any]:
        """The built-in memory tool, and what the agent loop tells providers after it."""
        result = of_hermes("tools.memory_tool").memory_tool(store=self.store, **arguments)
        self.manager.notify_memory_tool_write(result, arguments, build_metadata=lambda: {"tool_name": "memory"})
        return json.loads(result)

    def call(self, tool: str) -> str:
        return self.manager.handle_tool_call(tool, {})

    def switch(self, session: str, **facts: Any) -> None:
        self.manager.on_session_switch(session, **facts)
        self.provider._worker._queue.join()  # what it tells the daemon has been told

    def compress(self) -> str:
        return self.manager.on_pre_compress([{"role": "user", "content": "A message."}])

    def delegate(self) -> None:
        self.manager.on_delegation("A task.", "A result.", child_session_id="child")

    def end(self) -> None:
        self.manager.on_session_end([])

    def missed(self) -> dict[str, int]:
        return self.provider.missed()

    def shut_down(self) -> Any:
        self.manager.shutdown_all()
        return self.manager.shutdown_drain_state

    def _kind(self) -> bool:
        return isinstance(self.provider, of_hermes("agent.memory_provider").MemoryProvider)


def main() -> None:
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        host = Host()
        for line in sys.stdin:
            asked = json.loads(line)
            do: Callable[..., Any] = getattr(host, asked.pop("do"))
            began = time.monotonic()
            answer = do(**asked)
            out.write(json.dumps({"answer": answer, "seconds": time.monotonic() - began}) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
