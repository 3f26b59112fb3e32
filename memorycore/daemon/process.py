"""Processes by number, without ever taking one for another: a number is given out again after its process has ended."""

import os
import subprocess
import sys
import time
from pathlib import Path

POLL_S = 0.05


def birth(pid: int) -> str | None:
    """One word for the moment at which the living process with this number began; None when there is none.

    It is compared, never read. A process that has ended and that nobody has waited for yet does not live.
    """
    if pid <= 0:
        return None
    if sys.platform == "linux":
        return _from_proc(pid)
    if sys.platform == "win32":
        return _from_windows(pid)
    return _from_ps(pid)


def wait_for_end(pid: int, born: str, seconds: float) -> bool:
    """Whether that process has ended, at the latest after so many seconds."""
    until = time.monotonic() + seconds
    while birth(pid) == born:
        if time.monotonic() >= until:
            return False
        time.sleep(POLL_S)
    return True


def send(pid: int, born: str, number: int) -> bool:
    """Send a signal to that process; False when it does not live any more. Windows ends a process with every signal.

    Raises:
        PermissionError: It belongs to somebody else.
    """
    if birth(pid) != born:
        return False
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def spawn(arguments: list[str], *, log: Path, env: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
    """Start a process that outlives this one: a session of its own, no terminal, what it prints goes to the log."""
    number = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and our own module
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=number,
            stderr=number,
            env=env,
            cwd=log.parent,
            start_new_session=True,
            creationflags=_detached(),
        )
    finally:
        os.close(number)


def _detached() -> int:
    if sys.platform != "win32":
        return 0
    return subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW


def _from_proc(pid: int) -> str | None:
    """``man 5 proc_pid_stat``: the name in brackets may hold anything, so fields are counted from its end."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return None if fields[0] in {b"Z", b"X"} else f"{boot} {fields[19].decode()}"


def _from_ps(pid: int) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 - a number of ours
            ["/bin/ps", "-o", "state=,lstart=", "-p", str(pid)],
            env={"LC_ALL": "C", "TZ": "UTC"},
            capture_output=True,
            encoding="ascii",
            errors="replace",
            check=False,
        )
    except OSError:
        return None
    state, _, started = done.stdout.strip().partition(" ")
    return None if not started or state.startswith("Z") else " ".join(started.split())


def _from_windows(pid: int) -> str | None:
    if sys.platform != "win32":
        return None
    import ctypes
    from ctypes import wintypes

    limited_information, still_active = 0x1000, 259
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.OpenProcess.restype = wintypes.HANDLE
    process = kernel.OpenProcess(limited_information, False, pid)  # noqa: FBT003 the system takes it by position
    if not process:
        return None
    try:
        code = wintypes.DWORD()
        times = [wintypes.FILETIME() for _ in range(4)]
        if not kernel.GetExitCodeProcess(wintypes.HANDLE(process), ctypes.byref(code)) or code.value != still_active:
            return None
        if not kernel.GetProcessTimes(wintypes.HANDLE(process), *(ctypes.byref(one) for one in times)):
            return None
        return f"{times[0].dwHighDateTime:x} {times[0].dwLowDateTime:x}"
    finally:
        kernel.CloseHandle(wintypes.HANDLE(process))
