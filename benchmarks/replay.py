"""A life lived by the real core on real files, with a simulated clock, and what was seen of it at each step.

The core is that of a server, which lives long and keeps its index. Its background thread does not run, since two runs
of one life shall end alike: its work is done after each step, and the model is waited for. Once a day, at four in the
morning, overflow runs as maintenance would run it.
"""

import os
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import apsw

from benchmarks.life import RULE, Keys, Step, moment
from benchmarks.policies import Need
from memorycore.core import MemoryCore
from memorycore.domain.memory import TARGETS, Draft, Target
from memorycore.embed import EmbeddingService
from memorycore.errors import MemoryCoreError
from memorycore.hot.atomic import locked
from memorycore.hot.document import parse, render, size
from memorycore.hot.tier import FILE_NAMES
from memorycore.options import CoreOptions, EmbedOptions, HotLimit, thresholds_of

MAINTENANCE_AT = 4 / 24  # of a day
TOP_K = 5
PATIENT_MS = 60_000  # a model that is slow today shall not decide where a text goes
ACTOR = "benchmark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One needed key at one question. ``how``: hot, restored, top, or nothing; ``old``: where an old text was shown.

    ``why``: for one that was not hot, where it was, and how it came there.
    """

    day: float
    key: str
    how: str
    old: tuple[str, ...] = ()
    why: str = ""


@dataclass(slots=True, kw_only=True)
class Seen:
    """All that was seen. Sizes are code points; times of calls are milliseconds."""

    served: list[Served] = field(default_factory=list[Served])
    routed: dict[str, str] = field(default_factory=dict[str, str])
    rejected: list[str] = field(default_factory=list[str])
    lost: set[str] = field(default_factory=set[str])
    not_binned: set[str] = field(default_factory=set[str])
    sizes: list[tuple[float, dict[Target, int]]] = field(default_factory=list[tuple[float, dict[Target, int]]])
    above_hard: int = 0
    writes: int = 0
    took_ms: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    moves: Counter[str] = field(default_factory=Counter[str])

    @property
    def needs(self) -> list[Need]:
        rules = [one for one in self.served if one.key.startswith(RULE)]
        return [Need(day=one.day, key=one.key, hot=one.how == "hot") for one in rules]


@dataclass(slots=True, kw_only=True)
class Stage:
    """The open core, its folders, the time that it believes, and what the keys of the life say."""

    core: MemoryCore
    clock: list[float]
    by_hermes: bool = True
    keys: Keys = field(default_factory=Keys)
    ids: dict[str, str] = field(default_factory=dict[str, str])
    seen: Seen = field(default_factory=Seen)

    def path(self, target: Target) -> Path:
        return self.core.options.hot_dir / FILE_NAMES[target]

    def entries(self, target: Target) -> tuple[str, ...]:
        path = self.path(target)
        return parse(path.read_bytes() if path.exists() else b"", path=str(path)).entries

    def rows(self, statement: str, **bound: object) -> list[Any]:
        """Rows of the database as it lies on the disk, asked past the core."""
        path = str(self.core.db.path)
        with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            return list(connection.execute(statement, bound))


def live(
    life: Sequence[Step],
    folder: Path,
    limits: dict[Target, int],
    *,
    model: str = "auto",
    embedding: EmbeddingService | None = None,
) -> Seen:
    """Live a life in an empty folder.

    Args:
        life: Its steps, in order.
        folder: Holds the hot files and the data afterwards.
        limits: Code points for each hot file.
        model: ``auto`` or ``none``, as in the settings.
        embedding: Takes the place of that model.
    """
    stage = open_stage(folder, limits, model, embedding)
    with stage.core:
        next_run = MAINTENANCE_AT
        for step in life:
            while next_run <= step.day:
                stage.clock[0] = next_run
                _ours(stage, "overflow", stage.core.overflow)
                next_run += 1.0
            stage.clock[0] = step.day
            _DO[step.op](stage, step)
            _tend(stage.core)
            stage.seen.sizes.append((step.day, {target: size(stage.entries(target)) for target in TARGETS}))
            stage.seen.lost |= missing(stage)
    stage.seen.moves = _moves(stage)
    return stage.seen


def open_stage(folder: Path, limits: dict[Target, int], model: str, embedding: EmbeddingService | None) -> Stage:
    options = CoreOptions(
        hot_dir=folder / "memories",
        data_dir=folder / "data",
        hot_limits={target: HotLimit(chars=chars) for target, chars in limits.items()},
        thresholds={target: thresholds_of(chars) for target, chars in limits.items()},
        embed=EmbedOptions(model=model),
        store_wait_ms=PATIENT_MS,
    )
    options.hot_dir.mkdir(parents=True)
    clock = [0.0]
    core = MemoryCore(
        options, long_lived=True, clock=lambda: moment(clock[0]), new_id=_ids().__next__, embedding=embedding
    )
    core.embedding.wait_ready(None)
    if core.rooms.index:
        core.rooms.index.warm()
    return Stage(core=core, clock=clock)


def _ids() -> Iterator[str]:
    """The same ids in every run, in order, as a UUIDv7 has it."""
    for number in count(1):
        yield str(uuid.UUID(int=(7 << 76) | (2 << 62) | (number << 80)))


def _tend(core: MemoryCore) -> None:
    """What the background thread would do until nothing is left."""
    while core.fill_vectors().made or core.rooms.later(core.rooms):
        pass
    core.rooms.uses.flush()


def _ours(stage: Stage, name: str, act: Callable[[], Any]) -> Any:
    """A call of the core: timed, its file writes counted, and the files measured where it wrote."""
    before = dict(_written(stage))
    started = time.perf_counter()
    answer = act()
    stage.seen.took_ms.setdefault(name, []).append(1_000 * (time.perf_counter() - started))
    for target, times in _written(stage).items():
        wrote = times - before[target]
        stage.seen.writes += wrote
        hard = stage.core.options.thresholds[target].hard
        stage.seen.above_hard += wrote > 0 and size(stage.entries(target)) > hard
    return answer


def _write(stage: Stage, step: Step) -> None:
    stage.keys.say(step.key, step.content)
    draft = Draft(content=step.content, target=step.target, importance=step.importance)
    try:
        stored = _ours(stage, "write", lambda: stage.core.remember(draft, actor=ACTOR))
    except MemoryCoreError as error:
        stage.seen.rejected.append(f"{step.id} {error.code}")
        return
    stage.ids[step.key] = stored.get("id", "")
    stage.seen.routed[step.id] = stored["status"]
    if stored["status"] in {"refused", "error"} or stored["tier"] == "none":
        stage.seen.rejected.append(f"{step.id} {stored['status']}")
        return
    masked = [note for note in stored.get("gates", []) if note["action"] in {"masked", "redacted"}]
    for (content,) in stage.rows("SELECT content FROM memory WHERE id = :id", id=stored.get("id")) if masked else []:
        stage.keys.texts.discard(step.content)
        stage.keys.say(step.key, content)


def _query(stage: Stage, step: Step) -> None:
    needed = [key for key in step.needs if key in stage.keys.now]
    standing = {entry for target in TARGETS for entry in stage.entries(target)}
    why = {key: "" if _wordings(stage, key) & standing else _why_not_hot(stage, key) for key in needed}
    stage.core.embedding.query(step.content, timeout_s=None)  # kept for the recall, which would not wait so long
    answer = _ours(stage, "recall", lambda: stage.core.recall(step.content, top_k=TOP_K))
    back = {entry for target in TARGETS for entry in stage.entries(target)}
    top = {one["content"] for one in answer["results"] if one.get("state") != "superseded"}
    for key in needed:
        wordings, old = _wordings(stage, key), stage.keys.before[key]
        ways = (("hot", not why[key]), ("restored", wordings & back), ("top", wordings & top))
        how = next((name for name, found in ways if found), "")
        shown = tuple(name for name, texts in (("hot", standing), ("top", top)) if old & texts)
        stage.seen.served.append(Served(day=step.day, key=key, how=how, old=shown, why=why[key]))


def _host_edit(stage: Stage, step: Step) -> None:
    """The user changes an entry, or its pointer; where neither stands in the file the new text is added."""
    entries = list(stage.entries(step.target))
    pointer = _pointer(stage, step.key)
    place = next((place for place, entry in enumerate(entries) if entry in {step.old, pointer}), len(entries))
    entries[place : place + 1] = [step.content]
    _save(stage, step.target, entries)
    stage.keys.say(step.key, step.content)
    _ours(stage, "touch", stage.core.touch)
    found = stage.rows("SELECT id FROM memory WHERE content = :text AND state = 'active'", text=step.content)
    stage.ids[step.key] = found[0][0] if found else ""


def _host_remove(stage: Stage, step: Step) -> None:
    """The user deletes an entry; one that is not in the file is forgotten by its text."""
    entries = list(stage.entries(step.target))
    if step.content in entries:
        entries.remove(step.content)
        _save(stage, step.target, entries)
        _ours(stage, "touch", stage.core.touch)
    else:
        _ours(stage, "forget", lambda: stage.core.forget(step.content, actor="user"))
    stage.keys.end(step.key)
    if not stage.rows("SELECT 1 FROM memory WHERE content = :text AND state = 'trashed'", text=step.content):
        stage.seen.not_binned.add(step.content)


_DO: dict[str, Callable[[Stage, Step], None]] = {
    "write": _write, "query": _query, "host_edit": _host_edit, "host_remove": _host_remove,
}  # fmt: skip


def _save(stage: Stage, target: Target, entries: Sequence[str]) -> None:
    """By turns Hermes, which takes the lock and renames, and an editor, which writes in place and asks nobody."""
    path, data = stage.path(target), render(entries)
    stage.by_hermes = not stage.by_hermes
    if stage.by_hermes:
        path.write_bytes(data)
        return
    with locked(path):
        copy = path.with_name(".mem_benchmark.tmp")
        copy.write_bytes(data)
        copy.replace(path)


def _wordings(stage: Stage, key: str) -> set[str]:
    """The text of a key, and what the memory that took it says by now; never what the key said before."""
    rows = stage.rows("SELECT content FROM memory WHERE id = :id AND state = 'active'", id=stage.ids.get(key))
    return {stage.keys.now[key], *(content for (content,) in rows)} - stage.keys.before[key]


def _pointer(stage: Stage, key: str) -> str | None:
    found = stage.rows(
        "SELECT pointer FROM hot_standing JOIN memory ON seq = memory_seq WHERE id = :id AND residence = 'stub'",
        id=stage.ids.get(key),
    )
    return found[0][0] if found else None


def _why_not_hot(stage: Stage, key: str) -> str:
    """Where the memory of a key is, and why it left the file last, or never came there."""
    found = stage.rows("SELECT state, residence FROM memory WHERE id = :id", id=stage.ids.get(key))
    if not found:
        return "unknown"
    state, residence = found[0]
    if state != "active":
        return state
    moved = stage.rows(
        "SELECT reason FROM event WHERE memory_id = :id AND json_extract(change, '$.residence') IS NOT NULL "
        "AND json_extract(change, '$.residence[0]') <> 'cold' ORDER BY seq DESC LIMIT 1",
        id=stage.ids[key],
    )
    held = stage.rows(
        "SELECT reason FROM event WHERE memory_id = :id AND action = 'held_back' ORDER BY seq DESC LIMIT 1",
        id=stage.ids[key],
    )
    return f"{residence}: {moved[0][0] if moved else held[0][0] if held else 'never hot'}"


def missing(stage: Stage) -> set[str]:
    """Texts that are neither in a file, nor active, ended or binned in the store, nor an earlier wording there."""
    standing = {entry for target in TARGETS for entry in stage.entries(target)}
    kept = stage.rows(
        "SELECT content FROM memory WHERE state <> 'purged' AND NOT (state = 'active' AND residence = 'hot') "
        "UNION SELECT content FROM revision "
        "UNION SELECT json_extract(facts, '$.said') FROM event WHERE json_extract(facts, '$.said') IS NOT NULL"
    )
    return stage.keys.texts - standing - {content for (content,) in kept}


def _moves(stage: Stage) -> Counter[str]:
    """How often a memory went from one place to another, by ``from > to: reason``."""
    rows = stage.rows(
        "SELECT json_extract(change, '$.residence[0]'), json_extract(change, '$.residence[1]'), reason FROM event "
        "WHERE json_extract(change, '$.residence') IS NOT NULL"
    )
    return Counter(f"{source} > {aim}: {reason}" for source, aim, reason in rows)


def _written(stage: Stage) -> dict[Target, int]:
    """How often each hot file was replaced by this process."""
    return {target: _renamed()[os.path.realpath(stage.path(target))] for target in TARGETS}


@cache
def _renamed() -> Counter[str]:
    """How often something was renamed to a path in this process; whoever asks first begins the count."""
    counted: Counter[str] = Counter()

    def listen(event: str, facts: tuple[Any, ...]) -> None:
        if event == "os.rename":
            counted[os.fsdecode(facts[1])] += 1

    sys.addaudithook(listen)
    return counted
