"""The local connections of a daemon, served by a thread of the test: starts in milliseconds, stops as it is told."""

import asyncio
import os
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

import anyio
import anyio.from_thread
import anyio.lowlevel

from memorycore import __version__, endpoint
from memorycore.core import MemoryCore
from memorycore.endpoint import Endpoint
from memorycore.relay.greeting import Wanted
from memorycore.relay.link import DaemonLink
from memorycore.server import sessions
from memorycore.server.clients import Clients
from memorycore.server.desk import Desk
from memorycore.server.sessions import Hall
from memorycore.settings import Settings, load_settings


@dataclass(slots=True, kw_only=True)
class LocalDaemon:
    """``stop`` ends it in order, ``cut`` as a kill does.

    ``is_open``: the first call waits while this is not set; ``is_called``: it has come.
    """

    env: Mapping[str, str]
    claims: Mapping[str, str] = field(default_factory=dict[str, str])
    is_open: threading.Event = field(default_factory=threading.Event)
    is_called: threading.Event = field(default_factory=threading.Event)
    clients: Clients = field(default_factory=Clients)
    settings: Settings = field(init=False)
    endpoint: Endpoint = field(init=False)
    desk: Desk = field(init=False)
    _thread: threading.Thread = field(init=False)
    _over: Callable[[], object] = field(init=False)
    _in_loop: Callable[[Callable[[], object]], object] = field(init=False)
    _orderly: bool = False

    def __enter__(self) -> Self:
        self.settings = load_settings(self.env)
        self.settings.data_dir.mkdir(parents=True, exist_ok=True)
        self.desk = Desk(self._open, language=self.settings.language)
        self.is_open.set()
        up = threading.Event()
        self._thread = threading.Thread(target=anyio.run, args=(self._run, up.set))
        self._thread.start()
        assert up.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self.is_open.set()
        self.cut()
        self.desk.close(grace_s=1)

    def stop(self) -> None:
        self._orderly = True
        self.cut()

    def cut(self) -> None:
        if self._thread.is_alive():
            self._over()
            self._thread.join(5)

    @contextmanager
    def hanging(self) -> Generator[None]:
        """It stays, and neither reads nor answers, as a process that was stopped."""
        go_on = threading.Event()
        self._in_loop(go_on.wait)
        try:
            yield
        finally:
            go_on.set()

    def wanted(self, **other: str) -> Wanted:
        words = {name: getattr(self.endpoint, name) for name in ("version", "data_dir", "hot_dir", "namespace")}
        words |= {"settings": self.endpoint.settings, "toolset": "core", "language": "en", "session": "test"}
        return Wanted(**{**words, **other})

    def connect(self, **other: str) -> DaemonLink:
        return DaemonLink(self.wanted(**other), self.endpoint)

    def _open(self) -> MemoryCore:
        self.is_called.set()
        self.is_open.wait(20)
        return MemoryCore.open(self.settings.core_options(), long_lived=True)

    async def _run(self, up: Callable[[], None]) -> None:
        async with await sessions.bind() as listener, anyio.create_task_group() as tasks:
            self.endpoint = replace(self._described(sessions.port_of(listener)), **self.claims)
            hall = Hall(desk=self.desk, endpoint=self.endpoint, clients=self.clients)
            tasks.start_soon(sessions.listen, listener, hall)
            over = anyio.Event()
            token = anyio.lowlevel.current_token()
            self._over = partial(anyio.from_thread.run_sync, over.set, token=token)
            self._in_loop = asyncio.get_running_loop().call_soon_threadsafe
            endpoint.write(self.endpoint)
            up()
            await over.wait()
            if self._orderly:
                endpoint.remove(self.endpoint.data_dir, self.endpoint.pid)
                await sessions.close(hall, within_s=0.5)
            tasks.cancel_scope.cancel()

    def _described(self, port: int) -> Endpoint:
        return Endpoint(
            pid=os.getpid(),
            started="2026-03-02T09:00:00Z",
            version=__version__,
            url="http://127.0.0.1:9",
            relay=("127.0.0.1", port),
            token="t" * 43,
            data_dir=str(self.settings.data_dir),
            hot_dir=str(self.settings.hot_dir),
            namespace=self.settings.namespace,
            settings=self.settings.fingerprint(),
        )


@contextmanager
def local_daemon(env: Mapping[str, str], **claims: str) -> Generator[LocalDaemon]:
    """``claims``: what its endpoint says of it instead of the truth."""
    with LocalDaemon(env=env, claims=claims) as daemon:
        yield daemon
