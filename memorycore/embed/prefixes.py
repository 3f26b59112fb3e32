"""Role prefixes of known models: without them some models find half as much."""

import re
import tomllib
from functools import cache
from importlib.resources import files


def prefixes_for(model: str, *, query: str | None = None, passage: str | None = None) -> tuple[str, str]:
    """The prefix of a question and of a passage; a configured one, the empty one included, wins over the built-in."""
    built_in = next((pair for pattern, *pair in _recipes() if re.search(pattern, model.lower())), ["", ""])
    return (built_in[0] if query is None else query, built_in[1] if passage is None else passage)


@cache
def _recipes() -> tuple[tuple[str, str, str], ...]:
    text = (files("memorycore.embed") / "prefixes.toml").read_text(encoding="utf-8")
    return tuple((row["pattern"], row["query"], row["passage"]) for row in tomllib.loads(text)["recipe"])
