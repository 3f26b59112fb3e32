"""The gate is put into a Hermes home when that is asked for, stays until that is asked for, and leaves no trace."""

import json
import runpy
from pathlib import Path

from memorycore.hosts import hermes_home
from tests.command_line import CommandLine
from tests.integration.test_hermes_home import a_home, everything
from tests.web import service

ENABLED = "plugins:\n  enabled:\n    - mine   # stays\n\n"


def codes(mc: CommandLine) -> set[str]:
    checks = mc("hermes", "doctor", "--json").answer["checks"]
    return {check["code"] for check in checks if "gate" in check["code"]}


def test_moving_in_with_the_gate_and_out_again_leaves_every_byte(mc: CommandLine) -> None:
    home = a_home(mc, ENABLED + "model: x\n")
    before = everything(home)
    assert codes(mc) == {"hermes_no_gate"}
    mc("hermes", "install", "--gate")
    assert b"    - mine   # stays\n    - memorycore-gate\n" in (home / "config.yaml").read_bytes()
    assert codes(mc) == {"hermes_gate"}
    assert mc("hermes", "install", "--json").answer["status"] == "nothing_to_change"
    mc("hermes", "uninstall")
    assert everything(home) == before


def test_the_gate_comes_later_and_goes_earlier_when_that_is_asked_for(mc: CommandLine) -> None:
    home = a_home(mc)
    before = everything(home)
    mc("hermes", "install")
    alone = everything(home)
    mc("hermes", "install", "--gate")
    assert (home / "plugins" / "memorycore-gate" / "__init__.py").is_file()
    mc("hermes", "install", "--no-gate")
    after = everything(home)
    changed = {name for name in alone.keys() | after.keys() if alone.get(name) != after.get(name)}
    assert changed <= {"plugins/memorycore-prefetch/installed.json"}
    mc("hermes", "uninstall")
    assert everything(home) == before


def test_out_of_a_config_that_others_changed_only_our_name_goes(mc: CommandLine) -> None:
    home = a_home(mc, ENABLED)
    mc("hermes", "install", "--gate")
    config = home / "config.yaml"
    config.write_bytes(config.read_bytes() + b"later: 1\n")
    assert codes(mc) == {"hermes_gate"}
    mc("hermes", "uninstall")
    left = config.read_text(encoding="utf-8")
    assert "later: 1" in left
    assert "- mine   # stays" in left
    assert "memorycore" not in left


def test_doctor_sees_a_gate_that_is_off_or_gone(mc: CommandLine) -> None:
    home = a_home(mc, ENABLED)
    mc("hermes", "install", "--gate")
    config = home / "config.yaml"
    config.write_bytes(config.read_bytes().replace(b"    - memorycore-gate\n", b""))
    assert codes(mc) == {"hermes_gate_off"}
    (home / "plugins" / "memorycore-gate" / "__init__.py").unlink()
    assert codes(mc) == {"hermes_gate_gone"}


def test_a_password_behind_a_hundred_other_writes_is_held_back_too(tmp_path: Path) -> None:
    password = "The staging password is Zx9!kd72Qm"  # noqa: S105 nobody has it
    texts = [*(f"Fact {number}." for number in range(120)), password]
    with service(tmp_path) as daemon:
        (tmp_path / "memorycore-prefetch").mkdir()
        told = {"env": {"MEMORYCORE_DATA_DIR": str(daemon.home.data)}}
        (tmp_path / "memorycore-prefetch" / "runtime.json").write_text(json.dumps(told), encoding="utf-8")
        module = runpy.run_path(str(hermes_home.source(hermes_home.GATE) / "__init__.py"), run_name="gate")
        gate = module["Gate"](folder=tmp_path / "gate", within_s=5.0)
        operations = [{"action": "add", "content": text} for text in texts]
        assert gate.check("memory", {"operations": operations})["action"] == "block"
        assert gate.check("memory", {"operations": operations[:-1]}) is None
