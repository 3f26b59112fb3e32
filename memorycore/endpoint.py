"""Where the daemon of a data directory answers: one small file that it writes last and takes away at its end.

Read by clients that must start at once, so nothing but the standard library is imported here.
"""

import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

FILE = "daemon.json"
LOCK = "daemon.lock"  # who holds it leads, and is named in it
_MOST_BYTES = 64 * 1024
_WISHES = ("asked_port", "idle_exit_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One running daemon.

    ``started`` is a moment in ISO 8601, UTC. ``url`` is the base of its HTTP service, ``relay`` host and port of the
    connection that carries MCP line by line; ``token`` opens both. ``settings`` is ``Settings.fingerprint()``.
    ``asked_port`` and ``idle_exit_s`` are what it was started with, for the one that replaces it.
    """

    pid: int
    started: str
    version: str
    url: str
    relay: tuple[str, int]
    token: str = field(repr=False)
    data_dir: str
    hot_dir: str
    namespace: str
    settings: str
    asked_port: int | None = None
    idle_exit_s: float | None = None


def write(endpoint: Endpoint) -> None:
    """Put the file in its place whole, readable for its owner only.

    Raises:
        OSError: The data directory cannot be written.
    """
    import tempfile  # readers do without it

    place = Path(endpoint.data_dir) / FILE
    number, name = tempfile.mkstemp(prefix=f".{FILE}.", dir=place.parent)  # made with mode 0600
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            json.dump(asdict(endpoint), file, ensure_ascii=False)
        Path(name).replace(place)
    except OSError:
        with suppress(OSError):
            Path(name).unlink()
        raise


def read(data_dir: Path | str) -> Endpoint | None:
    """What the file says; None without one, and for one that is damaged or that others could have written or read.

    The daemon may have been killed since: only its answer shows that it lives.
    """
    try:
        with (Path(data_dir) / FILE).open("rb") as file:
            if not _is_ours(os.fstat(file.fileno())):
                return None
            found: Any = json.loads(file.read(_MOST_BYTES))
        return _endpoint(found)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def remove(data_dir: Path | str, pid: int) -> bool:
    """Take the file away if it still speaks of that process. Whether it did."""
    found = read(data_dir)
    if found is None or found.pid != pid:
        return False
    with suppress(OSError):
        (Path(data_dir) / FILE).unlink()
    return True


def _is_ours(file: os.stat_result) -> bool:
    """Whoever can write the file can send texts to a port of their own; Windows keeps homes apart by itself."""
    if os.name != "posix":
        return True
    return file.st_uid == os.geteuid() and not file.st_mode & (stat.S_IRWXG | stat.S_IRWXO)


def _endpoint(found: Mapping[str, Any]) -> Endpoint:
    host, port = found["relay"]
    needed = [declared.name for declared in fields(Endpoint) if declared.name not in _WISHES]
    values = {name: found[name] for name in needed}
    values |= {"relay": (str(host), port)}
    numbers = (values["pid"], port)
    words = [value for name, value in values.items() if name not in {"pid", "relay"}]
    wishes: dict[str, Any] = {name: found.get(name) for name in _WISHES}
    if not all(type(number) is int and number > 0 for number in numbers):
        raise TypeError("pid, relay")
    if not all(isinstance(word, str) for word in words):
        raise TypeError("text")
    if not all(wish is None or type(wish) in {int, float} for wish in wishes.values()):
        raise TypeError("asked_port, idle_exit_s")
    return Endpoint(**values, **wishes)
