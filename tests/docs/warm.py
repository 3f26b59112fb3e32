"""``memorycore`` without the start of an interpreter: a process that has loaded it and forks for each command.

``python -m tests.docs.warm SOCKET`` serves until its stdin ends. The command of a page sends its arguments, its folder,
its environment and its three streams; a fork of this process has nothing else, runs ``memorycore.cli.main`` and ends
as any interpreter does. Whoever asked gets its exit code.
"""

import contextlib
import gc
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from memorycore.cli import main

_STREAMS = (0, 1, 2)
_MOST_BYTES = 1 << 20
# Run by a bare interpreter, so it imports next to nothing.
ASK = """
import json, os, socket, sys
door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
door.connect(sys.argv[1])
asked = json.dumps([sys.argv[2:], os.getcwd(), dict(os.environ)]).encode() + b"\\n"
socket.send_fds(door, [asked], [0, 1, 2])
code = door.recv(8)
sys.exit(int(code) if code else "the process that runs the commands is gone")
"""


@contextmanager
def warm(socket_path: Path, env: dict[str, str]) -> Generator[None]:
    """A process that answers on this socket until the block ends."""
    command = [sys.executable, "-m", "tests.docs.warm", str(socket_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield
        process.communicate()
    assert process.returncode == 0


def serve(socket_path: str) -> None:
    """Load everything, then fork for whoever asks. Returns in the forks only, with a command to run."""
    load()
    gc.freeze()
    assert threading.active_count() == 1, "a fork would have none of the other threads"
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    door.bind(socket_path)
    door.listen()
    os.write(1, b"ready\n")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([door, 0], [], [])
        if 0 in ready:
            os._exit(0)
        asker, _ = door.accept()
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            door.close()
            break
        asker.close()
    asked, streams, _, _ = socket.recv_fds(asker, _MOST_BYTES, len(_STREAMS))
    while not asked.endswith(b"\n"):
        asked += asker.recv(_MOST_BYTES)
    if command := os.fork():
        for stream in (*_STREAMS, *streams):
            os.close(stream)
        _, status = os.waitpid(command, 0)
        asker.sendall(str(os.waitstatus_to_exitcode(status) % 256).encode())
        os._exit(0)
    asker.close()
    become(streams, *json.loads(asked))


def load() -> None:
    """Import and index all that a command needs, by running some in a home that is gone afterwards."""
    found = dict(os.environ)
    with tempfile.TemporaryDirectory() as home, contextlib.redirect_stdout(io.StringIO()):
        os.environ |= {"HOME": home, "MEMORYCORE_EMBED_MODEL": "none"}
        for text in ("The staging database listens on port 5433.", "预生产数据库用 5433 端口。"):
            for arguments in (["store", text], ["store", text, "--json"], ["recall", text], ["status"], ["audit"]):
                main_returns(arguments)
    os.environ.clear()
    os.environ |= found


def main_returns(arguments: list[str]) -> None:
    try:
        main(arguments)
    except SystemExit as ended:
        assert not ended.code, arguments  # noqa: PT017 no test


def become(streams: list[int], arguments: list[str], folder: str, env: dict[str, str]) -> None:
    """Be a process that was just started with these."""
    for theirs, ours in zip(streams, _STREAMS, strict=True):
        os.dup2(theirs, ours)
        os.close(theirs)
    os.environ.clear()
    os.environ |= env
    os.chdir(folder)
    sys.argv[1:] = arguments
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 open until the process ends
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, errors="backslashreplace")  # noqa: SIM115


if __name__ == "__main__":
    serve(sys.argv[1])
    main()
