"""Rules leave and come back, a host edits pointers, in any order: file, rows and sidecar agree throughout."""

import random
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft, Memory
from memorycore.domain.pointer import is_fold, pointer
from memorycore.domain.text import entry_hash
from memorycore.errors import Conflict, InvalidInput
from memorycore.lifecycle import hot, retire
from memorycore.lifecycle.retire import Leaving
from memorycore.store import all_rows, memories
from memorycore.store.intents import How
from tests.homes import Home

HOWS: tuple[How, ...] = ("stub", "stub", "cold", "bin")
RULES = tuple(
    f"Always {verb} the {thing} before {when}."
    for verb, thing, when in zip(
        ("check", "ask", "read", "sign", "close", "count", "warn", "call"),
        ("gate", "pilot", "ledger", "permit", "valve", "crates", "harbour", "doctor"),
        ("noon", "release", "lunch", "Friday", "rain", "winter", "dark", "launch"),
        strict=True,
    )
)


class Life:
    """One memory under random work. ``told``: texts that are to be somewhere."""

    def __init__(self, root: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.home = Home(root)
        self.core = MemoryCore(self.home.options, long_lived=False, clock=self.home.clock)
        self.told = set(RULES)
        for text in RULES:
            self.core.remember(Draft(content=text, target="memory"), actor="setup")

    @property
    def rows(self) -> list[Memory]:
        tier = self.core.rooms.tiers["memory"]
        with self.core.db.read() as c:
            return memories.select(c, "file_memories", namespace=tier.namespace, hot_tier=tier.id)

    def retire(self) -> None:
        """Any of those in the file become pointers, go cold, or go to the bin; one of the others may come back."""
        tier, cause = self.core.rooms.tiers["memory"], self.core.rooms.cause("test", "restored_by_recall")
        taken = list(self.home.entries())
        leaving: list[Leaving] = []
        for row in self.dice.sample(self.rows, min(len(self.rows), self.dice.randrange(3))):
            how = self.dice.choice(HOWS)
            taken.append(text := pointer(row.content, taken=taken))
            leaving.append(Leaving(memory=row, how=how, reason="evicted", pointer=text if how == "stub" else ""))
        ids = {item.memory.id for item in leaving}
        away = [row for row in self.active() if row.residence != "hot" and row.id not in ids]
        begun: list[hot.Begun] = []
        if away and self.dice.random() < 0.5:
            with self.core.db.write() as c:
                begun.append(hot.begin(c, tier, self.dice.choice(away), "add", cause))
        fold = self.dice.choice([None, None, "", "[recall +2] gate · noon"])
        retire.rearrange(self.core.db, tier, leaving, begun, cause, fold=fold)

    def active(self) -> list[Memory]:
        return [self.core.rooms.any(str(line["memory_id"])) for line in self.core.export() if line["state"] == "active"]

    def undo(self) -> None:
        events = self.core.history(limit=40)["events"]
        self.core.undo(event=self.dice.choice(events)["event"], actor="test")

    def forget(self) -> None:
        if rows := self.active():
            self.core.forget(self.dice.choice(rows).id, actor="test")

    def restore(self) -> None:
        binned = [str(item["id"]) for item in self.core.trash()["items"]]
        away = [row.id for row in self.active() if row.residence == "stub"]
        if ids := binned + away:
            self.core.restore(self.dice.choice(ids), actor="test")

    def reword(self) -> None:
        if rows := self.active():
            text = f"{self.dice.choice(RULES)[:-1]} and again {self.dice.randrange(1000)}."
            self.core.update(self.dice.choice(rows).id, content=text, actor="test")
            self.told.add(text)

    def edit(self) -> None:
        """As a host does: take an entry out, put one elsewhere, word it anew, or put a text back that is cold."""
        entries = self.home.entries()
        if not entries:
            return
        place = self.dice.randrange(len(entries))
        action = self.dice.choice(["remove", "move", "reword", "return"])
        if action == "remove" and len(entries) > 1:
            del entries[place]
        elif action == "move":
            entries.append(entries.pop(place))
        elif action == "reword" and not is_fold(entries[place]):
            old = entries[place]
            entries[place] = old.replace(" · ", " ·  ") if "·" in old else f"{old} Yes."
            self.told |= {entries[place]} if old.startswith("Always") else set[str]()
        elif cold := [row.content for row in self.active() if row.residence != "hot" and row.content not in entries]:
            entries.insert(place, self.dice.choice(cold))
        self.home.write_memory_file(*entries)
        self.core.touch()

    def agrees(self) -> None:
        entries = [entry for entry in self.home.entries() if not is_fold(entry)]
        stale = set(hot.beside(self.core.db, self.core.rooms.tiers["memory"]).stale)
        keys = {row.entry_key: row for row in self.rows}
        assert set(map(entry_hash, entries)) - stale == set(keys), entries
        metas = self.core.rooms.tiers["memory"].look().sidecar.entries
        assert {key: metas[key].id for key in keys} == {key: row.id for key, row in keys.items()}
        assert all((metas[key].type == "stub") == (row.residence == "stub") for key, row in keys.items())
        with self.core.db.read() as c:
            assert all_rows(c, "all_open_intents", {"namespace": "default"}) == []

    def every_text_is_there(self) -> None:
        there = {str(line["content"]) for line in self.core.export()}
        with self.core.db.read() as c:
            there |= {str(text) for (text,) in c.execute("SELECT content FROM revision")}
        assert self.told - there == set()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_file_rows_and_sidecar_agree_whatever_happens(tmp_path: Path, seed: int) -> None:
    life = Life(tmp_path, seed)
    acts = [
        life.retire, life.retire, life.retire, life.undo, life.forget, life.restore, life.reword, life.edit, life.edit,
    ]  # fmt: skip
    for number in range(60):
        act = life.dice.choice(acts)
        life.home.clock.forward(minutes=7)
        try:
            act()
        except (Conflict, InvalidInput):  # the text is another's by now
            life.core.touch()
        try:
            life.agrees()
            life.every_text_is_there()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, step {number}: {act.__name__}") from error
    life.core.close()
