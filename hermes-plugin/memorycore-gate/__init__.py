"""Keeps passwords and keys out of memory: Hermes' memory tool is stopped before it writes one.

The daemon of MemoryCore is asked what it would hold back, with the rules of all other ways in. Where none answers in
time, a few formats of vendors are looked for here, and everything else passes: no turn waits or fails for this.
Only the standard library is used, and nothing of the package memorycore, which lives in an environment of its own.
"""

import contextlib
import http.client
import json
import logging
import os
import re
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

WITHIN_S = 0.3
TOLD_WITHIN_S = 2.0
SILENT_FOR_S = 30.0  # so long a daemon that did not answer in time is not asked again
MOST_BYTES = 1_048_576
MOST_NAMED = 5
MOST_TEXTS = 100  # that the daemon looks at in one question
LOOPBACK = ("127.0.0.1", "::1", "localhost")
OK = 200
PROVIDER = "memorycore-prefetch"  # the other plugin, in whose folder the installer noted where everything is
WRITES = frozenset({"add", "replace"})
# Without the daemon: what cannot be anything else. Name: how it begins and goes on.
FORMATS: Mapping[str, str] = {
    "Anthropic key": r"sk-ant-[\w-]{16,}",
    "OpenAI key": r"sk-(?:proj|svcacct|admin)-[\w-]{16,}",
    "GitHub token": r"(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})",
    "GitLab token": r"glpat-[\w-]{16,}",
    "AWS access key id": r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    "Google key": r"AIza[\w-]{30,}",
    "Slack token": r"xox[abeprs]-[\w-]{10,}",
    "Stripe key": r"[rs]k_live_[A-Za-z0-9]{16,}",
    "Hugging Face token": r"hf_[A-Za-z0-9]{24,}",
    "npm token": r"npm_[A-Za-z0-9]{30,}",
    "PyPI token": r"pypi-[\w-]{40,}",
    "private key": r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----",
    "password in an address": r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,80}:[^\s/@]{6,}@",
}
_FORMATS = {name: re.compile(rf"(?<![\w-]){pattern}") for name, pattern in FORMATS.items()}

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Gate:
    """The gate of one Hermes home. ``passed`` counts why the daemon gave no answer, until it can be told."""

    folder: Path
    within_s: float = WITHIN_S
    passed: dict[str, int] = field(default_factory=dict[str, int])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _silent_until: float = 0.0

    def check(self, tool_name: str = "", args: Any = None, **_: Any) -> dict[str, str] | None:
        """What Hermes calls before every tool: None lets it go on, a block comes back to the model as the answer."""
        texts = [] if tool_name != "memory" else list(texts_of(args))
        if not texts:
            return None
        held = self.ask(texts)
        if held is None:
            held = list(found_here(texts))
        return {"action": "block", "message": message(held)} if held else None

    def ask(self, texts: list[str]) -> list[str] | None:
        """Names of what the daemon would hold back; None where it gave no answer in time."""
        until = time.monotonic() + self.within_s
        if until < self._silent_until:
            return self._missed("breaker")
        here = endpoint(self.folder)
        if here is None:
            return self._missed("no_daemon")
        several = texts[: MOST_TEXTS - 1]
        if rest := texts[MOST_TEXTS - 1 :]:
            several.append("\n\n".join(rest))
        try:
            answer = exchange(here, "gate", {"texts": several}, until)
        except TimeoutError:
            self._silent_until = time.monotonic() + SILENT_FOR_S
            return self._missed("timeout")
        except (OSError, http.client.HTTPException, ValueError):
            return self._missed("unreachable")
        if self.passed:
            threading.Thread(target=self._tell, args=(here,), name="memorycore-gate", daemon=True).start()
        return [str(name) for name in cast("list[object]", answer.get("held") or [])]

    def _tell(self, here: Mapping[str, Any]) -> None:
        """Tell the daemon what passed without it, for whoever looks at the status."""
        with self._lock:
            told, self.passed = self.passed, {}
        missed = {f"gate:{why}": count for why, count in told.items()}
        try:
            exchange(here, "plugin-report", {"host": "hermes", "missed": missed}, time.monotonic() + TOLD_WITHIN_S)
        except (OSError, http.client.HTTPException, ValueError):
            for why, count in told.items():
                self._missed(why, count)

    def _missed(self, why: str, count: int = 1) -> None:
        with self._lock:
            self.passed[why] = self.passed.get(why, 0) + count
        _log.debug("memorycore-gate: the daemon gave no answer (%s); only known formats were looked for", why)


def texts_of(args: Any) -> Iterator[str]:
    """What a call of the memory tool would write: alone or as one of several operations. Removing writes nothing."""
    if not isinstance(args, dict):
        return
    call = cast("dict[str, Any]", args)
    operations = call.get("operations")
    several = cast("list[object]", operations) if isinstance(operations, list) else []
    for one in (call, *several):
        operation = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
        content = operation.get("content")
        if operation.get("action", "add") in WRITES and isinstance(content, str) and content.strip():
            yield content


def found_here(texts: list[str]) -> Iterator[str]:
    """Names of what looks like a key of a vendor."""
    for name, pattern in _FORMATS.items():
        if any(pattern.search(text) for text in texts):
            yield name


def message(held: list[str]) -> str:
    """What the model reads: what it is, never the value, and what to do."""
    named = ", ".join(dict.fromkeys(held[:MOST_NAMED]))
    return (
        f"Not written: MemoryCore keeps secrets out of memory, and this text holds one ({named}). "
        "Nothing was stored. Write it again without the value: say what it is for and where it is kept, "
        "such as the name of an environment variable or of a password manager's entry. Do not repeat the value."
    )


def endpoint(folder: Path) -> Mapping[str, Any] | None:
    """What the daemon wrote about itself; None without it, and for a file that others could have written."""
    runtime: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        runtime = read_object((folder.parent / PROVIDER / "runtime.json").read_bytes())
    given = cast("dict[str, Any]", runtime.get("env") or {})
    env = {**os.environ, **{str(name): str(value) for name, value in given.items()}}
    named = env.get("MEMORYCORE_DATA_DIR") or env.get("MNEMOSYNE_DATA_DIR") or "~/.memorycore/data"
    with contextlib.suppress(OSError, ValueError), (Path(named).expanduser() / "daemon.json").open("rb") as file:
        found = read_object(file.read(MOST_BYTES)) if is_ours(os.fstat(file.fileno())) else {}
        if all(isinstance(found.get(name), str) for name in ("url", "token")):
            return found
    return None


def exchange(here: Mapping[str, Any], route: str, asked: Mapping[str, Any], until: float) -> dict[str, Any]:
    """One call of the daemon, over at ``until`` of the monotonic clock.

    Raises:
        OSError: It cannot be reached, or a part of the answer did not come in time (TimeoutError).
        ValueError, HTTPException: The answer is none.
    """
    url = urlsplit(str(here["url"]))
    if url.hostname not in LOOPBACK:
        raise ValueError(url.hostname)
    headers = {"Authorization": f"Bearer {here['token']}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(url.netloc, timeout=left(until))
    with contextlib.closing(connection):
        connection.connect()
        limit(connection, until)
        connection.request("POST", f"/v1/{route}", json.dumps(asked).encode(), headers)
        limit(connection, until)
        response = connection.getresponse()
        limit(connection, until)
        body = response.read(MOST_BYTES)
    if response.status != OK:
        raise ValueError(response.status)
    return read_object(body)


def limit(connection: http.client.HTTPConnection, until: float) -> None:
    if connection.sock is not None:
        connection.sock.settimeout(left(until))


def left(until: float) -> float:
    """Seconds that are left; none raise, since a timeout of zero would mean not to wait even for what is there."""
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def read_object(text: bytes) -> dict[str, Any]:
    """Raises ValueError for anything but a JSON object."""
    found: Any = json.loads(text)
    if type(found) is not dict:
        raise ValueError("no object")
    return cast("dict[str, Any]", found)


def is_ours(file: os.stat_result) -> bool:
    """Whoever can write the file can have texts sent to a port of their own."""
    if os.name != "posix":
        return True
    return file.st_uid == os.geteuid() and not file.st_mode & (stat.S_IRWXG | stat.S_IRWXO)


def register(ctx: Any) -> None:
    """Give Hermes the gate."""
    ctx.register_hook("pre_tool_call", Gate(folder=Path(__file__).parent).check)
