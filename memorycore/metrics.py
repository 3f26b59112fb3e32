"""What this process counts about its own work: plain numbers in memory, of which ``/metrics`` makes a page.

Every one is declared below; a name that is not is a mistake of ours. No text of a memory, no question and no name of a
session ever becomes a label.
"""

import threading
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]
Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """``labels`` in the order in which they are shown; ``help`` is one line of English, as Prometheus has it."""

    kind: Kind
    help: str
    labels: tuple[str, ...] = ()


DECLARED: Mapping[str, Metric] = {
    "memorycore_calls_total": Metric(
        kind="counter",
        help="Calls of tools and API routes, by the way they came and how they ended.",
        labels=("call", "via", "outcome"),
    ),
    "memorycore_call_duration_seconds": Metric(
        kind="histogram", help="Time from the start of a call's work to its answer.", labels=("call",)
    ),
    "memorycore_calls_turned_away_total": Metric(
        kind="counter", help="Calls that were refused because their client had too many under way."
    ),
    "memorycore_calls_running": Metric(kind="gauge", help="Calls that are being worked on."),
    "memorycore_calls_waiting": Metric(kind="gauge", help="Calls that wait for their turn."),
    "memorycore_requests_refused_total": Metric(
        kind="counter",
        help="HTTP requests refused before they became a call: host, origin, token, size, or no such route.",
        labels=("reason",),
    ),
    "memorycore_stores_total": Metric(
        kind="counter", help="Texts given to be stored, by what became of them.", labels=("status",)
    ),
    "memorycore_prefetch_memories_total": Metric(
        kind="counter", help="Memories found for a turn, given or left out, and why.", labels=("outcome",)
    ),
    "memorycore_clients_open": Metric(
        kind="gauge", help="Clients that are connected now, by the way they came.", labels=("via",)
    ),
    "memorycore_steps_total": Metric(
        kind="counter", help="Runs of maintenance steps, by how they ended.", labels=("step", "outcome")
    ),
    "memorycore_memories": Metric(kind="gauge", help="Memories in use, by tier.", labels=("tier",)),
    "memorycore_memories_in_bin": Metric(kind="gauge", help="Memories in the recycle bin."),
    "memorycore_hot_file_characters": Metric(kind="gauge", help="Length of a prompt file.", labels=("target",)),
    "memorycore_hot_file_limit_characters": Metric(
        kind="gauge", help="Most characters that a prompt file may hold.", labels=("target",)
    ),
    "memorycore_vectors_pending": Metric(kind="gauge", help="Memories that still wait for their vector."),
    "memorycore_database_size_bytes": Metric(kind="gauge", help="Size of the database file."),
    "memorycore_degraded": Metric(kind="gauge", help="1 while something works with less than it should, else 0."),
    "memorycore_build_info": Metric(kind="gauge", help="1; the version is in the label.", labels=("version",)),
    "process_start_time_seconds": Metric(kind="gauge", help="When this process began, in seconds since 1970."),
}
BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
ALL = "+Inf"


@dataclass(slots=True)
class _Spread:
    """How many values fell below each bound, and their sum."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_S) + 1))
    total: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One line of the page: a name with what is appended to it, its labels, and the value."""

    name: str
    labels: Labels
    value: float


_lock = threading.Lock()
_numbers: dict[tuple[str, Labels], float] = {}
_spreads: dict[tuple[str, Labels], _Spread] = {}


def add(name: str, by: float = 1.0, **labels: str) -> None:
    """Count something that happened; ``by`` below 0 only on a gauge, when something has gone."""
    key = (name, _labels(name, labels))
    with _lock:
        _numbers[key] = _numbers.get(key, 0.0) + by


def put(name: str, value: float, **labels: str) -> None:
    """How much of something there is."""
    key = (name, _labels(name, labels))
    with _lock:
        _numbers[key] = value


def observe(name: str, seconds: float, **labels: str) -> None:
    """How long something took."""
    key = (name, _labels(name, labels))
    with _lock:
        spread = _spreads.setdefault(key, _Spread())
        spread.counts[bisect_left(BOUNDS_S, seconds)] += 1
        spread.total += seconds


def samples() -> dict[str, list[Sample]]:
    """Everything that has a value, by declared name, in the order of declaration."""
    with _lock:
        numbers = dict(_numbers)
        spreads = {key: _Spread(list(spread.counts), spread.total) for key, spread in _spreads.items()}
    found: dict[str, list[Sample]] = {name: [] for name in DECLARED}
    for (name, labels), value in sorted(numbers.items()):
        found[name].append(Sample(name=name, labels=labels, value=value))
    for (name, labels), spread in sorted(spreads.items(), key=lambda item: item[0]):
        found[name] += _of_spread(name, labels, spread)
    return {name: some for name, some in found.items() if some}


def _of_spread(name: str, labels: Labels, spread: _Spread) -> Iterator[Sample]:
    below = 0
    for bound, count in zip((*map(str, BOUNDS_S), ALL), spread.counts, strict=True):
        below += count
        yield Sample(name=f"{name}_bucket", labels=(*labels, ("le", bound)), value=below)
    yield Sample(name=f"{name}_sum", labels=labels, value=spread.total)
    yield Sample(name=f"{name}_count", labels=labels, value=below)


def _labels(name: str, given: Mapping[str, str]) -> Labels:
    """In the declared order; a name that was not declared, or another set of labels, is a mistake in our code."""
    declared = DECLARED[name].labels
    if set(declared) != set(given):
        raise KeyError(f"{name}: {sorted(given)}")
    return tuple((label, given[label]) for label in declared)
