"""What programs around the memory went without: calls of theirs that no answer came to in time. Counted for a week.

The plugin of a host keeps in a small file what it could not tell any daemon yet.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw

from memorycore.store import progress

NAME = "missed"
SPAN = timedelta(days=7)
MOST_BYTES = 65_536
IN_VAIN = 3  # questions in a row without an answer are more than a daemon that was just starting


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold:
    """What the plugin has told no daemon yet: ``misses``, and how many questions in a row got no answer."""

    misses: Misses = NONE
    in_vain: int = 0


def untold(data_dir: Path, hot_dir: Path) -> Untold:
    """What waits in the file of the plugin that works for the home of this directory."""
    mark = hashlib.sha256(os.path.realpath(hot_dir).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    file = data_dir / f"hermes-missed-{mark}.json"
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError), file.open("rb") as opened:
        found: Any = json.loads(opened.read(MOST_BYTES))
        counts = {f"hermes {call}": int(count) for call, count in found["missed"].items()}
        written = datetime.fromtimestamp(os.fstat(opened.fileno()).st_mtime, tz=UTC)
        return Untold(misses=Misses(since=written, counts=counts), in_vain=int(found["in_vain"]))
    return Untold()
