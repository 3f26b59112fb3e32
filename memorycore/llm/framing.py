"""How a model is asked: what it is told, and texts of strangers between two lines that none of them can have known."""

from __future__ import annotations

import json
import secrets
import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memorycore.llm.endpoint import ChatEndpoint


def new_mark() -> str:
    """A word that nobody who wrote a text can have known."""
    return secrets.token_hex(8)


def put(
    endpoint: ChatEndpoint, framing: str, fields: Mapping[str, object], mark: str, schema: Mapping[str, object]
) -> str:
    """Ask in one of the framings of ``framings.toml``, about ``fields``; the model's words.

    Raises:
        LlmError: As ``ChatEndpoint.answer``.
    """
    question = f"{mark}\n{json.dumps(fields, ensure_ascii=False)}\n{mark}"
    return endpoint.answer(framings()[framing]["system"].replace("{mark}", mark).strip(), question, schema=schema)


@cache
def framings() -> dict[str, Any]:
    return tomllib.loads(files("memorycore.llm").joinpath("framings.toml").read_text(encoding="utf-8"))
