"""Each profile of Hermes has a memory of its own, and whoever looks is told which one that is."""

import json
from pathlib import Path

from tests.command_line import CommandLine


def with_profile(mc: CommandLine, name: str) -> Path:
    """A home of Hermes with one profile, which is in use."""
    home = mc.home / ".hermes"
    (home / "memories").mkdir(parents=True)
    (home / "profiles" / name / "memories").mkdir(parents=True)
    (home / "active_profile").write_text(f"{name}\n", encoding="utf-8")
    return home


def test_status_and_doctor_say_that_hermes_uses_a_profile_with_another_memory(mc: CommandLine) -> None:
    home = with_profile(mc, "work")
    assert "memorycore --profile work status" in " ".join(mc("status").out.split())
    assert mc("status", "--json").answer["other_profile"] == "work"
    checks = {one["code"]: one["level"] for one in mc("doctor", "--json").answer["checks"]}
    assert checks["other_profile"] == "warn"
    assert "other_profile" not in mc("status", "--json", HERMES_HOME=str(home / "profiles" / "work")).answer
    (home / "active_profile").write_text("default", encoding="utf-8")
    assert "other_profile" not in mc("status", "--json").answer


def test_a_command_works_on_the_memory_of_the_profile_that_is_named(mc: CommandLine) -> None:
    home = with_profile(mc, "work")
    elsewhere = mc.home / "elsewhere"
    assert mc("hermes", "install", MEMORYCORE_DATA_DIR=str(elsewhere)).code == 0
    stored = mc.process("--profile", "work", "store", "Always greet the crew in Danish.", "--json")
    assert json.loads(stored.stdout)["tier"] == "hot"
    assert (home / "profiles" / "work" / "memories" / "MEMORY.md").read_text(encoding="utf-8").startswith("Always")
    assert (elsewhere / "memorycore.db").exists()
    looked = json.loads(mc.process("--profile", "default", "status", "--json").stdout)
    assert (looked["memories"], looked["hot_dir"]) == (0, str(home / "memories"))


def test_a_profile_that_cannot_be_is_refused(mc: CommandLine) -> None:
    with_profile(mc, "work")
    assert json.loads(mc.process("--profile", "none", "status", "--json").stdout)["code"] == "not_available"
    assert mc("--profile", "work", "hermes", "doctor").code == 2
