"""Whatever was done to a memory before, nothing of its words is left in any file once it is erased."""

import random
from pathlib import Path

import pytest

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from tests.homes import Home
from tests.raw import files_with, tables_with

LETTERS = "bcdfghklmnprstvwz"


class Life:
    """Memories with words of their own, which nothing else has, and what is done to them at random."""

    def __init__(self, home: Home, seed: int) -> None:
        self.home = home
        self.chance = random.Random(seed)
        self.words: dict[str, set[str]] = {}
        self.erased: list[str] = []

    def word(self) -> str:
        return "".join(self.chance.choices(LETTERS, k=9)) + "ax"

    def text(self) -> tuple[str, set[str]]:
        words = [self.word() for _ in range(self.chance.choice([2, 5, 40, 900]))]
        opening = self.chance.choice(["Never touch", "The store room holds", "Always name", "On 3 May we sold"])
        return f"{opening} {' '.join(words)}.", set(words)

    def step(self, core: MemoryCore) -> None:
        known = list(self.words)
        if len(known) < 6 or self.chance.random() < 0.3:
            text, words = self.text()
            answer = core.remember(Draft(content=text, target=self.chance.choice(["memory", "user"])), actor="test")
            self.words.setdefault(answer["id"], set()).update(words)  # type: ignore[typeddict-item]
            return
        memory_id = self.chance.choice(known)
        match self.chance.choice(["update", "forget", "restore", "erase", "recall", "tags"]):
            case "update" if core.inspect(memory_id)["state"] == "active":
                text, words = self.text()
                core.update(memory_id, content=text[:900], actor="test")
                self.words[memory_id] |= words
            case "tags" if core.inspect(memory_id)["state"] == "active":
                core.update(memory_id, tags=tuple(self.word() for _ in range(20)), actor="test")
            case "forget" if core.inspect(memory_id)["state"] == "active":
                core.forget(memory_id, actor="test")
            case "restore":
                core.restore(memory_id, actor="test")
            case "erase":
                assert core.erase(memory_id, actor="test")["erased"]
                self.erased += self.words.pop(memory_id)
            case _:
                core.recall(self.chance.choice(list(self.words[memory_id])))


@pytest.mark.parametrize("seed", range(3))
def test_no_word_of_an_erased_memory_is_left_anywhere(tmp_path: Path, seed: int) -> None:  # IL-191
    home = Home(tmp_path)
    life = Life(home, seed)
    for _ in range(3):
        with home.core(vectors=seed == 1) as core:
            for _ in range(25):
                life.step(core)
    with home.core() as core:
        for memory_id in list(life.words)[::2]:
            assert core.erase(memory_id, actor="test")["erased"]
            life.erased += life.words.pop(memory_id)
    assert life.erased
    assert files_with(tmp_path, *(word.encode() for word in life.erased)) == []
    assert tables_with(home.options.data_dir / "memorycore.db", *life.erased[:200]) == []
