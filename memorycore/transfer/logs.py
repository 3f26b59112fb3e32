"""The predecessor's recycle bin (``trash.json``) and log of questions (``activity.jsonl``), read leniently."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any, cast

from memorycore.domain.memory import MAX_CONTENT_BYTES, Memory
from memorycore.domain.routing import route
from memorycore.domain.text import norm_hash, sanitise
from memorycore.store.queries import Query
from memorycore.transfer.found import ORIGIN, Found, Ground, Item, Problem, derived_id, moment, not_later

CUT_AT = 300  # the predecessor kept no more of what it binned
# Why something is in our bin, by what the predecessor wrote; all that is not named here was taken for out of date.
REASONS: Mapping[str, str] = {
    "stale_candidate": "stale", "stale_short": "stale", "merge_obsolete": "same", "decayed": "decayed",
}  # fmt: skip
OUT_OF_DATE = "outdated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binned:
    """``trash.json`` as read: its entries, and what was wrong with it."""

    path: Path
    entries: Sequence[Mapping[str, Any]]
    problems: tuple[Problem, ...] = ()

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(_id(entry) for entry in self.entries)


def read_bin(path: Path, data: bytes) -> Binned:
    """The entries of the bin; of a file that was cut off, those that are whole."""
    text = data.decode("utf-8-sig", "replace")
    problems = (Problem(path=path, code="not_utf8"),) if "\ufffd" in text else ()
    try:
        whole: object = json.loads(text)
        listed = cast("dict[str, Any]", whole).get("entries", []) if isinstance(whole, dict) else whole
    except (ValueError, RecursionError):
        listed = list(_whole_ones(text))
        problems = (*problems, Problem(path=path, code="cut_off", facts={"count": len(listed)}))
    entries = cast("list[object]", listed) if isinstance(listed, list) else []
    good = [cast("dict[str, Any]", entry) for entry in entries if isinstance(entry, dict)]
    if len(good) < len(entries) or not isinstance(listed, list):
        problems = (*problems, Problem(path=path, code="not_an_entry", facts={"count": len(entries) - len(good)}))
    return Binned(path=path, entries=good, problems=problems)


def _whole_ones(text: str) -> Iterator[object]:
    """The objects of the list ``entries`` in a text that ends too early."""
    decoder = json.JSONDecoder()
    place = text.find("[", max(text.find('"entries"'), 0)) + 1
    while place:
        while place < len(text) and text[place] in " \t\r\n,":
            place += 1
        try:
            found, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return
        yield found


def bin_items(binned: Binned, texts: Mapping[str, str], live: Collection[str], ground: Ground) -> Found:
    """What is in the bin as memories in ours, with the days that are left to them.

    ``texts``: whole texts by their id, where the predecessor's database still has them. ``live``: ids that it finds, so
    that nothing of them is in the bin after all.
    """
    items = tuple(_bin_item(entry, number, texts, live, ground) for number, entry in enumerate(binned.entries, 1))
    return Found(path=binned.path, what="bin", items=items, problems=binned.problems)


def _bin_item(
    entry: Mapping[str, Any], number: int, texts: Mapping[str, str], live: Collection[str], ground: Ground
) -> Item:
    ref = _id(entry) or str(number)
    kept = _content(entry)
    content = sanitise(texts.get(_id(entry), "") or kept).strip()
    if _id(entry) in live:
        return Item(ref=ref, left_out="still_found_there")
    if not content:
        return Item(ref=ref, left_out="empty")
    if len(content.encode("utf-8", "surrogatepass")) > MAX_CONTENT_BYTES:
        return Item(ref=ref, left_out="too_long")
    binned_at = moment(entry.get("trashed_at"), UTC)
    at = min(binned_at or ground.now, ground.now)
    if ground.now - at >= timedelta(days=ground.trash_days):
        return Item(ref=ref, left_out="days_over")
    routing = route(content)
    memory = Memory(
        id=derived_id(f"row {ref}" if _id(entry) else f"bin {content}"),
        namespace="",
        content=content,
        norm_hash=norm_hash(content),
        kind=routing.kind,
        policy=routing.policy,
        importance=routing.importance,
        target=routing.target,
        state="trashed",
        trashed_at=at,
        trash_reason=REASONS.get(str(entry.get("reason")), OUT_OF_DATE),
        created_at=at,
        updated_at=at,
        refs=(ref,) if _id(entry) else (),
        origin=ORIGIN,
    )
    is_cut = len(kept) >= CUT_AT and content == sanitise(kept).strip()
    notes = (*(("text_cut",) if is_cut else ()), *(() if binned_at else ("time_unknown",)))
    return Item(ref=ref, memory=not_later(memory, ground.now), notes=notes)


def _id(entry: Mapping[str, Any]) -> str:
    value = entry.get("memory_id")
    return str(value).strip() if isinstance(value, str | int) else ""


def _content(entry: Mapping[str, Any]) -> str:
    value = entry.get("content")
    return value if isinstance(value, str) else ""


def questions(path: Path, data: bytes, ground: Ground) -> Found:
    """What was asked, by the lines of the log; a line that is none is named, and the others go on."""
    items: list[Item] = []
    problems: list[Problem] = []
    for number, raw in enumerate(data.splitlines(), 1):
        if not raw.strip(b" \t\r\n\x00\xef\xbb\xbf"):
            continue
        found = _question(raw, ground)
        if isinstance(found, str):
            problems.append(Problem(path=path, code=found, where=str(number)))
            continue
        if ground.now - found.at >= timedelta(days=ground.log_days):
            items.append(Item(ref=str(number), left_out="too_old"))
        else:
            items.append(Item(ref=str(number), question=found))
    return Found(path=path, what="questions", items=tuple(items), problems=tuple(problems))


def _question(raw: bytes, ground: Ground) -> Query | str:
    """The question of one line, or a code why it has none."""
    try:
        line: object = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return "not_utf8"
    except (ValueError, RecursionError):
        return "not_json"
    content = cast("dict[str, Any]", line) if isinstance(line, dict) else {}
    text, at = content.get("query"), moment(content.get("ts"), UTC)
    if not isinstance(text, str) or not text.strip() or at is None:
        return "no_question"
    return Query(text=sanitise(text).strip(), at=min(at, ground.now), source="tool")
