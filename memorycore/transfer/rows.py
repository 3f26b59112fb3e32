"""Rows of the predecessor's database → memories.

It kept texts in ``working_memory`` and dropped those that were older than a week whenever a new one came (unless they
had been consolidated), without saying so; a second table still has them. Those come back, marked as such.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from memorycore.domain.memory import MAX_CONTENT_BYTES, Memory
from memorycore.domain.routing import route
from memorycore.domain.text import norm_hash, sanitise
from memorycore.store.predecessor import Read, Row
from memorycore.transfer.found import ORIGIN, Ground, Item, derived_id, moment, not_later

SESSION = "memorycore"  # under which the predecessor kept everything that was not one author's alone
DROPPED_AFTER = timedelta(days=7)
MOST_ZONES = timedelta(hours=15)  # two clocks of one machine differ by no more
_DAY_LENGTH = len("2026-01-31")


def items_of(read: Read, ground: Ground, *, binned: Collection[str]) -> list[Item]:
    """Every row as an item. ``binned``: ids that stand in the predecessor's bin.

    A row of the second table counts only where the first one has dropped it: not where it is still there, was put into
    the bin, or is younger than what was dropped, since then somebody removed it.
    """
    first = [row for row in read.rows if row.table != "memories"]
    second = [row for row in read.rows if row.table == "memories"]
    if not read.tables & {"working", "episodic"}:  # an old version, of which the second table is the only one
        return [_item(row, ground) for row in second]
    live = ids_of(first)
    items = [_item(row, ground) for row in first]
    left = [_item(row, ground) for row in second if not row.broken and _id(row) not in live and _id(row) not in binned]
    last = max((item.memory.updated_at for item in (*items, *left) if item.memory), default=ground.now)
    return [*items, *(_dropped(item, last) for item in left)]


def ids_of(rows: Iterable[Row]) -> frozenset[str]:
    return frozenset(_id(row) for row in rows if not row.broken)


def texts_of(read: Read) -> dict[str, str]:
    """Every text by its id there, that of the first table where both have one."""
    ranked = sorted((row for row in read.rows if not row.broken), key=lambda row: row.table != "memories")
    return {_id(row): _text(row.columns.get("content")) for row in ranked}


def _dropped(item: Item, last: datetime) -> Item:
    """An item of the second table; ``last``: when the predecessor wrote for the last time."""
    if item.memory is None:
        return item
    if last - item.memory.updated_at < DROPPED_AFTER:
        return Item(ref=item.ref, left_out="removed_there")
    return Item(ref=item.ref, memory=item.memory, notes=("dropped_there",))


def _item(row: Row, ground: Ground) -> Item:
    ref = _id(row) or f"{row.table} {row.number}"
    if row.broken:
        return Item(ref=f"{row.table} {row.number}", left_out=row.broken)
    columns = row.columns
    content = sanitise(_text(columns.get("content"))).strip()
    if not content:
        return Item(ref=ref, left_out="empty")
    if len(content.encode("utf-8", "surrogatepass")) > MAX_CONTENT_BYTES:
        return Item(ref=ref, left_out="too_long")
    if columns.get("session_id", SESSION) != SESSION and columns.get("scope", "session") != "global":
        return Item(ref=ref, left_out="others_session")
    return Item(ref=ref, memory=not_later(_memory(row, ref, content, ground), ground.now))


def _memory(row: Row, ref: str, content: str, ground: Ground) -> Memory:
    columns = row.columns
    routing = route(content)
    created, updated = _times(columns, ground)
    importance = _number(columns.get("importance"), most=1.0)
    is_summary = row.table == "episodic" and bool(columns.get("summary_of"))
    replaced = bool(columns.get("superseded_by"))
    return Memory(
        id=derived_id(f"row {ref}"),
        namespace="",
        content=content,
        norm_hash=norm_hash(content),
        kind="episode_summary" if is_summary else routing.kind,
        policy=routing.policy,
        protected=routing.protected,
        target=routing.target,
        state="superseded" if replaced else "active",
        importance=routing.importance if importance is None else importance,
        importance_given=importance is not None,
        pinned=bool(_number(columns.get("pinned"), most=1.0)),
        created_at=created,
        updated_at=updated,
        occurred_at=_day(columns.get("event_date"), ground),
        valid_until=moment(columns.get("valid_until"), ground.zone),
        last_used_at=moment(columns.get("last_recalled"), ground.zone),
        use_count=int(_number(columns.get("recall_count"), most=2**31) or 0),
        author=_text(columns.get("author_id")),
        refs=(ref,),
        origin=ORIGIN,
    )


def _times(columns: Mapping[str, Any], ground: Ground) -> tuple[datetime, datetime]:
    """When a row was made, and when its text was said last.

    ``timestamp`` is the local time of that machine, ``created_at`` that of SQLite, in UTC. A row that was put there by
    a restore is younger than its text.
    """
    said, made = moment(columns.get("timestamp"), ground.zone), moment(columns.get("created_at"), UTC)
    if said is None or made is None:
        known = said or made or ground.now
        return known, known
    if abs(made - said) <= MOST_ZONES:
        return made, made
    return min(made, said), said


def _day(value: object, ground: Ground) -> datetime | None:
    return moment(value, ground.zone) if isinstance(value, str) and len(value.strip()) >= _DAY_LENGTH else None


def _id(row: Row) -> str:
    return _text(row.columns.get("id")).strip()


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def _number(value: object, *, most: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 no number
        return None
    return float(min(max(value, 0), most))
