"""One MCP session over streamable HTTP, as far as calling tools needs it.

The SDK's own client does not come back from a server that went away, and takes a second of processor time to load. What
is spoken here is small: JSON-RPC by POST, answered as JSON or as a stream of events.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urljoin, urlsplit

from memorycore.errors import RemoteRefused, RemoteUnreachable
from memorycore.outbound import CONNECT_LIMIT_S, Address, Line, read_address, seconds_to_wait

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    import httpx

PROTOCOL = "2025-06-18"
MOST_BYTES = 16 * 1024 * 1024
MOST_PAGES = 20
_OK, _MULTIPLE, _BAD_REQUEST, _OVERLOADED, _SERVER_ERROR = 200, 300, 400, 429, 500
_UNAUTHORISED = frozenset({401, 403})
_MOVED = frozenset({307, 308})
Json = dict[str, Any]


class _LostSessionError(Exception):
    """A 4xx: the server does not know our session (any more), or wants one. Nothing was done."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class McpSession:
    """A service at an address. Connects with the first call; usable from several threads.

    ``tools``: their names, each with the properties of its input (empty where the service does not say).
    """

    def __init__(self, url: str, *, key: str = "", timeout_s: float = 10.0) -> None:
        self.timeout_s = timeout_s
        self._url, self._key = url, key
        self._address: Address | None = None
        self._line: Line | None = None
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._session = ""
        self._protocol = ""
        self._tools: dict[str, frozenset[str]] | None = None
        self._closed = False

    @property
    def host(self) -> str:
        return self._address.host if self._address else ""

    def tools(self, *, timeout_s: float | None = None) -> Mapping[str, frozenset[str]]:
        """What the service offers.

        Raises:
            RemoteUnreachable: The service cannot be used now.
        """
        limit_s = timeout_s or self.timeout_s
        ends_at = time.monotonic() + limit_s
        if self._tools is not None:
            return self._tools
        with self._turn(limit_s):
            if self._tools is None:
                self._begin(ends_at)
            return self._tools or {}

    def call(self, tool: str, arguments: Mapping[str, object], *, timeout_s: float | None = None) -> Json:
        """Call a tool: the ``result`` of the answer. A session that the service has lost is begun anew, once.

        Raises:
            RemoteUnreachable: The service cannot be used now; ``sent`` says that the call may have been carried out.
            RemoteRefused: The service answered that it does not do this.
        """
        ends_at = time.monotonic() + (timeout_s or self.timeout_s)
        self.tools(timeout_s=ends_at - time.monotonic())
        asked = {"name": tool, "arguments": dict(arguments)}
        try:
            return self._request("tools/call", asked, ends_at)
        except _LostSessionError:
            with self._turn(ends_at - time.monotonic()):
                self._begin(ends_at)
        try:
            return self._request("tools/call", asked, ends_at)
        except _LostSessionError as lost:
            raise self._status_failure(lost.status) from lost

    def close(self) -> None:
        self._closed = True
        if self._line:
            self._line.close()

    @contextmanager
    def _turn(self, limit_s: float) -> Generator[None]:
        """Shake hands alone. Whoever has less time than the one at it is not kept longer than that."""
        if not self._lock.acquire(timeout=max(limit_s, 0.0)):
            raise self._failure("timeout")
        try:
            yield
        finally:
            self._lock.release()

    def _begin(self, ends_at: float) -> None:
        """Shake hands and list the tools. The caller holds the lock."""
        self._session = self._protocol = ""
        asked = {
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "memorycore", "version": "1"},
        }
        try:
            hello = self._request("initialize", asked, ends_at)
            self._protocol = str(hello.get("protocolVersion") or "")
            self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}, ends_at, number=None)
            self._tools = self._list_tools(ends_at)
        except _LostSessionError as lost:
            raise self._status_failure(lost.status) from lost

    def _list_tools(self, ends_at: float) -> dict[str, frozenset[str]]:
        found: dict[str, frozenset[str]] = {}
        params: Json = {}
        for _ in range(MOST_PAGES):
            try:
                page = self._request("tools/list", params, ends_at)
            except RemoteRefused:  # one that lists nothing may still do the five
                break
            for tool in _dicts(page.get("tools")):
                found[str(tool.get("name"))] = frozenset(
                    name
                    for schema in _dicts([tool.get("inputSchema")])
                    for properties in _dicts([schema.get("properties")])
                    for name in properties
                )
            if not (cursor := page.get("nextCursor")):
                break
            params = {"cursor": cursor}
        return found

    def _request(self, method: str, params: Mapping[str, object], ends_at: float) -> Json:
        number = next(self._numbers)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params)}
        answer = self._post(message, ends_at, number=number)
        if isinstance(error := answer.get("error"), dict):
            raise RemoteRefused(host=self.host, why="refused_there", status=cast("Json", error).get("code"))
        result = answer.get("result")
        if not isinstance(result, dict):
            raise self._failure("bad_answer", sent=True)
        return cast("Json", result)

    def _post(self, message: Mapping[str, object], ends_at: float, *, number: int | None) -> Json:
        """Send one message; the answer to ``number``, or nothing where no answer comes (``number`` None)."""
        import httpx

        limit_s = ends_at - time.monotonic()
        if limit_s <= 0:
            raise self._failure("timeout")
        line, url = self._open()
        try:
            with line.within(limit_s) as client:
                return self._exchange(client, url, message, ends_at, number)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise self._failure("unreachable") from error
        except httpx.TimeoutException as error:
            raise self._failure("timeout", sent=True) from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, RuntimeError) as error:  # closed: RuntimeError
            why = "closed" if self._closed else "timeout" if time.monotonic() > ends_at else "broken_off"
            raise self._failure(why, sent=True) from error

    def _exchange(
        self, client: httpx.Client, url: str, message: Mapping[str, object], ends_at: float, number: int | None
    ) -> Json:
        limit_s = max(0.001, ends_at - time.monotonic())
        headers = {"Accept": "application/json, text/event-stream", "Accept-Encoding": "identity"}
        if self._session:
            headers["Mcp-Session-Id"] = self._session
        if self._protocol:
            headers["MCP-Protocol-Version"] = self._protocol
        import httpx

        timeout = httpx.Timeout(limit_s, connect=min(limit_s, CONNECT_LIMIT_S))
        with client.stream("POST", url, json=dict(message), timeout=timeout, headers=headers) as response:
            if response.status_code in _MOVED and self._follow(url, response.headers.get("location", "")):
                return self._exchange(client, self._url, message, ends_at, number)
            if not _OK <= response.status_code < _MULTIPLE:
                self._refuse(response)
            self._session = response.headers.get("mcp-session-id", self._session)
            if number is None:
                return {}
            for found in self._messages(response, ends_at):
                if found.get("id") == number and ("result" in found or "error" in found):
                    return found
        raise self._failure("bad_answer", sent=True)

    def _follow(self, url: str, location: str) -> bool:
        """Whether to ask elsewhere: a mounted service is often moved by a slash. Never another host."""
        target = urljoin(url, location)
        same = urlsplit(target)[:2] == urlsplit(url)[:2]
        if not location or not same or target == url:
            return False
        self._url = target
        if self._address:
            self._address = read_address(target)
        return True

    def _refuse(self, response: httpx.Response) -> None:
        status = response.status_code
        if _BAD_REQUEST <= status < _SERVER_ERROR and status != _OVERLOADED:
            raise _LostSessionError(status)
        raise self._status_failure(status, retry_after_s=seconds_to_wait(response))

    def _status_failure(self, status: int, *, retry_after_s: float | None = None) -> RemoteUnreachable:
        if status in _UNAUTHORISED:
            return self._failure("unauthorised_there", status=status)
        if status == _OVERLOADED:
            return self._failure("overloaded", status=status, retry_after_s=retry_after_s)
        if status >= _SERVER_ERROR:
            return self._failure("server_error", sent=True, status=status, retry_after_s=retry_after_s)
        return self._failure("no_service_there", status=status)

    def _messages(self, response: httpx.Response, ends_at: float) -> Iterator[Json]:
        """The messages of an answer, in either form. A notification may come before the one that is waited for."""
        if "text/event-stream" in response.headers.get("content-type", ""):
            for event in self._events(response, ends_at):
                yield from _read(event)
            return
        yield from _read(b"".join(self._pieces(response, ends_at)))

    def _events(self, response: httpx.Response, ends_at: float) -> Iterator[bytes]:
        lines, rest = list[bytes](), b""
        for piece in self._pieces(response, ends_at):
            *whole, rest = (rest + piece).replace(b"\r\n", b"\n").split(b"\n")
            for line in whole:
                if line.startswith(b"data:"):
                    lines.append(line[5:].removeprefix(b" "))
                elif not line and lines:
                    yield b"\n".join(lines)
                    lines = []
        if rest.startswith(b"data:"):
            lines.append(rest[5:].strip())
        if lines:
            yield b"\n".join(lines)

    def _pieces(self, response: httpx.Response, ends_at: float) -> Iterator[bytes]:
        size = 0
        for piece in response.iter_raw():
            size += len(piece)
            if size > MOST_BYTES:
                raise self._failure("bad_answer", sent=True)
            if time.monotonic() > ends_at:  # a server that lets its answer drip would never meet a limit of httpx
                raise self._failure("timeout", sent=True)
            yield piece

    def _open(self) -> tuple[Line, str]:
        if self._closed:
            raise self._failure("closed")
        if self._address is None:
            try:
                self._address = read_address(self._url)
            except ValueError as error:
                raise RemoteUnreachable(why="bad_remote_url") from error
        if self._line is None:
            self._line = Line(self._address, self._key)
        return self._line, self._address.url

    def _failure(self, why: str, *, sent: bool = False, **facts: object) -> RemoteUnreachable:
        return RemoteUnreachable(host=self.host, why=why, sent=sent, **facts)


def _read(content: bytes) -> Iterator[Json]:
    try:
        found: object = json.loads(content)
    except (ValueError, RecursionError):
        return
    yield from _dicts(cast("object", found) if isinstance(found, list) else [found])


def _dicts(items: object) -> Iterator[Json]:
    for item in cast("list[object]", items) if isinstance(items, list) else []:
        if isinstance(item, dict):
            yield cast("Json", item)
