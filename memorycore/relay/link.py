"""Whoever serves a relay: a daemon at the other end of a socket, or a server of its own at the end of two pipes."""

import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from memorycore import endpoint
from memorycore.endpoint import Endpoint
from memorycore.relay import greeting
from memorycore.relay.ending import END_WITHIN_S
from memorycore.relay.greeting import Wanted

CONNECT_WITHIN_S = 1.0
_CHUNK = 64 * 1024


class Refused(Exception):
    """There is a daemon, and it is not the wanted one. ``code`` says why, ``found`` is what it says of itself."""

    def __init__(self, code: str, found: Endpoint) -> None:
        super().__init__(code)
        self.code = code
        self.found = found


class Link(Protocol):
    """A way to a server and back. ``lines`` ends when the server has closed its end."""

    lines: Iterator[bytes]

    def send(self, line: bytes, /) -> None: ...
    def finish(self) -> None: ...
    def cut(self) -> None: ...
    def close(self) -> None: ...


def lines_of(read: Callable[[int], bytes], *, most: int = 0) -> Iterator[bytes]:
    """The lines of a stream, each with its end. One of more than ``most`` bytes comes as empty bytes; 0: any length.

    A last line without an end counts as one.
    """
    kept = bytearray()
    skipping = False
    while chunk := _read(read):
        start = len(kept)
        kept += chunk
        while (end := kept.find(b"\n", start)) >= 0:
            if not skipping:
                yield bytes(kept[: end + 1]) if not most or end <= most else b""
            skipping = False
            del kept[: end + 1]
            start = 0
        if most and len(kept) > most:
            kept.clear()
            if not skipping:
                yield b""
            skipping = True
    if kept and not skipping:
        yield bytes(kept) + b"\n"


def _read(read: Callable[[int], bytes]) -> bytes:
    try:
        return read(_CHUNK)
    except OSError:  # reset by the other end, or closed by another thread of ours
        return b""


def find(wanted: Wanted) -> "DaemonLink | None":
    """A connection to the daemon of this data directory; None without one that answers.

    Raises:
        Refused: It is another one than is wanted.
    """
    found = endpoint.read(wanted.data_dir)
    if found is None:
        return None
    if code := greeting.difference(wanted, found):
        raise Refused(code, found)
    try:
        return DaemonLink(wanted, found)
    except OSError:
        return None


def is_coming(data_dir: str) -> bool:
    """Whether a daemon leads that data directory and does not answer yet: it loads its model, or has much to read.

    Its lock file names it from the first moment on. Windows is not asked: there asking for a process may end it.
    """
    if sys.platform == "win32":
        return False
    try:
        with (Path(data_dir) / endpoint.LOCK).open("rb") as file:
            pid: object = greeting.read(file.read(greeting.MOST_BYTES)).get("pid")
        if not isinstance(pid, int) or pid <= 0:
            return False
        os.kill(pid, 0)
    except (OSError, OverflowError):
        return False
    return True


class DaemonLink:
    """A connection to a daemon that has shown that it is the one whose endpoint file was read."""

    def __init__(self, wanted: Wanted, found: Endpoint) -> None:
        """Connect and greet.

        Raises:
            OSError: Nobody listens, or whoever does cannot show the token.
            Refused: The daemon serves other clients than this one.
        """
        # Looking the address up, as create_connection does, takes longer than connecting.
        self._socket = socket.socket()
        with ExitStack() as unless_greeted:
            unless_greeted.callback(self._socket.close)
            self._socket.settimeout(CONNECT_WITHIN_S)
            self._socket.connect(found.relay)
            self._socket.settimeout(greeting.WITHIN_S)
            self.lines = lines_of(self._socket.recv)
            self._greet(wanted, found)
            unless_greeted.pop_all()
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(None)

    def send(self, line: bytes) -> None:
        self._socket.sendall(line)

    def finish(self) -> None:
        """Nothing more will be sent; answers may still come."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        """Have it end for whoever reads or writes it in another thread."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()

    def _greet(self, wanted: Wanted, found: Endpoint) -> None:
        nonce = os.urandom(16).hex()
        self.send(greeting.hello(wanted, found.token, nonce))
        said = greeting.read(next(self.lines, b""))
        if greeting.is_shown(said, found.token, nonce, "daemon"):
            return
        code = said.get("code")
        if said.get("ok") is False and code in greeting.CODES:
            raise Refused(str(code), found)
        raise ConnectionRefusedError


class ChildLink:
    """A server that is a child of this process. It ends by itself when its input ends, however that comes."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        import subprocess  # nearly no relay needs it

        self._child = subprocess.Popen(  # noqa: S603 - the interpreter that runs us, and a module of ours
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, bufsize=0
        )
        self._stdin = cast("BinaryIO", self._child.stdin)  # a pipe, as was asked
        self._stdout = cast("BinaryIO", self._child.stdout)
        self.lines = lines_of(lambda most: os.read(self._stdout.fileno(), most))

    def send(self, line: bytes) -> None:
        write_all(self._stdin.fileno(), line)

    def finish(self) -> None:
        with suppress(OSError):
            self._stdin.close()

    def cut(self) -> None:
        self._child.kill()

    def close(self) -> None:
        """Let it end, so that no process stays behind, alive or dead."""
        import subprocess

        self.finish()
        try:
            self._child.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._stdout.close()


def write_all(pipe: int, content: bytes) -> None:
    """Write every byte to a file descriptor.

    Raises:
        OSError: Nobody reads it any more.
    """
    left = memoryview(content)
    while left:
        left = left[os.write(pipe, left) :]
