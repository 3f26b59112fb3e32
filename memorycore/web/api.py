"""The routes below ``/v1``, ``/healthz`` and ``/metrics``: JSON in, one JSON object out, whatever happens."""

import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, cast

import anyio
import anyio.to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from memorycore import messages, metrics
from memorycore.errors import InvalidInput, MemoryCoreError, TooLong, Unauthorised
from memorycore.options import Language
from memorycore.server import asks
from memorycore.server.boundary import ToolFaultError, run_tool
from memorycore.server.caller import PRINCIPAL, Caller, Principal
from memorycore.server.fit import fit, to_json
from memorycore.server.gate import RETRY_AFTER_S
from memorycore.server.tools import ToolSpec
from memorycore.web import calls, prometheus
from memorycore.web.given import Given
from memorycore.web.state import State

_log = logging.getLogger(__name__)
MOST_BYTES = 1_048_576  # of a request; a text has 64 KiB at most
HEALTH_WITHIN_S = 2.0
UNNAMED = "api"
SESSION = "memorycore-session"  # a header: the session of the one who asks
LONGEST_SESSION = 200
FAULT = 500
# How a code is said in HTTP; what is not named here is a request that cannot be carried out as it is.
STATUS: Mapping[str, int] = {
    "unauthorised": 401,
    "not_found": 404,
    "conflict": 409,
    "too_long": 413,
    "too_many_calls": 429,
    "error": 500,
    "settings_error": 500,
    "not_available": 503,
    "hot_file_error": 503,
    "undecodable": 503,
    "unreadable": 503,
    "unwritable": 503,
    "lock_timeout": 503,
    "store_error": 503,
    "store_busy": 503,
    "store_damaged": 503,
    "schema_too_new": 503,
    "embedding_error": 503,
    "llm_error": 503,
}
BAD_REQUEST, FORBIDDEN = 400, 403


class Answer(JSONResponse):
    """One JSON object; of half a letter, which somebody sent and is told again, a question mark."""

    def render(self, content: Any) -> bytes:
        return to_json(content).encode("utf-8")


def refused(error: MemoryCoreError, language: Language, status: int | None = None) -> Response:
    """The refusal as every surface answers it, with the status that belongs to its code."""
    headers: dict[str, str] = {}
    if error.retryable:
        headers["Retry-After"] = str(RETRY_AFTER_S)
    status = status or STATUS.get(error.code, BAD_REQUEST)
    if status == STATUS["unauthorised"]:
        headers["WWW-Authenticate"] = 'Bearer realm="memorycore"'
    return Answer(messages.problem(error, language), status, headers)


class Api:
    """The routes over one ``State``."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._calls = calls.table(state.settings, Given())
        self._started = time.time()

    def routes(self) -> list[Route]:
        below = [
            Route(f"/v1/{name}", self._route(tool), methods=["GET", "POST"] if tool.read_only else ["POST"])
            for name, tool in self._calls.items()
        ]
        return [*below, Route("/healthz", self._health), Route("/metrics", self._metrics)]

    async def refuse(
        self, error: MemoryCoreError, status: int | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer a request that was stopped at the door."""
        await refused(error, self._state.desk.language, status)(scope, receive, send)

    async def stray(self, request: Request, _error: Exception) -> Response:
        """No such route."""
        metrics.add("memorycore_requests_refused_total", reason="route")
        return refused(InvalidInput(field=request.url.path[:80], why="no_such_route"), self._state.desk.language, 404)

    async def wrong_way(self, request: Request, _error: Exception) -> Response:
        """A route that is not asked in this way."""
        metrics.add("memorycore_requests_refused_total", reason="route")
        return refused(InvalidInput(field=request.method, why="wrong_method"), self._state.desk.language, 405)

    def _route(self, tool: ToolSpec) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            self._state.clients.touch()
            principal = cast("Principal", request.scope[PRINCIPAL])
            language = self._state.desk.language
            try:
                arguments = await _arguments(request)
                caller = _caller(principal, tool, arguments, request.headers.get(SESSION, ""))
                work = partial(self._call, tool, principal, arguments, caller)
                return Answer(await self._state.gate.run(client_of(principal, caller.session_id), work))
            except MemoryCoreError as error:
                return refused(error, language)
            except ClientDisconnect:
                return Response(status_code=BAD_REQUEST)  # nobody reads it
            except ToolFaultError as fault:
                return _fault(str(fault))

        return answer

    def _call(
        self, tool: ToolSpec, principal: Principal, arguments: Mapping[str, Any], caller: Caller
    ) -> Mapping[str, Any]:
        """The whole answer: programs read it, not a prompt; cut to ``max_bytes`` where that is asked for."""
        desk = self._state.desks.of(principal.namespace)
        answer, max_bytes = run_tool(desk, tool, arguments, caller)
        if "max_bytes" not in arguments:
            return answer
        more = messages.text(tool.more, desk.language) if tool.more else ""
        return fit(answer, max_bytes=max_bytes, lists=tool.lists, more=more)

    async def _health(self, _request: Request) -> Response:
        """Whether the memory can be used. Nothing more: whoever reaches the port may ask."""
        problem: MemoryCoreError | None = None
        opened = False
        with anyio.move_on_after(HEALTH_WITHIN_S):
            try:
                await anyio.to_thread.run_sync(self._touch_core, abandon_on_cancel=True)
                opened = True
            except MemoryCoreError as error:
                problem = error
        if opened:
            return Answer({"ok": True})
        code = problem.code if problem else "slow"
        return Answer({"ok": False, "code": code}, 503)

    def _touch_core(self) -> None:
        with self._state.desk.core() as core, core.db.read():
            pass

    async def _metrics(self, request: Request) -> Response:
        """What the page says, it says of the whole process, and of the memory that this process is for."""
        principal = cast("Principal", request.scope[PRINCIPAL])
        if principal.namespace not in {"", self._state.settings.namespace}:
            return refused(Unauthorised(why="token_elsewhere"), self._state.desk.language, FORBIDDEN)
        try:
            await self._state.gate.run(f"metrics {principal.token}", self._look)
        except MemoryCoreError as error:
            return refused(error, self._state.desk.language)
        return PlainTextResponse(prometheus.page(), media_type=prometheus.CONTENT_TYPE)

    def _look(self) -> None:
        with self._state.desk.core() as core:
            prometheus.look(core, self._state.clients, self._started)


def client_of(principal: Principal, session_id: str) -> str:
    """What counts as one client: a named token, else a session; whoever gives neither shares one place."""
    if principal.token:
        return f"token {principal.token}"
    return f"session {session_id}" if session_id else UNNAMED


def _caller(principal: Principal, tool: ToolSpec, arguments: Mapping[str, Any], session: str) -> Caller:
    """``session`` is what the header says. The argument of a recall is a filter and says nothing of who asks."""
    named = "" if tool.ask is asks.Recall else str(arguments.get("session_id") or "")
    return Caller(
        name=principal.author or UNNAMED,
        session_id=(session or named)[:LONGEST_SESSION],
        bound=bool(principal.author),
        via="api",
    )


async def _arguments(request: Request) -> Mapping[str, Any]:
    """What was sent as a JSON object, or behind the question mark.

    Raises:
        TooLong: More than anything that could be meant.
        InvalidInput: No JSON object.
    """
    if request.method == "GET":
        return dict(request.query_params)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            metrics.add("memorycore_requests_refused_total", reason="size")
            raise TooLong(size_bytes=len(body), limit_bytes=MOST_BYTES)
    if not body.strip():
        return {}
    try:
        found: Any = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidInput(field="body", why="not_json")
    return cast("Mapping[str, Any]", found)


def _fault(message: str) -> Response:
    return Answer({"ok": False, "code": "fault", "message": message, "retryable": False}, FAULT)
