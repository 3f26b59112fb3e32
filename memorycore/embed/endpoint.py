"""Vectors from a service: the OpenAI shape (Ollama, vLLM, llama.cpp, LM Studio, hosted ones) or Ollama's own.

Services differ in what they refuse, repeat, reorder and forget. What comes back is either a full set of checked rows
or one EmbeddingError that names the kind of failure; the key, the texts and the server's own words stay out of it.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from memorycore.embed.calibration import Calibration, neutral
from memorycore.embed.contract import EmbedChoice, fingerprint
from memorycore.embed.endpoint_answers import failure_of, read_vectors
from memorycore.embed.parts import estimate_tokens
from memorycore.embed.prefixes import prefixes_for
from memorycore.embed.vectors import unit_rows
from memorycore.errors import EmbeddingError
from memorycore.outbound import CONNECT_LIMIT_S, Address, Line, read_address, seconds_to_wait

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence

    import httpx

    from memorycore.embed.contract import Vectors

DEFAULT_URL = "http://127.0.0.1:11434/v1"
_PROBE = "The lamp stands on the table."
_FIRST_CALL_LIMIT_S = 120.0  # a server may have to load its model first
_PAUSES_S = (0.2, 0.6, 1.8)  # before the second, third and fourth attempt
_TRY_AGAIN_STATUS = frozenset({429, 502, 503, 504})
_OK, _SERVER_ERROR = 200, 500
_BAD_REQUEST = frozenset({400, 422})


class Endpoint:
    """One model behind one service. ``open`` asks it once; after that the width is fixed for the life of the object."""

    def __init__(self, choice: EmbedChoice, *, stopping: threading.Event) -> None:
        self.name = choice.model
        self.width = 0
        self.fingerprint = ""
        self.calibration: Calibration = neutral(1)
        self.part_tokens = self.question_tokens = 420
        self.batch_size = 16
        self._choice = choice
        self._native = choice.keep_alive is not None or choice.url.rstrip("/").endswith("/api/embed")
        address = _address(choice.url or DEFAULT_URL, native=self._native, model=choice.model)
        self._url, self.host = address.url, address.host
        self._prefixes = prefixes_for(choice.model, query=choice.query_prefix, passage=choice.passage_prefix)
        self._send_dimensions = choice.dimensions is not None
        self._stopping = stopping
        self._line = Line(address, choice.key)

    def open(self) -> None:
        """Ask for one vector, which fixes the width and with it the fingerprint.

        Raises:
            EmbeddingError: As ``embed_passages``; ``wrong_width`` when the service ignores the configured dimensions.
        """
        limit_s = max(self._choice.timeout_s, _FIRST_CALL_LIMIT_S)
        row = self._ask([self._prefixes[1] + _PROBE], limit_s=limit_s)
        width = row.shape[1]
        if self._choice.dimensions not in (None, width):
            raise EmbeddingError(model=self.name, why="wrong_width", expected=self._choice.dimensions, found=width)
        self.width = width
        self.fingerprint = fingerprint(model=self.name, width=width, weights="", prefixes=self._prefixes)
        self.calibration = neutral(width)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._ask([self._prefixes[0] + text for text in texts], limit_s=self._choice.timeout_s)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._ask([self._prefixes[1] + text for text in texts], limit_s=self._choice.timeout_s)

    def count_tokens(self, text: str) -> int:
        return estimate_tokens(text)

    def close(self) -> None:
        self._line.close()

    def _ask(self, texts: list[str], *, limit_s: float) -> Vectors:
        """Post until there is an answer, a failure that waiting cannot mend, or no time left."""
        deadline = time.monotonic() + limit_s
        attempt = 0
        while True:
            if self._stopping.is_set():
                raise EmbeddingError(model=self.name, why="closed")
            with_dimensions = self._send_dimensions
            response = self._post(texts, dimensions=with_dimensions, deadline=deadline)
            if response.status_code in _BAD_REQUEST and with_dimensions:
                response = self._post(texts, dimensions=False, deadline=deadline)
                self._send_dimensions = response.status_code != _OK  # remembered only if that was the obstacle
            if response.status_code == _OK:
                rows = read_vectors(response, model=self.name)
                return unit_rows(rows, count=len(texts), width=self.width or None, model=self.name)
            failure = failure_of(response, model=self.name, host=self.host)
            pause_s = self._pause(response, failure, attempt)
            if pause_s is None or time.monotonic() + pause_s >= deadline or self._stopping.wait(pause_s):
                raise failure
            attempt += 1

    def _pause(self, response: httpx.Response, failure: EmbeddingError, attempt: int) -> float | None:
        """Seconds until the same request may be tried again; None if it should not."""
        if attempt >= len(_PAUSES_S):
            return None
        if response.status_code in _TRY_AGAIN_STATUS:
            asked_s = seconds_to_wait(response)
            return _PAUSES_S[attempt] if asked_s is None else asked_s
        once_more = response.status_code == _SERVER_ERROR and failure.facts["why"] == "server_error" and attempt == 0
        return _PAUSES_S[0] if once_more else None

    def _post(self, texts: list[str], *, dimensions: bool, deadline: float) -> httpx.Response:
        import httpx

        body: dict[str, Any] = {"model": self.name, "input": texts}
        if self._native:
            body["truncate"] = False  # rather refuse than forget the end of a text
            if self._choice.keep_alive is not None:
                body["keep_alive"] = _number_if_number(self._choice.keep_alive)
        else:
            body["encoding_format"] = "float"
        if dimensions:
            body["dimensions"] = self._choice.dimensions
        try:
            try:
                return self._exchange(body, deadline)
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                if time.monotonic() > deadline:
                    raise
                # The server closed a kept connection while we wrote: not its fault, not ours.
                return self._exchange(body, deadline)
        except httpx.TimeoutException as error:
            raise EmbeddingError(model=self.name, why="timeout", host=self.host) from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, RuntimeError) as error:  # closed: RuntimeError
            late = "timeout" if time.monotonic() > deadline else "unreachable"
            why = "closed" if self._stopping.is_set() else late
            raise EmbeddingError(model=self.name, why=why, host=self.host) from error

    def _exchange(self, body: dict[str, Any], deadline: float) -> httpx.Response:
        import httpx

        left_s = max(deadline - time.monotonic(), 0.01)
        with self._line.within(left_s) as client:
            timeout = httpx.Timeout(left_s, connect=min(left_s, CONNECT_LIMIT_S))
            return client.post(self._url, json=body, timeout=timeout)


def _address(url: str, *, native: bool, model: str) -> Address:
    """The address to post to."""
    try:
        base = read_address(url)
    except ValueError as error:
        raise EmbeddingError(model=model, why="bad_url") from error
    found = urlsplit(base.url)
    path = found.path.rstrip("/")
    if native:
        path = path.removesuffix("/api/embed").removesuffix("/embeddings").removesuffix("/v1") + "/api/embed"
    elif not path.endswith("/embeddings"):
        path = (path or "/v1") + "/embeddings"
    return replace(base, url=urlunsplit(found._replace(path=path)))


def _number_if_number(value: str | float) -> str | float:
    """``"-1"`` from a setting as the number -1, which Ollama wants; ``"5m"`` stays text."""
    if not isinstance(value, str):
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    return int(number) if number.is_integer() else number
