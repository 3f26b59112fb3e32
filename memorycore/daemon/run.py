"""The life of the process that leads: lock, log, services, schedule; and its end within two seconds."""

import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_urlsafe
from types import FrameType
from typing import TYPE_CHECKING, Any

from memorycore import __version__, endpoint
from memorycore.daemon import leader, logs
from memorycore.daemon.leader import Leader
from memorycore.embed.processor import settle_threads
from memorycore.endpoint import Endpoint
from memorycore.errors import InvalidInput, StoreError
from memorycore.server.life import END_WITHIN_S, end_hard_in
from memorycore.server.room import make_room

if TYPE_CHECKING:
    from memorycore.daemon.schedule import Schedule
    from memorycore.daemon.upkeep import Everywhere, Upkeep
    from memorycore.server.sessions import Hall
    from memorycore.settings import Settings
    from memorycore.web import State

_log = logging.getLogger(__name__)
HOST = "127.0.0.1"
LAST_ANSWERS_S = 0.5
CLOSE_GRACE_S = 0.4
LOOK_AROUND_S = 1.0
# How long a thread that computes keeps others from Python. A call lets go of it some dozen times, and with the usual
# 5 ms would wait so long each time while the memory is being tended.
SWITCH_S = 0.001
LOADED_EARLY = (  # what takes a second to import
    "apscheduler.schedulers.background",
    "memorycore.core",
    "memorycore.server.sessions",
    "memorycore.web.site",
    "numpy",
    "numpy.ma",  # numpy loads it with the first np.unique
    "opencc",
    "uvicorn",
)
# All of ours that a call may need. What is imported later could be of another version, where the package was replaced
# under a daemon that runs; and threads would import it all at once, with the first calls.
NEEDED_BY_CALLS = (
    "cold", "core", "daemon", "domain", "embed", "govern", "hot", "intake", "lifecycle", "llm", "search", "server",
    "settings", "store", "web",
)  # fmt: skip
SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGBREAK", "SIGHUP") if hasattr(signal, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How the daemon was started. ``idle_exit_s`` None: it stays without clients; ``port`` None: as the settings say.

    ``wait``: wait until the one that leads now has ended. ``to_stderr``: log there as well.
    """

    idle_exit_s: float | None = None
    port: int | None = None
    wait: bool = False
    to_stderr: bool = True
    log_level: str = "INFO"


def run(settings: "Settings", asked: Asked) -> int:
    """Lead this data directory until a signal comes, or nobody has needed it for so long; the exit code.

    Raises:
        NotAvailable: Another daemon leads, the directory knows no locks, or other machines could come in without a
            token.
        SettingsError: The settings contradict each other, or the schedule cannot be.
        InvalidInput: The port is taken.
        StoreError: The data directory cannot be made.
    """
    from memorycore.web import binding

    settings.core_options()
    binding.check(settings)
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(path=str(settings.data_dir), why=error.strerror) from error
    if asked.wait:
        load()  # whoever waits takes over at once
    with leader.leadership(settings.data_dir, wait_s=-1 if asked.wait else 0) as me:
        logs.begin(settings.data_dir, asked.log_level, to_stderr=asked.to_stderr)
        make_room()
        sys.setswitchinterval(SWITCH_S)
        load()
        import anyio

        _log.info("daemon %s leads", __version__, extra={"facts": {"pid": me.pid}})
        try:
            anyio.run(_lead, settings, asked, me)
        finally:
            endpoint.remove(settings.data_dir, me.pid)
            _log.info("daemon has ended", extra={"facts": {"pid": me.pid}})
    return 0


def load() -> None:
    """Import what the process will need, before it has a second thread."""
    from importlib import import_module
    from pkgutil import walk_packages

    from memorycore.store.engine import vec0_path

    settle_threads()
    for name in LOADED_EARLY:
        import_module(name)
    with suppress(ImportError):  # not every system has a wheel of it
        vec0_path()
    for room in NEEDED_BY_CALLS:
        package = import_module(f"memorycore.{room}")
        for found in walk_packages(getattr(package, "__path__", ()), f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                import_module(found.name)


async def _lead(settings: "Settings", asked: Asked, me: Leader) -> None:
    import anyio

    from memorycore import web
    from memorycore.core import MemoryCore
    from memorycore.daemon.upkeep import Everywhere, Upkeep
    from memorycore.server import sessions
    from memorycore.server.desk import Desk

    desk = Desk(lambda: MemoryCore.open(settings.core_options(), long_lived=True), language=settings.language)
    state = web.State(settings=settings, desk=desk, token=token_urlsafe(32))
    upkeep = Upkeep(desk=desk, owner=f"daemon {me.pid}")
    schedule = _schedule(settings, Everywhere(own=upkeep, others=state.desks.opened))
    http = _listeners(settings.http_host, settings.daemon_port if asked.port is None else asked.port)
    relay = await sessions.bind()
    here = _endpoint(settings, me, state.token, ports=(http[0].getsockname()[1], sessions.port_of(relay)))
    here = replace(here, asked_port=asked.port, idle_exit_s=asked.idle_exit_s)
    hall = sessions.Hall(desk=desk, endpoint=here, clients=state.clients, gate=state.gate)
    service = _service(web.app(state))
    over, served = anyio.Event(), anyio.Event()

    async def serve() -> None:
        await service.serve(http)
        served.set()

    def end(why: str) -> None:
        if not over.is_set():
            _log.info("ending: %s", why)
            end_hard_in(END_WITHIN_S)
            over.set()

    with _told(end):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            tasks.start_soon(sessions.listen, relay, hall)
            while not service.started:  # noqa: ASYNC110 - uvicorn has no event for it
                await anyio.sleep(0.01)
            tasks.start_soon(anyio.to_thread.run_sync, _begin, schedule, upkeep)
            tasks.start_soon(_watch, hall, me, _idle_limit(asked, state), end, schedule)
            await over.wait()
            await _finish(hall, schedule, service)
            with anyio.move_on_after(LAST_ANSWERS_S):
                await served.wait()
            tasks.cancel_scope.cancel()


async def _finish(hall: "Hall", schedule: "Schedule", service: Any) -> None:
    """Clients go elsewhere from here on; those that wait for an answer still get it."""
    import anyio

    from memorycore.server import sessions

    endpoint.remove(hall.endpoint.data_dir, hall.endpoint.pid)
    schedule.stop()
    service.should_exit = True
    await sessions.close(hall, within_s=LAST_ANSWERS_S)
    await anyio.to_thread.run_sync(lambda: hall.desk.close(grace_s=CLOSE_GRACE_S))


def _idle_limit(asked: Asked, state: "State") -> Callable[[], bool]:
    limit = asked.idle_exit_s
    return (lambda: False) if limit is None else (lambda: state.clients.idle_s() >= limit)


async def _watch(
    hall: "Hall", me: Leader, is_idle: Callable[[], bool], end: Callable[[str], None], schedule: "Schedule"
) -> None:
    """Write the endpoint file, put it back when somebody took it away, and see when it is time to end.

    Without the lock file that we hold, another process could lead beside us: then, and when the directory is gone, we
    end.
    """
    import anyio

    here, trouble = hall.endpoint, ""
    while not hall.closing.is_set():
        if not leader.still_leads(Path(here.data_dir), me):
            end("the lock is gone")
            return
        if is_idle():
            end("nobody is here")
            return
        if endpoint.read(here.data_dir) != here:
            trouble = _written(here, trouble)
        schedule.look_at_clock(datetime.now(UTC), time.monotonic())
        await anyio.sleep(LOOK_AROUND_S)


def _written(here: Endpoint, trouble: str) -> str:
    """Write the endpoint file; why it could not be written, which is said once."""
    try:
        endpoint.write(here)
    except OSError as error:
        why = error.strerror or str(error)
        if why != trouble:
            _log.warning("daemon.json cannot be written: %s", why)
        return why
    _log.info("daemon answers", extra={"facts": {"url": here.url}})
    return ""


def _schedule(settings: "Settings", upkeep: "Everywhere") -> "Schedule":
    from memorycore.daemon.schedule import Schedule

    return Schedule(look=upkeep.look, run=upkeep.run, cron=settings.core_options().maintenance.cron)


def _begin(schedule: "Schedule", upkeep: "Upkeep") -> None:
    """Open the core, which loads its model meanwhile, and begin to tend it."""
    schedule.start(upkeep.last_runs(), datetime.now(UTC))
    with suppress(OSError):  # strangers may hold every connection there is: then a call reads them
        _read_words()


def _read_words() -> None:
    """Read the word lists of gates, routing and judge, for which the first call would else wait a third of a second."""
    from memorycore import intake
    from memorycore.domain.judge import judge
    from memorycore.domain.memory import Draft
    from memorycore.domain.routing import route
    from memorycore.options import GateOptions

    for on, off in (
        ("The lamp in the hall is on.", "The lamp in the hall is off."),
        ("门厅的灯开着。", "门厅的灯关着。"),
    ):
        intake.admit(Draft(content=on), GateOptions())
        route(on, importance=None, target="memory")
        judge(on, off)


def _listeners(host: str, port: int) -> list[socket.socket]:
    """This machine's own address first, and beside it the one that the settings name, which may be all of them."""
    from memorycore.web import binding

    if binding.is_loopback(host):
        return [_bound(HOST, port)]
    if binding.is_everywhere(host):
        return [_bound(host, port)]
    near = _bound(HOST, port)
    return [near, _bound(host, near.getsockname()[1])]


def _bound(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere this would let two programs have one port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise InvalidInput(field=f"{host} port", why=error.strerror or str(error), value=port) from error
    return listener


def _endpoint(settings: "Settings", me: Leader, token: str, *, ports: tuple[int, int]) -> Endpoint:
    from memorycore.web.binding import is_everywhere

    host = HOST if is_everywhere(settings.http_host) else settings.http_host
    shown = f"[{host}]" if ":" in host else host
    return Endpoint(
        pid=me.pid,
        started=me.started,
        version=__version__,
        url=f"http://{shown}:{ports[0]}",
        relay=(HOST, ports[1]),
        token=token,
        data_dir=str(settings.data_dir),
        hot_dir=str(settings.hot_dir),
        namespace=settings.namespace,
        settings=settings.fingerprint(),
    )


def _service(app: Any) -> Any:
    """The HTTP service without the signal handlers that it would set."""
    import uvicorn

    from memorycore.web.connection import Connection

    class Service(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

    return Service(
        uvicorn.Config(
            app, http=Connection, log_config=None, access_log=False, timeout_graceful_shutdown=1, lifespan="on",
            ws="none",
        )
    )  # fmt: skip


@contextmanager
def _told(end: Callable[[str], None]) -> Generator[None]:
    """Have ``end`` called in the event loop when a signal comes; a second one changes nothing."""
    import asyncio

    loop = asyncio.get_running_loop()

    def tell(number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(end, signal.Signals(number).name)

    before = {number: signal.signal(number, tell) for number in SIGNALS}
    try:
        yield
    finally:
        for number, what in before.items():
            signal.signal(number, what)
