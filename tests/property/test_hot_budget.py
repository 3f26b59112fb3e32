"""Whatever is stored, asked, edited by a host, and whoever dies or is away: the hot files keep what they promise.

Every text that was accepted is somewhere, and none is there twice. No write is refused for room, and none of ours
leaves a file above its hard mark. Nothing moves without a line in the ledger, a reason and a way back; under a running
session nothing leaves but for room.
"""

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft, Event, Memory, Target
from memorycore.domain.pointer import is_fold, is_pointer
from memorycore.domain.text import entry_hash
from memorycore.embed import EmbeddingService
from memorycore.errors import EmbeddingError, MemoryCoreError
from memorycore.hot.document import DELIMITER, size
from memorycore.options import RemoteOptions
from memorycore.store import all_rows, ledger, memories
from memorycore.testing import HashingEmbedder
from tests.cold_services import Foreign, foreign
from tests.crash.budget_rounds import LIMITS, tight
from tests.homes import Home

resource = pytest.importorskip("resource", reason="a disk that is full needs a limit of files")

THINGS = ("valve", "printer", "boiler", "ledger", "archive", "router", "kiln")
PLACES = ("Leeds", "Ghent", "Porto", "Turin")
SHAPES = (
    "Label every {thing} {n} with a date in {place}{more}.",
    "The {thing} {n} is always checked twice before a release{more}.",
    "Always check the {thing} {n} before a release{more}.",
    "Never empty the {thing} {n} without asking{more}.",
    "发布之前一定要检查第{n}号清单，{place}的也要{more}。",
    "The {thing} {n} stands in {place}{more}.",
    "On 2026-01-{day:02} the {thing} {n} was moved to {place}; done{more}.",
    "Tests of {thing} {n} passed.",
)
MORE = ", and tell the people in the office about it"
MARKS = ("[recall", "[召回")  # a pointer, or what a host made of one
ROOMY_BYTES = 24_000  # less than a database needs, more than a hot file and its sidecar
UNDO_STICKS = timedelta(days=29)
numbers = st.integers(min_value=0, max_value=59)


def text_of(shape: str, n: int, more: int) -> str:
    return shape.format(thing=THINGS[n % 7], place=PLACES[n % 4], n=n, day=n % 28 + 1, more=MORE * more)


texts = st.builds(text_of, st.sampled_from(SHAPES), numbers, st.integers(min_value=0, max_value=3))
many = st.lists(texts, min_size=12, max_size=20, unique=True)
files = st.sampled_from(("memory", "memory", "user"))


class Moody(HashingEmbedder):
    """A model that is away at times."""

    down = False

    def embed_passages(self, texts: Sequence[str]) -> Any:
        if self.down:
            raise EmbeddingError(model=self.name, why="unreachable")
        return super().embed_passages(texts)


class HotBudget(RuleBasedStateMachine):
    """One memory with files that are always too small. ``told``: texts that were accepted, or that a host wrote."""

    killer: "subprocess.Popen[str]"
    service: Foreign
    waits = False
    """Whether calls are tried that wait seconds for a store that somebody else holds."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.home = Home(Path(self.folder.name))
        self.home.options = tight(self.home.options)
        self.told: set[str] = set()
        self.doubled: set[str] = set()
        self.dropped: set[str] = set()
        self.stood: dict[str, tuple[str, str]] = {}
        self.stays: dict[str, datetime] = {}
        self.last_event = 0
        self.model: Moody | None = None

    @initialize(vectors=st.booleans(), copies=st.booleans(), known=many, days=st.sampled_from((0, 9, 9, 50)))
    def begin(self, vectors: bool, copies: bool, known: list[str], days: int) -> None:  # noqa: FBT001 hypothesis gives it by name
        self.model = Moody(width=64) if vectors else None
        if copies:
            self.home.options = replace(self.home.options, remote=RemoteOptions(url=self.service.url, timeout_s=0.5))
        self.open()
        for text in known:
            self.store([text], "memory", None)
        self.home.clock.forward(days=days)

    def open(self) -> None:
        service = EmbeddingService.serving(self.model) if self.model else None
        self.core = MemoryCore(self.home.options, long_lived=False, clock=self.home.clock, embedding=service)

    @rule(several=st.lists(texts, min_size=1, max_size=4), file=files, importance=st.sampled_from((None, None, 0.9)))
    def store(self, several: list[str], file: Target, importance: float | None) -> None:
        drafts = [Draft(content=text, target=file, importance=importance) for text in several]
        answers = self.ours(lambda: list(self.core.remember_many(drafts, actor="test")), coming=several)
        assert not {"refused", "error"} & {answer["status"] for answer in answers}
        self.told |= set(several)

    @rule(runs=st.booleans(), days=st.sampled_from((0, 35, 50)))
    def make_room(self, runs: bool, days: int) -> None:  # noqa: FBT001 hypothesis gives it by name
        self.home.clock.forward(days=days)
        if runs:
            self.core.session_seen("s1")
        self.ours(self.core.overflow)

    @rule()
    def preview(self) -> None:
        before = [self.bytes_of(target) for target in LIMITS]
        self.core.overflow(dry_run=True)
        assert before == [self.bytes_of(target) for target in LIMITS]

    @rule(number=numbers, by=st.sampled_from(("words", "pointer", "all")))
    def ask(self, number: int, by: str) -> None:
        pointers = [entry for entry in self.entries("memory") if is_pointer(entry)]
        known = pointers if by == "pointer" and pointers else sorted(self.told) or ["nothing"]
        question = "what is to be done before a release" if by == "all" else known[number % len(known)]
        self.ours(lambda: self.core.recall(question))

    @rule(text=texts, number=numbers, file=files, does=st.sampled_from(("add", "word", "drop", "turn", "double")))
    def host_writes(self, text: str, number: int, file: Target, does: str) -> None:
        """As an editor does, behind our back: the next call finds it."""
        entries = before = self.entries(file)
        if does == "add" or not entries:
            entries, self.doubled = [*entries, text], self.doubled | ({text} & self.told)
        elif does == "word":
            entries = [*entries]
            entries[number % len(entries)] += " Really." if number % 2 else ""
            self.doubled |= {entries[number % len(entries)]} & self.told - set(before)
        elif does == "drop":
            entries = [entry for place, entry in enumerate(entries) if place != number % len(entries)]
        elif does == "turn":
            entries = [*entries[1:], entries[0]]
        else:  # the text of something that is not there stands beside what stands for it
            again = [text for text in sorted(self.told) if text not in entries][:1]
            entries, self.doubled = [*entries, *again], self.doubled | set(again)
        self.dropped |= set(before) - set(entries)
        self.home.options.hot_dir.mkdir(exist_ok=True)
        self.path(file).write_bytes(DELIMITER.join(dict.fromkeys(entries)).encode("utf-8"))
        self.told |= {entry for entry in entries if not entry.startswith(MARKS)}

    @rule(number=numbers)
    def pin(self, number: int) -> None:
        active = [memory.id for memory in self.everything() if memory.state == "active"]
        if active:
            self.core.update(active[number % len(active)], pinned=number % 3 != 0, actor="test")

    @rule(number=numbers)
    def undo(self, number: int) -> None:
        """Somebody takes back that an entry left, or came back."""
        lines = self.core.history(limit=1000, automatic_only=True)["events"]
        moved = [line["event"] for line in lines if line["action"] in {"moved", "trashed"}]
        if moved:
            answer = self.core.undo(event=moved[number % len(moved)], actor="test")
            until = self.home.clock() + UNDO_STICKS
            self.stays |= {line.get("id", ""): until for line in answer["events"] if line["status"] == "undone"}

    @rule(days=st.sampled_from((0.01, 1, 8, 31, 50, -0.02, -3)))
    def time_passes(self, days: float) -> None:
        self.home.clock.forward(days=days)

    @rule(runs=st.booleans())
    def session(self, runs: bool) -> None:  # noqa: FBT001 hypothesis gives it by name
        if runs:
            self.core.session_seen("s1")
        else:
            self.core.rooms.uses.ended(["s1"])

    @rule(down=st.booleans())
    def model_goes_away(self, down: bool) -> None:  # noqa: FBT001 hypothesis gives it by name
        if self.model:
            self.model.down = down

    @rule(status=st.sampled_from((200, 200, 503)), loses=st.sampled_from((0, 0, 2)))
    def cold_store_elsewhere_goes_away(self, status: int, loses: int) -> None:
        """Or does what it is told, and its answer is lost."""
        self.service.set(status=status, loses=loses)
        if self.home.options.remote and status == 200:
            self.core.maintain(["remote"])

    @rule(text=texts, does=st.sampled_from(("store", "store", "overflow", "recall")))
    def disk_is_full(self, text: str, does: str) -> None:
        """The store cannot grow, and what a call has begun cannot be written down as done."""
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOMY_BYTES, resource.RLIM_INFINITY))
        try:
            with contextlib.suppress(MemoryCoreError):
                if does == "store":
                    self.core.remember(Draft(content=text, target="memory"), actor="test")
                    self.told.add(text)
                else:
                    self.core.overflow() if does == "overflow" else self.core.recall(text)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            signal.signal(signal.SIGXFSZ, before)
        self.home.clock.forward(minutes=2)  # who lives and gave up has not ended what it began

    @rule(text=texts, does=st.sampled_from(("recall", "recall", "overflow", "store")))
    def store_is_held(self, text: str, does: str) -> None:
        """Somebody else writes into the store and does not end: nothing leaves a file that cannot be written down."""
        before = [self.entries(target) for target in LIMITS]
        holder = apsw.Connection(str(self.home.options.data_dir / "memorycore.db"))
        holder.execute("BEGIN IMMEDIATE")
        try:
            if does == "recall" or not self.waits:
                self.core.recall(text)
            elif does == "overflow":
                with contextlib.suppress(MemoryCoreError):
                    self.core.overflow()
            else:
                with contextlib.suppress(MemoryCoreError):
                    self.core.remember(Draft(content=text, target="memory"), actor="test")
                    self.told.add(text)
            assert before == [self.entries(target) for target in LIMITS]
        finally:
            holder.execute("ROLLBACK")
            holder.close()

    @rule(text=texts, does=st.sampled_from(("store", "store", "overflow", "recall")), kill_at=st.integers(1, 1_800))
    def somebody_dies(self, text: str, does: str, kill_at: int) -> None:
        now = self.home.clock().isoformat()
        url = self.home.options.remote.url if self.home.options.remote else ""
        order = {"root": str(self.home.root), "now": now, "does": does, "text": text, "kill_at": kill_at, "url": url}
        assert self.killer.stdin is not None
        assert self.killer.stdout is not None
        self.killer.stdin.write(json.dumps(order) + "\n")
        self.killer.stdin.flush()
        end = json.loads(self.killer.stdout.readline())
        assert end in {"killed", "done"}
        if does == "store" and end == "done":
            self.told.add(text)

    @rule()
    def start_again(self) -> None:
        self.core.close()
        self.open()

    def ours(self, act: Callable[[], Any], *, coming: Sequence[str] = ()) -> Any:
        """Do something of ours: it leaves no file above its hard mark, nor takes what a running session has seen."""
        self.core.touch()
        before = {target: self.entries(target) for target in LIMITS}
        runs = self.core.rooms.session_runs()
        undone = self.undone_and_hot()
        answer = act()
        left = undone - self.undone_and_hot() - {one.id for one in self.everything() if one.state == "superseded"}
        assert not left, "an undo sticks"
        for target, marks in self.home.options.thresholds.items():
            entries = self.entries(target)
            assert size(entries) <= max(marks.hard, size(before[target]))
            gone = [entry for entry in before[target] if entry not in entries and not is_fold(entry)]
            came = [entry for entry in entries if entry not in before[target] and not entry.startswith(MARKS)]
            if runs and self.active(gone):
                assert size([*before[target], *(coming or came)]) > marks.hard
        return answer

    @invariant()
    def every_text_is_there_and_none_twice(self) -> None:
        self.core.touch()
        self.core.touch()
        assert self.told - self.all_texts() == set()
        gone = {memory.content for memory in self.everything() if memory.trash_reason == "host_removed"}
        assert gone <= self.dropped, "nobody else took it out"
        said = Counter(memory.norm_hash for memory in self.everything() if memory.state == "active")
        twice = {memory.content for memory in self.everything() if said[memory.norm_hash] > 1}
        assert twice <= self.doubled, "a host may well write one text into both files"
        for target, tier in self.core.rooms.tiers.items():
            with self.core.db.read() as c:
                assert all_rows(c, "all_open_intents", {"namespace": "default"}) == []
                rows = memories.select(c, "file_memories", namespace=tier.namespace, hot_tier=tier.id)
                stale = all_rows(c, "stale_pointers", {"namespace": tier.namespace, "hot_tier": tier.id})
            found = {entry_hash(entry) for entry in self.entries(target) if not is_fold(entry)}
            beside_their_texts = {entry_hash(pointer) for *_, pointer in stale}
            assert {row.entry_key for row in rows} == found - beside_their_texts, (target, rows, self.entries(target))
            assert len(rows) == len({row.entry_key for row in rows})

    @invariant()
    def nothing_moves_without_a_reason_and_a_way_back(self) -> None:
        with self.core.db.read() as c:
            news = [event for event in ledger.newest(c, self.core.namespaces) if event.seq > self.last_event]
        stands = {memory.id: (memory.state, memory.residence) for memory in self.everything()}
        told = {event.memory_id: event for event in reversed(news)}
        for moved in (one for one in stands if self.stood.get(one, ("", "")) != stands[one]):
            assert moved in told, stands[moved]
            assert told[moved].reason or told[moved].action in {"added", "restored", "undone"}, told[moved]
        lines = {line["event"]: line for line in self.core.history(limit=1000)["events"]}
        for event in told.values():
            if event.automatic and event.action in {"moved", "trashed"}:
                assert lines[event.seq]["can_undo"], event
        self.stood, self.last_event = stands, max([self.last_event, *(event.seq for event in news)])

    def teardown(self) -> None:
        try:
            self.service.set(status=200, loses=0)
            if hasattr(self, "core"):
                self.core.close()
        finally:
            self.folder.cleanup()

    def path(self, target: Target) -> Path:
        return self.home.memory_file if target == "memory" else self.home.user_file

    def bytes_of(self, target: Target) -> bytes:
        return self.path(target).read_bytes() if self.path(target).exists() else b""

    def entries(self, target: Target) -> list[str]:
        return [entry for entry in self.bytes_of(target).decode("utf-8").split(DELIMITER) if entry]

    def undone_and_hot(self) -> set[str]:
        """Ids of hot memories whose leaving somebody took back not long ago."""
        now = self.home.clock()
        hot = {memory.id for memory in self.everything() if (memory.state, memory.residence) == ("active", "hot")}
        return {one for one, until in self.stays.items() if until > now and one in hot}

    def active(self, entries: Sequence[str]) -> list[str]:
        """Those of them that nobody said anything newer about."""
        active = {memory.content for memory in self.everything() if memory.state == "active"}
        return [entry for entry in entries if entry in active]

    def everything(self) -> list[Memory]:
        with self.core.db.read() as c:
            where = {"seq": 0, "namespaces": json.dumps(self.core.namespaces), "limit": 1_000}
            return memories.select(c, "memories_after", **where)

    def all_texts(self) -> set[str]:
        """Every text that a memory says or once said, and every one that the ledger has as said."""
        found = {memory.content for memory in self.everything()}
        with self.core.db.read() as c:
            events: list[Event] = ledger.newest(c, self.core.namespaces)
        for event in events:
            found |= {str(text) for text in event.change.get("content", ())}
            found |= {str(event.facts["said"])} if "said" in event.facts else set()
        return found


def keep_their_promises(lives: int, steps: int, *, shrink: bool, waits: bool = False) -> None:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    phases = [Phase.generate, *([Phase.shrink] if shrink else [])]  # it takes minutes to find the shortest such life
    command = [sys.executable, "-m", "tests.crash.budget_rounds"]
    pipes = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
    with pipes as killer, foreign("literal") as service:
        HotBudget.killer, HotBudget.service, HotBudget.waits = killer, service, waits
        try:
            run_state_machine_as_test(
                HotBudget,
                settings=settings(
                    max_examples=lives, stateful_step_count=steps, phases=phases, deadline=None,
                    suppress_health_check=slow,
                ),
            )  # fmt: skip
        finally:
            killer.communicate()


def test_the_hot_files_keep_their_promises_whatever_happens() -> None:
    keep_their_promises(lives=3, steps=16, shrink=False)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_the_hot_files_keep_their_promises_in_a_long_run() -> None:
    keep_their_promises(lives=400, steps=40, shrink=True, waits=True)
