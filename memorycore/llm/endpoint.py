"""A chat model behind the OpenAI shape (Ollama, vLLM, llama.cpp, LM Studio, hosted ones), asked one thing at a time.

What comes back is the words of the model or one LlmError that names the kind of failure. The key, the texts and the
server's own words stay out of it. Nothing is tried again here but what the first attempt could not say properly: who
asks works in the background and comes back later.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from memorycore.errors import LlmError
from memorycore.llm.answers import words_of
from memorycore.outbound import CONNECT_LIMIT_S, Address, Line, kind_of_status, read_address, seconds_to_wait

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from memorycore.options import LlmOptions

MOST_BYTES = 256 * 1024
MOST_TOKENS = 2_000  # one word is wanted, but some models think aloud before they say it
_OK = 200
_BAD_REQUEST = frozenset({400, 422})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What the service sent: the body is read of a 200 only."""

    status: int
    body: bytes = b""
    retry_after_s: float | None = None


class ChatEndpoint:
    """One model behind one service. Opens its connection with the first question; not for several threads at once."""

    def __init__(self, options: LlmOptions) -> None:
        self.model = options.model
        self._options = options
        self._address: Address | None = None
        self._line: Line | None = None
        self._plain = False
        self._closed = False

    @property
    def host(self) -> str:
        return self._address.host if self._address else ""

    def answer(self, system: str, user: str, *, schema: Mapping[str, object]) -> str:
        """The model's words. ``schema`` (JSON) restricts them where the service can do that, else they are free.

        However often it is asked for them, and however slowly it sends them, that takes no longer than the time limit.

        Raises:
            LlmError: No answer, or one that is none: ``unreachable``, ``timeout``, ``unauthorised``,
                ``model_not_found``, ``overloaded``, ``server_error``, ``refused``, ``too_long``, ``bad_answer``,
                ``bad_llm_url``, ``closed``.
        """
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        ends_at = time.monotonic() + self._options.timeout_s
        plain = {"model": self.model, "messages": messages, "stream": False}
        found = self._post(plain if self._plain else {**plain, **_restricted(schema)}, ends_at)
        if found.status in _BAD_REQUEST and not self._plain:
            found = self._post(plain, ends_at)
            self._plain = found.status == _OK  # remembered only if that was the obstacle
        if found.status != _OK:
            waits = {} if found.retry_after_s is None else {"retry_after_s": found.retry_after_s}
            raise self._failure(kind_of_status(found.status), status=found.status, **waits)
        said = words_of(found.body)
        if said is None:
            raise self._failure("bad_answer")
        return said

    def close(self) -> None:
        self._closed = True
        if self._line:
            self._line.close()

    def _failure(self, why: str, **facts: object) -> LlmError:
        return LlmError(model=self.model, why=why, host=self.host, **facts)

    def _post(self, body: dict[str, Any], ends_at: float) -> _Answer:
        import httpx

        try:
            try:
                return self._exchange(body, ends_at)
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                if time.monotonic() > ends_at:
                    raise
                # The server closed a kept connection while we wrote: not its fault, not ours.
                return self._exchange(body, ends_at)
        except httpx.TimeoutException as error:
            raise self._failure("timeout") from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, RuntimeError) as error:  # closed: RuntimeError
            why = "closed" if self._closed else "timeout" if time.monotonic() > ends_at else "unreachable"
            raise self._failure(why) from error

    def _open(self) -> tuple[Line, str]:
        if self._closed:
            raise self._failure("closed")
        if self._address is None:
            try:
                self._address = _chat_address(self._options.url)
            except ValueError as error:
                raise LlmError(model=self.model, why="bad_llm_url") from error
        if self._line is None:
            self._line = Line(self._address, self._options.key)
        return self._line, self._address.url

    def _exchange(self, body: dict[str, Any], ends_at: float) -> _Answer:
        line, url = self._open()
        left_s = max(ends_at - time.monotonic(), 0.01)
        with (
            line.within(left_s) as client,
            client.stream(
                "POST",
                url,
                json=body,
                timeout=_timeout(left_s),
                headers={"Accept-Encoding": "identity"},  # a small packed answer could unpack to a huge one
            ) as response,
        ):
            if response.status_code != _OK:
                return _Answer(status=response.status_code, retry_after_s=seconds_to_wait(response))
            if response.headers.get("content-encoding", "identity") != "identity":
                raise self._failure("bad_answer")
            content = bytearray()
            for piece in response.iter_raw():
                content += piece
                if len(content) > MOST_BYTES:
                    raise self._failure("bad_answer")
                if time.monotonic() > ends_at:
                    raise self._failure("timeout")
            return _Answer(status=_OK, body=bytes(content))


def open_endpoint(options: LlmOptions) -> ChatEndpoint | None:
    """The model that was chosen, or None; nothing is contacted yet."""
    return ChatEndpoint(options) if options.active else None


def _restricted(schema: Mapping[str, object]) -> dict[str, object]:
    named = {"name": "answer", "strict": True, "schema": schema}
    return {
        "temperature": 0,
        "max_tokens": MOST_TOKENS,
        "response_format": {"type": "json_schema", "json_schema": named},
    }


def _timeout(limit_s: float) -> httpx.Timeout:
    import httpx

    return httpx.Timeout(limit_s, connect=min(limit_s, CONNECT_LIMIT_S))


def _chat_address(url: str) -> Address:
    base = read_address(url)
    found = urlsplit(base.url)
    path = found.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        path = (path or "/v1") + "/chat/completions"
    return replace(base, url=urlunsplit(found._replace(path=path)))
