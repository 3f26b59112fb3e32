"""A desk for each namespace that a named token opens, on the same database; opened when first needed.

Another namespace has hot files of its own, below the data directory: two namespaces in one file would read each
other's texts.
"""

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from memorycore.server.desk import Desk

if TYPE_CHECKING:
    from memorycore.core import MemoryCore

FOLDER = "namespaces"


class Desks:
    """``own`` serves the namespace of this process; whoever made it closes it."""

    def __init__(self, own: Desk, namespace: str) -> None:
        self._own = own
        self._namespace = namespace
        self._lock = threading.Lock()
        self._others: dict[str, Desk] = {}

    def of(self, namespace: str) -> Desk:
        """The desk of this namespace; of the process's own for an empty name."""
        if namespace in {"", self._namespace}:
            return self._own
        with self._lock:
            if namespace not in self._others:
                self._others[namespace] = Desk(lambda: self._open(namespace), language=self._own.language)
            return self._others[namespace]

    def opened(self) -> list[Desk]:
        """The desks of other namespaces that somebody has asked for so far."""
        with self._lock:
            return list(self._others.values())

    def close(self, *, grace_s: float) -> None:
        """Close the desks that were opened here; before the process's own, whose model they ask."""
        for desk in self.opened():
            desk.close(grace_s=grace_s)

    def _open(self, namespace: str) -> "MemoryCore":
        from memorycore.core import MemoryCore

        with self._own.core() as core:
            options = replace(
                core.options,
                namespace=namespace,
                hot_dir=core.options.data_dir / FOLDER / namespace,
                hermes_home=None,
                limits_source=None,
            )
            return MemoryCore.beside(core, options)
