"""The daemon as the plugin sees it: where it answers, one request with a deadline at a time, and how it is started."""

import http.client
import io
import json
import os
import shutil
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

RUNTIME_FILE = "runtime.json"  # written by the installer beside this file
ENDPOINT_FILE = "daemon.json"
MOST_BYTES = 1_048_576
LOOPBACK = ("127.0.0.1", "::1", "localhost")
START_AGAIN_S = 60.0
START_ENDS_WITHIN_S = 90.0
FAILURES = 3
OPEN_S = 30.0
# Variables that would make another interpreter look for its modules in Hermes' environment.
OF_HERMES_PYTHON = ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV")
OF_ONE_HOME = ("HERMES_HOME", "MEMORY_DIR")
OK = 200

Why = Literal["no_daemon", "other_home", "unreachable", "timeout", "refused", "breaker"]

_last_starts: dict[str, float] = {}  # of this process, whatever the number of its agents
_starts_lock = threading.Lock()


class Missed(Exception):
    """A call that brought no answer, and why; nothing was lost by it."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why: Why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Whose memory this is. ``command`` starts MemoryCore and is empty where it was not found."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    data_dir: Path
    hot_dir: Path

    def endpoint(self) -> Mapping[str, Any] | None:
        """What the daemon wrote about itself; None without it, and for a file that others could have written."""
        with suppress(OSError, ValueError), (self.data_dir / ENDPOINT_FILE).open("rb") as file:
            found = _object(file.read(MOST_BYTES)) if _is_ours(os.fstat(file.fileno())) else {}
            if all(isinstance(found.get(name), str) for name in ("url", "token", "hot_dir")):
                return found
        return None

    def is_served_by(self, here: Mapping[str, Any]) -> bool:
        """Whether that daemon works on the files of this home."""
        return os.path.realpath(here["hot_dir"]) == os.path.realpath(self.hot_dir)


def place(folder: Path, hermes_home: Path | str, environ: Mapping[str, str]) -> Place:
    """Find MemoryCore for one Hermes home: as ``runtime.json`` in ``folder`` says, else on the PATH.

    Whose files are meant says the home alone. A folder that was copied along with another home still names that one.
    """
    python, given = _runtime(folder / RUNTIME_FILE)
    on_path = None if python else shutil.which("memorycore", path=environ.get("PATH"))
    named = given.get("HERMES_HOME", "")
    if os.path.realpath(named) != os.path.realpath(hermes_home):
        given = {name: value for name, value in given.items() if name not in OF_ONE_HOME}
    kept = {name: value for name, value in environ.items() if name not in (*OF_HERMES_PYTHON, *OF_ONE_HOME)}
    env = {**kept, "HERMES_HOME": str(hermes_home), "PYTHONUTF8": "1", **given}
    home = Path(env["HERMES_HOME"])
    own = f"~/.memorycore/profiles/{home.name}" if home.parent.name == "profiles" else "~/.memorycore/data"
    data_dir = env.get("MEMORYCORE_DATA_DIR") or env.get("MNEMOSYNE_DATA_DIR") or own
    command = (python, "-m", "memorycore") if python else (on_path,) if on_path else ()
    return Place(
        command=command,
        env=env,
        data_dir=Path(data_dir).expanduser(),
        hot_dir=Path(env.get("MEMORY_DIR") or Path(env["HERMES_HOME"]) / "memories").expanduser(),
    )


def start(at: Place) -> bool:
    """Have a daemon started if none runs, and go on at once. Whether that was tried now."""
    with _starts_lock:
        now = time.monotonic()
        if not at.command or now - _last_starts.get(str(at.data_dir), -START_AGAIN_S) < START_AGAIN_S:
            return False
        _last_starts[str(at.data_dir)] = now
    threading.Thread(target=_start, args=(at,), name="memorycore-start", daemon=True).start()
    return True


@dataclass(slots=True)
class Breaker:
    """Closed until some calls to one daemon failed in a row; then one call in a while is let through to try it."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _daemon: str = ""
    _failures: int = 0
    _open_until: float = 0.0

    def lets_through(self, daemon: str) -> bool:
        """``daemon`` tells one from the next, which begins without a bad name."""
        with self._lock:
            if daemon != self._daemon:
                self._daemon, self._failures = daemon, 0
            if self._failures < FAILURES:
                return True
            now = time.monotonic()
            if now < self._open_until:
                return False
            self._open_until = now + OPEN_S
            return True

    def note(self, *, failed: bool) -> None:
        with self._lock:
            self._failures = self._failures + 1 if failed else 0
            if self._failures == FAILURES:
                self._open_until = time.monotonic() + OPEN_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """Calls to the daemon of one place. Once ``over`` is set, none is started any more."""

    at: Place
    over: threading.Event = field(default_factory=threading.Event)
    breaker: Breaker = field(default_factory=Breaker)

    def ask(self, route: str, arguments: Mapping[str, Any], *, within_s: float) -> Mapping[str, Any]:
        """The answer to ``POST /v1/{route}``.

        Raises:
            Missed: There was none in time. If no daemon is there, one is being started.
        """
        until = time.monotonic() + within_s
        here = self.at.endpoint()
        if here is None:
            self._start()
            raise Missed("no_daemon")
        if not self.at.is_served_by(here):
            raise Missed("other_home")
        if not self.breaker.lets_through(f"{here.get('pid')} {here.get('started')}"):
            raise Missed("breaker")
        try:
            answer = _exchange(here, route, arguments, until)
        except Missed as missed:
            self.breaker.note(failed=True)
            if missed.why != "timeout":  # whoever hangs leads all the same
                self._start()
            raise
        self.breaker.note(failed=False)
        return answer

    def _start(self) -> None:
        if not self.over.is_set():
            start(self.at)


def _exchange(here: Mapping[str, Any], route: str, arguments: Mapping[str, Any], until: float) -> Mapping[str, Any]:
    """One request and its answer. Whoever answers drop by drop, or without end, has until the deadline for it all."""
    url = urlsplit(str(here["url"]))
    if url.hostname not in LOOPBACK:
        raise Missed("refused")
    body = json.dumps(arguments).encode()
    head = (
        f"POST /v1/{route} HTTP/1.1\r\nHost: {url.netloc}\r\nAuthorization: Bearer {here['token']}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    try:
        with socket.create_connection((url.hostname, url.port or 80), timeout=_left(until)) as connection:
            connection.settimeout(_left(until))
            connection.sendall(head.encode("latin-1") + body)
            response = http.client.HTTPResponse(_Received(_all_of(connection, until)), method="POST")  # type: ignore[arg-type]
        response.begin()
        answer = _object(response.read())
    except TimeoutError as error:
        raise Missed("timeout") from error
    except OSError as error:
        raise Missed("unreachable") from error
    except (http.client.HTTPException, ValueError) as error:
        raise Missed("refused") from error
    if response.status != OK:
        raise Missed("refused")
    return answer


class _Received:
    """Bytes that came over a connection, as a reader of HTTP wants them."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, *_: Any) -> io.BytesIO:
        return io.BytesIO(self._data)


def _all_of(connection: socket.socket, until: float) -> bytes:
    """Everything up to the end of the connection."""
    found = bytearray()
    while len(found) <= MOST_BYTES:
        connection.settimeout(_left(until))
        part = connection.recv(65_536)
        if not part:
            return bytes(found)
        found += part
    raise Missed("refused")


def _left(until: float) -> float:
    """Seconds; a timeout of zero would mean not to wait for anything, even what is there."""
    left = until - time.monotonic()
    if left <= 0:
        raise Missed("timeout")
    return left


def _runtime(file: Path) -> tuple[str, Mapping[str, str]]:
    """Interpreter and variables that the installer noted; no interpreter where it is gone."""
    found: Mapping[str, Any] = {}
    with suppress(OSError, ValueError):
        found = _object(file.read_bytes())
    python = str(found.get("python") or "")
    env: Mapping[str, Any] = found.get("env") or {}
    return python if Path(python).is_file() else "", {str(name): str(value) for name, value in env.items()}


def _object(text: bytes) -> dict[str, Any]:
    """Raises ValueError for anything but a JSON object."""
    found: Any = json.loads(text)
    if type(found) is not dict:
        raise ValueError
    return cast("dict[str, Any]", found)


def _start(at: Place) -> None:
    """Runs in a thread of its own, so that the process that starts the daemon is waited for when it ends."""
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(  # noqa: S603 the installer's own interpreter, no shell
            [*at.command, "daemon", "start", "--on-demand"],
            env=dict(at.env),
            cwd=Path.home(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            timeout=START_ENDS_WITHIN_S,
            check=False,
        )


def _is_ours(file: os.stat_result) -> bool:
    """Whoever can write the file can have questions sent to a port of their own."""
    if os.name != "posix":
        return True
    return file.st_uid == os.geteuid() and not file.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
