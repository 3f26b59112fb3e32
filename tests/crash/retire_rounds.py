"""Kills a process at every step of a rearrangement and looks at what is left. Run by ``test_retire_crash``.

Each round forks a child that is killed with SIGKILL at the k-th executed line of MemoryCore; the parent then opens the
memory like any other process would. Every text is in use, each has the place that its row says, and what left the
file left it whole or not at all. What had been promised a place gets it, also where nothing left for it (``came``).
"""

import json
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.domain.text import entry_hash
from memorycore.lifecycle import hot, retire
from memorycore.lifecycle.retire import Leaving
from memorycore.store import all_rows, memories
from tests.crash.rounds import Rounds
from tests.homes import Home, rule

FIRST, SECOND, THIRD = (rule(number).content for number in (1, 2, 3))
STUB = "Always answer in short sentences."
POINTER = "[recall] sentences · answer"
# What stands in the file before and after.
STATES = {
    "retire": ([FIRST, SECOND, THIRD, STUB], [FIRST, POINTER]),
    "swap": ([FIRST, SECOND, THIRD, POINTER], [FIRST, THIRD, STUB]),
    "undo": ([FIRST, SECOND, THIRD, POINTER], [FIRST, SECOND, THIRD, STUB]),
    "undo_restore": ([FIRST, SECOND, THIRD, STUB], [FIRST, SECOND, THIRD, POINTER]),
    "renew": ([FIRST, SECOND, THIRD, POINTER], [FIRST, SECOND, THIRD, "[recall] riddles"]),
}
WORDED = "Always answer in riddles."


def leaving(core: MemoryCore, text: str, **how: Any) -> Leaving:
    memory = core.rooms.named(text)
    assert memory is not None
    return Leaving(memory=memory, reason="evicted", **how)


def rearrange(core: MemoryCore, *out: Leaving, back: str = "") -> None:
    cause, tier = core.rooms.cause("child", "restored_by_recall"), core.rooms.tiers["memory"]
    begun: list[hot.Begun] = []
    if back:
        memory = core.rooms.named(back)
        assert memory is not None
        with core.db.write() as c:
            begun.append(hot.begin(c, tier, memory, "add", cause))
    retire.rearrange(core.db, tier, out, begun, cause)


def act(core: MemoryCore, operation: str) -> None:
    core.touch()
    if operation == "retire":
        rearrange(
            core,
            leaving(core, STUB, how="stub", pointer=POINTER),
            leaving(core, SECOND, how="cold"),
            leaving(core, THIRD, how="bin"),
        )
    elif operation == "swap":
        rearrange(core, leaving(core, SECOND, how="cold"), back=STUB)
    elif operation == "renew":
        memory = core.rooms.named(STUB)
        assert memory is not None
        core.update(memory.id, content=WORDED, actor="child")
    else:
        moved = next(line for line in core.history()["events"] if line["action"] == "moved")
        core.undo(event=moved["event"], actor="child")


def prepare(root: Path, operation: str) -> None:
    with Home(root).core() as core:
        for text in (FIRST, SECOND, THIRD, STUB):
            core.remember(Draft(content=text, target="memory"), actor="setup")
        if operation != "retire":
            rearrange(core, leaving(core, STUB, how="stub", pointer=POINTER))
        if operation == "undo_restore":
            rearrange(core, back=STUB)


def look(root: Path, operation: str, *, acknowledged: bool) -> str:
    """Which state is left: ``old`` or ``new``; anything else is a fault."""
    home = Home(root)
    with home.core() as core:
        core.touch()
        core.touch()
        entries = home.entries()
        assert home.memory_file.read_bytes().decode("utf-8") == "\n§\n".join(entries), "not canonical"
        check = core.maintain(["integrity"])["steps"][0]
        assert (check["database"], check["repaired"]) == ("ok", False), check
        lines = {str(line["content"]): (line["state"], line["tier"]) for line in core.export()}
        with core.db.read() as c:
            tier = core.rooms.tiers["memory"]
            assert all_rows(c, "all_open_intents", {"namespace": "default"}) == []
            rows = memories.select(c, "file_memories", namespace="default", hot_tier=tier.id)
        assert {row.entry_key for row in rows} == set(map(entry_hash, entries)), f"file and rows differ: {entries}"
        sidecar = tier.look().sidecar.entries
        assert {row.entry_key: row.id for row in rows} == {key: sidecar[key].id for key in map(entry_hash, entries)}
    kept = {WORDED if text == STUB and WORDED in lines else text for text in (FIRST, SECOND, THIRD, STUB)}
    assert kept == set(lines), f"a text is lost or there twice: {lines}"
    assert all(state == "active" or (text == THIRD and operation == "retire") for text, (state, _) in lines.items())
    old, new = STATES[operation]
    if operation == "renew" and WORDED not in lines:
        new = []
    came = [FIRST, SECOND, THIRD, STUB] if operation == "swap" else new
    state = {tuple(came): "came", tuple(old): "old", tuple(new): "new"}.get(tuple(entries), f"half: {entries}")
    if acknowledged:
        assert state == "new", f"acknowledged, but {state}"
    return state


def states_after(operation: str, rounds: int) -> dict[str, int]:
    """Kill an operation at so many of its lines; how often which state was left."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        prepare(base / "home", operation)
        (base / "home").rename(base / "before")
        killed = Rounds(base, lambda core: act(core, operation), pure=("domain", "search"))
        lines = killed.count_lines()
        step = max(1, lines // rounds)
        states: dict[str, int] = {}
        for kill_at in range(1, lines + step, step):
            state = look(base / "home", operation, acknowledged=killed.one_round(kill_at))
            states[state] = states.get(state, 0) + 1
    return states


def main() -> None:
    """For each line ``OPERATION ROUNDS`` on stdin, one JSON object on stdout: the states, or what went wrong."""
    for line in sys.stdin:
        operation, rounds = line.split()
        try:
            answer: dict[str, object] = {"states": states_after(operation, int(rounds))}
        except Exception:  # noqa: BLE001 it is the answer, and the next operation is tried all the same
            answer = {"failed": traceback.format_exc()}
        print(json.dumps(answer, ensure_ascii=True), flush=True)  # noqa: T201 the answer of this program


if __name__ == "__main__":
    main()
