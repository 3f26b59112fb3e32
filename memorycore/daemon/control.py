"""Starting, stopping and asking the daemon of a data directory, from another process."""

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memorycore import __version__, endpoint
from memorycore.daemon import leader, logs, process
from memorycore.daemon.leader import Leader
from memorycore.endpoint import Endpoint
from memorycore.errors import NotAvailable, StoreError

if TYPE_CHECKING:
    import subprocess

    from memorycore.settings import Settings

Started = Literal["started", "already_runs", "replaced"]
Stopped = Literal["stopped", "killed", "not_running"]

ANSWERS_WITHIN_S = 60.0  # a busy machine needs its time to import everything
PROBE_TIMEOUT_S = 5.0
GRACE_S = 5.0  # twice what an end may take
KILLED_WITHIN_S = 5.0
POLL_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """Who leads, and where it answers; ``endpoint`` None while it does not."""

    leader: Leader
    endpoint: Endpoint | None


def find(data_dir: Path) -> Daemon | None:
    """The daemon of this directory, if one lives. What a killed one left behind counts as nothing."""
    leads = leader.current(data_dir)
    if leads is None:
        return None
    found = endpoint.read(data_dir)
    fits = found is not None and found.pid == leads.pid and answers(found)
    return Daemon(leader=leads, endpoint=found if fits else None)


def answers(found: Endpoint, *, within_s: float = PROBE_TIMEOUT_S) -> bool:
    """Whether somebody answers there."""
    import http.client
    from urllib.parse import urlsplit

    connection = http.client.HTTPConnection(urlsplit(found.url).netloc, timeout=within_s)
    try:
        connection.request("GET", "/healthz")
        connection.getresponse()  # a service that is not well is there all the same
    except (OSError, http.client.HTTPException):
        return False
    else:
        return True
    finally:
        connection.close()


def start(settings: "Settings", *, idle_exit_s: float | None = None, port: int | None = None) -> tuple[Started, Daemon]:
    """Have a daemon run, and wait until it answers. However many ask at once, one is started.

    One of an older version is ended first. One with other settings or memory files stays: ``restart`` changes it.

    Raises:
        NotAvailable: It did not come up, or may not, or one runs on another machine; what to do is said.
        StoreError: The data directory cannot be made.
    """
    folder = settings.data_dir
    _check(settings)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(path=str(folder), why=error.strerror) from error
    with leader.held(folder / leader.START_LOCK, wait_s=ANSWERS_WITHIN_S) as mine:
        if not mine:
            raise _not_up(folder, "daemon_start_waits")
        found = _settled(folder)
        if found is not None and not is_older(found.leader.version):
            return "already_runs", found
        if found is not None:
            idle_exit_s, port = _as_before(found.endpoint, idle_exit_s, port)
            stop(folder)
        return "replaced" if found else "started", _spawned(settings, idle_exit_s, port)


def restart(
    settings: "Settings", *, idle_exit_s: float | None = None, port: int | None = None
) -> tuple[Started, Daemon]:
    """End the daemon and start one with the settings of now. One that could not start ends none.

    What is not given is as the one before was asked; ``idle_exit_s`` 0: it stays without clients.

    Raises:
        NotAvailable, StoreError: As for ``start`` and ``stop``.
    """
    _check(settings)
    idle_exit_s, port = _as_before(endpoint.read(settings.data_dir), idle_exit_s, port)
    ended = stop(settings.data_dir)
    how, found = start(settings, idle_exit_s=idle_exit_s, port=port)
    return "replaced" if ended != "not_running" and how == "started" else how, found


def _check(settings: "Settings") -> None:
    """Whether a daemon with these settings may start: asked before one is ended for it."""
    from memorycore.web import binding

    settings.core_options()
    binding.check(settings)


def _as_before(before: Endpoint | None, idle_exit_s: float | None, port: int | None) -> tuple[float | None, int | None]:
    if before is not None:
        idle_exit_s = before.idle_exit_s if idle_exit_s is None else idle_exit_s
        port = before.asked_port if port is None else port
    return idle_exit_s or None, port


def wait_until_up(data_dir: Path) -> Daemon:
    """The daemon that somebody else has started, once it answers.

    Raises:
        NotAvailable: It does not come up.
    """
    until = time.monotonic() + ANSWERS_WITHIN_S
    while (found := find(data_dir)) is None or found.endpoint is None:
        if time.monotonic() >= until:
            raise _not_up(data_dir, "daemon_not_up")
        time.sleep(POLL_S)
    return found


def stop(data_dir: Path) -> Stopped:
    """End the daemon: politely, and after some seconds without mercy. What it acknowledged is safe either way.

    Raises:
        NotAvailable: It runs on another machine, or belongs to somebody else.
    """
    leads = leader.current(data_dir)
    if leads is None:
        _forget(data_dir)
        return "not_running"
    if not leader.is_here(leads):
        raise NotAvailable(what="memorycore daemon", why="daemon_elsewhere", host=leads.host)
    try:
        process.send(leads.pid, leads.birth, signal.SIGTERM)
        how: Stopped = "stopped"
        if not process.wait_for_end(leads.pid, leads.birth, GRACE_S):
            process.send(leads.pid, leads.birth, getattr(signal, "SIGKILL", signal.SIGTERM))
            how = "killed"
    except PermissionError as error:
        raise NotAvailable(what="memorycore daemon", why="daemon_of_others", pid=leads.pid) from error
    if not process.wait_for_end(leads.pid, leads.birth, KILLED_WITHIN_S):
        raise NotAvailable(what="memorycore daemon", why="daemon_stays", pid=leads.pid)
    endpoint.remove(data_dir, leads.pid)
    return how


def is_older(version: str) -> bool:
    """Whether a version comes before ours; what is no version does."""
    return _numbers(version) < _numbers(__version__)


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.partition("+")[0].split(".")
    return tuple(int("".join(sign for sign in part if sign.isdecimal()) or 0) for part in parts)


def _settled(data_dir: Path) -> Daemon | None:
    """The daemon, once it answers if it is just starting or just ending; None when none is left."""
    until = time.monotonic() + ANSWERS_WITHIN_S
    while (found := find(data_dir)) is not None and found.endpoint is None:
        if not leader.is_here(found.leader):
            raise NotAvailable(what="memorycore daemon", why="daemon_elsewhere", host=found.leader.host)
        if time.monotonic() >= until:
            raise _not_up(data_dir, "daemon_not_up", pid=found.leader.pid)
        time.sleep(POLL_S)
    return found


def _spawned(settings: "Settings", idle_exit_s: float | None, port: int | None) -> Daemon:
    folder = settings.data_dir
    _forget(folder)
    begun = process.spawn(_command(idle_exit_s, port), log=folder / logs.FILE, env=_environment())
    until = time.monotonic() + ANSWERS_WITHIN_S
    while (found := find(folder)) is None or found.endpoint is None:
        # Whoever lost the lock to one that was started by hand ends, and that one answers soon.
        if begun.poll() is not None and found is None:
            raise _not_up(folder, "daemon_ended")
        if time.monotonic() >= until:
            _end(begun)
            raise _not_up(folder, "daemon_not_up", pid=begun.pid)
        time.sleep(POLL_S)
    return found


def _command(idle_exit_s: float | None, port: int | None) -> list[str]:
    given = {"--idle-exit": idle_exit_s, "--port": port}
    options = [part for name, value in given.items() if value is not None for part in (name, str(value))]
    return [sys.executable, "-m", "memorycore.daemon", *options]


def _environment() -> dict[str, str]:
    """Ours, so that the settings are the same."""
    return {**os.environ, "PYTHONUTF8": "1"}


def _end(begun: "subprocess.Popen[bytes]") -> None:
    begun.kill()
    begun.wait()


def _forget(data_dir: Path) -> None:
    """Take away the endpoint file of a daemon that was killed."""
    if (left := endpoint.read(data_dir)) is not None:
        endpoint.remove(data_dir, left.pid)


def _not_up(data_dir: Path, why: str, **facts: object) -> NotAvailable:
    return NotAvailable(
        what="memorycore daemon", why=why, detail=logs.last_message(data_dir), path=str(data_dir / logs.FILE), **facts
    )
