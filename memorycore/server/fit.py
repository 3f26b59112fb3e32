"""Make an answer fit into a byte budget and say what was left out.

An answer that is too long fills the agent's context or is cut by the client in the middle of a word. Texts are
shortened first, all to the same length; only then are items dropped, from the end of the list that the tool names.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

ELLIPSIS = "…"
SHORTEST = 100  # code points: longer than any id, date or command, so that those are never cut
COUNTED = ("content", "text")
SENTENCES = ("note", "message")
PATH_CHARS = 40
_LONG_PATH = re.compile(r"[^\s，。：；（）]*[/\\][^\s，。：；（）]*")


def to_json(answer: object) -> str:
    """Compact JSON in readable letters; what is no Unicode text (a lone surrogate) becomes ``?``."""
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.encode("utf-8", "replace").decode("utf-8")


def size_bytes(answer: object) -> int:
    return len(to_json(answer).encode("utf-8"))


def fit(answer: Mapping[str, Any], *, max_bytes: int, lists: Sequence[str] = (), more: str = "") -> dict[str, Any]:
    """A copy of ``answer`` of at most ``max_bytes``, if shortening texts and dropping list items can reach it.

    ``lists`` are the keys whose items may be dropped, the first one last; ``more`` is the note that says how to get
    the rest. A shortened ``content`` or ``text`` gets ``cut_chars`` beside it; dropped items are counted in
    ``left_out``.
    """
    whole = dict(answer)
    if size_bytes(whole) <= max_bytes:
        return whole
    note = {"note": more} if more else {}
    low, high = SHORTEST, max(SHORTEST, max_bytes)
    best: dict[str, Any] | None = None
    while low <= high:
        middle = (low + high) // 2
        tried = _cut(whole, middle) | note
        if size_bytes(tried) <= max_bytes:
            best, low = tried, middle + 1
        else:
            high = middle - 1
    return best if best is not None else _drop(_cut(whole, SHORTEST) | note, max_bytes, lists)


def _cut(value: Any, chars: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= chars else value[: chars - 1] + ELLIPSIS
    if isinstance(value, Mapping):
        known = cast("Mapping[str, Any]", value)
        cut = {key: _cut(_sentence(item, chars) if key in SENTENCES else item, chars) for key, item in known.items()}
        for key in COUNTED:
            original = known.get(key)
            if isinstance(original, str) and len(original) > chars:
                cut["cut_chars"] = len(original) - chars + 1
        return cut
    if isinstance(value, list | tuple):
        return [_cut(item, chars) for item in cast("Sequence[Any]", value)]
    return value


def _sentence(value: Any, chars: int) -> Any:
    """A sentence that is too long gives up the front of its paths first: what happened stands behind them."""
    if not isinstance(value, str) or len(value) <= chars:
        return value
    return _LONG_PATH.sub(
        lambda path: path[0] if len(path[0]) <= PATH_CHARS else ELLIPSIS + path[0][1 - PATH_CHARS :], value
    )


def _drop(answer: dict[str, Any], max_bytes: int, lists: Sequence[str]) -> dict[str, Any]:
    """Drop items from the end of the named lists, wherever they stand, until the answer fits."""
    left_out = int(answer.get("left_out") or 0)
    for key in reversed(lists):
        for holder in _holders(answer, key):
            items = cast("list[Any]", holder[key])
            kept = _most_that_fit(answer, holder, key, max_bytes)
            left_out += len(items) - kept
            holder[key] = items[:kept]
            answer["left_out"] = left_out
            if size_bytes(answer) <= max_bytes:
                return answer
    return answer


def _holders(answer: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects with a list under ``key``: the answer itself, and those in its lists; the last one first."""
    found = [answer] if isinstance(answer.get(key), list) else []
    for value in answer.values():
        if isinstance(value, list):
            inner = [cast("dict[str, Any]", item) for item in cast("list[Any]", value) if isinstance(item, dict)]
            found += [item for item in inner if isinstance(item.get(key), list)]
    return found[::-1]


def _most_that_fit(answer: dict[str, Any], holder: dict[str, Any], key: str, max_bytes: int) -> int:
    items = cast("list[Any]", holder[key])
    spare = max_bytes - size_bytes(answer) - len(',"left_out":999999')
    kept = len(items)
    while kept and spare < 0:
        kept -= 1
        spare += size_bytes(items[kept]) + 1
    return kept
