"""Whatever is stored, changed, forgotten, restored and undone, in whatever order: no acknowledged text is ever lost.

A text is there when a memory says it, when it was a wording of one, or when the ledger has it as said. What is there
can be brought back by the commands that a person has: restore and undo.
"""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.errors import InvalidInput, NotFound
from memorycore.options import HotLimit
from memorycore.store import ledger
from tests.homes import Home

# Texts that do something to each other: replace, refine, repeat, contradict, limit. Rules, facts, finished status.
TEXTS = (
    "The public API listens on port 8443.",
    "The public API now listens on port 9443.",
    "The public API now listens on port 9555.",
    "Oskar keeps the servers.",
    "Oskar keeps the servers and lives in Gdansk.",
    "The printer in room 1 was bought in Leeds.",
    "In Leeds the printer in room 1 was bought.",
    "The backup starts at 03:15.",
    "The backup starts at 04:15.",
    "Always answer in English.",
    "From now on, always answer in German.",
    "This time, answer in French.",
    "Always use ruff.",
    "Always use ruff, with a line length of 120.",
    "Never push to main.",
    "From now on, you may push to main.",
    "Tests passed, CI is green.",
    "服务器在法兰克福。",
    "服务器现在在新加坡。",
)
MOST_STEPS_BACK = 40
numbers = st.integers(min_value=0, max_value=999)


class Memory(RuleBasedStateMachine):
    """One memory under random commands. ``told`` are the texts that were acknowledged."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.home = Home(Path(self.folder.name))
        self.told: set[str] = set()

    @initialize(small=st.booleans())
    def open(self, small: bool) -> None:  # noqa: FBT001 hypothesis gives it by name
        """With room for all, or with files that hold two or three entries."""
        chars = 200 if small else 5_000
        limits = {name: HotLimit(chars=chars) for name in ("memory", "user")}
        self.home.options = replace(self.home.options, hot_limits=limits)
        self.core = MemoryCore(self.home.options, long_lived=False, clock=self.home.clock)

    @rule(text=st.sampled_from(TEXTS))
    def store(self, text: str) -> None:
        if self.core.remember(Draft(content=text, target="memory"), actor="test")["status"] != "refused":
            self.told.add(text)

    @rule(text=st.sampled_from(TEXTS), number=numbers)
    def update(self, text: str, number: int) -> None:
        if chosen := self.one_of("active", number):
            try:
                self.core.update(chosen, content=text, actor="test")
            except (InvalidInput, NotFound):
                return
            self.told.add(text)

    @rule(number=numbers)
    def forget(self, number: int) -> None:
        if chosen := self.one_of("active", number):
            self.core.forget(chosen, actor="test")

    @rule(number=numbers)
    def restore(self, number: int) -> None:
        if chosen := self.one_of("trashed", number):
            try:
                self.core.restore(chosen, actor="test")
            except InvalidInput:  # the same text is active under another id
                return

    @rule(number=numbers)
    def undo(self, number: int) -> None:
        events = self.core.history(limit=1000)["events"]
        if events:
            self.core.undo(actor="test", event=events[number % len(events)]["event"])

    @rule(number=numbers)
    def undo_a_run(self, number: int) -> None:
        runs = [line["run"] for line in self.core.history(limit=1000)["events"] if "run" in line]
        if runs:
            self.core.undo(actor="test", run=runs[number % len(runs)])

    @rule()
    def undo_the_last(self) -> None:
        self.core.undo(actor="test", last=True)

    @rule(minutes=st.sampled_from((1, 30, 24 * 60)))
    def undo_what_was_automatic(self, minutes: int) -> None:
        since = self.home.clock()
        self.home.clock.forward(minutes=minutes)
        self.core.undo(actor="test", since=since)

    @precondition(lambda self: self.home.entries())
    @rule(text=st.sampled_from(TEXTS), number=numbers)
    def edit_the_file(self, text: str, number: int) -> None:
        """As a host or an editor does: reword an entry, or take it out."""
        entries = self.home.entries()
        place = number % len(entries)
        if number % 3 == 0:
            del entries[place]
        elif text not in entries:
            entries[place] = text
            self.told.add(text)
        self.home.write_memory_file(*entries)
        self.core.touch()

    @rule()
    def start_again(self) -> None:
        self.core.close()
        self.core = MemoryCore(self.home.options, long_lived=False, clock=self.home.clock)

    @invariant()
    def every_text_is_there(self) -> None:
        assert self.told - self.texts() == set()

    @invariant()
    def file_and_rows_agree(self) -> None:
        rows = [row["text"] for row in self.core.audit("memory")["targets"][0]["rows"] if row["id"]]
        assert sorted(rows) == sorted(self.home.entries())

    def teardown(self) -> None:
        try:
            if hasattr(self, "core"):
                for text in sorted(self.told):
                    self.bring_back(text)
                self.core.close()
        finally:
            self.folder.cleanup()

    def lines(self) -> list[dict[str, Any]]:
        return [dict(line) for line in self.core.export()]

    def one_of(self, state: str, number: int) -> str:
        found = [str(line["memory_id"]) for line in self.lines() if line["state"] == state]
        return found[number % len(found)] if found else ""

    def texts(self) -> set[str]:
        """Every text that a memory says or once said, and every one that the ledger has as said."""
        found = {str(line["content"]) for line in self.lines()}
        with self.core.db.read() as c:
            for event in ledger.newest(c, self.core.namespaces):
                found |= {str(text) for text in event.change.get("content", ())}
                found |= {str(event.facts["said"])} if "said" in event.facts else set()
        return found

    def bring_back(self, text: str) -> None:
        """Restore and undo until somebody says the text again."""
        for _ in range(MOST_STEPS_BACK):
            lines = self.lines()
            if any(line["content"] == text and line["state"] == "active" for line in lines):
                return
            binned = [line for line in lines if line["content"] == text and line["state"] == "trashed"]
            if binned:
                self.core.restore(str(binned[0]["memory_id"]), actor="test")
                continue
            assert self.undo_what_hides(text, lines), f"nothing brings back {text!r}"
        pytest.fail(f"too many steps to bring back {text!r}")

    def undo_what_hides(self, text: str, lines: list[dict[str, Any]]) -> bool:
        """Undo one event after which the text may be there: the last that took it away, or what came after that."""
        superseded = {line["memory_id"] for line in lines if line["content"] == text and line["state"] == "superseded"}
        with self.core.db.read() as c:
            events = [event for event in ledger.newest(c, self.core.namespaces) if event.undone_by is None]
        for event in events:
            took = event.change.get("content", [""])[0] == text
            ended = event.action == "superseded" and event.memory_id in superseded
            counted = event.facts.get("said") == text
            if (took or ended or counted) and self.undo_with_what_is_in_the_way(event.seq):
                return True
        return False

    def undo_with_what_is_in_the_way(self, event: int) -> bool:
        """What came after it is undone first, and another memory that has the text by now is forgotten."""
        for _ in range(MOST_STEPS_BACK):
            one: Any = self.core.undo(actor="test", event=event)["events"][-1]
            if one["status"] != "conflict":
                return one["status"] == "undone"
            if "other" in one:
                self.core.forget(one["other"], actor="test")
            event = one.get("by", event)
        return False


def test_no_acknowledged_text_is_ever_lost() -> None:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    run_state_machine_as_test(
        Memory,
        settings=settings(max_examples=3, stateful_step_count=12, deadline=None, suppress_health_check=slow),
    )


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_no_acknowledged_text_is_ever_lost_in_a_long_run() -> None:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    run_state_machine_as_test(
        Memory,
        settings=settings(max_examples=1_000, stateful_step_count=40, deadline=None, suppress_health_check=slow),
    )
