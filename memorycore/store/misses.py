"""What programs around the memory went without: calls of theirs that no answer came to in time. Counted for a week."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import apsw

from memorycore.store import progress

NAME = "missed"
SPAN = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Misses:
    """``counts`` by program, call and reason, as in ``hermes prefetch:timeout``, ``since`` a moment."""

    since: datetime | None
    counts: Mapping[str, int]


NONE = Misses(since=None, counts={})


def add(c: apsw.Connection, namespace: str, counts: Mapping[str, int], now: datetime) -> None:
    """Count them to those of the week that began with the first."""
    known = of(c, namespace, now)
    total = Counter(known.counts) + Counter(counts)
    value = {"since": (known.since or now).timestamp(), "counts": total}
    progress.put(c, namespace, NAME, json.dumps(value), now)


def of(c: apsw.Connection, namespace: str, now: datetime) -> Misses:
    """Those of the week that is under way; ``NONE`` when it is over."""
    found = progress.of(c, namespace, NAME)
    if not found.value:
        return NONE
    value = json.loads(found.value)
    since = datetime.fromtimestamp(value["since"], tz=now.tzinfo)
    return NONE if now - since > SPAN else Misses(since=since, counts=value["counts"])
