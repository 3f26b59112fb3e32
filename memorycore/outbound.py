"""What every client of somebody's service does alike: read its address, open a connection, name a failure.

A key goes into a header and a login out of the address, so that neither is ever part of a message or a log line.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    import httpx

CONNECT_LIMIT_S = 5.0
GRACE_S = 0.5  # what meets its limit in the usual way is told more exactly
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_KINDS = {401: "unauthorised", 403: "unauthorised", 404: "model_not_found", 413: "too_long", 429: "overloaded"}
_BAD_REQUEST, _SERVER_ERROR = 400, 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a service is: its URL without a login, ``host:port`` for messages, and the login that stood in the URL."""

    url: str
    host: str
    login: tuple[str, str] | None = field(default=None, repr=False)


def read_address(url: str) -> Address:
    """Take an http(s) address apart.

    Raises:
        ValueError: It is none.
    """
    found = urlsplit(url.strip())
    port = found.port
    if found.scheme not in ("http", "https") or not found.hostname:
        raise ValueError(url)
    host = f"[{found.hostname}]" if ":" in found.hostname else found.hostname
    host = f"{host}:{port}" if port else host
    login = (unquote(found.username), unquote(found.password or "")) if found.username else None
    return Address(url=urlunsplit((found.scheme, host, found.path, found.query, "")), host=host, login=login)


def holds_login(url: str) -> bool:
    """Whether this is an address with a user or a password in it, which must not be written down."""
    try:
        return "@" in url and bool(read_address(url).login)
    except ValueError:
        return False


def open_client(address: Address, key: str) -> httpx.Client:
    """A client for one service that carries its key, or else its login, and follows no redirect."""
    import ssl

    import httpx

    return httpx.Client(
        headers={"Authorization": f"Bearer {key}"} if key else {},
        auth=None if key else address.login,
        # For plain http no certificates need be read, which takes longer than a call. This context trusts nobody.
        verify=address.url.startswith("https:") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        trust_env=urlsplit(address.url).hostname not in _LOOPBACK,  # a proxy cannot reach our own loopback
        follow_redirects=False,  # texts and key are for this address only
    )


class Line:
    """The connections to one service, opened when first asked for; usable from several threads.

    A service that keeps a call waiting for too long loses all of them, and the next call makes new ones.
    """

    def __init__(self, address: Address, key: str) -> None:
        self._address, self._key = address, key
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None
        self._closed = False

    @contextmanager
    def within(self, seconds: float) -> Generator[httpx.Client]:
        """A client for one exchange, head and body together; past that time it is closed, which ends the exchange.

        httpx limits each read only: a service that sends the head of its answer letter by letter would never meet that.

        Raises:
            RuntimeError: The line was closed; so httpx says it of its client.
        """
        client = self._open()
        with _cut_after(seconds, lambda: self._drop(client)):
            yield client

    def close(self) -> None:
        with self._lock:
            self._closed = True
            client, self._client = self._client, None
        if client:
            client.close()

    def _open(self) -> httpx.Client:
        with self._lock:
            if self._closed:
                raise RuntimeError("closed")
            if self._client is None:
                self._client = open_client(self._address, self._key)
            return self._client

    def _drop(self, client: httpx.Client) -> None:
        with self._lock:
            if self._client is client:
                self._client = None
        client.close()


@contextmanager
def _cut_after(seconds: float, cut: Callable[[], None]) -> Generator[None]:
    """Call ``cut`` from another thread if the block takes longer."""
    timer = threading.Timer(max(seconds, 0.0) + GRACE_S, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def kind_of_status(status: int) -> str:
    """The failure that an HTTP status other than 200 means, as a code of ``messages``."""
    if status in _KINDS:
        return _KINDS[status]
    return "server_error" if status >= _SERVER_ERROR else "refused" if status >= _BAD_REQUEST else "bad_answer"


def seconds_to_wait(response: httpx.Response) -> float | None:
    """The server's ``Retry-After`` (seconds or a date) as seconds from now; None if it says nothing."""
    said = response.headers.get("retry-after", "").strip()
    if not said:
        return None
    try:
        return max(0.0, float(said))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except ValueError:
        return None
