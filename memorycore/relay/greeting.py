"""The first line in each direction of a local connection: both ends show that they hold the token, and what they are.

The token itself never travels. A daemon that was killed leaves its port to whoever takes it next: that one learns
nothing it could use, and shows nothing that a client would believe.
"""

import hashlib
import hmac
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from memorycore.endpoint import Endpoint

PROTOCOL = 1
MOST_BYTES = 16 * 1024
WITHIN_S = 2.0
LINE_BYTES = 4 * 1024 * 1024  # of one message; the longest text that is stored has 64 KiB
WORDS = ("version", "data_dir", "hot_dir", "namespace", "settings")
UNKNOWN = "other_token"
CODES = (UNKNOWN, *(f"other_{word}" for word in WORDS))
"""Why a daemon and a client do not fit, as codes of ``messages``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a client expects of the daemon, and what it wants to be for it.

    ``settings`` is ``Settings.fingerprint()``; ``session`` the client's own word for this connection, which stays the
    same when it has to connect again.
    """

    version: str
    data_dir: str
    hot_dir: str
    namespace: str
    settings: str
    toolset: str
    language: str
    session: str


def differing(words: Mapping[str, Any], found: Endpoint) -> Iterator[str]:
    """In which of ``WORDS`` a daemon is not the wanted one."""
    for name in WORDS:
        one, other = words.get(name), getattr(found, name)
        if name.endswith("_dir") and isinstance(one, str):
            one, other = os.path.realpath(one), os.path.realpath(other)
        if one != other:
            yield name


def difference(wanted: Wanted | Mapping[str, Any], found: Endpoint) -> str:
    """The first thing in which a daemon is not the wanted one, as a code of ``messages``; empty if it is."""
    words = asdict(wanted) if isinstance(wanted, Wanted) else wanted
    return next((f"other_{name}" for name in differing(words, found)), "")


def hello(wanted: Wanted, token: str, nonce: str) -> bytes:
    """The client's line."""
    said = {"memorycore": PROTOCOL, "nonce": nonce, "proof": proof(token, nonce, "client"), **asdict(wanted)}
    return _line(said)


def welcome(token: str, nonce: str) -> bytes:
    """The daemon's line to a client that it serves."""
    return _line({"ok": True, "proof": proof(token, nonce, "daemon")})


def refusal(code: str) -> bytes:
    """The daemon's line to one that it does not serve; it then hangs up."""
    return _line({"ok": False, "code": code})


def farewell(unanswered: Sequence[object]) -> bytes:
    """The last line of a daemon that ends in order: ids of requests that were read and whose outcome is not known.

    Whatever else has no answer was not read: the next daemon may be asked the same.
    """
    return _line({"memorycore": PROTOCOL, "unanswered": list(unanswered)})


def last_words(line: bytes) -> list[object] | None:
    """The ids in a farewell; None for any other line."""
    if not line.startswith(b'{"memorycore"'):
        return None
    ids = read(line).get("unanswered")
    return cast("list[object]", ids) if isinstance(ids, list) else None


def read(line: bytes) -> dict[str, Any]:
    """An object from a first line; empty when it is none."""
    try:
        said: object = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", said) if isinstance(said, dict) else {}


def is_shown(said: Mapping[str, Any], token: str, nonce: object, who: str) -> bool:
    """Whether a first line proves that the other end holds the token."""
    shown = said.get("proof")
    if not (isinstance(nonce, str) and isinstance(shown, str) and shown.isascii()):
        return False
    return hmac.compare_digest(shown, proof(token, nonce, who))


def proof(token: str, nonce: str, who: str) -> str:
    return hmac.new(token.encode(), f"{who}\n{nonce}".encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def _line(said: Mapping[str, Any]) -> bytes:
    return json.dumps(said).encode("ascii") + b"\n"
