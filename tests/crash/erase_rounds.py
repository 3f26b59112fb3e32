"""Kills a process at every step of an erasure and erases again. Run as a program by ``test_erase_crash``.

Each round forks a child that is killed with SIGKILL at the k-th executed line of MemoryCore; the parent then erases the
same id like any other process would, and nothing may be left of the text, nor of the others anything be missing.
"""

import json
import sys
import tempfile
from pathlib import Path

from memorycore.domain.memory import Draft
from tests.crash.rounds import Rounds
from tests.homes import Home
from tests.raw import files_with, tables_with

DOOMED = "Never tell anybody where the Quillfeather heron is kept."
WORD = "quillfeather"
KEPT = ["Always run the linter before a release.", "Never deploy on a Friday evening."]


def prepare(root: Path) -> str:
    home = Home(root)
    with home.core() as core:
        core.remember(Draft(content=KEPT[0], target="memory"), actor="setup")
        memory_id = core.remember(Draft(content=DOOMED, target="memory"), actor="setup").get("id", "")
        core.update(memory_id, content=f"{DOOMED} Never ever.", actor="setup")
        core.remember(Draft(content=KEPT[1], target="memory"), actor="setup")
        core.db.backup(home.options.data_dir / "memorycore.before-upgrade-2.db")
    return memory_id


def look(root: Path, memory_id: str) -> str:
    """What the killed process left (the state of the row), after another one has erased for good."""
    home = Home(root)
    with home.core() as core:
        state = core.inspect(memory_id)["state"]
        receipt = core.erase(memory_id, actor="after")
        assert receipt["status"] == "erased", receipt
        assert core.inspect(memory_id)["state"] == "purged"
        check = core.maintain(["integrity"])["steps"][0]
        assert (check["database"], check["repaired"]) == ("ok", False), check
        assert home.entries() == KEPT, home.entries()
        assert [row["text"] for row in core.audit("memory")["targets"][0]["rows"]] == KEPT
    assert files_with(root, WORD.encode(), b"Quillfeather") == []
    assert tables_with(home.options.data_dir / "memorycore.db", WORD) == []
    return state


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        memory_id = prepare(base / "home")  # rows of a hot file know its folder
        (base / "home").rename(base / "before")
        killed = Rounds(base, lambda core: core.erase(memory_id, actor="child"))
        lines = killed.count_lines()
        step = max(1, lines // rounds)
        states: dict[str, int] = {}
        for kill_at in range(1, lines + step, step):
            killed.one_round(kill_at)
            state = look(base / "home", memory_id)
            states[state] = states.get(state, 0) + 1
    print(json.dumps({"lines": lines, "states": states}))  # noqa: T201 the answer of this program


if __name__ == "__main__":
    main(int(sys.argv[1]))
