"""Random work near the limit: every entry that no call names survives, whoever writes."""

import random
from pathlib import Path

import pytest

from memorycore.domain.memory import Draft
from memorycore.errors import InvalidInput
from memorycore.options import CoreOptions, EmbedOptions, HotLimit
from tests.homes import Home


@pytest.mark.parametrize("seed", [1, 2])
def test_what_no_call_names_survives(tmp_path: Path, seed: int) -> None:  # IL-008, IL-009
    dice = random.Random(seed)
    home = Home(tmp_path)
    home.options = CoreOptions(
        hot_dir=tmp_path / "memories", data_dir=tmp_path / "data", embed=EmbedOptions(model="none"),
        hot_limits={"memory": HotLimit(chars=600), "user": HotLimit(chars=600)},
    )  # fmt: skip
    expected: list[str] = []
    with home.core() as core:
        for number in range(120):
            action = dice.choice(["add", "add", "update", "forget", "outside add", "outside remove"])
            chosen = dice.choice(expected) if expected else ""
            if action == "add":
                text = f"Always check gate {number} {'very ' * dice.randrange(8)}well."
                if core.remember(Draft(content=text, target="memory"), actor="test")["status"] == "stored":
                    expected.append(text)
            elif action == "update" and chosen:
                text = f"Always check door {number} {'very ' * dice.randrange(8)}well."
                try:
                    core.update(
                        str(core.forget(chosen, actor="test", dry_run=True).get("id")), content=text, actor="test"
                    )
                except InvalidInput:
                    continue
                expected[expected.index(chosen)] = text
            elif action == "forget" and chosen:
                core.forget(chosen, actor="test")
                expected.remove(chosen)
            elif action == "outside add":
                expected.append(f"Note {number} of the host, about harbour pilots.")
                home.write_memory_file(*expected)
            elif action == "outside remove" and len(expected) > 1:
                expected.remove(chosen)
                home.write_memory_file(*expected)
            assert home.entries() == expected, (number, action)
        core.touch()
        assert [row["text"] for row in core.audit("memory")["targets"][0]["rows"] if row["id"]] == expected
