"""The plugin of Hermes without Hermes: its modules, beside a stand-in for the one class of Hermes that they build on.

As a program it is a host that lives for a moment: ``python -m tests.plugin_host FOLDER HERMES_HOME WHAT``. Standard
library only, as in the interpreter of Hermes.
"""

import abc
import importlib.util
import itertools
import json
import os
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import Any

QUESTION = "Does the shop run on the harbour's own server in Bergen?"
_numbers = itertools.count()


class MemoryProvider(abc.ABC):
    """What Hermes asks of a provider."""

    @property
    @abc.abstractmethod
    def name(self) -> str: ...

    @abc.abstractmethod
    def is_available(self) -> bool: ...

    @abc.abstractmethod
    def initialize(self, session_id: str, **kwargs: Any) -> None: ...

    @abc.abstractmethod
    def get_tool_schemas(self) -> list[dict[str, Any]]: ...


def module_of(file: Path) -> Any:
    """A file of a plugin, loaded anew under a name of its own."""
    name = f"plugin_under_test_{next(_numbers)}"
    siblings = [str(file.parent)] if file.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=siblings)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load(folder: Path) -> Any:
    """A provider of the plugin in ``folder``, as Hermes gets it: loaded as a package, built by ``register``."""
    stand_in = ModuleType("agent.memory_provider")
    vars(stand_in)["MemoryProvider"] = MemoryProvider
    sys.modules.update({"agent": ModuleType("agent"), "agent.memory_provider": stand_in})
    module = module_of(folder / "__init__.py")
    registered: list[Any] = []
    context = ModuleType("context")
    vars(context)["register_memory_provider"] = registered.append
    module.register(context)
    return registered[0]


def recall(provider: Any) -> str:
    """What a turn gets, in letters that every terminal can show."""
    provider.prefetch_s = 20.0
    return json.dumps(provider.prefetch(QUESTION))


def one_shot(provider: Any, *, orderly: bool) -> None:
    """One turn; the process ends 50 ms after the turn was told, with a word to the provider or without one."""
    provider.prefetch(QUESTION)
    provider.sync_turn(QUESTION, "In Bergen.")
    time.sleep(0.05)
    if not orderly:
        return
    provider.shutdown()

    def no_more(self: threading.Thread) -> None:
        raise AssertionError(self.name)

    threading.Thread.start = no_more
    provider.prefetch(QUESTION)
    provider.sync_turn(QUESTION, "In Bergen.")
    provider.on_memory_write("add", "memory", "A text.")
    provider.on_session_end([])


def main(folder: str, home: str, what: str) -> None:
    provider = load(Path(folder))
    provider.initialize(f"s{os.getpid()}", hermes_home=home, platform="cli", agent_context="primary")
    if what == "recall":
        sys.stdout.write(recall(provider))
    else:
        one_shot(provider, orderly=what == "orderly")


if __name__ == "__main__":
    main(*sys.argv[1:])
