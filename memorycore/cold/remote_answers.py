"""What services answer to the five tools, in the shapes that are met, as one of ours.

An answer is JSON as text, structured content, or the text of a Python literal; a failure is ``isError``, an ``error``
or a status. Whatever cannot be read is never taken for a yes.
"""

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from memorycore.cold.contract import ColdHit, ColdStats

_LONGEST_LITERAL = 2_000_000
_DONE = frozenset({
    "stored", "updated", "forgotten", "deleted", "removed", "restored", "ok", "success", "done", "duplicate",
    "unchanged", "already_exists", "exists",
})  # fmt: skip
_UNKNOWN_ID = re.compile(
    r"not.?found|no such|unknown|does ?n.t exist|does not exist|no (memory|entry|record)|不存在|没有找到|未找到",
    re.IGNORECASE,
)
_CUT_AT = frozenset({497, 500, 501, 503})  # the predecessor's service gives the first 500 characters of a text
_ENDS_CUT = ("…", "...")
_LONG_ENOUGH = 200
_IDS, _TEXTS = ("memory_id", "id"), ("content", "text", "memory")
_SCORES, _LISTS = ("score", "dense_score", "similarity"), ("results", "items", "memories")

Mapped = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The service said no. ``unknown_id``: because it has no such memory."""

    unknown_id: bool = False


@dataclass(frozen=True, slots=True)
class Garbled:
    """Something else than was asked for; what became of the call is not known."""


Verdict = Literal["done"] | Failed | Garbled


def values(result: Mapped) -> list[object]:
    """What an answer may mean, the likeliest first: structured content, then its texts, alone or as a list."""
    found = list[object]()
    structured = result.get("structuredContent")
    if structured is not None:
        found.append(_unwrapped(structured))
    texts = [
        str(block.get("text", ""))
        for block in _mappings(result.get("content"))
        if block.get("type", "text") == "text" and "text" in block
    ]
    parsed = [_unwrapped(_parsed(text)) for text in texts]
    if len(parsed) == 1:
        found.append(parsed[0])
    elif parsed:  # some servers give each item of a list a block of its own
        found += [parsed, *parsed]
    return found


def failure(result: Mapped) -> Failed | None:
    """The failure that an answer tells, in whichever way; None when it tells none."""
    said = values(result)
    words = " ".join(str(value)[:400] for value in said)
    if result.get("isError") is True:
        return Failed(unknown_id=bool(_UNKNOWN_ID.search(words)))
    for value in said:
        if isinstance(value, dict):
            answer = cast("Mapped", value)
            status = str(answer.get("status", "")).lower()
            told = answer.get("error")
            if told or answer.get("ok") is False or answer.get("success") is False or _tells_failure(status):
                return Failed(unknown_id=status in {"not_found", "missing"} or bool(_UNKNOWN_ID.search(words)))
    return None


def _tells_failure(status: str) -> bool:
    return status.startswith(("error", "fail", "refus", "reject", "filter", "not_", "missing", "invalid"))


def stored_id(result: Mapped) -> str | Failed | Garbled:
    """The id that a text was given."""
    if (failed := failure(result)) is not None:
        return failed
    for answer in _answers(result):
        status = str(answer.get("status", "stored")).lower()
        for name in _IDS:
            if isinstance(found := answer.get(name), str | int) and str(found) and status in _DONE:
                return str(found)
    return Garbled()


def stored_ids(result: Mapped, count: int) -> list[str] | None:
    """The ids that ``count`` texts were given, empty for one that was refused; None where nobody can tell."""
    for answer in _answers(result):
        told = list(_mappings(answer.get("results")))
        if len(told) == count:
            read = [stored_id({"structuredContent": one}) for one in told]
            return (
                None
                if any(isinstance(one, Garbled) for one in read)
                else [one if isinstance(one, str) else "" for one in read]
            )
    return None


def done(result: Mapped) -> Verdict:
    """Whether an update or a forget was carried out. Only what says so counts."""
    if (failed := failure(result)) is not None:
        return failed
    for answer in _answers(result):
        if str(answer.get("status", "")).lower() in _DONE or answer.get("ok") is True or answer.get("success") is True:
            return "done"
    return Garbled()


def hits(result: Mapped) -> list[ColdHit] | Failed | Garbled:
    """The memories of a recall or a list, in the order in which they came."""
    if (failed := failure(result)) is not None:
        return failed
    for value in values(result):
        items = _items(value)
        if items is None:
            continue
        found = [hit for item in items if (hit := _hit(item)) is not None]
        if found or not items:
            return found
    return Garbled()


def hit(result: Mapped) -> ColdHit | Failed | Garbled:
    """The one memory of a get."""
    if (failed := failure(result)) is not None:
        return failed
    for answer in _answers(result):
        for candidate in (answer.get("memory"), answer.get("result"), answer):
            if isinstance(candidate, dict) and (found := _hit(cast("Mapped", candidate))) is not None:
                return found
    found = hits(result)
    return found[0] if isinstance(found, list) and len(found) == 1 else Garbled()


def stats(result: Mapped) -> ColdStats | Failed | Garbled:
    if (failed := failure(result)) is not None:
        return failed
    for answer in _answers(result):
        total = answer.get("total", answer.get("count"))
        if isinstance(total, int) and not isinstance(total, bool):
            embedded = answer.get("embeddings")
            return ColdStats(total=total, embeddings=embedded if isinstance(embedded, int) else 0)
    return Garbled()


def _answers(result: Mapped) -> Iterator[Mapped]:
    for value in values(result):
        if isinstance(value, dict):
            yield cast("Mapped", value)


def _items(value: object) -> Sequence[Mapped] | None:
    """The list in a value; None where there is none. A single record is a list of one."""
    if isinstance(value, list):
        return list(_mappings(cast("object", value)))
    if not isinstance(value, dict):
        return None
    answer = cast("Mapped", value)
    for name in _LISTS:
        if isinstance(answer.get(name), list):
            return list(_mappings(answer[name]))
    return [answer] if _hit(answer) is not None else None


def _hit(item: Mapped) -> ColdHit | None:
    memory_id = next((str(item[name]) for name in _IDS if isinstance(item.get(name), str | int)), "")
    content = next((item[name] for name in _TEXTS if isinstance(item.get(name), str)), None)
    if not memory_id or not isinstance(content, str) or not content.strip():
        return None
    score = next((float(item[name]) for name in _SCORES if _is_number(item.get(name))), 0.0)
    return ColdHit(id=memory_id, content=content, score=score, cut=_is_cut(item, content))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_cut(item: Mapped, content: str) -> bool:
    """Whether a text may be the beginning of a longer one. To be wrong costs a look; never is it written back."""
    if item.get("truncated") is True or item.get("cut") is True:
        return True
    return len(content) in _CUT_AT or (len(content) >= _LONG_ENOUGH and content.endswith(_ENDS_CUT))


def _unwrapped(value: object) -> object:
    """The SDK wraps what is no object as ``{"result": …}``; a text in there may be JSON again."""
    if isinstance(value, dict) and list(wrapped := cast("Mapped", value)) == ["result"]:
        inner: object = wrapped["result"]
        return _parsed(inner) if isinstance(inner, str) else inner
    return cast("object", value)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if text.lstrip()[:1] not in {"{", "[", "("} or len(text) > _LONGEST_LITERAL:
        return text
    try:
        found: object = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
    return list(cast("tuple[object, ...]", found)) if isinstance(found, tuple) else found


def _mappings(items: object) -> Iterator[Mapped]:
    if isinstance(items, list):
        for item in cast("list[object]", items):
            if isinstance(item, dict):
                yield cast("Mapped", item)
