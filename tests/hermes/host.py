"""Runs in Hermes' own interpreter, told what to do line by line: its manager of memory, or a whole agent.

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


class Manager:
    """Its loader, its MemoryManager and its memory tool, as an agent has them; no model."""

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

    def add_all(self, texts: list[str], tries: int) -> list[str]:
        """Add each, again where there is no room for it yet; what never found any."""
        return [text for text in texts if not any(self._add(text) for _ in range(tries))]

    def _add(self, text: str) -> bool:
        done = self.memory(action="add", target="memory", content=text)["success"]
        if not done:
            time.sleep(0.05)
        return done

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


class Agent:
    """A whole agent with its conversation."""

    def __init__(self) -> None:
        self.messages: list[Any] | None = None

    def begin(self, url: str, session: str, reviews_every: int) -> str:
        """The name of its provider of memory. ``reviews_every``: turns; 0: never."""
        self.agent = of_hermes("run_agent").AIAgent(
            base_url=url, api_key="sk-fake", provider="custom", model="fake-model", quiet_mode=True, platform="cli",
            enabled_toolsets=["memory"], skip_context_files=True, session_id=session,
        )  # fmt: skip
        self.agent._memory_nudge_interval = reviews_every
        self.manager = self.agent._memory_manager
        self.provider = next(one for one in self.manager.providers if one.name == PLUGIN)
        self.provider.prefetch_s = self.provider.memory_write_s = 20.0
        return self.provider.name

    def say(self, text: str) -> str:
        done = self.agent.run_conversation(text, conversation_history=self.messages)
        self.messages = done["messages"]
        self.manager.flush_pending(timeout=5)
        return done["final_response"]

    def end(self) -> None:
        self.agent.shutdown_memory_provider(self.messages)
        self.agent.close()


HOSTS = {"manager": Manager, "agent": Agent}


def main(kind: str) -> None:
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        host = HOSTS[kind]()
        for line in sys.stdin:
            asked = json.loads(line)
            do: Callable[..., Any] = getattr(host, asked.pop("do"))
            began = time.monotonic()
            answer = do(**asked)
            out.write(json.dumps({"answer": answer, "seconds": time.monotonic() - began}) + "\n")
            out.flush()


if __name__ == "__main__":
    main(sys.argv[1])
