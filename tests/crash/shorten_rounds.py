"""Kills a process at every step of putting a shorter text in the place of a longer one. Run by ``test_shorten_crash``.

As ``core_rounds``; the model is a service of the parent, whose answer has come when a child dies behind it.
"""

import json
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from memorycore.core import MemoryCore
from memorycore.core.shorten import shorten
from memorycore.domain.memory import Draft
from memorycore.govern import opinions
from memorycore.lifecycle.rows import Cause
from memorycore.lifecycle.way_back import COMPRESSED
from memorycore.llm import ChatEndpoint
from memorycore.store import all_rows
from tests.crash.rounds import Rounds
from tests.homes import Clock, Home, rule
from tests.llm_stub import Stub, says, stub
from tests.unit.test_shortening import RELEASE, SHORT_RELEASE

LONG_AGO = datetime(2020, 3, 2, tzinfo=UTC)
OTHERS = [rule(number).content for number in range(40)]  # so that the file is above its aim


def act(core: MemoryCore, served: Stub) -> None:
    endpoint = ChatEndpoint(served.options())
    cause = Cause(actor="llm", at=core.rooms.clock(), reason=COMPRESSED, run=core.rooms.new_id(), automatic=True)
    core.touch()
    shorten(core.rooms, core.rooms.tiers["memory"], endpoint, cause, ends_at=float("inf"))


def prepare(root: Path) -> None:
    home = Home(root, clock=Clock(now=LONG_AGO))
    home.write_memory_file(*OTHERS)
    with home.core() as core:
        core.touch()
        assert core.remember(Draft(content=RELEASE, target="memory"), actor="setup")["tier"] == "hot"


def look(root: Path, *, acknowledged: bool) -> str:
    """Which state is left, ``old`` or ``new``; anything else is a fault."""
    home = Home(root)
    with home.core() as core:
        core.touch()
        core.touch()
        entries = home.entries()
        state = {RELEASE: "old", SHORT_RELEASE: "new"}[entries[-1]]
        assert entries[:-1] == OTHERS, "another entry changed"
        memory = core.rooms.named(entries[-1])
        assert memory is not None
        assert memory.residence == "hot"
        with core.db.read() as c:
            assert all_rows(c, "all_open_intents", {"namespace": "default"}) == []
            is_due = bool(opinions.due(c, "default", "shorten", [memory], core.rooms.clock()))
        assert is_due is (state == "old"), (
            "what was shortened is not shortened once more, and nothing else is held back"
        )
        if state == "new":
            assert [earlier["content"] for earlier in core.inspect(memory.id)["revisions"]] == [RELEASE]
            (event,) = core.history(automatic_only=True, limit=1)["events"]
            core.undo(actor="parent", event=event["event"])
            assert home.entries() == [*OTHERS, RELEASE]
    assert state == "new" or not acknowledged
    return state


def main() -> None:
    """The number of rounds is the argument; the states on stdout, as JSON."""
    states: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder, stub(lambda _: says(json.dumps({"text": SHORT_RELEASE}))) as served:
        base = Path(folder)
        prepare(base / "home")
        (base / "home").rename(base / "before")  # a hot file belongs to its folder
        killed = Rounds(base, lambda core: act(core, served), pure=("domain", "llm", "intake", "govern"))
        lines = killed.count_lines()
        step = max(1, lines // int(sys.argv[1]))
        for kill_at in range(1, lines + step, step):
            state = look(base / "home", acknowledged=killed.one_round(kill_at))
            states[state] = states.get(state, 0) + 1
    print(json.dumps(states))  # noqa: T201 the answer of this program


if __name__ == "__main__":
    main()
