"""The door: which host name a request was sent to, from which page, and whom its token stands for.

Host and origin are looked at first, so that a page in a browser that was led here by its own name (DNS rebinding)
learns nothing, not even that a token is missing. Every route but ``/healthz`` needs a token, ``/mcp`` too: any user of
this machine can reach the port, and its owner alone can read the token.
"""

import hmac
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from memorycore import metrics
from memorycore.errors import InvalidInput, MemoryCoreError, Unauthorised
from memorycore.server.caller import PRINCIPAL, Principal
from memorycore.web.binding import LOOPBACK_NAMES, host_name
from memorycore.web.tokens import TokenFile

OPEN = frozenset({"/healthz"})
# By the header that is at fault: how it is counted, and its status. The others are told by their code.
REASONS = {"Host": ("host", 421), "Origin": ("origin", 403)}
Refuse = Callable[[MemoryCoreError, int | None, Scope, Receive, Send], Awaitable[None]]


class Door:
    """Lets a request through to ``app`` with its ``Principal`` in the scope, or refuses it."""

    def __init__(self, app: ASGIApp, *, token: str, tokens: TokenFile, names: Sequence[str], refuse: Refuse) -> None:
        self._app = app
        self._token = token
        self._tokens = tokens
        self._names = frozenset((*LOOPBACK_NAMES, *names))
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            self._check_names(headers)
            principal = Principal() if scope["path"] in OPEN else self._principal(headers, scope)
        except MemoryCoreError as error:
            reason, status = REASONS.get(str(error.facts.get("field")), ("token", None))
            metrics.add("memorycore_requests_refused_total", reason=reason)
            await self._refuse(error, status, scope, receive, send)
            return
        scope[PRINCIPAL] = principal
        await self._app(scope, receive, send)

    def _check_names(self, headers: Headers) -> None:
        """What the client says it speaks to, and the page that made it speak, must be us."""
        if host_name(headers.get("host", "")) not in self._names:
            raise InvalidInput(field="Host", why="foreign_host")
        origin = headers.get("origin")
        if origin is not None and host_name(origin) not in self._names:
            raise InvalidInput(field="Origin", why="foreign_host")

    def _principal(self, headers: Headers, scope: Scope) -> Principal:
        kind, _, token = headers.get("authorization", "").partition(" ")
        token = token.strip()
        if kind.lower() != "bearer" or not token:
            raise Unauthorised(why="no_token")
        if _is_near(scope) and hmac.compare_digest(token.encode("utf-8"), self._token.encode("utf-8")):
            return Principal()
        named = self._tokens.find(token)
        if named is None:
            raise Unauthorised(why="unknown_token")
        return Principal(token=named.name, namespace=named.namespace, author=named.author)


def _is_near(scope: Scope) -> bool:
    """The token of the endpoint file is for this machine's programs: from elsewhere it opens nothing."""
    client: Any = scope.get("client")
    try:
        address = ip_address(client[0] if client else "")
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback  # an IPv4 client of an IPv6 socket
